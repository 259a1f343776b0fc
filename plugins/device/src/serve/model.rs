//! A loaded model.

use std::{fmt::Write as _, path::Path, sync::Arc};

use proctor_onnx_file::{Batching, Fit, fit};
use proctor_plugin_api::{Host, Model, ModelRequest, Placement, PluginError};

use super::{
    error::LoadError,
    instance::DeviceInstance,
    shared::{Plan, Shared},
};
use crate::{
    driver::Driver,
    passes::simplify,
    program::{Program, Tuning},
    read::source::Source,
    session::Library,
};

/// A model on a device.
pub struct DeviceModel<D: Driver> {
    pub(super) shared: Arc<Shared<D>>,
}

/// Reads the model that is asked for, plans it and brings it onto a device.
///
/// # Errors
/// [`LoadError`].
pub fn load<D: Driver>(
    host: Host,
    driver: D,
    tuning: Tuning,
    request: &ModelRequest,
) -> Result<DeviceModel<D>, LoadError> {
    let no_file = || LoadError::NoFile { model: request.model.clone() };
    let path = request.file("onnx").ok_or_else(no_file)?;
    let source = Source::open(path)?;
    let is = source.file().precision;
    if is.name() != request.precision {
        return Err(LoadError::Precision { path: path.to_owned(), is, asked: request.precision.clone() });
    }
    let batch_size_max = usize::try_from(request.batch_size_max).unwrap_or(usize::MAX);
    let fit = fit(&source.file().signature, &request.inputs, &request.outputs, batch_size_max);
    let fit = fit.map_err(|source| LoadError::Fit { path: path.to_owned(), source })?;
    let mut library = Library::default();
    let mut plans = Vec::new();
    for batch_size in fit.plan_sizes(batch_size_max) {
        let mut program = program(&source, &fit, tuning, batch_size, path)?;
        library.prepare(&driver, &mut program)?;
        plans.push(Plan { batch_size, program });
    }
    let calls = plans.first().map_or(0, |plan| plan.program.calls().len());
    tracing::info!(model = request.model, plans = plans.len(), calls, "model loaded");
    Ok(DeviceModel { shared: Arc::new(Shared { host, driver, fit, plans, library }) })
}

/// The program of a file for batches of one size, with the outputs that the benchmark wants.
fn program(
    source: &Source,
    fit: &Fit,
    tuning: Tuning,
    batch_size: usize,
    path: &Path,
) -> Result<Program, LoadError> {
    let shapes: Vec<Vec<usize>> = fit.inputs.iter().map(|port| fit.shape(port, batch_size)).collect();
    let mut graph = source.graph(&shapes)?;
    let planned = |graph: &mut crate::graph::Graph| {
        graph.outputs = fit.outputs.iter().map(|port| graph.outputs[port.value]).collect();
        for (port, id) in fit.outputs.iter().zip(&graph.outputs) {
            let (is, wanted) = (graph.value(*id).clone(), fit.shape(port, batch_size));
            let count = |shape: &[usize]| shape.iter().product::<usize>();
            // Else a sample would get numbers of others.
            let is_by_sample =
                fit.batching == Batching::None || is.shape.len() == 1 || is.shape.first() == wanted.first();
            if is.element != port.spec.element_type || count(&is.shape) != count(&wanted) || !is_by_sample {
                let name = &port.spec.name;
                return Err(format!("output \"{name}\" is {} of {:?}, not {wanted:?}", is.element, is.shape));
            }
        }
        simplify(graph)?;
        Program::new(graph, tuning)
    };
    planned(&mut graph).map_err(|what| LoadError::Plan { path: path.to_owned(), batch_size, what })
}

impl<D: Driver + Send + Sync + 'static> Model for DeviceModel<D>
where
    D::Memory: Send + Sync,
    D::Function: Send + Sync,
    D::Launch: Send,
{
    type Instance = DeviceInstance<D>;

    fn create_instance(&self, _: &Placement) -> Result<DeviceInstance<D>, PluginError> {
        Ok(DeviceInstance::new(Arc::clone(&self.shared))?)
    }

    fn explain(&self) -> Option<String> {
        let mut text = String::new();
        for Plan { batch_size, program } in &self.shared.plans {
            let operations: u64 = program.calls().iter().map(|call| call.operations).sum();
            // Writing to a string never fails.
            let _ = writeln!(
                text,
                "batches of {batch_size}: {} calls, {} MiB of memory, {:.3} G multiplications and additions",
                program.calls().len(),
                program.layout().bytes >> 20,
                operations as f64 / 1e9
            );
        }
        for call in self.shared.plans.first().into_iter().flat_map(|plan| plan.program.calls()) {
            let _ = writeln!(text, "  {} by {}", call.label, call.kernel.function);
        }
        Some(text)
    }
}
