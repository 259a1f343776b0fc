//! The enumerations, in the manner of the official module: an enumerator equals only its like, and `int` has its
//! number.

use proctor_vocabulary as vocabulary;
use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyDict, PyType},
};

use super::arguments::Unsigned;

macro_rules! enumeration {
    ($(#[doc = $doc:literal])+ $name:ident { $($variant:ident = $value:literal),+ }) => {
        $(#[doc = $doc])+
        #[pyclass(module = "proctor.mlperf_loadgen", eq, hash, frozen, from_py_object)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(crate) enum $name {
            $($variant = $value),+
        }

        #[pymethods]
        impl $name {
            #[new]
            #[pyo3(signature = (value))]
            fn new(value: Unsigned) -> PyResult<Self> {
                match value.0 {
                    $($value => Ok(Self::$variant),)+
                    other => Err(PyValueError::new_err(format!(concat!("{} is no ", stringify!($name)), other))),
                }
            }

            #[getter]
            fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant => stringify!($variant)),+
                }
            }

            #[getter]
            fn value(&self) -> u64 {
                *self as u64
            }

            fn __int__(&self) -> u64 {
                self.value()
            }

            fn __index__(&self) -> u64 {
                self.value()
            }

            fn __str__(&self) -> String {
                format!(concat!(stringify!($name), ".{}"), self.name())
            }

            fn __repr__(&self) -> String {
                format!(concat!("<", stringify!($name), ".{}: {}>"), self.name(), self.value())
            }

            fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, (u64,)) {
                (slf.as_any().get_type(), (slf.get().value(),))
            }

            #[classattr]
            #[pyo3(name = "__members__")]
            fn members(py: Python<'_>) -> PyResult<Py<PyDict>> {
                let members = PyDict::new(py);
                $(members.set_item(stringify!($variant), Self::$variant)?;)+
                Ok(members.unbind())
            }
        }
    };
}

enumeration! {
    /// Arrival of the queries.
    TestScenario { SingleStream = 0, MultiStream = 1, Server = 2, Offline = 3 }
}

enumeration! {
    /// Purpose of a test.
    TestMode { SubmissionRun = 0, AccuracyOnly = 1, PerformanceOnly = 2, FindPeakPerformance = 3 }
}

enumeration! {
    /// Moment at which the logs are written. LoadGen reads it nowhere; here they are always written after the test.
    LoggingMode { AsyncPoll = 0, EndOfTestOnly = 1, Synchronous = 2 }
}

impl From<TestScenario> for vocabulary::Scenario {
    fn from(scenario: TestScenario) -> Self {
        match scenario {
            TestScenario::SingleStream => Self::SingleStream,
            TestScenario::MultiStream => Self::MultiStream,
            TestScenario::Server => Self::Server,
            TestScenario::Offline => Self::Offline,
        }
    }
}

impl From<TestMode> for vocabulary::TestMode {
    fn from(mode: TestMode) -> Self {
        match mode {
            TestMode::SubmissionRun => Self::SubmissionRun,
            TestMode::AccuracyOnly => Self::AccuracyOnly,
            TestMode::PerformanceOnly => Self::PerformanceOnly,
            TestMode::FindPeakPerformance => Self::FindPeakPerformance,
        }
    }
}

impl From<vocabulary::TestMode> for TestMode {
    fn from(mode: vocabulary::TestMode) -> Self {
        match mode {
            vocabulary::TestMode::SubmissionRun => Self::SubmissionRun,
            vocabulary::TestMode::AccuracyOnly => Self::AccuracyOnly,
            vocabulary::TestMode::PerformanceOnly => Self::PerformanceOnly,
            vocabulary::TestMode::FindPeakPerformance => Self::FindPeakPerformance,
        }
    }
}
