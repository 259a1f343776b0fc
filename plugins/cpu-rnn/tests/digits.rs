//! The digits LSTM gives the logits of its reference.
//!
//! Model, images, split and reference lie in `datasets/digits` and are made together by `make.py` there.

mod common;

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use common::{instance, run};
use cpu_rnn_sut::{GruReset, Model};
use serde::Deserialize;

/// Largest absolute difference of a logit (they reach ±15) from the reference framework's, which adds f32 in another
/// order.
const TOLERANCE: f64 = 1e-4;

/// Bytes before the pixels of an IDX file of images.
const IMAGE_HEADER_BYTES: usize = 16;

fn digits(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets/digits").join(file)
}

fn bytes(file: &str) -> Vec<u8> {
    fs::read(digits(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The validation images, eight rows of eight pixels within [0, 1].
fn validation() -> Vec<Vec<f32>> {
    let split: Split = toml::from_slice(&bytes("split.toml")).expect("split.toml is sound");
    let pixels = bytes("images.idx3-ubyte");
    let image = |index: &usize| {
        let pixels = &pixels[IMAGE_HEADER_BYTES + index * 64..][..64];
        pixels.iter().map(|pixel| f32::from(*pixel) / 16.0).collect()
    };
    split.validation.iter().map(image).collect()
}

/// The part of split.toml that matters here.
#[derive(Deserialize)]
struct Split {
    validation: Vec<usize>,
}

/// reference.json: what the reference framework gives for each model.
#[derive(Deserialize)]
struct References {
    models: HashMap<String, Reference>,
}

#[derive(Deserialize)]
struct Reference {
    /// Of the first validation images.
    logits: Vec<Vec<f64>>,
}

fn reference() -> Reference {
    let mut all: References =
        serde_json::from_slice(&bytes("reference.json")).expect("reference.json is sound");
    all.models.remove("digits-lstm").expect("reference.json knows digits-lstm")
}

fn model() -> Arc<Model> {
    let model = Model::load(&digits("digits-lstm.safetensors"), GruReset::default());
    Arc::new(model.unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn the_first_logits_are_those_of_the_reference_at_every_batch_size() {
    let images = validation();
    let expected = reference().logits;
    assert_eq!(expected.len(), 16);
    for batch_size in [1, 3, 16] {
        let mut instance = instance(model(), 8, batch_size, 1);
        let outputs = images[..16].chunks(batch_size).flat_map(|batch| run(&mut instance, batch));
        for (output, expected) in outputs.zip(&expected) {
            assert_eq!(output.len(), expected.len());
            for (got, expected) in output.iter().zip(expected) {
                assert!((f64::from(*got) - expected).abs() <= TOLERANCE, "{got} is not {expected}");
            }
        }
    }
}
