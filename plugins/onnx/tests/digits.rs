//! The digits models give the logits of their reference, in every way to run them.
//!
//! Models, images, split and reference lie in `datasets/digits` and are made together by `make.py` there.

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on fails the test")]

mod common;

use std::{collections::HashMap, fs, sync::Arc, thread};

use common::{Samples, demand, digits, execute, f32_spec, f32_values, opened, run, validation_images};
use proctor_plugin_host::{ModelDemand, SampleBuffers};

/// Largest absolute difference of a logit (they reach ±15) from the reference framework's, which adds f32 in another
/// order.
const TOLERANCE: f32 = 1e-4;

const MODELS: [(&str, &[usize]); 3] =
    [("digits-cnn", &[1, 8, 8]), ("digits-lstm", &[8, 8]), ("digits-mlp", &[64])];

/// Logits of the first validation images, as the reference framework has them.
fn reference(model: &str) -> Vec<Vec<f32>> {
    #[derive(serde::Deserialize)]
    struct References {
        models: HashMap<String, Reference>,
    }
    #[derive(serde::Deserialize)]
    struct Reference {
        logits: Vec<Vec<f32>>,
    }
    let text = fs::read(digits("reference.json")).unwrap();
    let mut all: References = serde_json::from_slice(&text).unwrap();
    all.models.remove(model).unwrap().logits
}

fn digits_demand(model: &str, image: &[usize], batch_size_max: u32) -> ModelDemand {
    let path = digits(&format!("{model}.onnx"));
    let demand = demand(&path, vec![f32_spec("image", image)], vec![f32_spec("logits", &[10])]);
    ModelDemand { batch_size_max, ..demand }
}

fn top1(logits: &[f32]) -> usize {
    (0..logits.len()).max_by(|a, b| logits[*a].total_cmp(&logits[*b])).unwrap()
}

fn assert_close(answers: &[Vec<u8>], expected: &[Vec<f32>], what: &str) {
    for (answer, expected) in answers.iter().zip(expected) {
        let logits = f32_values(answer);
        assert_eq!(top1(&logits), top1(expected), "{what}: {logits:?}");
        for (got, expected) in logits.iter().zip(expected) {
            assert!((got - expected).abs() <= TOLERANCE, "{what}: {got} is not {expected}");
        }
    }
}

#[test]
fn every_model_gives_its_reference_in_batches_of_any_size_and_copies_only_batches() {
    let samples = Samples::of_f32(&validation_images()[..23]);
    for options in [&[("threads", "1")][..], &[("session", "shared"), ("graph_optimisation", "basic")]] {
        for (model, image) in MODELS {
            for batch_size in [1, 2, 7, 32] {
                let Some(backend) = opened(options) else { return };
                let (answers, figures) =
                    run(&backend, &digits_demand(model, image, batch_size), &samples).unwrap();
                assert_eq!(answers.len(), 23);
                assert_close(&answers, &reference(model), &format!("{model} in batches of {batch_size}"));
                // What is left over of batches of two runs alone; of seven, two are left.
                let copied = match batch_size {
                    1 => 0,
                    2 => 22,
                    _ => 23,
                };
                assert_eq!(
                    figures["input_bytes_copied"],
                    f64::from(copied * 64 * 4),
                    "{model}, {batch_size}"
                );
                assert_eq!(backend.faults(), [""; 0]);
            }
        }
    }
}

#[test]
fn instances_on_threads_of_their_own_agree_with_one_or_many_sessions() {
    let images = validation_images();
    let samples = Samples::of_f32(&images[..200]);
    let indices = samples.indices();
    for session in ["each", "shared"] {
        let Some(backend) = opened(&[("session", session), ("spin", "false"), ("arena", "false")]) else {
            return;
        };
        let demand = ModelDemand { instance_count: 3, ..digits_demand("digits-cnn", &[1, 8, 8], 4) };
        let model = backend.load_model(&demand).unwrap();
        let instances: Vec<_> = (0..3).map(|index| model.create_instance(index).unwrap()).collect();
        let prepared: Arc<dyn SampleBuffers> = samples.clone();
        model.prepare(&indices, prepared).unwrap();
        model.start().unwrap();
        // One runs alone and the others in batches, so that calls of different shapes meet in a session.
        let answers: Vec<Vec<Vec<u8>>> = thread::scope(|scope| {
            let start = |(number, mut instance): (usize, _)| {
                let indices = &indices;
                scope.spawn(move || execute(&mut instance, indices, [1, 3, 4][number]).unwrap())
            };
            let running: Vec<_> = instances.into_iter().enumerate().map(start).collect();
            running.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        model.stop().unwrap();
        for (number, own) in answers.iter().enumerate() {
            assert_eq!(own.len(), 200);
            assert_close(own, &reference("digits-cnn"), &format!("instance {number}, session {session}"));
            let same =
                |(one, other): (&Vec<u8>, &Vec<u8>)| top1(&f32_values(one)) == top1(&f32_values(other));
            assert!(own.iter().zip(&answers[0]).all(same), "instance {number}, session {session}");
        }
    }
}

#[test]
fn the_explanation_says_what_runs_where_and_what_becomes_of_each_tensor() {
    let Some(backend) = opened(&[("threads", "1"), ("graph_optimisation", "extended")]) else { return };
    let model = backend.load_model(&digits_demand("digits-cnn", &[1, 8, 8], 8)).unwrap();
    let text = model.explain().unwrap().unwrap();
    for part in [
        "ONNX Runtime 1.",
        "provider cpu, graph_optimisation extended, session each, threads 1, inter_threads 1",
        "digits-cnn.onnx: f32, ai.onnx",
        "batches of any size",
        "image f32[1, 8, 8] -> image f32[batch, 1, 8, 8]",
        "logits f32[batch, 10] -> logits f32[10]",
    ] {
        assert!(text.contains(part), "no \"{part}\" in:\n{text}");
    }
}
