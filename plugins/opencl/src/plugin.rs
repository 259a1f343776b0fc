//! The plugin behind the traits of `proctor-plugin-api`.

use proctor_device::{
    program::Tuning,
    serve::{DeviceModel, DeviceOptions, OpenedDevice, PRECISIONS, at_position, chosen, load},
    signals::Handlers,
};
use proctor_plugin_api::{
    Device, Host, Manifest, ModelRequest, ModelSupport, OptionSpec, Options, Plugin, PluginError,
    export_plugin,
};

use crate::{
    devices::{DeviceInfo, devices},
    driver::OpenCl,
};

export_plugin!(OpenClPlugin);

/// The opened plugin, with the devices that were chosen.
pub struct OpenClPlugin {
    host: Host,
    devices: Vec<DeviceInfo>,
    options: DeviceOptions,
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
                "The device: its number in the list that an error shows, or a part of its name or a word of \
                 its platform's, which may be those of several, over which instances are spread then. The first one if none is named.",
            ));
        let manifest = DeviceOptions::specs().into_iter().fold(manifest, Manifest::option);
        PRECISIONS.iter().fold(manifest, |manifest, precision| {
            let model = ModelSupport::new("*", "onnx");
            manifest.model(ModelSupport { precision: (*precision).to_owned(), ..model })
        })
    }

    fn open(host: Host, options: &Options) -> Result<Self, PluginError> {
        let _handlers = Handlers::kept();
        let all = devices().map_err(|error| PluginError::failed(error.to_string()))?;
        // Several platforms may offer the same device, so opening all of them makes no sense.
        let wanted = options.text("device").filter(|wanted| !wanted.is_empty()).unwrap_or("0");
        let devices =
            chosen(all, wanted).map_err(|error| PluginError::invalid_argument(error.to_string()))?;
        for info in &devices {
            tracing::info!(platform = info.platform, device = info.name, "device opened");
        }
        Ok(Self { host, devices, options: DeviceOptions::read(options) })
    }

    fn devices(&self) -> Result<Vec<Device>, PluginError> {
        Ok(self.devices.iter().map(DeviceInfo::listed).collect())
    }

    fn load_model(&self, request: &ModelRequest) -> Result<DeviceModel<OpenCl>, PluginError> {
        let _handlers = Handlers::kept();
        load(self.host, request, self.options.in_flight_max, |index| {
            let info = at_position(&self.devices, index)?;
            let tuning = if info.is_processor { Tuning::PROCESSOR } else { Tuning::GPU };
            Ok(OpenedDevice {
                driver: OpenCl::open(info)?,
                tuning: tuning.within(info.group_items_max),
                calibrated_as: self.options.calibrates.then(|| info.version.clone()),
            })
        })
    }
}
