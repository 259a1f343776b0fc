//! Everything that can go wrong at the plugin boundary.

use std::path::PathBuf;

use proctor_plugin_api::{OptionError, abi};
use serde::{Deserialize, Serialize};

use crate::call::Call;

/// Reason why a plugin cannot be found, loaded, believed or used.
///
/// `plugin` is the name that the plugin gives itself.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum PluginHostError {
    #[error("found no plugin \"{name}\"{hint}; looked in {looked}")]
    NotFound {
        name: String,
        /// A suggestion, or empty.
        hint: String,
        looked: String,
    },
    /// The plugin cannot be loaded or believed: the file cannot be read, is not a shared library or does not export the
    /// entry; the ABI is another; or a structure, text, handle or function of the plugin is missing or wrong. The text
    /// names the plugin or its file, and the problem.
    #[error("{0}")]
    Unusable(String),
    /// The plugin is written in Python, and this process is no interpreter.
    #[error("{} is a plugin in Python, which runs in an interpreter: python3 -m proctor", .0.display())]
    NoInterpreter(PathBuf),
    /// An option is unknown or has a wrong value.
    #[error("plugin {plugin}: {error}")]
    Option { plugin: String, error: OptionError },
    /// The manifest does not declare the request, or the request makes no sense. The text names the plugin and the part
    /// of the request.
    #[error("{0}")]
    Demand(String),
    #[error("plugin {plugin}: {call} failed ({}){}", with_code(*status, *vendor_code), prefixed(message))]
    CallFailed {
        plugin: String,
        call: Call,
        /// The status, one of the ABI's.
        status: abi::ProctorStatus,
        /// Code of the vendor's own; 0 for none.
        vendor_code: i64,
        /// The plugin's own words, or empty.
        message: String,
    },
    /// The call does not fit the life cycle; the text names the object and the state that it is in.
    #[error("{0}")]
    WrongState(String),
    #[error("plugin {plugin}: output \"{tensor}\" of sample {sample} has {got} bytes instead of {expected}")]
    OutputSize { plugin: String, tensor: String, sample: u64, expected: usize, got: usize },
    /// The crash report cannot be set up; the text has the path of the report and the reason.
    #[error("cannot set up the crash report {0}")]
    CrashReport(String),
}

impl PluginHostError {
    /// Returns whether the plugin refused a query because its queue is full: the query is to be issued again.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::CallFailed { call: Call::Issue, status: abi::PROCTOR_STATUS_BUSY, .. })
    }
}

fn prefixed(message: &str) -> String {
    if message.is_empty() { ", without a message".into() } else { format!(": {message}") }
}

/// Returns the name of a status, with the code of the vendor's own unless that is 0.
pub(crate) fn with_code(status: abi::ProctorStatus, vendor_code: i64) -> String {
    let name = status_name(status);
    if vendor_code == 0 { name.to_owned() } else { format!("{name}, code {vendor_code}") }
}

/// Returns the name of a status; unknown codes are read as INTERNAL.
#[must_use]
pub fn status_name(status: abi::ProctorStatus) -> &'static str {
    match status {
        abi::PROCTOR_STATUS_OK => "OK",
        abi::PROCTOR_STATUS_FAILED => "FAILED",
        abi::PROCTOR_STATUS_INVALID_ARGUMENT => "INVALID_ARGUMENT",
        abi::PROCTOR_STATUS_UNSUPPORTED => "UNSUPPORTED",
        abi::PROCTOR_STATUS_WRONG_STATE => "WRONG_STATE",
        abi::PROCTOR_STATUS_OUT_OF_MEMORY => "OUT_OF_MEMORY",
        abi::PROCTOR_STATUS_DEVICE_LOST => "DEVICE_LOST",
        abi::PROCTOR_STATUS_CANCELLED => "CANCELLED",
        abi::PROCTOR_STATUS_PANICKED => "PANICKED",
        abi::PROCTOR_STATUS_BUSY => "BUSY",
        _ => "INTERNAL",
    }
}

/// Returns the status itself if it is known, else INTERNAL.
pub(crate) fn known_status(status: abi::ProctorStatus) -> abi::ProctorStatus {
    if (abi::PROCTOR_STATUS_OK..=abi::PROCTOR_STATUS_INTERNAL).contains(&status) {
        status
    } else {
        abi::PROCTOR_STATUS_INTERNAL
    }
}
