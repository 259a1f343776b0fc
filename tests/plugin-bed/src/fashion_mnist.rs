//! The benchmark on Fashion-MNIST: its model, its first images, and the logits that are right.
//!
//! They lie in `datasets/fashion-mnist-cnn` and are made together by `make.py` there.

use std::{fs, path::PathBuf};

use proctor_datasets::IdxArray;
use proctor_plugin_host::ModelDemand;

use crate::{
    demand::{demand, f32_spec},
    digits::{Reference, folder},
};

/// The model, as an ONNX file and as a safetensors file; in 8 and in 16 bits, its ONNX file has `-int8` and `-f16` at
/// the end of its name.
pub const MODEL: &str = "fashion-mnist-cnn";

/// Returns a file of the benchmark.
#[must_use]
pub fn file(name: &str) -> PathBuf {
    folder().join(MODEL).join(name)
}

/// Returns a demand for the model by the name of its file, such as `fashion-mnist-cnn-int8.onnx`.
#[must_use]
pub fn model(name: &str) -> ModelDemand {
    let demand = demand(&file(name), &[f32_spec("image", &[1, 28, 28])], &[f32_spec("logits", &[10])]);
    ModelDemand { model: MODEL.into(), ..demand }
}

/// Returns the first 64 images: 784 pixels within `[0, 1]` each.
///
/// # Panics
/// If the file differs from the repository's.
#[must_use]
pub fn images() -> Vec<Vec<f32>> {
    let bytes = fs::read(file("samples.idx3-ubyte")).expect("the repository has the samples");
    let array = IdxArray::parse(bytes, 3).expect("the samples are sound");
    let (images, _) = array.elements().as_chunks::<{ 28 * 28 }>();
    images.iter().map(|image| image.iter().map(|pixel| f32::from(*pixel) / 255.0).collect()).collect()
}

/// Returns the answers of ONNX Runtime by the file of this name without its ending.
///
/// # Panics
/// If there are none.
#[must_use]
pub fn reference(name: &str) -> Reference {
    Reference::of_file(&file("reference.json"), name)
}
