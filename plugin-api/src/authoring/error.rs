//! The error that a plugin returns: a status of the ABI and a message.

use crate::abi;

/// Why a plugin could not do what the host asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PluginError {
    /// One of the `PROCTOR_STATUS` constants, not OK.
    pub status: abi::ProctorStatus,
    /// The cause, naming file, tensor or device, and what to do.
    pub message: String,
}

impl PluginError {
    /// A failure that has no status of its own.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { status: abi::PROCTOR_STATUS_FAILED, message: message.into() }
    }

    /// The plugin cannot do this; the message says why.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self { status: abi::PROCTOR_STATUS_UNSUPPORTED, message: message.into() }
    }

    /// The host passed something that makes no sense.
    pub fn invalid_argument(message: impl Into<String>) -> Self {
        Self { status: abi::PROCTOR_STATUS_INVALID_ARGUMENT, message: message.into() }
    }

    /// The device is absent or stopped answering.
    pub fn device_lost(message: impl Into<String>) -> Self {
        Self { status: abi::PROCTOR_STATUS_DEVICE_LOST, message: message.into() }
    }
}

impl From<std::io::Error> for PluginError {
    fn from(error: std::io::Error) -> Self {
        Self::failed(error.to_string())
    }
}
