//! What tests ask the plugin for.

use std::path::{Path, PathBuf};

use proctor_plugin_api::{
    ModelFile, ModelRequest,
    vocabulary::{ElementType, Scenario, TensorSpec},
};

/// A tensor of one sample.
pub fn tensor(name: &str, element_type: ElementType, shape: &[usize]) -> TensorSpec {
    TensorSpec { name: name.into(), element_type, shape: shape.to_vec() }
}

/// A tensor of f32.
pub fn f32s(name: &str, shape: &[usize]) -> TensorSpec {
    tensor(name, ElementType::F32, shape)
}

/// A model from a file.
pub fn request(model: &str, path: PathBuf, inputs: &[TensorSpec], outputs: &[TensorSpec]) -> ModelRequest {
    ModelRequest {
        model: model.into(),
        precision: "f32".into(),
        device: "cpu".into(),
        files: vec![ModelFile { format: "safetensors".into(), path }],
        inputs: inputs.to_vec(),
        outputs: outputs.to_vec(),
        scenario: Scenario::Offline,
        batch_size_max: 8,
        instance_count: 1,
    }
}

/// A file of the digits benchmark.
pub fn digits_file(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets/digits").join(file)
}

/// A digits model from its own file.
pub fn digits(model: &str) -> ModelRequest {
    let image: &[usize] = match model {
        "digits-cnn" => &[1, 8, 8],
        "digits-lstm" => &[8, 8],
        _ => &[64],
    };
    let path = digits_file(&format!("{model}.safetensors"));
    request(model, path, &[f32s("image", image)], &[f32s("logits", &[10])])
}

/// The words of f32 values.
pub fn words(values: impl IntoIterator<Item = f32>) -> Vec<u32> {
    values.into_iter().map(f32::to_bits).collect()
}

/// The f32 values of words.
pub fn values(words: &[u32]) -> Vec<f32> {
    words.iter().copied().map(f32::from_bits).collect()
}
