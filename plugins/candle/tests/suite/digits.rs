//! The digits models give the logits of their reference in batches of any size, and its digits; in fewer bits hardly
//! any others.

use std::thread::available_parallelism;

use proctor_plugin_api::vocabulary::ElementType;
use proctor_plugin_bed::{
    Answer, Bed, ModelDemand, Samples, Stage,
    digits::{self, MODELS, images, predictions, reference},
    spec,
};

use crate::bed;

/// Largest absolute difference of a logit (they reach ±15) from the reference framework's, which adds f32 in another
/// order.
const TOLERANCE_F32: f64 = 1e-4;

/// The same for weights and values in f16 (11 bits) and weights in bf16 (8 bits).
const TOLERANCE_F16: f64 = 0.1;
const TOLERANCE_BF16: f64 = 0.5;

fn demand(model: &str, batch_size_max: u32) -> ModelDemand {
    ModelDemand { batch_size_max, ..digits::model(&format!("{model}.safetensors")) }
}

/// The first images.
fn first(count: usize) -> Samples {
    Samples::of_f32(&images()[..count])
}

/// The answers to all samples, in batches of one size; the last one has the rest.
fn answers(model: &str, precision: &str, samples: &Samples, batch_size: usize) -> Vec<Answer> {
    let demand = ModelDemand { precision: Some(precision.into()), ..demand(model, 8) };
    bed(&demand).run(samples, &[batch_size]).unwrap().answers().to_vec()
}

#[test]
fn the_first_logits_are_those_of_the_reference_at_every_batch_size() {
    let images = first(16);
    for model in MODELS {
        let reference = reference(model);
        assert_eq!(reference.logits.len(), 16);
        for batch_size in [1, 2, 7, 8] {
            let error = reference.error(&answers(model, "f32", &images, batch_size));
            assert!(error <= TOLERANCE_F32, "{model} in batches of {batch_size}: {error}");
        }
    }
}

#[test]
fn every_digit_is_that_of_the_reference() {
    let images = first(600);
    for model in MODELS {
        assert_eq!(predictions(&answers(model, "f32", &images, 8)), reference(model).predictions, "{model}");
    }
}

#[test]
fn fewer_bits_change_logits_a_little_and_digits_hardly_ever() {
    let images = first(600);
    for model in MODELS {
        let exact = answers(model, "f32", &images, 8);
        for (precision, tolerance) in [("f16", TOLERANCE_F16), ("bf16", TOLERANCE_BF16)] {
            let rounded = answers(model, precision, &images, 8);
            assert_ne!(rounded, exact, "{model}: {precision} is not computed in f32 from f32 weights");
            let error = reference(model).error(&rounded);
            assert!(error <= tolerance, "{model} in {precision}: {error}");
            let (rounded, exact) = (predictions(&rounded), predictions(&exact));
            let other = rounded.chars().zip(exact.chars()).filter(|(a, b)| a != b).count();
            // Of 600 images; a benchmark lets 1 % of what is right go.
            assert!(other <= 5, "{model} in {precision}: {other} digits differ");
        }
    }
}

#[test]
fn inputs_are_copied_once_and_counted_from_start_to_stop() {
    // The warm-up has all four images in a batch.
    let run = bed(&demand("digits-mlp", 8)).run(&first(4), &[1, 3]).unwrap();
    let copied = run.metrics["input_bytes_copied"];
    assert_eq!(copied, f64::from(4 * 64 * 4), "four images of 64 values of four bytes");
}

#[test]
fn a_batch_says_when_it_moved_and_computed() {
    let run = bed(&demand("digits-cnn", 8)).run(&first(2), &[2]).unwrap();
    let stages = run.stages().next().unwrap();
    let names: Vec<_> = stages.iter().map(Stage::name).collect();
    assert_eq!(names, ["copy_in", "compute", "copy_out"]);
    assert!(stages.iter().all(|stage| stage.duration_ns() > 0), "{stages:?}");
}

#[test]
fn all_cores_give_the_same_digits_as_one_thread() {
    let images = first(64);
    let cores = available_parallelism().map_or(1, usize::from).to_string();
    for model in MODELS {
        let expected = predictions(&answers(model, "f32", &images, 8));
        for threads in ["0", &cores] {
            let mut bed = Bed::open("candle", &[("threads", threads)], &demand(model, 64)).unwrap();
            let got = predictions(bed.run(&images, &[64]).unwrap().answers());
            assert_eq!(got, expected, "{model} on {threads} threads");
        }
    }
}

#[test]
fn scores_become_the_class_that_a_benchmark_wants() {
    let images = first(24);
    for (element_type, size_bytes) in [(ElementType::I32, 4), (ElementType::I64, 8)] {
        let wanted =
            ModelDemand { outputs: vec![spec("class", element_type, &[1])], ..demand("digits-mlp", 8) };
        let run = bed(&wanted).run(&images, &[8, 1]).unwrap();
        let class = |answer: &Answer| {
            assert_eq!(answer.outputs[0].len(), size_bytes);
            answer.outputs[0][0].to_string()
        };
        let classes: String = run.answers().iter().map(class).collect();
        assert_eq!(classes, reference("digits-mlp").predictions[..24], "{element_type}");
    }
}
