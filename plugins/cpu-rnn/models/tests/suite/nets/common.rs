//! Files, samples and reference outputs of the generated networks.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use proctor_recipes as recipes;
use proctor_rnn_engine::Team;
use proctor_rnn_layer::{GruReset, Precision};
use proctor_rnn_models::{
    LoadError, LoadRequest, Model, Scheduler, SingleThread,
    nets::{Network, find},
};

use crate::common::owned_batch::OwnedBatch;

/// Loads a network from a file of its recipe.
pub fn load(id: &str, precision: Precision, batch_size_max: usize) -> Arc<dyn Model> {
    load_for(&SingleThread, id, precision, batch_size_max)
}

/// The same by other schedules.
pub fn load_for(
    scheduler: &dyn Scheduler,
    id: &str,
    precision: Precision,
    batch_size_max: usize,
) -> Arc<dyn Model> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    recipes::write_safetensors(&recipes::recipe(id).unwrap(), &path, &mut |_| ()).unwrap();
    let network = find(id).unwrap();
    let request = request(&network, &path, precision, batch_size_max);
    network.load(&LoadRequest { scheduler, ..request }).unwrap()
}

pub fn load_file(
    id: &str,
    path: &Path,
    precision: Precision,
    batch_size_max: usize,
) -> Result<Arc<dyn Model>, LoadError> {
    let network = find(id).unwrap();
    network.load(&request(&network, path, precision, batch_size_max))
}

fn request<'a>(
    network: &'a Network,
    path: &'a Path,
    precision: Precision,
    batch_size_max: usize,
) -> LoadRequest<'a> {
    LoadRequest {
        model: network.id,
        safetensors: Some(path),
        onnx: None,
        vocabulary: None,
        inputs: &network.inputs,
        outputs: &network.outputs,
        batch_size_max,
        precision,
        reset: GruReset::AfterProduct,
        scheduler: &SingleThread,
    }
}

/// A batch of generated samples.
pub fn batch(id: &str, samples: impl IntoIterator<Item = u64>) -> OwnedBatch {
    let (inputs, network) = (recipes::input_recipe(id).unwrap(), find(id).unwrap());
    let room: Vec<usize> = network.outputs.iter().map(|output| output.element_count()).collect();
    let mut batch = OwnedBatch::default();
    for sample in samples {
        batch.push(inputs.sample(sample).iter().map(|bytes| words(bytes)).collect(), &room);
    }
    batch
}

pub fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks().0.iter().map(|bytes| u32::from_ne_bytes(*bytes)).collect()
}

/// The reference outputs of a model.
pub struct Reference {
    json: serde_json::Value,
}

impl Reference {
    pub fn read(id: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join(format!("../../../datasets/recipes/reference/{id}.json"));
        Self { json: serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap() }
    }

    pub fn sample_count(&self) -> usize {
        self.json["samples"].as_array().unwrap().len()
    }

    pub fn values(&self, sample: usize, output: &str) -> Vec<f64> {
        let values = self.json["samples"][sample][output].as_array().unwrap();
        values.iter().map(|value| value.as_f64().unwrap()).collect()
    }

    /// Shape and sum of the first 16 values of each tensor.
    pub fn tensors(&self) -> Vec<(String, Vec<usize>, f64)> {
        let tensors = self.json["tensors"].as_object().unwrap();
        let shape = |tensor: &serde_json::Value| -> Vec<usize> {
            tensor["shape"]
                .as_array()
                .unwrap()
                .iter()
                .map(|extent| extent.as_u64().unwrap() as usize)
                .collect()
        };
        let sum = |tensor: &serde_json::Value| tensor["sum_of_first_16"].as_f64().unwrap();
        tensors.iter().map(|(name, tensor)| (name.clone(), shape(tensor), sum(tensor))).collect()
    }
}

pub fn team() -> Team {
    Team::new(1)
}
