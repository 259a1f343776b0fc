//! Turns the files of a benchmark's model into a runnable one.

use std::sync::Arc;

use proctor_rnn_layer::GruReset;
use proctor_vocabulary::{ElementType, TensorSpec};

use crate::model::Model;
use crate::nets::network;
use crate::onnx::fit::Mismatch;
use crate::onnx::model::prepare;
use crate::onnx::read::{self, ReadOptions};
use crate::request::{LoadError, LoadRequest};
use crate::safetensors::stack::{Stack, StackOutput, StackSettings};

/// Loads a model and plans its layers.
///
/// # Errors
/// Returns a [`LoadError`] that names what does not fit.
pub fn load(request: &LoadRequest<'_>) -> Result<Arc<dyn Model>, LoadError> {
    if let Some(network) = network::find(request.model) {
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
        let graph = read::load(path, &options)?;
        let model =
            prepare(graph, request.inputs, request.outputs, request.batch_size_max, request.scheduler);
        return model.map_err(|Mismatch { has, wants }| LoadError::Tensors { has, wants });
    }
    Err(LoadError::NoFile { model: request.model.to_owned(), formats: "safetensors or onnx" })
}

/// Returns the number of time steps of a sample, and which output is wanted.
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
