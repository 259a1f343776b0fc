//! The small variants of the larger models give the outputs of their references:
//! `datasets/recipes/make_engine_reference.py`, by torchvision, transformers and PyTorch in float64.

use std::{fs, path::Path};

use proctor_datasets::recipes::{self, InputRecipe};
use proctor_plugin_api::vocabulary::TensorSpec;
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    host::{Answer, Sample, TestHost},
    requests::{f32s, request, tensor, values},
};

/// Largest difference from the reference as a share of its largest value, for each precision: f32, f16 (11 bits, also
/// of every value in between), bf16 (8 bits of the weights).
const TOLERANCES: [(&str, f64); 3] = [("f32", 2e-5), ("f16", 2e-2), ("bf16", 6e-2)];

/// A model and the outputs of one sample.
fn models() -> Vec<(&'static str, Vec<TensorSpec>)> {
    vec![
        ("resnet50-tiny", vec![f32s("logits", &[10])]),
        ("mobilenet-v1-tiny", vec![f32s("logits", &[11])]),
        ("bert-tiny", vec![f32s("start_logits", &[16]), f32s("end_logits", &[16])]),
        ("bert-tiny-embedding", vec![f32s("embedding", &[32])]),
        ("lstm-stack-tiny", vec![f32s("y", &[5, 8])]),
    ]
}

/// A model, loaded from generated weights, with its samples.
struct Loaded {
    host: TestHost,
    inputs: InputRecipe,
    _folder: TempDir,
}

fn load(id: &str, precision: &str, outputs: &[TensorSpec]) -> Loaded {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let weights = recipes::recipe(id).unwrap();
    recipes::write_safetensors(&weights, &path, &mut |_| ()).unwrap();
    let inputs = recipes::input_recipe(id).unwrap();
    let specs: Vec<TensorSpec> =
        inputs.tensors.iter().map(|input| tensor(input.name, input.element_type, &input.shape)).collect();
    let mut request = request(id, path, &specs, outputs);
    request.precision = precision.into();
    Loaded { host: TestHost::open(&[("threads", "1")], &request).unwrap(), inputs, _folder: folder }
}

impl Loaded {
    fn samples(&self, count: usize) -> Vec<Sample> {
        let words =
            |bytes: Vec<u8>| bytes.as_chunks().0.iter().map(|word| u32::from_ne_bytes(*word)).collect();
        let sample = |index| self.inputs.sample(index).into_iter().map(words).collect();
        (0..count as u64).map(sample).collect()
    }
}

/// The outputs of the first samples, by another implementation.
fn reference(id: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets/recipes/reference");
    let text = fs::read(folder.join(format!("{id}.json"))).unwrap_or_else(|error| panic!("{id}: {error}"));
    let reference: Value = serde_json::from_slice(&text).unwrap();
    reference["samples"].as_array().unwrap().clone()
}

/// The numbers of a value, whatever lists they lie in.
fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(values) => values.iter().flat_map(numbers).collect(),
        value => vec![value.as_f64().unwrap()],
    }
}

/// Largest difference of an answer as a share of the largest value of that output.
fn error(answer: &Answer, expected: &Value, outputs: &[TensorSpec]) -> f64 {
    let of_output = |(words, spec): (&Vec<u32>, &TensorSpec)| {
        let expected = numbers(&expected[&spec.name]);
        assert_eq!(words.len(), expected.len(), "{}", spec.name);
        let scale = expected.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        let difference = |(got, expected): (f32, &f64)| (f64::from(got) - expected).abs() / scale;
        let differences = values(words).into_iter().zip(&expected).map(difference);
        // Not a maximum of f64, which passes over NaN.
        differences
            .fold(0.0, |largest: f64, error| if error > largest || error.is_nan() { error } else { largest })
    };
    answer.iter().zip(outputs).map(of_output).fold(0.0, f64::max)
}

