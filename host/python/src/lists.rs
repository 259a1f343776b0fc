//! Lists of what can be run.

use proctor_config::Loader;
use proctor_plugin_host::{PluginLocation, SearchPath};
use proctor_words::HostError;
use pyo3::prelude::*;

use crate::failure::Failure;

/// Returns name, description, model, data set and scenarios of each built-in benchmark.
#[pyfunction]
pub(crate) fn benchmarks() -> Vec<(String, String, String, String, Vec<String>)> {
    let row = |benchmark: &proctor_config::Benchmark| {
        let scenarios = benchmark.scenarios.keys().map(|scenario| scenario.name().to_owned());
        let (id, description) = (benchmark.id.clone(), benchmark.description.clone());
        (id, description, benchmark.model.id.clone(), benchmark.dataset.clone(), scenarios.collect())
    };
    proctor_config::benchmarks().map(row).collect()
}

/// Returns the name of each plugin that is found by name, and the path of its library; `None` if it is linked in.
#[pyfunction]
pub(crate) fn plugins(py: Python<'_>) -> PyResult<Vec<(String, Option<String>)>> {
    let settings = Loader::from_system().load().map_err(HostError::from);
    let settings = settings.map_err(|error| Failure::from(error).exception(py))?;
    let row = |location: &PluginLocation| {
        let path = match location {
            PluginLocation::Linked(_) => None,
            PluginLocation::Library(path) | PluginLocation::Script(path, _) => {
                Some(path.display().to_string())
            }
        };
        (location.name(), path)
    };
    Ok(SearchPath::standard(&settings.run.plugin_path).list().iter().map(row).collect())
}
