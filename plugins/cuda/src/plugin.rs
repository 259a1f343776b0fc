//! The plugin behind the traits of `proctor-plugin-api`.

use std::{collections::BTreeSet, sync::Arc};

use parking_lot::Mutex;
use proctor_device::{
    program::Tuning,
    serve::{
        DeviceInstance, DeviceModel, DeviceOptions, OpenedDevice, PRECISIONS, at_position, chosen, load,
    },
};
use proctor_plugin_api::{
    Device, Host, Manifest, Model, ModelRequest, ModelSupport, OptionSpec, Options, Placement, Plugin,
    PluginError, PluginMemory, PreparedSample, export_plugin,
};

use crate::{
    compiler::Compiler,
    convolution::ConvolutionLibrary,
    devices::{self, DeviceInfo},
    driver::{Cuda, Libraries},
    error::OpenError,
    libraries::nvml::Nvml,
    metrics::{Gauges, Reader},
    product::ProductLibrary,
};

export_plugin!(CudaPlugin);

/// The opened plugin, with the devices that were chosen.
pub struct CudaPlugin {
    host: Host,
    devices: Vec<DeviceInfo>,
    compiler: Arc<Compiler>,
    libraries: Libraries,
    nvml: Option<Arc<Nvml>>,
    options: DeviceOptions,
}

impl Plugin for CudaPlugin {
    type Model = CudaModel;

    const CREATES_IN_PARALLEL: bool = true;

    fn manifest() -> Manifest {
        let description = "ONNX files on NVIDIA's graphics processors.";
        let manifest = Manifest::new("cuda", env!("CARGO_PKG_VERSION"), description)
            .vendor("Proctor", env!("CARGO_PKG_LICENSE"))
            .with_live_instances()
            .option(OptionSpec::text(
                "device",
                "The device: its number in the driver's list, which an error shows, or a part of its name or the \
                 beginning of its UUID, which may be that of several. Without it all are listed, and instances are spread over them.",
            ))
            .option(OptionSpec::path(
                "nvrtc",
                "The folder of the compiler's library, libnvrtc.so.12 or another version; without it the system's.",
            ))
            .option(OptionSpec::choice(
                "products",
                &["auto", "cublaslt", "own"],
                "What computes products of matrices: NVIDIA's library cuBLASLt, with tensor cores, the plugin's own kernel, or \
                 the one that is there: the library if it is.",
            ))
            .option(OptionSpec::choice(
                "convolutions",
                &["auto", "cudnn", "own"],
                "What computes convolutions: NVIDIA's library cuDNN, with tensor cores, the plugin's own kernels with its \
                 products, or what is there: the library if it is.",
            ))
            .option(OptionSpec::boolean(
                "tf32",
                false,
                "Whether cuBLASLt and cuDNN may take factors in f32 as TF32, with 10 bits of fraction: faster, and less exact.",
            ))
            .option(OptionSpec::path(
                "cublaslt",
                "The folder of cuBLASLt, libcublasLt.so.12 or another version; without it the system's, or that of the Python \
                 packages of which nvrtc names the compiler's.",
            ))
            .option(OptionSpec::path(
                "cudnn",
                "The folder of cuDNN, libcudnn.so.9; without it the system's, or that of the Python packages of which nvrtc \
                 names the compiler's.",
            ));
        let manifest = DeviceOptions::specs().into_iter().fold(manifest, Manifest::option);
        PRECISIONS.iter().fold(manifest, |manifest, precision| {
            let (precision, device) = ((*precision).to_owned(), "cuda".to_owned());
            manifest.model(ModelSupport { precision, device, ..ModelSupport::new("*", "onnx") })
        })
    }

    fn open(host: Host, options: &Options) -> Result<Self, PluginError> {
        let devices = chosen(devices::devices()?, options.text("device").unwrap_or_default())
            .map_err(|error| PluginError::invalid_argument(error.to_string()))?;
        let compiler = Compiler::load(options.path("nvrtc"), host.cache_folder())?;
        for info in &devices {
            tracing::info!(
                device = info.name,
                uuid = info.uuid,
                architecture = info.architecture,
                "device opened"
            );
        }
        let libraries = Libraries { products: products(options)?, convolutions: convolutions(options)? };
        let nvml = Nvml::open();
        if let Err(reason) = &nvml {
            tracing::info!(reason, "no metrics and no energy of the devices: there is no NVML");
        }
        let options = DeviceOptions::read(options);
        Ok(Self { host, devices, compiler, libraries, nvml: nvml.ok(), options })
    }

    fn devices(&self) -> Result<Vec<Device>, PluginError> {
        Ok(self.devices.iter().map(DeviceInfo::listed).collect())
    }

