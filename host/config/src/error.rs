//! Errors of settings.

use std::{fmt, io, path::PathBuf};

use proctor_loadgen::config_file::ConfigFileError;
use proctor_vocabulary::Scenario;

use crate::origin::Origin;

/// One thing that is wrong with the settings. Every message names the place, the key and the value.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file that was asked for cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    CannotRead {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file is not TOML.
    #[error("{}:{line}: {message}", path.display())]
    TomlSyntax {
        /// The file.
        path: PathBuf,
        /// Line of the error, from 1.
        line: usize,
        /// The parser's message, on one line.
        message: String,
    },
    /// A line of a file in LoadGen's format is in error.
    #[error("{}: {error}", path.display())]
    LoadGenSyntax {
        /// The file.
        path: PathBuf,
        /// Line and reason.
        error: ConfigFileError,
    },
    /// No setting has this name.
    #[error("{origin}: unknown setting \"{key}\"{hint}")]
    UnknownKey {
        /// Where it stands.
        origin: Origin,
        /// The name as given.
        key: String,
        /// A suggestion, or empty.
        hint: String,
    },
    /// A short name that means nothing in this scenario.
    #[error("{origin}: {key} means nothing in scenario {scenario}; it stands for {meanings}")]
    NotInScenario {
        /// Where it stands.
        origin: Origin,
        /// The short name.
        key: String,
        /// The scenario that is run.
        scenario: Scenario,
        /// Its meaning in each scenario.
        meanings: String,
    },
    /// A value of the wrong type, or an unknown name.
    #[error("{origin}: {key} = {value}: give {expected}")]
    WrongType {
        /// Where it stands.
        origin: Origin,
        /// The setting.
        key: String,
        /// The value as given.
        value: String,
        /// The values that the setting takes.
        expected: String,
    },
    /// A number that makes no sense.
    #[error("{origin}: {key} = {value} is out of range: give {allowed}")]
    OutOfRange {
        /// Where it stands.
        origin: Origin,
        /// The setting.
        key: String,
        /// The value as given.
        value: String,
        /// The allowed range, with the unit.
        allowed: String,
    },
    /// An argument of `--set` that is no assignment.
    #[error("flag {flag}: \"{text}\" is no assignment: write setting=value or plugin.option=value")]
    MalformedAssignment {
        /// The flag.
        flag: String,
        /// Its argument.
        text: String,
    },
    /// No benchmark has this name.
    #[error(
        "{origin}: unknown benchmark \"{name}\"{hint}; known are {known}, or give the path of a definition (*.toml)"
    )]
    UnknownBenchmark {
        /// Where the name stands.
        origin: Origin,
        /// The name as given.
        name: String,
        /// A suggestion, or empty.
        hint: String,
        /// All built-in benchmarks, separated by commas.
        known: String,
    },
    /// A key of a benchmark definition is unknown, missing or wrong.
    #[error("{}: {key}: {problem}", file.display())]
    Definition {
        /// File of the definition.
        file: PathBuf,
        /// Path of the key, with dots.
        key: String,
        /// The fault, and what to do.
        problem: String,
    },
    /// The benchmark does not have the scenario.
    #[error("{origin}: benchmark {benchmark} has no scenario {scenario}{}; it has {known}", because(reason))]
    NoSuchScenario {
        /// Where the scenario was asked for.
        origin: Origin,
        /// The benchmark.
        benchmark: String,
        /// The scenario.
        scenario: Scenario,
        /// Why not, or empty.
        reason: String,
        /// The scenarios that it has, separated by commas.
        known: String,
    },
}

fn because(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(", because {reason}") }
}

/// Everything that is wrong with the settings, at least one thing.
#[derive(Debug)]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl fmt::Display for ConfigErrors {
    /// One error on each line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, error) in self.0.iter().enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}
