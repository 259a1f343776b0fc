//! The plugin behind the traits of `proctor-plugin-api`.

use std::sync::Arc;

use proctor_onnx_file::{Dim, OnnxFile, Precision};
use proctor_plugin_api::{
    Host, Manifest, ModelRequest, ModelSupport, Options, Plugin, PluginError, export_plugin,
    vocabulary::{InputForm, Layout, TensorSpec},
};

use crate::{
    error::LoadError,
    generation::FORMATS,
    model::OnnxModel,
    options::{Settings, declare},
    runtime_library::{find::find, runtime::Runtime},
};

export_plugin!(Onnx);

/// Kinds of devices, the default first.
const DEVICES: [&str; 2] = ["cpu", "cuda"];

/// The precisions of files, the default first.
const PRECISIONS: [Precision; 3] = [Precision::F32, Precision::F16, Precision::Int8];

/// The opened plugin: the runtime and the options.
#[derive(Debug)]
pub struct Onnx {
    host: Host,
    runtime: Arc<Runtime>,
    settings: Settings,
}

impl Plugin for Onnx {
    type Model = OnnxModel;

    fn manifest() -> Manifest {
        let description =
            "Any ONNX file through ONNX Runtime, whose library is found when the plugin is opened.";
        let mut manifest = Manifest::new("onnx", env!("CARGO_PKG_VERSION"), description)
            .vendor("Proctor", env!("CARGO_PKG_LICENSE"))
            .with_live_instances();
        for device in DEVICES {
            for precision in PRECISIONS {
                let (device, precision) = (device.to_owned(), precision.name().to_owned());
                let any = ModelSupport::new("*", "onnx");
                manifest = manifest.model(ModelSupport { device, precision, dynamic_shapes: true, ..any });
            }
        }
        // Such models are for the CPU alone: tensors that go from call to call stay in memory of the processor.
        for precision in [Precision::F32, Precision::Int8] {
            for format in FORMATS {
                let (device, precision) = (DEVICES[0].to_owned(), precision.name().to_owned());
                manifest =
                    manifest.model(ModelSupport { device, precision, ..ModelSupport::new("*", format) });
            }
        }
        declare(manifest)
    }

    fn open(host: Host, options: &Options) -> Result<Self, PluginError> {
        let settings = Settings::read(options)?;
        let path = find(settings.library.as_deref()).map_err(LoadError::from)?;
        let runtime = Runtime::load(&path).map_err(LoadError::from)?;
        Ok(Self { host, runtime, settings })
    }

    fn input_form(&self, request: &ModelRequest, input: usize) -> Result<InputForm, PluginError> {
        let given = InputForm::of(&request.inputs[input]);
        // Loading the file reports its faults.
        let file = request.file("onnx").and_then(|path| OnnxFile::open(path).ok());
        let is_last = file.is_some_and(|file| has_channels_last(&file, &request.inputs, input));
        Ok(if is_last { InputForm { layout: Layout::ChannelsLast, ..given } } else { given })
    }

    fn load_model(&self, request: &ModelRequest) -> Result<OnnxModel, PluginError> {
        Ok(OnnxModel::load(self.host, &self.runtime, &self.settings, request)?)
    }
}

/// Returns whether a model has the channels of an image last that the benchmark has first, by the extents that its file
/// says.
fn has_channels_last(file: &OnnxFile, inputs: &[TensorSpec], input: usize) -> bool {
    let values = &file.signature.inputs;
    let named = values.iter().find(|value| value.name == inputs[input].name);
    let value = named.or_else(|| values.get(input).filter(|_| values.len() == inputs.len()));
    let ([channels, _, _], Some(dims)) =
        (&inputs[input].shape[..], value.and_then(|value| value.dims.as_deref()))
    else {
        return false;
    };
    // With the batch in front, or without.
    let own = if dims.len() == 4 { &dims[1..] } else { dims };
    own.len() == 3 && own[2] == Dim::Fixed(*channels) && own[0] != Dim::Fixed(*channels)
}
