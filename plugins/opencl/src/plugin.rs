//! The plugin behind the traits of `proctor-plugin-api`.

use proctor_device::{
    program::Tuning,
    serve::{DeviceModel, Target, load},
    signals::Handlers,
};
use proctor_plugin_api::{
    Device, Host, Manifest, ModelRequest, ModelSupport, OptionSpec, Options, Plugin, PluginError,
    export_plugin,
};

use crate::{
    devices::{DeviceInfo, OpenError, devices},
    driver::OpenCl,
};

export_plugin!(OpenClPlugin);

/// The opened plugin, with the devices that were chosen.
pub struct OpenClPlugin {
    host: Host,
    devices: Vec<DeviceInfo>,
    in_flight_max: usize,
    calibrates: bool,
}

impl Plugin for OpenClPlugin {
    type Model = DeviceModel<OpenCl>;

    fn manifest() -> Manifest {
        let description =
            "ONNX files on any device that OpenCL drives: graphics processors, and processors by PoCL.";
        let manifest = Manifest::new("opencl", env!("CARGO_PKG_VERSION"), description)
            .vendor("Proctor", env!("CARGO_PKG_LICENSE"))
            .with_live_instances()
            .option(OptionSpec::text(
                "device",
                "The device: its number in the list that an error shows, or a part of its name or its platform's, which \
                 may be that of several, over which instances are spread then. The first one if none is named.",
            ))
            .option(OptionSpec::boolean(
                "calibrate",
                true,
                "Whether the tile of products is found by trying a few, for models of more than a GFLOP a batch; what is found \
                 is kept in the cache folder. Else it is the one that suits most devices of the kind.",
            ))
            .option(OptionSpec::integer(
                "in_flight",
                1,
                1..=16,
                "Batches that an instance has in flight: with 2 the next one is copied to the device while it computes.",
            ));
        ["f32", "f16", "bf16", "int8"].iter().fold(manifest, |manifest, precision| {
            let model = ModelSupport::new("*", "onnx");
            manifest.model(ModelSupport { precision: (*precision).to_owned(), ..model })
        })
    }

    fn open(host: Host, options: &Options) -> Result<Self, PluginError> {
        let _handlers = Handlers::kept();
        let all = devices().map_err(|error| PluginError::failed(error.to_string()))?;
        let wanted = options.text("device").unwrap_or_default();
        let devices =
            chosen(all, wanted).map_err(|error| PluginError::invalid_argument(error.to_string()))?;
        for info in &devices {
            tracing::info!(platform = info.platform, device = info.name, "device opened");
        }
        let in_flight_max = options.integer("in_flight").and_then(|count| usize::try_from(count).ok());
        let calibrates = options.boolean("calibrate");
        Ok(Self { host, devices, in_flight_max: in_flight_max.unwrap_or(1), calibrates })
    }

    fn devices(&self) -> Result<Vec<Device>, PluginError> {
        Ok(self.devices.iter().map(DeviceInfo::listed).collect())
    }

    fn load_model(&self, request: &ModelRequest) -> Result<DeviceModel<OpenCl>, PluginError> {
        let _handlers = Handlers::kept();
        load(self.host, request, |index| {
            let info = usize::try_from(index).ok().and_then(|index| self.devices.get(index));
            let there_is_none = || PluginError::invalid_argument(format!("there is no device {index}"));
            let info = info.ok_or_else(there_is_none)?;
            let tuning = if info.is_processor { Tuning::PROCESSOR } else { Tuning::GPU };
            Ok(Target {
                driver: OpenCl::open(info)?,
                tuning: tuning.within(info.group_items_max),
                in_flight_max: self.in_flight_max,
                calibrated_as: self.calibrates.then(|| info.version.clone()),
            })
        })
    }
}

/// The device of this number, or those with this in their name or their platform's; the first of all if nothing is
/// asked for.
fn chosen(mut all: Vec<DeviceInfo>, wanted: &str) -> Result<Vec<DeviceInfo>, OpenError> {
    let number = if wanted.is_empty() { Some(0) } else { wanted.parse::<usize>().ok() };
    if let Some(number) = number.filter(|number| *number < all.len()) {
        return Ok(vec![all.swap_remove(number)]);
    }
    let lower = wanted.to_lowercase();
    // A number that no device has may still be a word of a name, but not a digit in one.
    let is_it = |info: &DeviceInfo| match number {
        Some(_) => info.name.split_whitespace().any(|word| word == wanted),
        None => format!("{} {}", info.name, info.platform).to_lowercase().contains(&lower),
    };
    let found: Vec<DeviceInfo> = all.iter().filter(|info| is_it(info)).cloned().collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let names: Vec<String> = (all.iter().enumerate())
        .map(|(number, info)| format!("{number}: {} ({})", info.name, info.platform))
        .collect();
    Err(OpenError::NoSuchDevice { wanted: wanted.to_owned(), there: names.join(", ") })
}
