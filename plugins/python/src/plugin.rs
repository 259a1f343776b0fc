//! The plugin: opens, and loads models.

use proctor_plugin_api::{Host, Manifest, ModelRequest, Options, Plugin, PluginError, register_plugin};
use pyo3::prelude::*;

use crate::{
    backend::{self, NAME},
    calls::Call,
    errors::failed,
    model::PythonModel,
};

register_plugin!(PythonPlugin, NAME.to_owned());

/// The plugin that stands for a Python class.
#[derive(Debug)]
pub struct PythonPlugin {
    pub(crate) host: Host,
    pub(crate) class: Py<PyAny>,
    pub(crate) options: Options,
}

impl Plugin for PythonPlugin {
    type Model = PythonModel;

    fn manifest() -> Manifest {
        backend::manifest()
    }

    fn open(host: Host, options: &Options) -> Result<Self, PluginError> {
        let class = Python::attach(backend::class);
        let class = class.ok_or_else(|| {
            PluginError::failed("no class was chosen: name its file, as in --plugin my_sut.py")
        })?;
        Ok(Self { host, class, options: options.clone() })
    }

    fn load_model(&self, request: &ModelRequest) -> Result<PythonModel, PluginError> {
        let _call = Call::begin_load();
        Python::attach(|py| {
            let loaded = PythonModel::load(py, self.host, &self.class, &self.options, request);
            loaded.map_err(|error| failed(py, error))
        })
    }
}
