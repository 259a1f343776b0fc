//! The plugin behind the traits of `proctor-plugin-api`.

use proctor_device::{
    program::Tuning,
    serve::{DeviceModel, load},
};
use proctor_plugin_api::{
    Host, Manifest, ModelRequest, ModelSupport, OptionSpec, Options, Plugin, PluginError, export_plugin,
};

use crate::{
    devices::{DeviceInfo, OpenError, devices},
    driver::OpenCl,
};

export_plugin!(OpenClPlugin);

/// The opened plugin, with the device that was chosen.
pub struct OpenClPlugin {
    host: Host,
    device: DeviceInfo,
}

impl Plugin for OpenClPlugin {
    type Model = DeviceModel<OpenCl>;

    fn manifest() -> Manifest {
        let description =
            "ONNX files on any device that OpenCL drives: graphics processors, and processors by PoCL.";
        Manifest::new("opencl", env!("CARGO_PKG_VERSION"), description)
            .vendor("Proctor", env!("CARGO_PKG_LICENSE"))
            .with_live_instances()
            .model(ModelSupport { precision: "f32".to_owned(), ..ModelSupport::new("*", "onnx") })
            .option(OptionSpec::text(
                "device",
                "The device: its number in the list that an error shows, or a part of its name or its platform's. The \
                 first one if none is named.",
            ))
    }

    fn open(host: Host, options: &Options) -> Result<Self, PluginError> {
        let all = devices().map_err(|error| PluginError::failed(error.to_string()))?;
        let wanted = options.text("device").unwrap_or_default();
        let device = chosen(all, wanted).map_err(|error| PluginError::invalid_argument(error.to_string()))?;
        tracing::info!(platform = device.platform, device = device.name, "device opened");
        Ok(Self { host, device })
    }

    fn load_model(&self, request: &ModelRequest) -> Result<DeviceModel<OpenCl>, PluginError> {
        let driver = OpenCl::open(&self.device)?;
        let tuning = if self.device.is_processor { Tuning::PROCESSOR } else { Tuning::GPU };
        Ok(load(self.host, driver, tuning.within(self.device.group_items_max), request)?)
    }
}

/// The device of this number, or the first with this in its name or its platform's.
fn chosen(all: Vec<DeviceInfo>, wanted: &str) -> Result<DeviceInfo, OpenError> {
    let names: Vec<String> = (all.iter().enumerate())
        .map(|(number, device)| format!("{number}: {} ({})", device.name, device.platform))
        .collect();
    let (count, lower) = (all.len(), wanted.to_lowercase());
    let is_it = |(number, device): &(usize, DeviceInfo)| match wanted.parse::<usize>() {
        Ok(wanted) if wanted < count => wanted == *number,
        _ => format!("{} {}", device.name, device.platform).to_lowercase().contains(&lower),
    };
    let found = all.into_iter().enumerate().find(is_it).map(|(_, device)| device);
    found.ok_or_else(|| OpenError::NoSuchDevice { wanted: wanted.to_owned(), there: names.join(", ") })
}
