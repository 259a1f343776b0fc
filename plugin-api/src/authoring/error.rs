//! The error that a plugin returns: a status of the ABI and a message.

use crate::abi;

/// Reason why a plugin could not meet the host's request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PluginError {
    /// One of the `PROCTOR_STATUS` constants, not OK.
    pub status: abi::ProctorStatus,
    /// The cause, naming file, tensor or device, and the remedy.
    pub message: String,
    /// Vendor-specific code, such as the driver's; 0 for none.
    pub vendor_code: i64,
}

impl PluginError {
    fn new(status: abi::ProctorStatus, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), vendor_code: 0 }
    }

    /// Adds a vendor-specific code, such as the driver's.
    #[must_use]
    pub fn with_vendor_code(self, vendor_code: i64) -> Self {
        Self { vendor_code, ..self }
    }

    /// Creates a failure that has no status of its own.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(abi::PROCTOR_STATUS_FAILED, message)
    }

    /// Returns the status, FAILED if it says OK: an error that calls itself OK would be taken for a success.
    pub(super) fn failure_status(&self) -> abi::ProctorStatus {
        if self.status == abi::PROCTOR_STATUS_OK { abi::PROCTOR_STATUS_FAILED } else { self.status }
    }

    /// Reports that the plugin cannot do this; the message says why.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(abi::PROCTOR_STATUS_UNSUPPORTED, message)
    }

    /// Reports that the host passed a value that makes no sense.
    pub fn invalid_argument(message: impl Into<String>) -> Self {
        Self::new(abi::PROCTOR_STATUS_INVALID_ARGUMENT, message)
    }

    /// Reports that the call does not fit the state of the object.
    pub fn wrong_state(message: impl Into<String>) -> Self {
        Self::new(abi::PROCTOR_STATUS_WRONG_STATE, message)
    }

    /// Reports that a bounded queue is full; a query may be issued again.
    pub fn busy(message: impl Into<String>) -> Self {
        Self::new(abi::PROCTOR_STATUS_BUSY, message)
    }

    /// Reports insufficient memory, on the device or the host; with fewer instances there may be enough.
    pub fn out_of_memory(message: impl Into<String>) -> Self {
        Self::new(abi::PROCTOR_STATUS_OUT_OF_MEMORY, message)
    }

    /// Reports that the device is absent or no longer answers.
    pub fn device_lost(message: impl Into<String>) -> Self {
        Self::new(abi::PROCTOR_STATUS_DEVICE_LOST, message)
    }
}

impl From<std::io::Error> for PluginError {
    fn from(error: std::io::Error) -> Self {
        Self::failed(error.to_string())
    }
}
