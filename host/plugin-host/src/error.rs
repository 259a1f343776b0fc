//! Everything that can go wrong at the plugin boundary.

use std::path::PathBuf;

use proctor_plugin_api::{OptionError, abi};

use crate::call::Call;

/// Why a plugin cannot be found, loaded, believed or used.
///
/// `source_name` is the path of the library, or the name of the linked-in plugin; `plugin` is the name that the
/// plugin gives itself.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PluginHostError {
    /// No plugin has this name.
    #[error("found no plugin \"{name}\"{hint}; looked in {looked}")]
    NotFound {
        /// The name as given.
        name: String,
        /// A suggestion, or empty.
        hint: String,
        /// Every place that was searched.
        looked: String,
    },
    /// The file is not there or cannot be read.
    #[error("cannot read the plugin {}: {reason}", path.display())]
    FileMissing {
        /// Which file.
        path: PathBuf,
        /// Reason that the operating system gives.
        reason: String,
    },
    /// The dynamic linker does not take the file.
    #[error("{} is not a shared library that can be loaded here: {reason}", path.display())]
    NotALibrary {
        /// Which file.
        path: PathBuf,
        /// Reason that the dynamic linker gives.
        reason: String,
    },
    /// The library does not export the entry.
    #[error("{} is a shared library, but no plugin: it does not export `{}`", path.display(), abi::PROCTOR_PLUGIN_ENTRY)]
    NoEntry {
        /// Which file.
        path: PathBuf,
    },
    /// Host and plugin do not agree on the ABI: the plugin refuses, follows another version, or was compiled with other
    /// types.
    #[error("{source_name} {problem}")]
    Version {
        /// Which plugin.
        source_name: String,
        /// The disagreement, as the rest of a sentence.
        problem: String,
    },
    /// A structure, pointer or text of the plugin cannot be read, its manifest contradicts itself, or a function or an
    /// extension that it has to have is missing.
    #[error("{source_name}: {problem}")]
    Malformed {
        /// Which plugin.
        source_name: String,
        /// Which part, and why it cannot be used.
        problem: String,
    },
    /// An option is unknown or has a wrong value.
    #[error("plugin {plugin}: {error}")]
    Option {
        /// Which plugin.
        plugin: String,
        /// Why the option is refused.
        #[source]
        error: OptionError,
    },
    /// The plugin does not declare what is asked of it.
    #[error("plugin {plugin} does not declare {what} {wanted}; it declares {declared}")]
    NotDeclared {
        /// Which plugin.
        plugin: String,
        /// Model, format, precision, device, scenario or batch size.
        what: &'static str,
        /// The value that was asked for.
        wanted: String,
        /// The values that the manifest has, given everything else that was asked for.
        declared: String,
    },
    /// The host's own request makes no sense.
    #[error("cannot ask plugin {plugin} for that: {what}")]
    BadDemand {
        /// Which plugin.
        plugin: String,
        /// The part that makes no sense.
        what: String,
    },
    /// A call returned a status other than OK.
    #[error("plugin {plugin}: {call} failed ({}){}", status_name(*status), prefixed(message))]
    CallFailed {
        /// Which plugin.
        plugin: String,
        /// Which call.
        call: Call,
        /// The status, one of the ABI's.
        status: abi::ProctorStatus,
        /// The plugin's own words, or empty.
        message: String,
    },
    /// A call returned OK and a null handle.
    #[error("plugin {plugin}: {call} returned OK and a null handle")]
    NullHandle {
        /// Which plugin.
        plugin: String,
        /// Which call.
        call: Call,
    },
    /// The call does not fit the life cycle.
    #[error("plugin {plugin}: {call} does not fit the state \"{state}\" of the {object}")]
    WrongState {
        /// Which plugin.
        plugin: String,
        /// Which call.
        call: Call,
        /// Backend, model or instance.
        object: &'static str,
        /// Where in its life the object is.
        state: &'static str,
    },
    /// An output does not have the size that the model was asked for.
    #[error("plugin {plugin}: output \"{tensor}\" of sample {sample} has {got} bytes instead of {expected}")]
    OutputSize {
        /// Which plugin.
        plugin: String,
        /// Name of the tensor.
        tensor: String,
        /// Sample index.
        sample: u64,
        /// Size of the declared shape, in bytes.
        expected: usize,
        /// Size that the plugin states, in bytes.
        got: usize,
    },
    /// The crash report cannot be set up.
    #[error("cannot set up the crash report {}: {reason}", path.display())]
    CrashReport {
        /// Path of the report.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

fn prefixed(message: &str) -> String {
    if message.is_empty() { ", without a message".into() } else { format!(": {message}") }
}

/// The name of a status; unknown codes are read as INTERNAL.
pub(crate) fn status_name(status: abi::ProctorStatus) -> &'static str {
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

/// The status itself if it is known, else INTERNAL.
pub(crate) fn known_status(status: abi::ProctorStatus) -> abi::ProctorStatus {
    if (abi::PROCTOR_STATUS_OK..=abi::PROCTOR_STATUS_INTERNAL).contains(&status) {
        status
    } else {
        abi::PROCTOR_STATUS_INTERNAL
    }
}
