//! The models that general engines compare themselves on: true shapes, seeded random weights, each as safetensors and as
//! ONNX. `datasets/recipes/models.md` says what is in the files and what is computed.
//!
//! A model is one file here: its sizes, weights, samples and graph.

mod bert;
mod llama;
mod lstm_stack;
mod mobilenet;
mod net;
mod resnet;

use proctor_vocabulary::ElementType;

use super::{InputRecipe, InputTensor, InputValues, ModelRecipe};
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

pub(super) fn recipe(name: &str) -> Option<ModelRecipe> {
    Some(model(name)?.weights())
}

pub(super) fn input_recipe(name: &str) -> Option<InputRecipe> {
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

/// The input of a network of convolutions: a square image of 3 channels, in the range of normalised photographs.
fn image(extent: usize) -> InputTensor {
    let values = InputValues::Uniform { scale: 2, lengths: None };
    InputTensor { name: "image", element_type: ElementType::F32, shape: vec![3, extent, extent], values }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proctor_onnx_file::{Dim, OnnxFile, ValueType};

    use super::*;
    use crate::{make_model, sha256_hex};

    /// What the published models have, without the statistics of batch norms.
    fn trained_count(name: &str) -> u64 {
        let recipe = recipe(name).unwrap();
        let trained = recipe.tensors.iter().filter(|tensor| !tensor.name.contains(".running_"));
        trained.map(|tensor| tensor.element_count() as u64).sum()
    }

    #[test]
    fn the_models_have_their_published_sizes() {
        // torchvision's documentation of resnet50.
        assert_eq!(trained_count("resnet50"), 25_557_032);
        // Keras has 4,253,864 with 1000 classes, of which 21,888 are statistics; there is one class more.
        assert_eq!(trained_count("mobilenet-v1"), 4_253_864 - 21_888 + 1025);
        assert_eq!(recipe("mobilenet-v1").unwrap().parameter_count(), 4_253_864 + 1025);
        // bert-base-uncased and bert-large-uncased have 109,482,240 and 335,141,888, with a pooler and without this head.
        let other_head = |width: u64| (2 * width + 2) as i64 - (width * width + width) as i64;
        assert_eq!(trained_count("bert-base") as i64, 109_482_240 + other_head(768));
        assert_eq!(trained_count("bert-large") as i64, 335_141_888 + other_head(1024));
        assert_eq!(trained_count("lstm-stack"), 3 * 4 * 512 * (512 + 512 + 2));
    }

    #[test]
    fn variances_and_gains_are_positive() {
        for name in MODELS.into_iter().filter(|name| name.ends_with("-tiny")) {
            let recipe = recipe(name).unwrap();
            for tensor in recipe.tensors.iter().filter(|tensor| tensor.center > 0.0) {
                let values = recipe.values(&tensor.name).unwrap();
                let (low, high) = (tensor.center - tensor.scale, tensor.center + tensor.scale);
                assert!(
                    low > 0.0 && values.iter().all(|value| (low..=high).contains(value)),
                    "{}",
                    tensor.name
                );
            }
        }
    }

    /// Opens the file that [`make_model`] writes, as a plugin does.
    fn open(name: &str, folder: &std::path::Path) -> OnnxFile {
        let made = make_model(name, folder, &mut |_, _| ()).unwrap();
        OnnxFile::open(&made.onnx.unwrap().path).unwrap()
    }

    #[test]
    fn graphs_have_the_tensors_of_a_sample_with_a_free_batch() {
        let folder = tempfile::tempdir().unwrap();
        for name in MODELS.into_iter().filter(|name| name.contains("-tiny")) {
            let signature = open(name, folder.path()).signature().clone();
            let inputs = input_recipe(name).unwrap().tensors;
            assert_eq!(signature.inputs.len(), inputs.len());
            for (value, tensor) in signature.inputs.iter().zip(&inputs) {
                assert_eq!(
                    (value.name.as_str(), value.value_type),
                    (tensor.name, ValueType::Tensor(tensor.element_type))
                );
                assert_eq!(value.dims, Some(Dim::batch_of(&tensor.shape)), "{name}");
            }
            assert!(!signature.outputs.is_empty());
        }
    }
}
