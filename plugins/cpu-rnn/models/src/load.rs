//! From the files of a benchmark's model to something that runs.

use std::{path::Path, sync::Arc};

use proctor_rnn_layer::{GruReset, Precision};
use proctor_vocabulary::{ElementType, TensorSpec};

use crate::model::{Model, Scheduler};
use crate::nets;
use crate::onnx::error::OnnxError;
use crate::onnx::fit::Mismatch;
use crate::onnx::read::ReadOptions;
use crate::onnx::{self};
use crate::safetensors::error::WeightsError;
use crate::safetensors::stack::{Stack, StackOutput, StackSettings};

/// The model to be loaded, and how it will be used.
#[derive(Clone, Copy)]
pub struct LoadRequest<'a> {
    /// Id of the model, such as `digits-lstm`. The networks are found by it; for all others the file says everything.
    pub model: &'a str,
    /// The file of weights, if there is one.
    pub safetensors: Option<&'a Path>,
    /// The ONNX file, if there is one.
    pub onnx: Option<&'a Path>,
    /// Input tensors of one sample.
    pub inputs: &'a [TensorSpec],
    /// Output tensors of one sample.
    pub outputs: &'a [TensorSpec],
    /// Largest batch; at least 1.
    pub batch_size_max: usize,
    /// Number format of the weights.
    pub precision: Precision,
    /// Convention of a GRU in a file that does not say it.
    pub reset: GruReset,
    /// Chooses how layers run.
    pub scheduler: &'a dyn Scheduler,
}

/// Why a model cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// No file of a format that can be read.
    #[error("model \"{model}\" comes without a {formats} file")]
    NoFile {
        /// The model.
        model: String,
        /// The formats that would be read.
        formats: &'static str,
    },
    /// The file holds another model than the benchmark's tensors are for.
    #[error("the model {has}, but the benchmark {wants}")]
    Tensors {
        /// The model's side: what it takes or gives, in words.
        has: String,
        /// The benchmark's side: what it has or wants, in words.
        wants: String,
    },
    /// The safetensors file cannot be used.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// The ONNX file cannot be used.
    #[error(transparent)]
    Onnx(#[from] OnnxError),
}

/// Loads a model and plans its layers.
///
/// # Errors
/// A [`LoadError`] that names what does not fit.
pub fn load(request: &LoadRequest<'_>) -> Result<Arc<dyn Model>, LoadError> {
    if let Some(network) = nets::find(request.model) {
        return network.load(request);
    }
    if let Some(path) = request.safetensors {
        // The names of single layers say what their files cannot.
        let before = request.model.starts_with("rnn-gru0-");
        let reset = if before { GruReset::BeforeProduct } else { request.reset };
        let stack = Stack::load(path, reset, request.precision)?;
        let (time, output) = fit(&stack, request.inputs, request.outputs)?;
        let settings = StackSettings { time, batch_size_max: request.batch_size_max, output };
        return Ok(stack.prepare(settings, request.scheduler));
    }
    if let Some(path) = request.onnx {
        let options = ReadOptions { precision: request.precision, ..ReadOptions::default() };
        let graph = onnx::load(path, &options)?;
        let model =
            onnx::prepare(graph, request.inputs, request.outputs, request.batch_size_max, request.scheduler);
        return model.map_err(|Mismatch { has, wants }| LoadError::Tensors { has, wants });
    }
    Err(LoadError::NoFile { model: request.model.to_owned(), formats: "safetensors or onnx" })
}

/// Number of time steps of a sample, and which output is wanted.
fn fit(
    stack: &Stack,
    inputs: &[TensorSpec],
    outputs: &[TensorSpec],
) -> Result<(usize, StackOutput), LoadError> {
    let (features, width) = (stack.input_count(), stack.output_count());
    let time = match inputs {
        [TensorSpec { element_type: ElementType::F32, shape, .. }] => match shape[..] {
            [time, width] if width == features && time > 0 => Some(time),
            _ => None,
        },
        _ => None,
    };
    let list = |specs: &[TensorSpec]| specs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let Some(time) = time else {
        let has = format!("takes one input f32[time, {features}]");
        return Err(LoadError::Tensors { has, wants: format!("has {}", list(inputs)) });
    };
    match outputs {
        [TensorSpec { element_type: ElementType::F32, shape, .. }]
            if !stack.has_head() && shape[..] == [time, width] =>
        {
            Ok((time, StackOutput::All))
        }
        [output] if output.element_type == ElementType::F32 && output.element_count() == width => {
            Ok((time, StackOutput::Last))
        }
        _ => {
            let all = if stack.has_head() { String::new() } else { format!(" or f32[{time}, {width}]") };
            let has = format!("gives one output f32[{width}]{all}");
            Err(LoadError::Tensors { has, wants: format!("wants {}", list(outputs)) })
        }
    }
}
