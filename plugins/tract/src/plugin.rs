//! The plugin behind the traits of `proctor-plugin-api`.

use std::path::Path;

use proctor_onnx_file::{Fit, OnnxFile, RequestError};
use proctor_plugin_api::{
    Host, Manifest, ModelRequest, ModelSupport, Options, Plugin, PluginError, Threads, export_plugin,
};

use crate::{
    error::LoadError,
    model::TractModel,
    plans::{compile, datum_type},
};

export_plugin!(Tract);

/// The precisions that files come in.
const PRECISIONS: [&str; 3] = ["f32", "f16", "int8"];

/// The opened plugin: its option.
#[derive(Debug)]
pub struct Tract {
    host: Host,
    threads: Threads,
}

impl Plugin for Tract {
    type Model = TractModel;

    fn manifest() -> Manifest {
        let description = "ONNX files through tract: in Rust alone, where there is no ONNX Runtime.";
        let mut manifest = Manifest::new("tract", env!("CARGO_PKG_VERSION"), description)
            .vendor("Proctor", env!("CARGO_PKG_LICENSE"))
            .with_live_instances();
        for precision in PRECISIONS {
            let precision = precision.to_owned();
            manifest = manifest.model(ModelSupport { precision, ..ModelSupport::new("*", "onnx") });
        }
        manifest.option(Threads::option())
    }

    fn open(host: Host, options: &Options) -> Result<Self, PluginError> {
        Ok(Self { host, threads: Threads::read(options)? })
    }

    fn load_model(&self, request: &ModelRequest) -> Result<TractModel, PluginError> {
        let no_file = || RequestError::NoFile { model: request.model.clone() };
        let path = request.file("onnx").ok_or_else(no_file).map_err(LoadError::from)?;
        let batch_size_max = usize::try_from(request.batch_size_max).unwrap_or(usize::MAX);
        let (file, fit) = checked(path, request, batch_size_max)?;
        let plans = compile(&file, &fit, &request.outputs, batch_size_max)?;
        let threads = self.threads.of_each(request.instance_count);
        tracing::info!(model = request.model, plans = plans.len(), threads, "model loaded");
        Ok(TractModel::new(self.host, fit, plans, threads))
    }
}

/// Reads a file and checks it against what was asked for, before tract sees it.
fn checked(path: &Path, request: &ModelRequest, batch_size_max: usize) -> Result<(OnnxFile, Fit), LoadError> {
    let file = OnnxFile::open(path)?;
    file.check_precision(&request.precision)?;
    let fit = file.fit(&request.inputs, &request.outputs, batch_size_max)?;
    for port in fit.inputs.iter().chain(&fit.outputs) {
        if datum_type(port.spec.element_type).is_none() {
            let (tensor, element_type) = (port.spec.name.clone(), port.spec.element_type);
            return Err(LoadError::ElementType { path: path.to_owned(), tensor, element_type });
        }
    }
    Ok((file, fit))
}
