//! A loaded model.

use std::{collections::BTreeMap, fmt::Write as _, path::Path, sync::Arc};

use proctor_onnx_file::{Batching, Fit, Precision, fit};
use proctor_plugin_api::{Host, Model, ModelRequest, Placement, PluginError, PluginMemory};
use proctor_vocabulary::ElementType;

use super::{
    error::LoadError,
    instance::DeviceInstance,
    loaded::{Loaded, Plan},
    memory::SampleMemory,
};
use crate::{
    cache::Cache,
    calibrate::{OPERATIONS_MIN, calibrated},
    driver::Driver,
    graph::Graph,
    passes,
    program::{Program, Tuning},
    read::source::Source,
    session::Resources,
};

/// A model on the devices that its instances are placed on.
pub struct DeviceModel<D: Driver> {
    /// By their positions in the plugin's list.
    devices: BTreeMap<u32, Arc<Loaded<D>>>,
    in_flight_max: usize,
    memory: Option<SampleMemory<D>>,
}

/// A device, and what suits it.
pub struct Target<D> {
    /// The device.
    pub driver: D,
    /// Tiles and groups of its kernels.
    pub tuning: Tuning,
    /// Batches that an instance has in flight.
    pub in_flight_max: usize,
    /// Names and versions of the device and of what compiles for it, on which the best tile depends; `None` to
    /// take that of `tuning`.
    pub calibrated_as: Option<String>,
}

/// Reads the model that is asked for, plans it and brings it onto the devices that its instances are placed on, each of
/// which `open` opens by its position in the plugin's list.
///
/// # Errors
/// [`LoadError`], or what `open` says.
pub fn load<D: Driver>(
    host: Host,
    request: &ModelRequest,
    open: impl Fn(u32) -> Result<Target<D>, PluginError>,
) -> Result<DeviceModel<D>, PluginError> {
    let no_file = || LoadError::NoFile { model: request.model.clone() };
    let path = request.file("onnx").ok_or_else(no_file)?;
    let source = Source::open(path).map_err(LoadError::Read)?;
    let is = source.file().precision;
    let narrowed = match request.precision.as_str() {
        asked if asked == is.name() => None,
        "f16" if is == Precision::F32 => Some(ElementType::F16),
        "bf16" if is == Precision::F32 => Some(ElementType::Bf16),
        _ => {
            let asked = request.precision.clone();
            return Err(LoadError::Precision { path: path.to_owned(), is, asked }.into());
        }
    };
    let batch_size_max = usize::try_from(request.batch_size_max).unwrap_or(usize::MAX);
    let fit = fit(&source.file().signature, &request.inputs, &request.outputs, batch_size_max);
    let fit = fit.map_err(|source| LoadError::Fit { path: path.to_owned(), source })?;

    let mut model = DeviceModel { devices: BTreeMap::new(), in_flight_max: 1, memory: None };
    let placed = request.placements.iter().map(|placement| placement.device_index);
    // Nothing is placed anywhere in a plan that is only explained.
    let first = if request.placements.is_empty() { Some(0) } else { None };
    for index in placed.chain(first) {
        if model.devices.contains_key(&index) {
            continue;
        }
        let Target { driver, mut tuning, in_flight_max, calibrated_as } = open(index)?;
        model.in_flight_max = in_flight_max;
        if D::PINS_MEMORY && model.memory.is_none() {
            model.memory = Some(SampleMemory::new(driver.sibling()?));
        }
        let mut resources = Resources::default();
        let mut plans = Vec::new();
        let batch_sizes = fit.plan_sizes(batch_size_max);
        let plain = |graph: &Graph| Program::new(graph, tuning);
        if let (Some(device), Some(largest)) = (&calibrated_as, batch_sizes.first())
            && program(&source, &fit, narrowed, *largest, path, plain)?.operations() >= OPERATIONS_MIN
        {
            host.progress(0, 0, "trying tiles of products");
            let cache = host.cache_folder().map(Cache::new);
            tuning = calibrated(&driver, tuning, cache.as_ref(), device)?;
        }
        for (done, batch_size) in (0..).zip(&batch_sizes) {
            let batch_size = *batch_size;
            let count = batch_sizes.len() as u64;
            host.progress(done, count, &format!("compiling for batches of {batch_size}"));
            let with_library = |graph: &Graph| resources.plan(&driver, graph, tuning);
            let mut program = program(&source, &fit, narrowed, batch_size, path, with_library)?;
            let prepared = resources.prepare(&driver, &mut program);
            prepared.map_err(|source| LoadError::Device { path: path.to_owned(), batch_size, source })?;
            plans.push(Plan { batch_size, program });
        }
        let calls = plans.first().map_or(0, |plan| plan.program.calls().len());
        tracing::info!(model = request.model, device = index, plans = plans.len(), calls, "model loaded");
        let loaded = Loaded { host, fit: fit.clone(), tuning, plans, resources, driver };
        model.devices.insert(index, Arc::new(loaded));
    }
    Ok(model)
}

/// The program of a file for batches of one size, as `plan` makes it, with the outputs that the benchmark wants.
fn program(
    source: &Source,
    fit: &Fit,
    narrowed: Option<ElementType>,
    batch_size: usize,
    path: &Path,
    plan: impl FnOnce(&Graph) -> Result<Program, String>,
) -> Result<Program, LoadError> {
    let shapes: Vec<Vec<usize>> = fit.inputs.iter().map(|port| fit.shape(port, batch_size)).collect();
    let mut graph = source.graph(&shapes)?;
    let planned = |graph: &mut Graph| {
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
        passes::apply(graph, narrowed)?;
        plan(graph)
    };
    planned(&mut graph).map_err(|what| LoadError::Plan { path: path.to_owned(), batch_size, what })
}

impl<D: Driver> Model for DeviceModel<D> {
    type Instance = DeviceInstance<D>;

    fn create_instance(&self, placement: &Placement) -> Result<DeviceInstance<D>, PluginError> {
        let loaded = self.devices.get(&placement.device_index).ok_or_else(|| {
            let message = format!("the model was not loaded for device {}", placement.device_index);
            PluginError::invalid_argument(message)
        })?;
        Ok(DeviceInstance::new(loaded, self.in_flight_max)?)
    }

    fn memory(&self) -> Option<&dyn PluginMemory> {
        self.memory.as_ref().map(|memory| memory as &dyn PluginMemory)
    }

    fn explain(&self) -> Option<String> {
        let Loaded { plans, tuning, resources, .. } = &**self.devices.values().next()?;
        let mut text = String::new();
        for Plan { batch_size, program } in plans {
            // Writing to a string never fails.
            let _ = writeln!(
                text,
                "batches of {batch_size}: {} calls, {} MiB of memory, {:.3} G multiplications and additions",
                program.calls().len(),
                program.layout().bytes >> 20,
                program.operations() as f64 / 1e9
            );
        }
        let _ = writeln!(
            text,
            "products by tiles of {} x {}, {} of them in a group",
            tuning.rows,
            tuning.width * tuning.vectors,
            tuning.product_group
        );
        for call in plans.first().into_iter().flat_map(|plan| plan.program.calls()) {
            let _ = writeln!(text, "  {} by {}", call.label, resources.computed_by(call).name());
        }
        Some(text)
    }
}
