//! One run, from top to bottom.

use std::{path::Path, thread};

use proctor_bed::{
    Interrupt, TestBed, floor, recording,
    scaling::settings::{check_run, keep_stronger_target, scales},
};
use proctor_config::{EngineChoice, Settings};
use proctor_loadgen::config_file::{self, OtherModel};
use proctor_results::file_names::ACCURACY;
use proctor_vocabulary::{TestMode, intact_text};
use proctor_words::{HostError, RunFolder, UsageError, enter};
use tracing::field::Empty;

use crate::{
    ending::UnfinishedResult,
    engine,
    frame::{Frame, OpenBed},
    result::RunResult,
    warnings::{self, of_scaled_run},
};

/// Name of LoadGen's audit file.
const AUDIT_CONFIG: &str = "audit.config";

/// Runs a benchmark, and returns its result, which is in the run folder, too. The verdict is the answer to the user.
///
/// # Errors
/// Returns every reason why the run has no result. Earlier records stay in the run folder.
pub fn run(settings: Settings, interrupt: &Interrupt) -> Result<RunResult, HostError> {
    run_in_folder(settings, interrupt).map(|(result, _)| result)
}

/// Does the same as [`run`], and returns the folder, too, which has its last name.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_in_folder(
    settings: Settings,
    interrupt: &Interrupt,
) -> Result<(RunResult, RunFolder), HostError> {
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

/// Returns the effective settings of a run: with the audit file, if they name one, and with all warnings except those
/// about the data set. With `strict` the run would be refused for these. A policy with which there is no run is one of
/// the warnings, as the settings may be meant for `host scale`.
///
/// # Errors
/// [`HostError::Usage`] if the audit file cannot be read.
pub fn settings_of_run(mut settings: Settings) -> Result<Settings, HostError> {
    let checked = check_modes(&settings).and_then(|()| match settings.run.engine {
        EngineChoice::Both => engine::check_official(&settings),
        _ => engine::check(&settings),
    });
    if let Err(refused) = checked.and_then(|()| settle_policy(&mut settings)) {
        settings.warnings.push(format!("host run refuses these settings: {refused}"));
    }
    audit(&mut settings)?;
    let counts = settings.benchmark.qsl;
    warnings::add(&mut settings, counts);
    Ok(settings)
}

/// Adjusts the settings that depend on a scaling policy.
fn settle_policy(settings: &mut Settings) -> Result<(), HostError> {
    if scales(&settings.run.policy) {
        keep_stronger_target(settings);
    }
    check_run(settings)?;
    let of_scaled = of_scaled_run(settings);
    settings.warnings.extend(of_scaled);
    Ok(())
}

/// Refuses a mode whose answers are to be scored, if test05 leaves none.
fn check_modes(settings: &Settings) -> Result<(), HostError> {
    match settings.run.mode {
        Some(mode @ (TestMode::AccuracyOnly | TestMode::SubmissionRun)) if settings.test.test05 => {
            Err(UsageError::Test05(mode).into())
        }
        _ => Ok(()),
    }
}

fn make(mut settings: Settings, interrupt: &Interrupt) -> Result<(RunResult, RunFolder), HostError> {
    check_modes(&settings)?;
    engine::check(&settings)?;
    settle_policy(&mut settings)?;
    let audit = audit(&mut settings)?;
    if let (Some(audit), Some(path)) = (&audit, &settings.run.audit_config) {
        interrupt.observer().message(&format!(
            "warning: {} overrides in the performance run: {}",
            path.display(),
            audit.changed.join(", ")
        ));
    }
    let audit_config = audit.map(|audit| audit.text);
    let frame = Frame::set_up(settings, interrupt, |settings| RunFolder::create(settings, ""))?;
    let folder = frame.folder.clone();
    let result = frame.run("what was recorded is in", audit_config, run_in)?;
    Ok((result, folder))
}

fn run_in(frame: &Frame, bed: OpenBed<'_>) -> Result<RunResult, HostError> {
    let Frame { settings, folder, interrupt, pending, .. } = frame;
    let mut result = UnfinishedResult::new(settings, folder, interrupt.observer(), &bed);

    // The accuracy run, then the performance runs; most rules want one.
    match make_tests(&mut result, settings, &bed, folder, interrupt) {
        Err(error) if bed.process_has_ended() => result.note_lost_test(&error),
        made => made?,
    }

    // The result, the end of the plugin, and the outcome of that.
    result.samples = bed.library.content();
    result.keep();
    pending.put(result);
    let faults = bed.end_phase();
    let recorder = bed.plugin.recorder.clone();
    let closing = enter!("close plugin");
    bed.close();
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
    let modes = Modes::of(settings.run.mode, settings.test.test05);
    if let Some(mode) = modes.accuracy {
        let test = bed.test_unsettled(&bed.request_in_mode(mode, &folder.subfolder(ACCURACY)?))?;
        result.score(&test, bed);
        result.accuracy_run = Some(test);
    }
    if let Some(mode) = modes.performance.filter(|_| result.may_go_on()) {
        result.settle_accuracy(bed);
        if result.may_go_on() {
            if settings.run.engine == EngineChoice::Proctor {
                result.floor = floor::of_run(settings, bed.library.counts(), bed.plugin.dispatch, interrupt);
            }
            result.performance_runs.make(bed, mode, folder)?;
            if modes.scores_performance {
                result.score_performance(bed);
            }
        }
    }
    Ok(())
}

/// An audit file that has an effect in the run.
struct Audit {
    /// Content of the file.
    text: String,
    /// The settings that it changes.
    changed: Vec<&'static str>,
}

/// Returns the audit file, if the settings name one. Lines without effect become warnings of the settings.
fn audit(settings: &mut Settings) -> Result<Option<Audit>, HostError> {
    let Some(path) = &settings.run.audit_config else {
        // LoadGen would apply it without being asked.
        if Path::new(AUDIT_CONFIG).exists() {
            let text =
                format!("{AUDIT_CONFIG} of the current folder is not applied: name it with audit_config");
            settings.warnings.push(text);
        }
        return Ok(None);
    };
    let wrong = |cause| UsageError::AuditConfig { path: path.clone(), cause };
    let text = intact_text(std::fs::read(path)).map_err(|fault| wrong(fault.into()))?;
    let mut audited = settings.test.clone();
    let applied = config_file::apply_audit(&text, &mut audited);
    let lines = |errors: Vec<_>| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    let report = applied.map_err(|errors| wrong(lines(errors).into()))?;
    if settings.run.mode == Some(TestMode::AccuracyOnly) {
        let text = "audit_config has no effect in mode accuracy: it overrides the performance run";
        settings.warnings.push(text.to_owned());
        return Ok(None);
    }
    let scenario = settings.test.scenario;
    let of_run = report.applied.iter().filter(|applied| applied.is_for(scenario));
    let changed: Vec<_> = of_run.map(|applied| applied.setting).collect();
    let mut warnings: Vec<_> =
        report.ignored.iter().map(|ignored| format!("{}: {ignored}", path.display())).collect();
    warnings.extend(report.other_models.iter().map(|OtherModel { name, line }| {
        format!(
            "{}: line {line} is ignored: it is for the model {name}, and LoadGen reads an audit file for any model: \
             begin it with `*.`",
            path.display()
        )
    }));
    if changed.is_empty() {
        warnings.push(format!(
            "setting audit_config = {}: this run is no audit: no line of the file is read in {scenario}, for which \
             lines begin with `*.{scenario}.` or `*.*.`",
            path.display()
        ));
        settings.warnings.extend(warnings);
        return Ok(None);
    }
    let path = path.clone();
    settings.audit(&path, &report, audited);
    settings.warnings.extend(warnings);
    Ok(Some(Audit { text, changed }))
}

/// Tests of a run.
#[derive(Debug, PartialEq, Eq)]
struct Modes {
    accuracy: Option<TestMode>,
    performance: Option<TestMode>,
    /// True if the second test has the answers to score.
    scores_performance: bool,
}

impl Modes {
    /// Returns the tests of a mode. With `test05` LoadGen makes every test a performance run, so there is no accuracy
    /// run.
    fn of(mode: Option<TestMode>, test05: bool) -> Self {
        let (accuracy, performance) = match mode {
            None if test05 => (None, Some(TestMode::PerformanceOnly)),
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
        let modes = Modes::of(None, false);
        assert_eq!(modes.accuracy, Some(TestMode::AccuracyOnly));
        assert_eq!(modes.performance, Some(TestMode::PerformanceOnly));
        assert_eq!(Modes::of(Some(TestMode::AccuracyOnly), false).performance, None);
        assert!(Modes::of(Some(TestMode::SubmissionRun), false).scores_performance);
    }

    #[test]
    fn test05_leaves_no_accuracy_run_and_refuses_its_modes() {
        let modes = Modes::of(None, true);
        assert_eq!((modes.accuracy, modes.performance), (None, Some(TestMode::PerformanceOnly)));
        let mut settings = proctor_config::Loader::new().set("test05=true").load().unwrap();
        for mode in [None, Some(TestMode::PerformanceOnly)] {
            settings.run.mode = mode;
            check_modes(&settings).unwrap();
        }
        for mode in [TestMode::AccuracyOnly, TestMode::SubmissionRun] {
            settings.run.mode = Some(mode);
            let refused = check_modes(&settings).unwrap_err().to_string();
            let words = ["mode = ", "test05 = true", "leave test05 out for the accuracy run"];
            assert!(words.iter().all(|word| refused.contains(*word)), "{refused}");
            settings.test.test05 = false;
            check_modes(&settings).unwrap();
            settings.test.test05 = true;
        }
    }
}
