//! The messages between the suite and the process of a case.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::request::Request;

/// Environment variable that makes a process one of the suite: its assignment, as JSON. Variables that begin
/// with `PROCTOR_` are settings.
pub(crate) const ASSIGNMENT_VARIABLE: &str = "ASSIGNMENT_OF_PROCTOR_VALIDATOR";

/// File of the case's folder for the reply.
pub(crate) const REPLY: &str = "reply.json";
/// File of the case's folder for the report of a crash.
pub(crate) const CRASH: &str = "crash.txt";
/// Files of the case's folder for the output of the process and its plugin.
pub(crate) const STDERR: &str = "stderr";
pub(crate) const STDOUT: &str = "stdout";

/// The assignment of a process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Assignment {
    pub(crate) task: Task,
    pub(crate) request: Request,
    /// Folder of the case alone.
    pub(crate) folder: PathBuf,
    /// Time limit, in ms.
    pub(crate) limit_ms: u64,
}

/// The task of a process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Task {
    /// Examine the plugin.
    Look,
    /// Run one case.
    Case {
        /// Name of the case.
        name: String,
        /// The model to load, as the look found it.
        model: Option<FoundModel>,
    },
}

/// A model that the plugin declares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundModel {
    /// Name of its benchmark, or path of the definition.
    pub benchmark: String,
    /// A scenario that the plugin declares for it.
    pub scenario: String,
    /// Precision of the model.
    pub precision: String,
}

/// The plugin's own description.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginFacts {
    /// Name in its manifest.
    pub name: String,
    /// Version.
    pub version: String,
    /// Path of the library, or a note that it is linked in.
    pub source: String,
    /// SHA-256 of the library.
    pub sha256: Option<String>,
    /// Version of the ABI that it follows.
    pub abi_version: String,
}

/// The reply of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// The plugin as found. An error means that the settings are wrong for it.
    Looked { plugin: PluginFacts, model: Option<FoundModel>, usage: Option<String> },
    /// The case passed.
    Passed,
    /// The case is not about this plugin.
    Skipped { reason: String },
    /// The case failed.
    Failed { reason: String },
}
