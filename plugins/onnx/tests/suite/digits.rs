//! The digits models give the logits of their reference, in every way to run them.

use proctor_plugin_bed::{Answer, Bed, ModelDemand, Samples, digits};

use crate::common::{assert_staged, opened, run};

/// Largest absolute difference of a logit (they reach ±15) from the reference framework's, which adds f32 in another
/// order.
const TOLERANCE: f64 = 1e-4;

fn demand(model: &str, batch_size_max: u32) -> ModelDemand {
    ModelDemand { batch_size_max, ..digits::model(&format!("{model}.onnx")) }
}

fn assert_right(model: &str, answers: &[Answer], what: &str) {
    let reference = digits::reference(model);
    let error = reference.error(answers);
    assert!(error <= TOLERANCE, "{model}, {what}: a logit differs by {error}");
    assert_eq!(digits::predictions(answers), reference.predictions[..answers.len()], "{model}, {what}");
}

#[test]
fn every_model_gives_its_reference_in_batches_of_any_size_and_copies_only_batches() {
    let samples = Samples::of_f32(&digits::images()[..23]);
    for options in [&[("threads", "1")][..], &[("session", "shared"), ("graph_optimisation", "basic")]] {
        for model in digits::MODELS {
            for batch_size in [1, 2, 7, 32] {
                let Some(backend) = opened(options) else { return };
                let run = run(&backend, &demand(model, batch_size), &samples).unwrap();
                assert_eq!(run.answers().len(), 23);
                assert_right(model, run.answers(), &format!("batches of {batch_size}"));
                // Of 23 samples, batches of two leave one, which runs alone; batches of seven leave two.
                let copied = match batch_size {
                    1 => 0,
                    2 => 22,
                    _ => 23,
                };
                let copied_bytes = f64::from(copied * 64 * 4);
                assert_eq!(run.metrics["input_bytes_copied"], copied_bytes, "{model}, {batch_size}");
            }
        }
    }
}

#[test]
fn instances_on_threads_of_their_own_agree_with_one_or_many_sessions() {
    let samples = Samples::of_f32(&digits::images()[..200]);
    for session in ["each", "shared"] {
        let Some(backend) = opened(&[("session", session), ("spin", "false"), ("arena", "false")]) else {
            return;
        };
        let demand = ModelDemand { instance_count: 3, ..demand("digits-cnn", 4) };
        // One runs alone and the others in batches, so that calls of different shapes meet in a session.
        let sizes = [&[1][..], &[3], &[4]];
        let run = Bed::load(&backend, &demand).unwrap().run_each(&samples, &sizes).unwrap();
        assert_staged(&run);
        for (number, ran) in run.instances.iter().enumerate() {
            assert_eq!(ran.answers.len(), 200);
            assert_right("digits-cnn", &ran.answers, &format!("instance {number}, session {session}"));
        }
    }
}

#[test]
fn the_explanation_says_what_runs_where_and_what_becomes_of_each_tensor() {
    let Some(backend) = opened(&[("threads", "1"), ("graph_optimisation", "extended")]) else { return };
    let model = backend.load_model(&demand("digits-cnn", 8)).unwrap();
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
