//! The models that general engines compare themselves on: true shapes, seeded random weights, each as safetensors and
//! as ONNX. `datasets/recipes/models.md` says what is in the files and what is computed.
//!
//! A model is one file here: its sizes, weights, samples and graph.

mod bert;
mod detection;
mod dlrm;
mod llama;
mod lstm_stack;
mod mobilenet;
mod net;
mod resnet;
#[cfg(test)]
mod tests;
mod unet3d;

use proctor_vocabulary::ElementType;

use crate::{
    inputs::{InputRecipe, InputTensor, InputValues},
    weights::ModelRecipe,
};
use net::Net;

/// One model: the maker of its weights, its samples and its graph.
trait Model: Sync {
    /// Returns the weights; the recipe's name is the file's, which several models may share.
    fn weights(&self) -> ModelRecipe;

    /// Returns the inputs of one sample; empty if the samples come from a published data set.
    fn inputs(&self) -> Vec<InputTensor>;

    /// Adds the nodes and the outputs; the inputs of a sample exist already.
    fn compute(&self, net: &mut Net);
}

/// The models by name. A `-tiny` one has small sizes, for tests; a `-narrow` one has inputs and outputs of the true
/// shapes.
static MODELS: [(&str, &dyn Model); 32] = [
    ("resnet50", &resnet::RESNET50),
    ("resnet50-tiny", &resnet::TINY),
    ("resnet50-mlperf", &resnet::MLPERF),
    ("resnet50-mlperf-narrow", &resnet::MLPERF_NARROW),
    ("mobilenet-v1", &mobilenet::MOBILENET_V1),
    ("mobilenet-v1-tiny", &mobilenet::TINY),
    ("ssd-mobilenet", &detection::SSD_MOBILENET),
    ("ssd-mobilenet-narrow", &detection::SSD_MOBILENET_NARROW),
    ("ssd-resnet34", &detection::SSD_RESNET34),
    ("ssd-resnet34-narrow", &detection::SSD_RESNET34_NARROW),
    ("retinanet", &detection::RETINANET),
    ("retinanet-narrow", &detection::RETINANET_NARROW),
    ("bert-base", &bert::BASE),
    ("bert-large", &bert::LARGE),
    ("bert-large-narrow", &bert::LARGE_NARROW),
    ("bert-tiny", &bert::TINY),
    ("bert-base-embedding", &bert::BASE_EMBEDDING),
    ("bert-tiny-embedding", &bert::TINY_EMBEDDING),
    ("lstm-stack", &lstm_stack::STACK),
    ("lstm-stack-tiny", &lstm_stack::TINY),
    ("llama-small", &llama::SMALL),
    ("llama-tiny", &llama::TINY),
    ("dlrm-small-tables", &dlrm::SMALL_TABLES),
    ("dlrm-tiny", &dlrm::TINY),
    ("dlrm-v2-small-tables", &dlrm::V2_SMALL_TABLES),
    ("dlrm-v2-tiny", &dlrm::V2_TINY),
    ("3d-unet-kits19", &unet3d::KITS19),
    ("3d-unet-kits19-narrow", &unet3d::KITS19_NARROW),
    ("3d-unet-kits19-tiny", &unet3d::KITS19_TINY),
    ("3d-unet-brats", &unet3d::BRATS),
    ("3d-unet-brats-narrow", &unet3d::BRATS_NARROW),
    ("3d-unet-brats-tiny", &unet3d::BRATS_TINY),
];

/// Returns the names of the models of general engines.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    MODELS.iter().map(|(name, _)| *name)
}

fn model(name: &str) -> Option<&'static dyn Model> {
    MODELS.iter().find(|(known, _)| *known == name).map(|(_, model)| *model)
}

pub(crate) fn recipe(name: &str) -> Option<ModelRecipe> {
    Some(model(name)?.weights())
}

pub(crate) fn input_recipe(name: &str) -> Option<InputRecipe> {
    let inputs = model(name).map(|model| model.inputs()).filter(|inputs| !inputs.is_empty());
    inputs.map(|inputs| InputRecipe::new(name, inputs)).or_else(|| llama::input_recipe(name))
}

/// Returns the ONNX file of a model: its graph, whose constants are in the safetensors file of its weights, in the same
/// folder.
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

/// Returns the input of a network of convolutions: a square image of 3 channels, in the range of normalised
/// photographs, about.
fn image(extent: usize) -> InputTensor {
    let values = InputValues::Mosaic { tiles: 4 };
    InputTensor { name: "image", element_type: ElementType::F32, shape: vec![3, extent, extent], values }
}
