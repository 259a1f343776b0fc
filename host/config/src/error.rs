//! Errors of settings.

use std::{fmt, io, path::PathBuf};

use proctor_loadgen::{TraceError, config_file::ConfigFileError};
use proctor_vocabulary::{Scenario, printable};

use crate::{
    origin::Origin,
    suite::choice::{RoundScenario, Suite},
};

/// A fault in the settings. Every message names the place, the key and the value.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("cannot read {}: {source}", path.display())]
    CannotRead { path: PathBuf, source: io::Error },
    /// A requested file is of another kind; `what` names it.
    #[error("cannot read {}: {what}", path.display())]
    Misfetched { path: PathBuf, what: &'static str },
    /// A file is not TOML.
    #[error("{}:{line}: {message}", path.display())]
    TomlSyntax { path: PathBuf, line: usize, message: String },
    /// A line of a file in LoadGen's format is in error.
    #[error("{}: {error}", path.display())]
    LoadGenSyntax { path: PathBuf, error: ConfigFileError },
    /// A line of a trace of arrivals is in error.
    #[error("{}: {error}", path.display())]
    Trace { path: PathBuf, error: TraceError },
    #[error(
        "arrivals = trace needs a trace: give arrivals_trace, a file with an arrival instant on each line"
    )]
    NoTrace,
    #[error("{origin}: unknown setting \"{key}\"{hint}")]
    UnknownKey { origin: Origin, key: String, hint: String },
    /// A key with model and scenario, as in LoadGen's files.
    #[error(
        "{origin}: {key} is a line of LoadGen's files: put it into a file for --user-conf, or set {setting}"
    )]
    LineOfLoadGen { origin: Origin, key: String, setting: &'static str },
    #[error("{origin}: {key} means nothing in scenario {scenario}; it stands for {meanings}")]
    NotInScenario { origin: Origin, key: String, scenario: Scenario, meanings: String },
    /// A value of the wrong type, or an unknown name.
    #[error("{origin}: {key} = {value}: give {expected}")]
    WrongType { origin: Origin, key: String, value: String, expected: String },
    #[error("{origin}: {key} = {value} is out of range: give {allowed}")]
    OutOfRange { origin: Origin, key: String, value: String, allowed: String },
    #[error("flag {flag}: \"{text}\" is no assignment: write setting=value or plugin.option=value")]
    MalformedAssignment { flag: String, text: String },
    #[error(
        "{origin}: unknown benchmark \"{name}\"{hint}; known are {known}, or give the path of a definition (*.toml)"
    )]
    UnknownBenchmark { origin: Origin, name: String, hint: String, known: String },
    /// A key of a benchmark definition is unknown, missing or wrong.
    #[error("{}: {key}: {problem}", file.display())]
    Definition { file: PathBuf, key: String, problem: String },
    #[error("{origin}: quality_target = {value}: {benchmark} under {round}{} has {known}", in_suite(*suite))]
    NoSuchTarget {
        origin: Origin,
        value: f64,
        benchmark: String,
        round: &'static str,
        suite: Option<Suite>,
        known: String,
    },
    #[error(
        "{origin}: benchmark {benchmark} has no scenario {scenario}{}; it has {known}{}",
        because(reason),
        then(having)
    )]
    NoSuchScenario {
        origin: Origin,
        benchmark: String,
        scenario: RoundScenario,
        reason: String,
        known: String,
        /// The rounds that have Interactive, in words; otherwise empty.
        having: String,
    },
    /// The round does not have Interactive for the benchmark. `own` is the benchmark that it has instead.
    #[error("{origin}: scenario = Interactive: {round} does not have it; {having}{}", in_its_place(*own, round))]
    NoInteractive { origin: Origin, round: &'static str, own: Option<&'static str>, having: String },
    #[error("{origin}: suite = {suite}: {round} has no suites; leave it out")]
    NoSuites { origin: Origin, suite: Suite, round: &'static str },
}

fn in_suite(suite: Option<Suite>) -> String {
    suite.map_or_else(String::new, |suite| format!(" in the suite {suite}"))
}

fn then(having: &str) -> String {
    if having.is_empty() { String::new() } else { format!("; {having}") }
}

fn in_its_place(own: Option<&str>, round: &str) -> String {
    own.map_or_else(String::new, |own| {
        format!(", and {round} has the benchmark {own} on Server in its place")
    })
}

fn because(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(", because {reason}") }
}

/// All faults of the settings, at least one.
#[derive(Debug)]
pub struct ConfigErrors(pub(crate) Vec<ConfigError>);

impl fmt::Display for ConfigErrors {
    /// Writes one error on each line, regardless of the contents of keys and values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, error) in self.0.iter().enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            f.write_str(&printable(error))?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}
