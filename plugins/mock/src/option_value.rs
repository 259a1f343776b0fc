//! The values of options that have a default.

use proctor_plugin_api::PluginError;

/// Returns the value of an option that has a default, which the host fills in.
pub(crate) fn required<T>(name: &str, value: Option<T>) -> Result<T, PluginError> {
    value
        .ok_or_else(|| PluginError::invalid_argument(format!("the host gave no value for option \"{name}\"")))
}
