//! The small variants of the larger models give the outputs of their references:
//! `datasets/recipes/make_engine_reference.py`, by torchvision, transformers and PyTorch in float64.

use std::slice;

use proctor_plugin_api::vocabulary::TensorSpec;
use proctor_plugin_bed::{Answer, ModelDemand, Samples, f32_spec};
use proctor_recipes as recipes;
use serde_json::Value;

use crate::{
    bed,
    generated::{Generated, numbers, reference},
    refusal,
};

/// Largest difference from the reference as a share of its largest value, for each precision: f32, f16 (11 bits, also
/// of every value in between), bf16 (8 bits of the weights).
const TOLERANCES: [(&str, f64); 3] = [("f32", 2e-5), ("f16", 2e-2), ("bf16", 6e-2)];

/// A model and the outputs of one sample.
fn models() -> Vec<(&'static str, Vec<TensorSpec>)> {
    vec![
        ("resnet50-tiny", vec![f32_spec("logits", &[10])]),
        ("mobilenet-v1-tiny", vec![f32_spec("logits", &[11])]),
        ("bert-tiny", vec![f32_spec("start_logits", &[16]), f32_spec("end_logits", &[16])]),
        ("bert-tiny-embedding", vec![f32_spec("embedding", &[32])]),
        ("lstm-stack-tiny", vec![f32_spec("y", &[5, 8])]),
    ]
}

/// Largest difference of an answer as a share of the largest value of that output.
fn error(answer: &Answer, expected: &Value, outputs: &[TensorSpec]) -> f64 {
    let of_output = |(output, spec): (usize, &TensorSpec)| {
        let got = answer.f32s(output);
        let expected = numbers(&expected[&spec.name]);
        assert_eq!(got.len(), expected.len(), "{}", spec.name);
        let scale = expected.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        let difference = |(got, expected): (f32, &f64)| (f64::from(got) - expected).abs() / scale;
        let differences = got.into_iter().zip(&expected).map(difference);
        differences.fold(0.0, larger)
    };
    outputs.iter().enumerate().map(of_output).fold(0.0, larger)
}

/// The larger of two errors, or NaN if one of them is: not the maximum of f64, which passes over NaN.
fn larger(one: f64, other: f64) -> f64 {
    if one.is_nan() || one > other { one } else { other }
}

#[test]
fn small_models_answer_as_the_reference_does_in_every_precision() {
    for (id, outputs) in models() {
        let reference = reference(id);
        let generated = Generated::new(id, id, &outputs);
        let samples = Samples::new(&generated.samples(reference.len()));
        for (precision, tolerance) in TOLERANCES {
            let run = bed(&generated.in_precision(precision)).run(&samples, &[8]).unwrap();
            let answers = run.answers().iter().zip(&reference);
            let largest =
                answers.map(|(answer, expected)| error(answer, expected, &outputs)).fold(0.0, larger);
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
        let generated = Generated::new(id, id, &outputs);
        let samples = Samples::new(&generated.samples(reference.len()));
        let mut bed = bed(&generated.in_precision("f32"));
        for batch_size in [1, 2, 7] {
            let run = bed.run(&samples, &[batch_size]).unwrap();
            for (sample, (answer, expected)) in run.answers().iter().zip(&reference).enumerate() {
                let error = error(answer, expected, &outputs);
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
    let generated = Generated::new("bert-tiny", "bert-tiny", &models().swap_remove(2).1);
    let mut bed = bed(&ModelDemand { batch_size_max: 1, ..generated.in_precision("f32") });
    let sound = generated.samples(1).remove(0);
    for (input, name, element, count) in
        [(0, "input_ids", 100, 100), (0, "input_ids", -1, 100), (2, "segment_ids", 2, 2)]
    {
        let mut bad = sound.clone();
        bad[input][12..16].copy_from_slice(&i32::to_le_bytes(element));
        // The warm-up has the first sample alone.
        let message = bed.run(&Samples::new(&[sound.clone(), bad]), &[1]).unwrap_err();
        assert!(message.contains("execute failed"), "{message}");
        let expected = format!("{name} has the element {element}, but the model has {count} of them, from 0");
        assert!(message.contains(&expected), "{message}");
        assert!(bed.run(&Samples::new(slice::from_ref(&sound)), &[1]).is_ok());
    }
}

#[test]
fn more_places_than_there_are_positions_are_refused() {
    let outputs = [f32_spec("start_logits", &[25]), f32_spec("end_logits", &[25])];
    let generated = Generated::new("bert-tiny", "bert-tiny", &outputs);
    let mut demand = generated.in_precision("f32");
    demand.inputs.iter_mut().for_each(|input| input.shape = vec![25]);
    let message = refusal(&demand);
    assert_eq!(message, "the model takes 1 to 24 places, but the benchmark has input_ids i32[25]");
}

#[test]
fn a_tensor_that_the_encoder_asks_for_is_named_with_its_file() {
    let generated = Generated::new("bert-tiny", "bert-tiny", &models().swap_remove(2).1);
    let path = generated.folder.path().join("without.safetensors");
    let mut weights = recipes::recipe("bert-tiny").unwrap();
    weights.tensors.retain(|tensor| tensor.name != "bert.encoder.layer.1.output.dense.bias");
    recipes::write_safetensors(&weights, &path, &mut |_| ()).unwrap();
    let files = vec![("safetensors".to_owned(), path)];
    let message = refusal(&ModelDemand { files, ..generated.demand.clone() });
    assert!(
        message.contains("without.safetensors has no tensor \"bert.encoder.layer.1.output.dense.bias\""),
        "{message}"
    );
}
