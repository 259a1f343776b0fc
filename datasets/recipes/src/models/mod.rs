//! The models that general engines compare themselves on: true shapes, seeded random weights, each as safetensors and
//! as ONNX. `datasets/recipes/models.md` says what is in the files and what is computed.
//!
//! A model is one file here: its sizes, weights, samples and graph.

mod bert;
mod llama;
mod lstm_stack;
mod mobilenet;
mod net;
mod resnet;
#[cfg(test)]
mod tests;

use proctor_vocabulary::ElementType;

use crate::{
    inputs::{InputRecipe, InputTensor, InputValues},
    weights::ModelRecipe,
};
use net::Net;

/// The models of general engines that there are recipes for. A `-tiny` one is the same with small sizes, for tests.
pub const MODELS: [&str; 13] = [
    "resnet50",
    "resnet50-tiny",
    "mobilenet-v1",
    "mobilenet-v1-tiny",
    "bert-base",
    "bert-large",
    "bert-tiny",
    "bert-base-embedding",
    "bert-tiny-embedding",
    "lstm-stack",
    "lstm-stack-tiny",
    "llama-small",
    "llama-tiny",
];

/// One model: what makes its weights, its samples and its graph.
trait Model {
    /// The weights; the recipe's name is the file's, which several models may share.
    fn weights(&self) -> ModelRecipe;

    /// The inputs of one sample.
    fn inputs(&self) -> Vec<InputTensor>;

    /// Adds the nodes and the outputs; the inputs are there.
    fn compute(&self, net: &mut Net);
}

fn model(name: &str) -> Option<Box<dyn Model>> {
    Some(match name {
        "resnet50" => Box::new(resnet::RESNET50),
        "resnet50-tiny" => Box::new(resnet::TINY),
        "mobilenet-v1" => Box::new(mobilenet::MOBILENET_V1),
        "mobilenet-v1-tiny" => Box::new(mobilenet::TINY),
        "bert-base" => Box::new(bert::BASE),
        "bert-large" => Box::new(bert::LARGE),
        "bert-tiny" => Box::new(bert::TINY),
        "bert-base-embedding" => Box::new(bert::BASE_EMBEDDING),
        "bert-tiny-embedding" => Box::new(bert::TINY_EMBEDDING),
        "lstm-stack" => Box::new(lstm_stack::STACK),
        "lstm-stack-tiny" => Box::new(lstm_stack::TINY),
        "llama-small" => Box::new(llama::SMALL),
        "llama-tiny" => Box::new(llama::TINY),
        _ => return None,
    })
}

pub(crate) fn recipe(name: &str) -> Option<ModelRecipe> {
    Some(model(name)?.weights())
}

pub(crate) fn input_recipe(name: &str) -> Option<InputRecipe> {
    let own = model(name).map(|model| InputRecipe::new(name, model.inputs()));
    own.or_else(|| llama::input_recipe(name))
}

/// The ONNX file of a model: its graph, whose constants are in the safetensors file of its weights, in the same folder.
///
/// `None` for a name without a graph.
#[must_use]
pub fn onnx(name: &str) -> Option<Vec<u8>> {
    let model = model(name)?;
    let weights = model.weights();
    let mut net = Net::new(name, &weights);
    for input in model.inputs() {
        net.input(&input);
    }
    model.compute(&mut net);
    Some(net.into_bytes())
}

/// The input of a network of convolutions: a square image of 3 channels, in the range of normalised photographs, about.
fn image(extent: usize) -> InputTensor {
    let values = InputValues::Mosaic { tiles: 4 };
    InputTensor { name: "image", element_type: ElementType::F32, shape: vec![3, extent, extent], values }
}
