//! The digits benchmark: its models, images, and the logits that are right.
//!
//! They lie in `datasets/digits` and are made together by `make.py` there.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use proctor_datasets::{DataRoot, open_dataset};
use proctor_plugin_api::vocabulary::SampleIndex;
use proctor_plugin_host::ModelDemand;
use serde::Deserialize;

use crate::{
    demand::{demand, f32_spec},
    run::Answer,
};

/// The models, each as an ONNX file and as a safetensors file.
pub const MODELS: [&str; 3] = ["digits-cnn", "digits-lstm", "digits-mlp"];

/// Number of classes, and so of logits.
const CLASSES: usize = 10;

/// Answers of the reference framework.
#[derive(Debug, Clone, Deserialize)]
pub struct Reference {
    /// The logits of the first images: `[image][digit]`.
    pub logits: Vec<Vec<f64>>,
    /// The digit that each image is read as.
    pub predictions: String,
}

/// Returns a file of the benchmark.
#[must_use]
pub fn file(name: &str) -> PathBuf {
    folder().join("digits").join(name)
}

/// Returns a demand for one of the models, by the name of its file: `digits-cnn.onnx`.
#[must_use]
pub fn model(name: &str) -> ModelDemand {
    let image: &[usize] = match name.split('.').next() {
        Some("digits-cnn") => &[1, 8, 8],
        Some("digits-lstm") => &[8, 8],
        _ => &[64],
    };
    demand(&file(name), &[f32_spec("image", image)], &[f32_spec("logits", &[CLASSES])])
}

/// Returns the 600 images of the validation set, which all of the models take: 64 pixels within `[0, 1]`.
///
/// # Panics
/// If the files differ from the repository's.
#[must_use]
pub fn images() -> Vec<Vec<f32>> {
    let digits =
        open_dataset("digits", &DataRoot::new(Some(&folder()))).expect("the repository has the digits");
    let image = |index| {
        let raw = digits.read(SampleIndex(index)).expect("the index is one of the data set's");
        raw.bytes.iter().map(|pixel| f32::from(*pixel) / 16.0).collect()
    };
    (0..digits.sample_count()).map(image).collect()
}

/// Returns the reference framework's answers to the [`images`].
///
/// # Panics
/// If the model does not exist.
#[must_use]
pub fn reference(model: &str) -> Reference {
    Reference::of_file(&file("reference.json"), model)
}

/// Returns the digits that answers are for: of each the place of the largest logit.
///
/// # Panics
/// If an answer is not ten logits.
#[must_use]
pub fn predictions(answers: &[Answer]) -> String {
    let digit = |answer: &Answer| {
        let logits: [f32; CLASSES] = answer.f32s(0).try_into().expect("an answer is ten logits");
        ('0'..='9').zip(logits).max_by(|(_, a), (_, b)| a.total_cmp(b)).expect("there are ten").0
    };
    answers.iter().map(digit).collect()
}

impl Reference {
    /// Reads the answers of a model from a file that the script of the models has written.
    ///
    /// # Panics
    /// If the file is not there or does not know the model.
    pub(crate) fn of_file(path: &Path, model: &str) -> Self {
        #[derive(Deserialize)]
        struct References {
            models: HashMap<String, Reference>,
        }
        let bytes = fs::read(path).expect("the repository has reference.json");
        let mut all: References = serde_json::from_slice(&bytes).expect("reference.json is sound");
        all.models.remove(model).expect("reference.json knows the model")
    }

    /// Returns the largest absolute difference of a logit, over the answers to the first images; NaN if one is not a
    /// number. There may be more answers than logits, or fewer.
    ///
    /// # Panics
    /// If there are no answers, or an answer is not ten logits.
    #[must_use]
    pub fn error(&self, answers: &[Answer]) -> f64 {
        assert!(!answers.is_empty(), "nothing differs from nothing");
        let mut largest: f64 = 0.0;
        for (answer, expected) in answers.iter().zip(&self.logits) {
            let logits = answer.f32s(0);
            assert_eq!(logits.len(), expected.len(), "an answer is ten logits");
            for (got, expected) in logits.iter().zip(expected) {
                let error = (f64::from(*got) - expected).abs();
                // Not `f64::max`, which passes over NaN.
                largest = if error > largest || error.is_nan() { error } else { largest };
            }
        }
        largest
    }
}

/// Returns the folder of the data.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets")
}
