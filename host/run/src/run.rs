//! One run, from top to bottom.

use std::path::Path;

use chrono::Local;
use proctor_config::Settings;
use proctor_loadgen::config_file;
use proctor_vocabulary::TestMode;

use crate::{
    accuracy::score,
    bed::test_bed::scheduler_config,
    error::HostError,
    files::run_folder::{RunFolder, write_whole},
    interrupt::Interrupt,
    open::Opened,
    overhead::floor::Floor,
    performance_runs::PerformanceRuns,
    result::{PluginPart, RunResult, Tests, verdict::verdict},
    warnings,
};

/// Name of the file with everything about a run.
pub(crate) const RESULT: &str = "result.json";

/// What LoadGen calls its audit file.
const AUDIT_CONFIG: &str = "audit.config";

/// Runs a benchmark and prints the verdict. Returns the exit code.
///
/// # Errors
/// Whatever keeps the run from having a result. What was recorded until then stays in the run folder.
pub fn run(mut settings: Settings) -> Result<i32, HostError> {
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
    let opened = Opened::open(folder, settings, audit_config, interrupt)?;
    let Opened { bed, root, .. } = &opened;

    // The accuracy run, then the performance runs, of which most rules want one.
    let modes = Modes::of(settings.run.mode);
    let accuracy_run = match modes.accuracy {
        Some(mode) => Some(bed.test(mode, &folder.subfolder("accuracy")?)?),
        None => None,
    };
    let may_go_on = accuracy_run.as_ref().is_none_or(|test| test.may_go_on());
    let performs = modes.performance.is_some() && may_go_on;
    let floor = performs.then(|| Floor::of_run(settings, bed.plugin.dispatch, &bed.interrupt)).flatten();
    let performance_runs = match modes.performance {
        Some(mode) if may_go_on => PerformanceRuns::make(bed, mode, folder)?,
        _ => PerformanceRuns::default(),
    };
    let performance_run = performance_runs.tests.first();
    let scored = accuracy_run.as_ref().or(performance_run.filter(|_| modes.scores_performance));
    let accuracy = match scored.filter(|test| test.write_error.is_none()) {
        Some(test) => Some(score(settings, &test.outcome, &test.folder, root, bed.model.precision())?),
        None => None,
    };

    // The result and the verdict.
    let tests = Tests { accuracy_run: accuracy_run.as_ref(), performance_runs: &performance_runs, accuracy };
    let plugin = PluginPart::new(&bed.plugin, bed.model.precision(), settings.run.virtual_time);
    let result = RunResult::new(settings, plugin, opened.machine.clone(), tests).with_floor(floor);
    write_whole(&folder.path(RESULT), |out| result.write(out))?;
    let tests: Vec<_> = accuracy_run.into_iter().chain(performance_runs.tests).collect();
    let is_abandoned = tests.iter().any(|test| test.is_abandoned);
    if let Some(error) = tests.into_iter().find_map(|test| test.write_error) {
        return Err(error);
    }
    folder.finish()?;
    crate::print(verdict(&result, folder.name()));
    opened.close(is_abandoned);
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
    if settings.run.mode == Some(TestMode::AccuracyOnly) {
        let text = "audit_config has no effect in mode accuracy: it overrides the performance run";
        settings.warnings.push(text.to_owned());
        return Ok(None);
    }
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
