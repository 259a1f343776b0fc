//! Services of the host that a model in Python may use.

use proctor_plugin_api::Host;
use pyo3::prelude::*;

/// Services of the host.
#[pyclass(frozen, module = "proctor._native")]
pub(crate) struct Services(pub(crate) Host);

#[pymethods]
impl Services {
    fn metric(&self, name: &str, unit: &str, value: f64) {
        self.0.metric(name, unit, value);
    }

    fn progress(&self, done: u64, total: u64, task: &str) {
        self.0.progress(done, total, task);
    }
}
