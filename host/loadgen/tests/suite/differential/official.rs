//! Runs the official LoadGen behind a pipe: the driver process, and its output of a case.

use std::{fs, path::Path};

use proctor_test_needs::{PythonPipe, official_loadgen};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::differential::case::Case;

/// A process that runs one case after the other.
pub struct Official(PythonPipe);

/// Outcome of a case.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outcome {
    Ran(Run),
    Crash { detail: String },
    Hang,
}

impl Outcome {
    /// The word for it in the list of differences.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ran(_) => "ran",
            Self::Crash { .. } => "crash",
            Self::Hang => "hang",
        }
    }
}

#[derive(Debug, Deserialize)]
pub struct Run {
    /// Return codes of the calls of `FromConfig`.
    pub codes: Vec<i32>,
    /// The settings that the test was asked for.
    pub values: Map<String, Value>,
    /// The calls that LoadGen made, in order.
    pub calls: Vec<Call>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Call {
    Load { indices: Vec<u64> },
    Issue { indices: Vec<u64>, actions: Vec<Action> },
    Flush { actions: Vec<Action> },
    Unload { indices: Vec<u64> },
}

/// One call of `QuerySamplesComplete` or `FirstTokenComplete`.
#[derive(Debug, Clone, Deserialize)]
pub struct Action {
    pub kind: ActionKind,
    pub responses: Vec<Response>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionKind {
    Complete,
    FirstToken,
}

/// Number of the sample in the test, data in hexadecimal digits, number of tokens.
#[derive(Debug, Clone, Deserialize)]
pub struct Response(pub u64, pub String, pub u32);

impl Official {
    /// Starts the driver; the error is the reason why it cannot run here.
    pub fn start() -> Result<Self, String> {
        official_loadgen().map(Self)
    }

    /// Runs a case, which leaves LoadGen's log files in `folder`.
    pub fn run(&mut self, case: &Case, folder: &Path) -> Result<Outcome, String> {
        let line = self.0.ask(case.request(folder))?;
        serde_json::from_str(&line).map_err(|error| format!("the driver's outcome {line:?}: {error}"))
    }
}

/// Reads one of the files in the folder of a case.
pub fn text(folder: &Path, name: &str) -> Result<String, String> {
    fs::read_to_string(folder.join(name)).map_err(|error| format!("{name}: {error}"))
}
