//! One run, from top to bottom.

use std::{mem::ManuallyDrop, path::Path, thread};

use proctor_config::Settings;
use proctor_loadgen::config_file;
use proctor_vocabulary::TestMode;
use tracing::field::Empty;

use crate::{
    bed::{
        scaling::settings::{check_run, keep_stronger_target, scales},
        test_bed::TestBed,
    },
    ending::UnfinishedResult,
    error::HostError,
    files::{recording, run_folder::RunFolder},
    frame::Frame,
    interrupt::Interrupt,
    observer::Observer,
    overhead::floor::Floor,
    result::RunResult,
    spans::enter,
    warnings::of_scaled_run,
};

/// Name of LoadGen's audit file.
const AUDIT_CONFIG: &str = "audit.config";

/// Runs a benchmark, and returns its result, which is in the run folder, too. The verdict is the answer to the user.
///
/// # Errors
/// Every reason why the run has no result. What was recorded until then stays in the run folder.
pub fn run(settings: Settings, interrupt: &Interrupt) -> Result<RunResult, HostError> {
    let span = enter!(
        "run",
        benchmark = settings.benchmark.id,
        scenario = settings.run.scenario.name(),
        plugin = settings.run.plugin,
        error = Empty
    );
    let made = make(settings, interrupt);
    made.inspect_err(|error| _ = span.record("error", error.messages().join(": ")))
}

fn make(mut settings: Settings, interrupt: &Interrupt) -> Result<RunResult, HostError> {
    if scales(&settings.run.policy) {
        keep_stronger_target(&mut settings);
    }
    check_run(&settings)?;
    settings.warnings.extend(of_scaled_run(&settings));
    let audit_config = audit_config(&mut settings, interrupt.observer().as_ref())?;
    let frame = Frame::set_up(settings, interrupt, |settings| RunFolder::create(settings, ""))?;
    frame.run("what was recorded is in", audit_config, run_in)
}

fn run_in(frame: &Frame, bed: ManuallyDrop<TestBed<'_>>) -> Result<RunResult, HostError> {
    let Frame { settings, folder, interrupt, pending, .. } = frame;
    let mut result = UnfinishedResult::new(settings, folder, interrupt.observer(), &bed);

    // The accuracy run, then the performance runs, of which most rules want one.
    match make_tests(&mut result, settings, &bed, folder, interrupt) {
        Err(error) if bed.process_has_ended() => result.note_lost_test(&error),
        made => made?,
    }

    // The result, the end of the plugin, and what came of that.
    result.keep();
    pending.put(result);
    let faults = bed.end_phase();
    let recorder = bed.plugin.recorder.clone();
    let closing = enter!("close plugin");
    drop(ManuallyDrop::into_inner(bed));
    drop(closing);
    match pending.take() {
        Some(result) => {
            let result = result.conclude(faults)?;
            recording::end(recorder.as_ref())?;
            Ok(result)
        }
        // The watchdog has taken this for a hang, and is about to end the program.
        None => loop {
            thread::park();
        },
    }
}

fn make_tests(
    result: &mut UnfinishedResult,
    settings: &Settings,
    bed: &TestBed<'_>,
    folder: &RunFolder,
    interrupt: &Interrupt,
) -> Result<(), HostError> {
    let modes = Modes::of(settings.run.mode);
    if let Some(mode) = modes.accuracy {
        let test = bed.test_unsettled(&bed.request_in_mode(mode, &folder.subfolder("accuracy")?))?;
        result.score(&test, bed);
        result.accuracy_run = Some(test);
    }
    if let Some(mode) = modes.performance.filter(|_| result.may_go_on()) {
        result.accuracy_run.iter_mut().for_each(|test| bed.settle(test));
        if result.may_go_on() {
            result.floor = Floor::of_run(settings, bed.plugin.dispatch, interrupt);
            result.performance_runs.make(bed, mode, folder)?;
            if modes.scores_performance {
                result.score_performance(bed);
            }
        }
    }
    Ok(())
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
    let mut audited = settings.test.clone();
    let applied = config_file::apply_audit(&text, &mut audited);
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
    let path = path.clone();
    settings.audit(&path, &report, audited);
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
