//! Converts failures of calls into messages to the host.

use std::io;

use proctor_isolated::protocol::Failure;
use proctor_plugin_api::abi;
use proctor_plugin_host::PluginHostError;

/// Returns a failure in the form sent to the host.
pub(crate) fn failure_of(error: PluginHostError) -> Failure {
    match error {
        PluginHostError::CallFailed { status, vendor_code, message, .. } => {
            Failure { status, vendor_code, message }
        }
        other => {
            let status = match &other {
                PluginHostError::Demand(_) => abi::PROCTOR_STATUS_UNSUPPORTED,
                PluginHostError::WrongState(_) => abi::PROCTOR_STATUS_WRONG_STATE,
                _ => abi::PROCTOR_STATUS_INTERNAL,
            };
            Failure { status, vendor_code: 0, message: other.to_string() }
        }
    }
}

/// Returns a failure of the system.
pub(crate) fn failure_of_system(error: io::Error) -> Failure {
    Failure { status: abi::PROCTOR_STATUS_OUT_OF_MEMORY, vendor_code: 0, message: error.to_string() }
}

/// Returns a call that does not fit.
pub(crate) fn wrong_state(message: &str) -> Failure {
    Failure { status: abi::PROCTOR_STATUS_WRONG_STATE, vendor_code: 0, message: message.to_owned() }
}
