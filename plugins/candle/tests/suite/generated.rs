//! Models with generated weights, and what another implementation answers.

use std::{fs, path::Path};

use proctor_plugin_api::vocabulary::TensorSpec;
use proctor_plugin_bed::{ModelDemand, demand, spec};
use proctor_recipes::{self as recipes, InputRecipe};
use serde_json::Value;
use tempfile::TempDir;

/// A demand for a model with generated weights, in batches of up to 8, and its samples.
pub struct Generated {
    pub demand: ModelDemand,
    inputs: InputRecipe,
    pub folder: TempDir,
}

impl Generated {
    /// `id` is the model's id, `weights` is the name of the recipe's weights.
    pub fn new(id: &str, weights: &str, outputs: &[TensorSpec]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("{id}.safetensors"));
        recipes::write_safetensors(&recipes::recipe(weights).unwrap(), &path, &mut |_| ()).unwrap();
        let inputs = recipes::input_recipe(weights).unwrap();
        let demand = ModelDemand { batch_size_max: 8, ..demand(&path, &specs(&inputs), outputs) };
        Self { demand, inputs, folder }
    }

    pub fn in_precision(&self, precision: &str) -> ModelDemand {
        ModelDemand { precision: Some(precision.into()), ..self.demand.clone() }
    }

    /// The bytes of the first samples: `[sample][input]`.
    pub fn samples(&self, count: usize) -> Vec<Vec<Vec<u8>>> {
        (0..count as u64).map(|index| self.inputs.sample(index)).collect()
    }
}

fn specs(inputs: &InputRecipe) -> Vec<TensorSpec> {
    inputs.tensors.iter().map(|input| spec(input.name, input.element_type, &input.shape)).collect()
}

/// The outputs of the first samples, by another implementation.
pub fn reference(id: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets/recipes/reference");
    let text = fs::read(folder.join(format!("{id}.json"))).unwrap_or_else(|error| panic!("{id}: {error}"));
    let reference: Value = serde_json::from_slice(&text).unwrap();
    reference["samples"].as_array().unwrap().clone()
}

/// The numbers of a value, at any depth of nested lists.
pub fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(values) => values.iter().flat_map(numbers).collect(),
        value => vec![value.as_f64().unwrap()],
    }
}
