//! Errors of the host as exceptions.

use std::any::Any;

use proctor_display::exit_code;
use proctor_words::{Conclusion, HostError};
use pyo3::{exceptions::PyRuntimeError, prelude::*, types::PyAny};

/// A kind of error and its text, for the exception of that kind.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    /// Name of the exception in `proctor._errors`.
    pub(crate) kind: &'static str,
    /// The program's text, a line for each cause.
    pub(crate) text: String,
}

impl Failure {
    /// Creates the failure of a program that is busy.
    pub(crate) fn busy(text: &str) -> Self {
        Self { kind: "BusyError", text: text.to_owned() }
    }

    /// Creates the failure of data that do not fit.
    pub(crate) fn data(text: impl Into<String>) -> Self {
        Self { kind: "DataError", text: text.into() }
    }

    /// Creates the failure of a plugin.
    pub(crate) fn plugin(text: impl Into<String>) -> Self {
        Self { kind: "PluginError", text: text.into() }
    }

    /// Returns the exception.
    pub(crate) fn exception(&self, py: Python<'_>) -> PyErr {
        let made = py.import("proctor._errors").and_then(|errors| {
            let class = errors.getattr(self.kind)?;
            class.call1((self.text.as_str(),))
        });
        match made {
            Ok(exception) => PyErr::from_value(exception),
            Err(_) => PyRuntimeError::new_err(self.text.clone()),
        }
    }
}

/// Returns the message of a panic.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

impl From<&HostError> for Failure {
    fn from(error: &HostError) -> Self {
        let kind = match exit_code::of_error(error) {
            exit_code::SETTINGS => "SettingsError",
            exit_code::PLUGIN => "PluginError",
            exit_code::DATA => "DataError",
            exit_code::OUTPUT => "OutputError",
            code if code == Conclusion::Interrupted.exit_code() => "Interrupted",
            _ => "Error",
        };
        Self { kind, text: error.messages().join("\nbecause: ") }
    }
}

impl From<HostError> for Failure {
    fn from(error: HostError) -> Self {
        Self::from(&error)
    }
}

impl<'py> IntoPyObject<'py> for Failure {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> Result<Self::Output, Self::Error> {
        Ok((self.kind, self.text).into_pyobject(py)?.into_any())
    }
}
