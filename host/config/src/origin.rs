//! Origins of values.

use std::{fmt, path::PathBuf};

use figment::Metadata;
use serde::Serialize;

/// Origin of a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Origin {
    /// No source gives one.
    Default,
    /// The rules of the round.
    Round {
        /// Name of the round.
        name: String,
    },
    /// The load generator that the run is by, whose rounds are few.
    Engine {
        /// Name of the load generator.
        name: String,
    },
    /// The preset.
    Preset {
        /// Name of the preset.
        name: String,
    },
    /// The definition of the benchmark.
    Benchmark {
        /// Id of the benchmark.
        name: String,
        /// File; for a built-in definition just the name of the file.
        file: PathBuf,
    },
    /// The benchmark of the suites that the definition links to, in the round of the run.
    Suite {
        /// Id of the benchmark of the suites.
        name: String,
        /// Name of the round.
        round: String,
        /// File of the round.
        file: PathBuf,
    },
    /// The recorded trace of arrivals.
    Trace {
        /// Path of the file.
        path: PathBuf,
    },
    /// The configuration file, `proctor.toml`.
    File {
        /// Path of the file.
        path: PathBuf,
        /// Line of the value, from 1.
        line: usize,
    },
    /// A file in LoadGen's own format, `mlperf.conf` or `user.conf`.
    LoadGenConf {
        /// Path of the file.
        path: PathBuf,
        /// Line of the value, from 1.
        line: u64,
        /// The key, as written there.
        key: String,
    },
    /// The audit file of the run, whose settings are in effect in its performance run.
    Audit {
        /// Path of the file.
        path: PathBuf,
        /// Line of the value, from 1.
        line: u64,
        /// The key, as written there.
        key: String,
    },
    /// An environment variable.
    Environment {
        /// Name of the variable.
        variable: String,
    },
    /// The record of an earlier run: its result, or its log.
    Recorded {
        /// Path of the file.
        path: PathBuf,
    },
    /// The command line.
    Flag {
        /// The flag, as written.
        flag: String,
    },
}

impl Origin {
    /// Returns whether it is a line of a file in LoadGen's own format.
    pub(crate) fn is_line_of_loadgen(&self) -> bool {
        matches!(self, Self::LoadGenConf { .. } | Self::Audit { .. })
    }

    /// Returns whether the user has set it.
    #[must_use]
    pub fn is_user(&self) -> bool {
        match self {
            Self::Default
            | Self::Round { .. }
            | Self::Engine { .. }
            | Self::Preset { .. }
            | Self::Benchmark { .. }
            | Self::Suite { .. }
            | Self::Trace { .. } => false,
            Self::File { .. }
            | Self::LoadGenConf { .. }
            | Self::Audit { .. }
            | Self::Environment { .. }
            | Self::Recorded { .. }
            | Self::Flag { .. } => true,
        }
    }

    /// Returns the same for figment, which has room for a text and for a file, a variable or a flag.
    pub(crate) fn metadata(&self) -> Metadata {
        let metadata = Metadata::named(self.to_string());
        match self {
            Self::Default | Self::Round { .. } | Self::Engine { .. } | Self::Preset { .. } => metadata,
            Self::Benchmark { file: path, .. }
            | Self::Suite { file: path, .. }
            | Self::Trace { path }
            | Self::File { path, .. }
            | Self::LoadGenConf { path, .. }
            | Self::Audit { path, .. }
            | Self::Recorded { path } => metadata.source(path.as_path()),
            Self::Environment { variable: name } | Self::Flag { flag: name } => {
                metadata.source(name.as_str())
            }
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Default => "default".to_owned(),
            Self::Round { name } => format!("round {name}"),
            Self::Engine { name } => format!("engine {name}"),
            Self::Preset { name } => format!("preset {name}"),
            Self::Benchmark { name, file } => format!("benchmark {name} ({})", file.display()),
            Self::Suite { name, round, file } => format!("suite {name} of {round} ({})", file.display()),
            Self::Trace { path } => format!("trace {}", path.display()),
            Self::File { path, line } => format!("{}:{line}", path.display()),
            Self::LoadGenConf { path, line, key } => format!("{}:{line} ({key})", path.display()),
            Self::Audit { path, line, key } => format!("audit {}:{line} ({key})", path.display()),
            Self::Environment { variable } => format!("environment variable {variable}"),
            Self::Recorded { path } => format!("recorded in {}", path.display()),
            Self::Flag { flag } => format!("flag {flag}"),
        };
        f.pad(&text)
    }
}
