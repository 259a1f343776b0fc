//! The engine of a test other than the load generator of the host, where this process has one.

use std::{
    fmt,
    path::{self, Path, PathBuf},
    sync::{Arc, OnceLock},
};

use proctor_config::{EngineChoice, Settings};
use proctor_loadgen::{Finding, Rule, Status, TestOutcome, engine::Engine};
use proctor_results::{DetailLog, EnginePart, LoadGenLogs, file_names::DETAIL_LOG};
use proctor_words::{HostError, UsageError, text::counted};
use serde_json::Value;

static INSTALLED: OnceLock<Arc<dyn Engine>> = OnceLock::new();

/// Makes an engine available to the tests of this process. The first call decides.
pub fn install(engine: Arc<dyn Engine>) {
    let _ = INSTALLED.set(engine);
}

/// Returns the engine of this process; `None` in a process that is no Python interpreter.
#[must_use]
pub fn installed() -> Option<Arc<dyn Engine>> {
    INSTALLED.get().cloned()
}

/// Returns the engine that the settings want; `None` for the load generator of the host.
///
/// # Errors
/// If this process does not have it.
pub(crate) fn wanted(settings: &Settings) -> Result<Option<Arc<dyn Engine>>, HostError> {
    if settings.run.engine != EngineChoice::Official {
        return Ok(None);
    }
    let text = "engine = official needs a Python interpreter: run it by `host run`, or by the package proctor of Python";
    installed().map(Some).ok_or(UsageError::Stated(text).into())
}

/// Files that an engine reads itself, by absolute paths: a plugin may change the working folder.
#[derive(Debug)]
pub(crate) struct EngineFiles {
    pub(crate) user_configs: Vec<PathBuf>,
    pub(crate) audit_config: Option<PathBuf>,
    pub(crate) module: Option<PathBuf>,
}

impl EngineFiles {
    pub(crate) fn of(settings: &Settings) -> Self {
        let absolute = |path: &PathBuf| path::absolute(path).unwrap_or_else(|_| path.clone());
        Self {
            user_configs: settings.loadgen_files.iter().map(absolute).collect(),
            audit_config: settings.run.audit_config.as_ref().map(absolute),
            module: settings.run.loadgen.as_ref().map(absolute),
        }
    }
}

/// Report of an engine on its test.
#[derive(Debug, Clone, Default)]
pub struct EngineReport {
    /// The part of the result about it.
    pub part: EnginePart,
    /// Its detail log, if that can be read.
    pub log: Option<DetailLog>,
    /// False if it was left behind, so that its logs are not whole.
    pub is_whole: bool,
}

/// A fault in the logs of an engine: an error, no verdict, or another one than the host's.
#[derive(Debug, Clone, PartialEq, Eq)]
enum EngineFault {
    /// The logs cannot be read.
    NoLog(String),
    /// There is no detail log.
    NoDetailLog,
    /// The log has an event that is an error.
    Error { key: String, text: String },
    /// The log has this many further errors.
    MoreErrors(u64),
    /// There is no verdict in a log of a performance run.
    NoVerdict,
    /// The engine found the test INVALID, for these reasons.
    Invalid(String),
    /// The engine found the test VALID, although the host measured otherwise.
    Valid(Vec<String>),
}

impl fmt::Display for EngineFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLog(error) => write!(f, "the log of the official LoadGen cannot be read: {error}"),
            Self::NoDetailLog => write!(f, "the official LoadGen left no {DETAIL_LOG}"),
            Self::Error { key, text } => {
                write!(f, "the official LoadGen logged an error, {key}: {}", one_line(text))
            }
            Self::MoreErrors(count) => {
                let errors = counted(*count, "more error");
                write!(f, "the official LoadGen logged {errors}: see {DETAIL_LOG}")
            }
            Self::NoVerdict => f.write_str("the official LoadGen logged no verdict"),
            Self::Invalid(reasons) if reasons.is_empty() => {
                f.write_str("INVALID by the official LoadGen, where the host measured a VALID test")
            }
            Self::Invalid(reasons) => {
                write!(f, "INVALID by the official LoadGen, where the host measured a VALID test: {reasons}")
            }
            Self::Valid(reasons) => {
                write!(
                    f,
                    "VALID by the official LoadGen, whose figures count; the host measured: {}",
                    reasons.join("; ")
                )
            }
        }
    }
}

