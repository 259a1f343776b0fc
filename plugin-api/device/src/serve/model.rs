//! A loaded model.

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

use proctor_plugin_api::{Host, Model, ModelRequest, Placement, PluginError, PluginMemory};

use super::{
    error::LoadError,
    file::ModelFile,
    instance::DeviceInstance,
    loaded::{Loaded, Plan},
    memory::SampleMemory,
};
use crate::{
    cache::Cache,
    calibrate::{Candidates, OPERATIONS_MIN, calibrated},
    driver::Driver,
    program::{Program, Tuning},
    session::Resources,
};

/// A model on the devices that its instances are placed on.
pub struct DeviceModel<D: Driver> {
    /// Loaded devices by their positions in the plugin's list.
    devices: BTreeMap<u32, Arc<Loaded<D>>>,
    in_flight_max: usize,
    memory: Option<SampleMemory<D>>,
}

/// A device, and its suitable tiling.
pub struct OpenedDevice<D> {
    /// Driver of the device.
    pub driver: D,
    /// Tiles and groups of its kernels.
    pub tuning: Tuning,
    /// Names and versions of the device and its compiler, on which the best tile depends; `None` to take the
    /// tile of `tuning`.
    pub calibrated_as: Option<String>,
}

/// Reads the requested model, plans it and brings it onto the devices of its instances, which `open` opens by
/// their positions in the plugin's list. An instance has up to `in_flight_max` batches in flight.
///
/// # Errors
/// [`LoadError`], or what `open` says.
pub fn load<D: Driver>(
    host: Host,
    request: &ModelRequest,
    in_flight_max: usize,
    open: impl Fn(u32) -> Result<OpenedDevice<D>, PluginError>,
) -> Result<DeviceModel<D>, PluginError> {
    let file = ModelFile::open(request)?;
    let mut model = DeviceModel { devices: BTreeMap::new(), in_flight_max, memory: None };
    let placed = request.placements.iter().map(|placement| placement.device_index);
    // Nothing is placed anywhere in a plan that is only explained.
    let first = if request.placements.is_empty() { Some(0) } else { None };
    for index in placed.chain(first) {
        if model.devices.contains_key(&index) {
            continue;
        }
        let device = open(index)?;
        if D::PINS_MEMORY && model.memory.is_none() {
            model.memory = Some(SampleMemory::new(device.driver.sibling()?));
        }
        let loaded = loaded(host, &file, device)?;
        let calls = loaded.plans.first().map_or(0, |plan| plan.program.calls().len());
        tracing::info!(
            model = request.model,
            device = index,
            plans = loaded.plans.len(),
            calls,
            "model loaded"
        );
        model.devices.insert(index, Arc::new(loaded));
    }
    Ok(model)
}

/// Plans a file for a device, and brings it there.
fn loaded<D: Driver>(host: Host, file: &ModelFile, device: OpenedDevice<D>) -> Result<Loaded<D>, LoadError> {
    let tuning = tuned(host, file, &device)?;
    let driver = device.driver;
    let mut resources = Resources::default();
    let mut plans = Vec::new();
    let count = file.batch_sizes.len() as u64;
    for (done, batch_size) in (0..).zip(&file.batch_sizes) {
        let batch_size = *batch_size;
        host.progress(done, count, &format!("compiling for batches of {batch_size}"));
        let mut program = file.program(batch_size, |graph| resources.plan(&driver, graph, tuning))?;
        let prepared = resources.prepare(&driver, &mut program);
        prepared.map_err(|error| file.device_error(batch_size, error))?;
        plans.push(Plan { batch_size, program });
    }
    Ok(Loaded { host, fit: file.fit.clone(), class: file.class, tuning, plans, resources, driver })
}

/// Returns the tuning of a device, with the tile that suits it if the model is large enough for that to matter.
fn tuned<D: Driver>(host: Host, file: &ModelFile, device: &OpenedDevice<D>) -> Result<Tuning, LoadError> {
    let OpenedDevice { driver, tuning, calibrated_as } = device;
    let (Some(name), Some(largest)) = (calibrated_as, file.batch_sizes.first()) else { return Ok(*tuning) };
    if file.program(*largest, |graph| Program::new(graph, *tuning))?.operations() < OPERATIONS_MIN {
        return Ok(*tuning);
    }
    host.progress(0, 0, "trying tiles of products");
    let cache = host.cache_folder().map(Cache::new);
    calibrated(driver, &Candidates::of(*tuning), cache.as_ref(), name)
        .map_err(|error| file.device_error(*largest, error))
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
