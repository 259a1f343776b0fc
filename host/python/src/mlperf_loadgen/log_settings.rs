//! `LogSettings` and `LogOutputSettings`: where the logs go.

use proctor_loadgen as loadgen;
use pyo3::prelude::*;

use super::{
    arguments::{Switch, Text, Unsigned},
    enums::LoggingMode,
};

/// LoadGen's number, which nothing reads: here the logs are written after the test.
const POLL_INTERVAL_MS: u64 = 1000;

/// Destination of the logs.
#[pyclass(module = "proctor.mlperf_loadgen", get_all, set_all)]
#[derive(Debug, Clone)]
pub(crate) struct LogOutputSettings {
    outdir: Text,
    prefix: Text,
    suffix: Text,
    prefix_with_datetime: Switch,
    copy_detail_to_stdout: Switch,
    copy_summary_to_stdout: Switch,
}

#[pymethods]
impl LogOutputSettings {
    #[new]
    fn new() -> Self {
        let loadgen::LogOutputSettings { prefix, suffix, .. } = loadgen::LogOutputSettings::default();
        Self {
            outdir: Text(".".to_owned()),
            prefix: Text(prefix),
            suffix: Text(suffix),
            prefix_with_datetime: Switch(false),
            copy_detail_to_stdout: Switch(false),
            copy_summary_to_stdout: Switch(false),
        }
    }
}

impl LogOutputSettings {
    /// Returns the destination as the load generator takes it.
    fn output(&self) -> loadgen::LogOutputSettings {
        loadgen::LogOutputSettings {
            outdir: self.outdir.path(),
            prefix: self.prefix.0.clone(),
            suffix: self.suffix.0.clone(),
            prefix_with_datetime: self.prefix_with_datetime.0,
            copy_detail_to_stdout: self.copy_detail_to_stdout.0,
            copy_summary_to_stdout: self.copy_summary_to_stdout.0,
        }
    }
}

/// Settings of the logs: their contents and their place.
#[pyclass(module = "proctor.mlperf_loadgen")]
#[derive(Debug)]
pub(crate) struct LogSettings {
    /// The one object for as long as these settings live: what is changed in it is changed here.
    #[pyo3(get)]
    log_output: Py<LogOutputSettings>,
    #[pyo3(get, set)]
    log_mode: LoggingMode,
    #[pyo3(get, set)]
    log_mode_async_poll_interval_ms: Unsigned,
    #[pyo3(get, set)]
    enable_trace: Switch,
}

#[pymethods]
impl LogSettings {
    #[new]
    fn new(py: Python<'_>) -> PyResult<Self> {
        Ok(Self {
            log_output: Py::new(py, LogOutputSettings::new())?,
            log_mode: LoggingMode::AsyncPoll,
            log_mode_async_poll_interval_ms: Unsigned(POLL_INTERVAL_MS),
            enable_trace: Switch(true),
        })
    }

    /// Copies the values: `log_output` stays the object that it was.
    #[setter]
    fn set_log_output(&self, py: Python<'_>, value: PyRef<'_, LogOutputSettings>) -> PyResult<()> {
        let values = value.clone();
        drop(value);
        *self.log_output.try_borrow_mut(py)? = values;
        Ok(())
    }
}

/// The settings of the logs, as a test takes them.
pub(super) struct Logging {
    pub output: loadgen::LogOutputSettings,
    pub enable_trace: bool,
}

impl Logging {
    /// Returns what a test without log settings has.
    pub(super) fn new() -> Self {
        Self { output: loadgen::LogOutputSettings::default(), enable_trace: true }
    }

    pub(super) fn of(py: Python<'_>, settings: &LogSettings) -> PyResult<Self> {
        let output = settings.log_output.try_borrow(py)?.output();
        Ok(Self { output, enable_trace: settings.enable_trace.0 })
    }
}