impl EngineFault {
    fn finding(self) -> Finding {
        let rule = match self {
            Self::Error { .. } | Self::MoreErrors(_) => Rule::EngineError,
            _ => Rule::EngineVerdict,
        };
        let is_broken = !matches!(self, Self::Valid(_));
        Finding::of_engine(rule, self, is_broken)
    }
}

impl EngineReport {
    /// Reads the logs that the engine of a test has left in its folder, and lets its errors and its verdict on the
    /// figures count.
    pub(crate) fn read(folder: &Path, outcome: &mut TestOutcome) -> Self {
        let is_whole = !outcome.is_left_behind;
        let read = LoadGenLogs::read(folder).map_err(|error| EngineFault::NoLog(error.to_string()));
        let read = read.and_then(|logs| logs.detail.ok_or(EngineFault::NoDetailLog));
        let part = read.as_ref().map_or_else(|_| EnginePart::default(), EnginePart::of_official);
        match &read {
            // The test is INVALID already.
            _ if !is_whole => {}
            Ok(log) => {
                follow_verdict(part.valid, log, outcome);
                let listed = part.errors.len();
                outcome.findings.extend(errors(log, listed).into_iter().map(EngineFault::finding));
            }
            Err(fault) => outcome.findings.push(fault.clone().finding()),
        }
        let log = read.ok();
        let part = EnginePart { name: EngineChoice::Official.name().to_owned(), ..part };
        Self { part, log, is_whole }
    }
}

/// Returns the errors in a log: the first ones, `listed` in number, and how many more there are.
fn errors(log: &DetailLog, listed: usize) -> Vec<EngineFault> {
    let of_event =
        |(key, text): &(String, String)| EngineFault::Error { key: key.clone(), text: text.clone() };
    let mut faults: Vec<_> = log.errors.iter().take(listed).map(of_event).collect();
    let more = log.error_count.saturating_sub(faults.len() as u64);
    faults.extend((more > 0).then_some(EngineFault::MoreErrors(more)));
    faults
}

/// Adjusts the findings to the verdict of the engine on the figures.
fn follow_verdict(valid: Option<bool>, log: &DetailLog, outcome: &mut TestOutcome) {
    let is_measured = outcome.performance.is_some();
    let fault = match valid {
        None if is_measured => Some(EngineFault::NoVerdict),
        None => None,
        Some(true) => {
            let broken = |finding: &&mut Finding| finding.is_broken() && finding.rule.is_about_figures();
            let mut reasons = Vec::new();
            for finding in outcome.findings.iter_mut().filter(broken) {
                reasons.push(finding.reason());
                finding.status = Status::Limiting;
                finding.remedy = None;
                finding.lift.clear();
            }
            (!reasons.is_empty()).then_some(EngineFault::Valid(reasons))
        }
        Some(false) => {
            let is_explained =
                outcome.findings.iter().any(|finding| finding.is_broken() && finding.rule.is_about_figures());
            let reasons = log.value("result_invalid_reason").and_then(Value::as_str);
            (!is_explained).then(|| EngineFault::Invalid(one_line(reasons.unwrap_or_default())))
        }
    };
    outcome.findings.extend(fault.map(EngineFault::finding));
}

/// Joins the lines of a text.
fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_in_the_log_breaks_a_rule_and_has_its_key_and_text() {
        let event = |key: &str, text: &str| (key.to_owned(), text.to_owned());
        let logged =
            vec![event("error_runtime", "a sample\n came twice"), event("error_settings", "both are set")];
        // One more cannot be read: LoadGen does not escape a line break.
        let log = DetailLog { errors: logged, error_count: 3, ..DetailLog::default() };
        let findings: Vec<_> = errors(&log, 8).into_iter().map(EngineFault::finding).collect();
        let texts: Vec<_> = findings.iter().map(Finding::reason).collect();
        let expected = [
            "the official LoadGen logged an error, error_runtime: a sample came twice",
            "the official LoadGen logged an error, error_settings: both are set",
            "the official LoadGen logged 1 more error: see mlperf_log_detail.txt",
        ];
        assert_eq!(texts, expected);
        assert!(findings.iter().all(|finding| finding.is_broken() && finding.rule == Rule::EngineError));
        let texts: Vec<_> = errors(&log, 1).iter().map(ToString::to_string).collect();
        assert_eq!(texts[1..], ["the official LoadGen logged 2 more errors: see mlperf_log_detail.txt"]);
        assert_eq!(errors(&DetailLog::default(), 8), []);
    }
}
