//! Exceptions as errors of a plugin.

use proctor_plugin_api::PluginError;
use pyo3::{exceptions::PyMemoryError, prelude::*};

/// Returns a function or class of the Python side.
pub(crate) fn helper<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("proctor._backend.runner")?.getattr(name)
}

/// Returns an exception in a line, with the calls that led to it.
pub(crate) fn explained(py: Python<'_>, error: PyErr) -> String {
    let plain = error.to_string();
    // The value alone has its traceback, in every version of Python.
    let value = error.into_value(py);
    let explain = || helper(py, "explain")?.call1((value,))?.extract();
    explain().unwrap_or(plain)
}

/// Returns an exception as the failure of a call.
pub(crate) fn failed(py: Python<'_>, error: PyErr) -> PluginError {
    let no_memory = error.is_instance_of::<PyMemoryError>(py);
    let message = explained(py, error);
    if no_memory { PluginError::out_of_memory(message) } else { PluginError::failed(message) }
}

/// Returns the exception of a backend that says or answers what cannot be.
pub(crate) fn backend_error(py: Python<'_>, message: &str) -> PyErr {
    match helper(py, "BackendError").and_then(|class| class.call1((message,))) {
        Ok(value) => PyErr::from_value(value),
        Err(error) => error,
    }
}
