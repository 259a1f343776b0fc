//! One run, from top to bottom.

use std::{
    cell::Cell,
    mem::ManuallyDrop,
    path::{Path, PathBuf},
    time::Duration,
};

use chrono::Local;
use proctor_config::Settings;
use proctor_datasets::DataRoot;
use proctor_loadgen::config_file;
use proctor_plugin_host::crash;
use proctor_vocabulary::TestMode;
use tempfile::TempDir;

use crate::{
    cli::RunFlags,
    exit::HostError,
    folder::{RunFolder, output, write_whole},
    interrupt::Interrupt,
    library::{Data, Library},
    machine::Machine,
    performance_runs::PerformanceRuns,
    plugin::Plugin,
    result::{PluginPart, RunResult, Tests},
    score::{response_form, score},
    test_bed::{HostClock, TestBed, scheduler_config},
    verdict::verdict,
    warnings,
    watchdog::{Call, Watchdog},
};

/// Name of the file with everything about a run.
const RESULT: &str = "result.json";

/// What LoadGen calls its audit file.
const AUDIT_CONFIG: &str = "audit.config";

/// Runs a benchmark and prints the verdict. Returns the exit code.
///
/// # Errors
/// Whatever keeps the run from having a result. What was recorded until then stays in the run folder.
pub(crate) fn run(flags: &RunFlags) -> Result<i32, HostError> {
    let mut settings = flags.load()?;
    let audit_config = audit_config(&mut settings)?;
    warnings::check(&mut settings)?;
    scheduler_config(&settings.run)?;
    let interrupt = Interrupt::install()?;
    let time = Local::now().format("%Y-%m-%dT%H-%M-%S").to_string();
    let chosen = settings.run.output_folder.as_deref();
    let folder = RunFolder::create(chosen, &time, &settings.benchmark.id, settings.run.scenario)?;
    let cleanup = folder.clone();
    interrupt.on_exit(move || _ = cleanup.remove_if_empty());
    run_in(&folder, &settings, audit_config, &interrupt).inspect_err(|error| {
        if !folder.remove_if_empty() {
            folder.note(&error.report());
            eprintln!("what was recorded is in {}", folder.partial().display());
        }
    })
}

fn run_in(
    folder: &RunFolder,
    settings: &Settings,
    audit_config: Option<String>,
    interrupt: &Interrupt,
) -> Result<i32, HostError> {
    // Whatever the plugin does from here on, there is a report of it.
    crash::install(&folder.path("crash.txt"))?;
    let limit = Duration::from_millis(settings.run.watchdog_ms);
    let last_words = folder.clone();
    let watchdog = Watchdog::start(limit, &settings.run.plugin, move |text| last_words.note(text));

    // The plugin.
    let cache = CacheFolder::new(settings)?;
    let clock = HostClock::new(settings.run.virtual_time, settings.run.wait_policy());
    let plugin = Plugin::open(settings, &watchdog, clock.reader(), cache.path())?;
    let backend = plugin.backend.clone();
    interrupt.on_second(move || backend.cancel());

    // The data and the model.
    let machine = Machine::read();
    let root = DataRoot::new(settings.run.data_root.as_deref());
    response_form(&settings.benchmark)?;
    let data = Data::open(settings, &root, &machine)?;
    let model = plugin.load_model(settings, &root, &watchdog)?;
    let library = Library::new(data, model.clone(), watchdog.clone());
    let interrupt = interrupt.clone();
    // Not to be dropped unless the plugin has come to its end: what hangs must not be waited for.
    let bed = ManuallyDrop::new(TestBed {
        settings,
        clock,
        plugin,
        model,
        library,
        watchdog: watchdog.clone(),
        interrupt,
        audit_config,
        phase_count: Cell::new(0),
    });

    // The accuracy run, then the performance runs, of which most rules want one.
    let modes = Modes::of(settings.run.mode);
    let accuracy_run = match modes.accuracy {
        Some(mode) => Some(bed.test(mode, &folder.subfolder("accuracy")?)?),
        None => None,
    };
    let may_go_on = accuracy_run.as_ref().is_none_or(|test| test.may_go_on());
    let performance_runs = match modes.performance {
        Some(mode) if may_go_on => PerformanceRuns::make(&bed, mode, folder)?,
        _ => PerformanceRuns::default(),
    };
    let performance_run = performance_runs.tests.first();
    let scored = accuracy_run.as_ref().or(performance_run.filter(|_| modes.scores_performance));
    let accuracy = match scored.filter(|test| test.write_error.is_none()) {
        Some(test) => Some(score(settings, &test.outcome, &test.folder, &root)?),
        None => None,
    };

    // The result and the verdict.
    let tests = Tests { accuracy_run: accuracy_run.as_ref(), performance_runs: &performance_runs, accuracy };
    let plugin = PluginPart::new(&bed.plugin, bed.model.precision(), settings.run.virtual_time);
    let result = RunResult::new(settings, plugin, machine, tests);
    write_whole(&folder.path(RESULT), |out| result.write(out))?;
    let tests: Vec<_> = accuracy_run.into_iter().chain(performance_runs.tests).collect();
    let is_abandoned = tests.iter().any(|test| test.is_abandoned);
    if let Some(error) = tests.into_iter().find_map(|test| test.write_error) {
        return Err(error);
    }
    folder.finish()?;
    crate::print(verdict(&result, folder.name()));
    if !is_abandoned {
        watchdog.during(Call::Close, || drop(ManuallyDrop::into_inner(bed)));
    }
    cache.remove();
    Ok(result.exit_code())
}

