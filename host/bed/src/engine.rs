//! The engine of a test other than the load generator of the host, where this process has one.

use std::{
    fmt,
    path::{self, Path, PathBuf},
    sync::{Arc, OnceLock},
};

use proctor_config::{EngineChoice, Settings};
use proctor_loadgen::{Finding, Status, TestOutcome, engine::Engine};
use proctor_results::{DetailLog, EnginePart, LoadGenLogs};
use proctor_words::{HostError, UsageError};
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

/// A difference between the verdict of the engine and that of the host, or why there is no verdict.
#[derive(Debug, Clone)]
enum EngineFault {
    /// The logs cannot be read.
    NoLog(String),
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

impl EngineReport {
    /// Reads the logs that the engine of a test has left in its folder, and lets its verdict on the figures count.
    pub(crate) fn read(folder: &Path, outcome: &mut TestOutcome) -> Self {
        let is_whole = !outcome.is_left_behind;
        let log = match LoadGenLogs::read(folder) {
            Ok(logs) => logs.detail,
            Err(error) if is_whole => {
                outcome.findings.push(Finding::of_engine(EngineFault::NoLog(error.to_string()), true));
                None
            }
            // The test is INVALID already.
            Err(_) => None,
        };
        let part = log.as_ref().map_or_else(EnginePart::default, EnginePart::of_official);
        if is_whole && log.is_some() {
            follow_verdict(part.valid, log.as_ref(), outcome);
        }
        let part = EnginePart { name: EngineChoice::Official.name().to_owned(), ..part };
        Self { part, log, is_whole }
    }
}

/// Adjusts the findings to the verdict of the engine on the figures.
fn follow_verdict(valid: Option<bool>, log: Option<&DetailLog>, outcome: &mut TestOutcome) {
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
            let reasons = log.and_then(|log| log.value("result_invalid_reason")).and_then(Value::as_str);
            (!is_explained).then(|| EngineFault::Invalid(one_line(reasons.unwrap_or_default())))
        }
    };
    let is_broken = !matches!(fault, Some(EngineFault::Valid(_)));
    outcome.findings.extend(fault.map(|fault| Finding::of_engine(fault, is_broken)));
}

/// Joins the lines of a text.
fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}
