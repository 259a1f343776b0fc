//! One run, from top to bottom.

use std::path::Path;

use proctor_config::Settings;
use proctor_loadgen::config_file;
use proctor_vocabulary::TestMode;

use crate::{
    accuracy::score,
    bed::test_bed::TestBed,
    error::HostError,
    files::run_folder::{RunFolder, write_json},
    frame::Frame,
    interrupt::Interrupt,
    observer::Observer,
    overhead::floor::Floor,
    performance_runs::PerformanceRuns,
    result::{PluginPart, RunResult, Tests, verdict::verdict},
};

/// Name of the file with everything about a run.
pub(crate) const RESULT: &str = "result.json";

/// Name of LoadGen's audit file.
const AUDIT_CONFIG: &str = "audit.config";

/// Runs a benchmark, and returns its result, which is in the run folder, too. The verdict is the answer to the user.
///
/// # Errors
/// Every reason why the run has no result. What was recorded until then stays in the run folder.
pub fn run(mut settings: Settings, interrupt: &Interrupt) -> Result<RunResult, HostError> {
    let audit_config = audit_config(&mut settings, interrupt.observer().as_ref())?;
    let frame = Frame::set_up(settings, interrupt, |settings| RunFolder::create(settings, ""))?;
    frame.run("what was recorded is in", audit_config, run_in)
}

fn run_in(frame: &Frame, bed: &TestBed<'_>) -> Result<RunResult, HostError> {
    let Frame { settings, folder, interrupt, .. } = frame;
    let observer = interrupt.observer();

    // The accuracy run, then the performance runs, of which most rules want one.
    let modes = Modes::of(settings.run.mode);
    let accuracy_run = match modes.accuracy {
        Some(mode) => Some(bed.test_in_mode(mode, &folder.subfolder("accuracy")?)?),
        None => None,
    };
    let may_go_on = accuracy_run.as_ref().is_none_or(|test| test.may_go_on());
    let performance_mode = modes.performance.filter(|_| may_go_on);
    let floor = performance_mode.and_then(|_| Floor::of_run(settings, bed.plugin.dispatch, interrupt));
    let performance_runs = match performance_mode {
        Some(mode) => PerformanceRuns::make(bed, mode, folder)?,
        None => PerformanceRuns::default(),
    };
    let performance_run = performance_runs.tests.first();
    let scored = accuracy_run.as_ref().or(performance_run.filter(|_| modes.scores_performance));
    let precision = bed.model().precision();
    let accuracy = match scored.filter(|test| test.write_error.is_none()) {
        Some(test) => {
            Some(score(settings, &test.outcome, &test.folder, &bed.data_root, precision, observer.as_ref())?)
        }
        None => None,
    };

    // The result and the verdict.
    let tests = Tests { accuracy_run: accuracy_run.as_ref(), performance_runs: &performance_runs, accuracy };
    let result = RunResult::new(settings, PluginPart::of(bed), bed.machine.clone(), tests).with_floor(floor);
    write_json(&folder.path(RESULT), &result)?;
    let mut tests = accuracy_run.into_iter().chain(performance_runs.tests);
    if let Some(error) = tests.find_map(|test| test.write_error) {
        return Err(error);
    }
    folder.finish()?;
    // Before the plugin is closed, which may hang.
    observer.answer(&verdict(&result, folder.name()));
    Ok(result)
}

/// The content of the audit file, if the settings name one. What it says without effect is a warning of the settings.
fn audit_config(settings: &mut Settings, observer: &dyn Observer) -> Result<Option<String>, HostError> {
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
    observer.message(&format!(
        "warning: {} overrides in the performance run: {}",
        path.display(),
        changed.join(", ")
    ));
    let ignored: Vec<_> =
        report.ignored.iter().map(|ignored| format!("{}: {ignored}", path.display())).collect();
    settings.warnings.extend(ignored);
    Ok(Some(text))
}

/// Tests of a run.
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