/// The content of the audit file, if the settings name one. What it says without effect is a warning of the settings.
fn audit_config(settings: &mut Settings) -> Result<Option<String>, HostError> {
    let Some(path) = &settings.run.audit_config else {
        // LoadGen would apply it without being asked.
        if Path::new(AUDIT_CONFIG).exists() {
            let text =
                format!("{AUDIT_CONFIG} of the current folder is not applied: name it with audit_config");
            settings.warnings.push(text);
        }
        return Ok(None);
    };
    let wrong = |why: String| HostError::Usage(format!("setting audit_config = {}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(format!("cannot read it: {error}")))?;
    let applied = config_file::apply_audit(&text, &mut settings.test.clone());
    let lines = |errors: Vec<_>| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    let report = applied.map_err(|errors| wrong(lines(errors)))?;
    let changed: Vec<_> = report.applied.iter().map(|applied| applied.setting).collect();
    eprintln!("warning: {} overrides in the performance run: {}", path.display(), changed.join(", "));
    let ignored: Vec<_> =
        report.ignored.iter().map(|ignored| format!("{}: {ignored}", path.display())).collect();
    settings.warnings.extend(ignored);
    Ok(Some(text))
}

/// Which tests a run consists of.
#[derive(Debug, PartialEq, Eq)]
struct Modes {
    accuracy: Option<TestMode>,
    performance: Option<TestMode>,
    /// Whether the second test has the answers to score.
    scores_performance: bool,
}

impl Modes {
    fn of(mode: Option<TestMode>) -> Self {
        let (accuracy, performance) = match mode {
            None => (Some(TestMode::AccuracyOnly), Some(TestMode::PerformanceOnly)),
            Some(TestMode::AccuracyOnly) => (Some(TestMode::AccuracyOnly), None),
            Some(mode) => (None, Some(mode)),
        };
        Self { accuracy, performance, scores_performance: mode == Some(TestMode::SubmissionRun) }
    }
}

/// The folder in which a plugin may keep what is costly to make again.
enum CacheFolder {
    Lasting(PathBuf),
    Temporary(TempDir),
}

impl CacheFolder {
    fn new(settings: &Settings) -> Result<Self, HostError> {
        match &settings.run.cache_folder {
            Some(path) => {
                std::fs::create_dir_all(path).map_err(|source| output(path, source))?;
                Ok(Self::Lasting(std::path::absolute(path).map_err(|source| output(path, source))?))
            }
            None => {
                let made = tempfile::Builder::new().prefix("proctor-cache-").tempdir();
                Ok(Self::Temporary(made.map_err(|source| output(&std::env::temp_dir(), source))?))
            }
        }
    }

    fn path(&self) -> &std::path::Path {
        match self {
            Self::Lasting(path) => path,
            Self::Temporary(folder) => folder.path(),
        }
    }

    fn remove(self) {
        if let Self::Temporary(folder) = self
            && let Err(error) = folder.close()
        {
            tracing::warn!(%error, "cannot remove the temporary cache folder");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_mode_there_are_two_tests() {
        let modes = Modes::of(None);
        assert_eq!(modes.accuracy, Some(TestMode::AccuracyOnly));
        assert_eq!(modes.performance, Some(TestMode::PerformanceOnly));
        assert_eq!(Modes::of(Some(TestMode::AccuracyOnly)).performance, None);
        assert!(Modes::of(Some(TestMode::SubmissionRun)).scores_performance);
    }
}
