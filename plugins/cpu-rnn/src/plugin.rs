//! The plugin: the engine of this crate behind the traits of `proctor-plugin-api`.

use std::{num::NonZeroUsize, sync::Arc};

use proctor_plugin_api::{
    Batch, Host, Instance, Manifest, Model, ModelRequest, ModelSupport, OptionSpec, Options, Placement,
    Plugin, PluginError, export_plugin,
    vocabulary::{ElementType, TensorSpec},
};

use crate::{GruReset, InstanceError, InstanceSettings, Threads, WeightsError};

export_plugin!(CpuRnn);

/// More than any machine gains from, and few enough to make.
const THREADS_MAX: i64 = 256;

/// The opened plugin: its options.
#[derive(Debug)]
pub struct CpuRnn {
    threads: Threads,
    reset: GruReset,
}

/// A loaded model and how its instances will be used.
#[derive(Debug)]
pub struct LoadedModel {
    model: Arc<crate::Model>,
    settings: InstanceSettings,
}

/// One co-located copy of a model.
#[derive(Debug)]
pub struct LoadedInstance(crate::Instance);

impl Plugin for CpuRnn {
    type Model = LoadedModel;

    fn manifest() -> Manifest {
        let description =
            "LSTM and GRU inference in f32 on the CPU, from safetensors files with PyTorch's names.";
        Manifest::new("cpu-rnn", env!("CARGO_PKG_VERSION"), description)
            .vendor("Proctor", env!("CARGO_PKG_LICENSE"))
            .model(ModelSupport::new("digits-lstm", "safetensors"))
            .option(OptionSpec::integer(
                "threads",
                1,
                1..=THREADS_MAX,
                "Threads of one matrix product; more than 1 only pays for large layers and few instances.",
            ))
            .option(OptionSpec::choice(
                "gru_reset",
                &["after", "before"],
                "Whether a GRU's reset gate acts after the hidden product (PyTorch) or on the state before it.",
            ))
    }

    fn open(_host: Host, options: &Options) -> Result<Self, PluginError> {
        let threads = options.integer("threads").and_then(|count| usize::try_from(count).ok());
        let threads = threads.and_then(NonZeroUsize::new).map_or(Threads::SINGLE, Threads);
        let reset = match options.text("gru_reset") {
            Some("before") => GruReset::BeforeProduct,
            _ => GruReset::AfterProduct,
        };
        Ok(Self { threads, reset })
    }

    fn load_model(&self, request: &ModelRequest) -> Result<LoadedModel, PluginError> {
        let path = request.file("safetensors").ok_or_else(|| {
            PluginError::unsupported(format!("model \"{}\" comes without a safetensors file", request.model))
        })?;
        let model = crate::Model::load(path, self.reset)?;
        let time = time_steps(&model, &request.inputs, &request.outputs)?;
        tracing::info!(
            path = %path.display(),
            layers = model.layer_count(),
            inputs = model.input_count(),
            outputs = model.output_count(),
            time,
            "model loaded"
        );
        let batch_size_max = usize::try_from(request.batch_size_max).expect("a usize has 32 bits or more");
        let settings = InstanceSettings { time, batch_size_max, threads: self.threads };
        Ok(LoadedModel { model: Arc::new(model), settings })
    }
}

impl Model for LoadedModel {
    type Instance = LoadedInstance;

    fn create_instance(&self, _placement: &Placement) -> Result<LoadedInstance, PluginError> {
        Ok(LoadedInstance(crate::Instance::new(Arc::clone(&self.model), self.settings)?))
    }
}

impl Instance for LoadedInstance {
    fn execute(&mut self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        let inputs = (0..batch.sample_count()).map(|position| batch.input_f32(position, 0));
        let outputs = self.0.execute(inputs)?;
        for (row, mut sample) in outputs.zip(batch.samples()) {
            sample.output_f32_mut(0).copy_from_slice(row);
        }
        Ok(())
    }
}

/// Checks the tensors of a sample against the model and returns the number of time steps.
fn time_steps(
    model: &crate::Model,
    inputs: &[TensorSpec],
    outputs: &[TensorSpec],
) -> Result<usize, PluginError> {
    let (features, classes) = (model.input_count(), model.output_count());
    let time = match inputs {
        [TensorSpec { element_type: ElementType::F32, shape, .. }] => match shape[..] {
            [time, width] if width == features && time > 0 => Some(time),
            _ => None,
        },
        _ => None,
    };
    let output_fits = matches!(outputs, [output] if output.element_type == ElementType::F32 && output.element_count() == classes);
    let list = |specs: &[TensorSpec]| specs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match time {
        None => Err(PluginError::unsupported(format!(
            "the model takes one input f32[time, {features}], but the benchmark has {}",
            list(inputs)
        ))),
        Some(_) if !output_fits => Err(PluginError::unsupported(format!(
            "the model gives one output f32[{classes}], but the benchmark wants {}",
            list(outputs)
        ))),
        Some(time) => Ok(time),
    }
}

impl From<WeightsError> for PluginError {
    fn from(error: WeightsError) -> Self {
        Self::failed(error.to_string())
    }
}

impl From<InstanceError> for PluginError {
    fn from(error: InstanceError) -> Self {
        match error {
            InstanceError::TooLarge { .. } => Self::failed(error.to_string()),
            _ => Self::invalid_argument(error.to_string()),
        }
    }
}