    fn load_model(&self, request: &ModelRequest) -> Result<CudaModel, PluginError> {
        let model = load(self.host, request, self.options.in_flight_max, |index| {
            let info = at_position(&self.devices, index)?;
            let driver = Cuda::open(self.host, info, Arc::clone(&self.compiler), &self.libraries)?;
            let has_library = self.libraries.products.is_some();
            let tuning = Tuning { has_library, ..Tuning::GPU }.within(info.limits.threads);
            // The same name for each device of a product: one is as the other.
            let calibrates = self.options.calibrates && !has_library;
            let calibrated_as = calibrates.then(|| format!("{} {}", info.name, self.compiler.version()));
            Ok(OpenedDevice { driver, tuning, calibrated_as })
        })?;
        let used: BTreeSet<u32> = request.placements.iter().map(|placement| placement.device_index).collect();
        Ok(CudaModel { host: self.host, gauges: self.gauges(&used)?, reader: Mutex::default(), model })
    }
}

/// Loads cuBLASLt, if it is wanted and available.
fn products(options: &Options) -> Result<Option<ProductLibrary>, OpenError> {
    let wanted = options.text("products").unwrap_or_default();
    if wanted == "own" {
        return Ok(None);
    }
    let (folder, compiler) = (options.path("cublaslt"), options.path("nvrtc"));
    match ProductLibrary::load(folder, compiler, options.boolean("tf32")) {
        Err(OpenError::NoCublasLt { reason }) if wanted != "cublaslt" && folder.is_none() => {
            tracing::warn!(reason, "products are computed without tensor cores: there is no cuBLASLt");
            Ok(None)
        }
        loaded => loaded.map(Some),
    }
}

/// Loads cuDNN, if it is wanted and available.
fn convolutions(options: &Options) -> Result<Option<ConvolutionLibrary>, OpenError> {
    let wanted = options.text("convolutions").unwrap_or_default();
    if wanted == "own" {
        return Ok(None);
    }
    let (folder, compiler) = (options.path("cudnn"), options.path("nvrtc"));
    match ConvolutionLibrary::load(folder, compiler, options.boolean("tf32")) {
        Err(OpenError::NoCudnn { reason }) if wanted != "cudnn" && folder.is_none() => {
            tracing::info!(reason, "convolutions are the plugin's own: there is no cuDNN");
            Ok(None)
        }
        loaded => loaded.map(Some),
    }
}

impl CudaPlugin {
    /// Returns the gauges of these devices; `None` if there is no NVML, or it does not know one of them.
    fn gauges(&self, used: &BTreeSet<u32>) -> Result<Option<Gauges>, PluginError> {
        let Some(nvml) = &self.nvml else { return Ok(None) };
        let mut gauges = Vec::new();
        for index in used {
            match nvml.device(&at_position(&self.devices, *index)?.bus_id) {
                Ok(gauge) => gauges.push((*index, gauge)),
                Err(reason) => {
                    tracing::info!(
                        device = index,
                        reason,
                        "no metrics and no energy: NVML does not know the device"
                    );
                    return Ok(None);
                }
            }
        }
        Ok(Some(Gauges::new(gauges)))
    }
}

/// A model on CUDA's devices, with their resources.
pub struct CudaModel {
    host: Host,
    model: DeviceModel<Cuda>,
    gauges: Option<Gauges>,
    /// Reads the gauges during the timed part.
    reader: Mutex<Option<Reader>>,
}

impl CudaModel {
    fn set_reader(&self, reader: Option<Reader>) {
        *self.reader.lock() = reader;
    }
}

impl Model for CudaModel {
    type Instance = DeviceInstance<Cuda>;

    fn create_instance(&self, placement: &Placement) -> Result<DeviceInstance<Cuda>, PluginError> {
        self.model.create_instance(placement)
    }

    fn energy_joules(&self) -> Result<Option<f64>, PluginError> {
        Ok(self.gauges.as_ref().and_then(Gauges::energy_joules))
    }

    fn memory(&self) -> Option<&dyn PluginMemory> {
        self.model.memory()
    }

    fn prepare_samples(&self, samples: &[PreparedSample]) -> Result<(), PluginError> {
        self.model.prepare_samples(samples)
    }

    fn release_samples(&self) {
        self.model.release_samples();
    }

    fn start(&self) -> Result<(), PluginError> {
        self.model.start()?;
        let reader = self.gauges.clone().map(|gauges| Reader::start(self.host, gauges)).transpose()?;
        self.set_reader(reader);
        Ok(())
    }

    fn stop(&self) -> Result<(), PluginError> {
        self.set_reader(None);
        self.model.stop()
    }

    fn explain(&self) -> Option<String> {
        self.model.explain()
    }
}

impl From<OpenError> for PluginError {
    fn from(error: OpenError) -> Self {
        let message = error.to_string();
        match error {
            OpenError::Failed(error) => Self { message, ..error.into() },
            _ => Self::failed(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_has_any_onnx_model_on_cuda() {
        let manifest = CudaPlugin::manifest();
        let models = manifest.models.iter();
        let models: Vec<_> =
            models.map(|model| [&model.model, &model.format, &model.precision, &model.device]).collect();
        assert_eq!(models, ["f32", "f16", "bf16", "int8"].map(|precision| ["*", "onnx", precision, "cuda"]));
        let names: Vec<_> = manifest.options.iter().map(|option| option.name.as_str()).collect();
        let expected = [
            "device",
            "nvrtc",
            "products",
            "convolutions",
            "tf32",
            "cublaslt",
            "cudnn",
            "calibrate",
            "in_flight",
        ];
        assert_eq!(names, expected);
    }
}