#[test]
fn small_models_answer_as_the_reference_does_in_every_precision() {
    for (id, outputs) in models() {
        let reference = reference(id);
        for (precision, tolerance) in TOLERANCES {
            let loaded = load(id, precision, &outputs);
            let samples = loaded.samples(reference.len());
            let mut instance = loaded.host.instance();
            let answers = samples.chunks(8).flat_map(|samples| instance.execute(samples).unwrap().answers);
            let errors = answers.zip(&reference).map(|(answer, expected)| error(&answer, expected, &outputs));
            let largest = errors.fold(0.0, f64::max);
            println!("{id} in {precision}: largest difference {largest:.2e}");
            assert!(largest <= tolerance, "{id} in {precision}: {largest:e}");
            let rounded = precision != "f32";
            assert!(!rounded || largest > 1e-6, "{id}: {precision} is not computed in f32 from f32 weights");
        }
    }
}

#[test]
fn the_size_of_a_batch_does_not_change_an_answer() {
    for (id, outputs) in models() {
        let reference = reference(id);
        let loaded = load(id, "f32", &outputs);
        let samples = loaded.samples(reference.len());
        let mut instance = loaded.host.instance();
        for batch_size in [1, 2, 7] {
            let answers =
                samples.chunks(batch_size).flat_map(|samples| instance.execute(samples).unwrap().answers);
            for (sample, (answer, expected)) in answers.zip(&reference).enumerate() {
                let error = error(&answer, expected, &outputs);
                assert!(
                    error <= TOLERANCES[0].1,
                    "{id}, sample {sample} in batches of {batch_size}: {error:e}"
                );
            }
        }
    }
}

#[test]
fn a_word_that_is_not_in_the_vocabulary_fails_the_batch_and_not_the_instance() {
    let outputs = models().swap_remove(2).1;
    let loaded = load("bert-tiny", "f32", &outputs);
    let sound = loaded.samples(1);
    for (input, name, element, count) in
        [(0, "input_ids", 100, 100), (0, "input_ids", -1, 100), (2, "segment_ids", 2, 2)]
    {
        let mut bad = sound.clone();
        bad[0][input][3] = i32::cast_unsigned(element);
        let message = loaded.host.instance().execute(&bad).map(drop).unwrap_err();
        let expected = format!("{name} has the element {element}, but the model has {count} of them, from 0");
        assert!(message.contains(&expected), "{message}");
    }
    assert!(loaded.host.instance().execute(&sound).is_ok());
}

#[test]
fn more_places_than_there_are_positions_are_refused() {
    let loaded = load("bert-tiny", "f32", &models().swap_remove(2).1);
    let path = loaded._folder.path().join("model.safetensors");
    let places = |name: &str| tensor(name, loaded.inputs.tensors[0].element_type, &[25]);
    let inputs = ["input_ids", "input_mask", "segment_ids"].map(places);
    let request =
        request("bert-tiny", path, &inputs, &[f32s("start_logits", &[25]), f32s("end_logits", &[25])]);
    let message = TestHost::open(&[], &request).map(drop).unwrap_err();
    assert_eq!(message, "the model takes 1 to 24 places, but the benchmark has input_ids i32[25]");
}

#[test]
fn a_tensor_that_the_encoder_asks_for_is_named_with_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("without.safetensors");
    let mut weights = recipes::recipe("bert-tiny").unwrap();
    weights.tensors.retain(|tensor| tensor.name != "bert.encoder.layer.1.output.dense.bias");
    recipes::write_safetensors(&weights, &path, &mut |_| ()).unwrap();
    let inputs = recipes::input_recipe("bert-tiny").unwrap();
    let specs: Vec<TensorSpec> =
        inputs.tensors.iter().map(|input| tensor(input.name, input.element_type, &input.shape)).collect();
    let outputs = models().swap_remove(2).1;
    let message = TestHost::open(&[], &request("bert-tiny", path, &specs, &outputs)).map(drop).unwrap_err();
    assert!(
        message.contains("without.safetensors has no tensor \"bert.encoder.layer.1.output.dense.bias\""),
        "{message}"
    );
}
