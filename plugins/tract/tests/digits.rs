//! The digits models answer as their reference does, in every division into batches, on every instance.

mod bed;

use std::{collections::BTreeMap, fs};

use bed::{Answers, Bed, bytes, data, demand, f32s, load, spec};
use proctor_datasets::{DataRoot, open_dataset};
use proctor_plugin_api::vocabulary::{ElementType, SampleIndex};
use proctor_plugin_host::ModelDemand;
use serde::Deserialize;

/// Largest absolute difference of a logit (they reach ±15) from the reference, which adds f32 in another order.
const TOLERANCE: f64 = 1e-4;

/// The models, each with the shape of its image.
const MODELS: [(&str, &[usize]); 3] =
    [("digits-cnn", &[1, 8, 8]), ("digits-mlp", &[64]), ("digits-lstm", &[8, 8])];

/// `datasets/digits/reference.json`.
#[derive(Deserialize)]
struct References {
    models: BTreeMap<String, Reference>,
}

#[derive(Deserialize)]
struct Reference {
    /// Of the first samples.
    logits: Vec<Vec<f64>>,
    /// The digit of each sample.
    predictions: String,
}

fn reference(model: &str) -> Reference {
    let text = fs::read(data("digits/reference.json")).expect("the repository has it");
    let mut all: References = serde_json::from_slice(&text).expect("it is sound");
    all.models.remove(model).expect("it knows the model")
}

/// The first samples, as the tensors that every one of the models takes.
fn images(count: usize) -> Vec<Vec<Vec<u8>>> {
    let root = DataRoot::new(Some(&data("")));
    let digits = open_dataset("digits", &root).expect("the digits");
    let image = |index| {
        let raw = digits.read(SampleIndex(index)).expect("a digit");
        vec![bytes(&raw.bytes.iter().map(|pixel| f32::from(*pixel) / 16.0).collect::<Vec<_>>())]
    };
    (0..count as u64).map(image).collect()
}

fn demand_for((model, shape): (&str, &[usize]), batch_size_max: u32) -> ModelDemand {
    let (image, logits) = (spec("image", ElementType::F32, shape), spec("logits", ElementType::F32, &[10]));
    demand(&data(&format!("digits/{model}.onnx")), &[image], &[logits], batch_size_max)
}

fn bed(demand: &ModelDemand, options: &[(&str, &str)]) -> Bed {
    load(demand, options).unwrap_or_else(|error| panic!("{error}"))
}

fn class(answer: &[u8]) -> usize {
    let logits = f32s(answer);
    (0..10).max_by(|a, b| logits[*a].total_cmp(&logits[*b])).expect("ten logits")
}

fn assert_close(model: &str, answers: &Answers, expected: &[Vec<f64>]) {
    for (answer, expected) in answers.values().zip(expected) {
        for (got, expected) in f32s(answer).iter().zip(expected) {
            assert!((f64::from(*got) - expected).abs() <= TOLERANCE, "{model}: {got} is not {expected}");
        }
    }
}

#[test]
fn logits_are_those_of_the_reference_in_batches_of_1_2_7_and_8() {
    let images = images(16);
    for model in MODELS {
        let expected = reference(model.0).logits;
        assert_eq!(expected.len(), images.len());
        let demand = demand_for(model, 8);
        let bed = bed(&demand, &[]);
        for sizes in [&[1][..], &[2], &[7, 8, 1]] {
            let answers = bed.answers(&demand, &images, sizes);
            assert_eq!(answers.len(), images.len());
            assert_close(model.0, &answers, &expected);
        }
    }
}

#[test]
fn every_digit_is_that_of_the_reference() {
    let images = images(600);
    for model in MODELS {
        let demand = demand_for(model, 8);
        let answers = bed(&demand, &[]).answers(&demand, &images, &[8]);
        let digits: String = answers.values().map(|answer| class(answer).to_string()).collect();
        assert_eq!(digits, reference(model.0).predictions, "{}", model.0);
    }
}

#[test]
fn instances_on_several_threads_answer_as_one_does() {
    let images = images(24);
    for model in MODELS {
        let mut demand = demand_for(model, 5);
        let alone = bed(&demand, &[]).answers(&demand, &images, &[5, 3, 1]);
        demand.instance_count = 3;
        for ran in bed(&demand, &[]).run(&demand, &images, &[5, 3, 1]) {
            let answers: Answers = ran.into_iter().flat_map(|ran| ran.answers).collect();
            assert_eq!(answers, alone, "{}", model.0);
        }
    }
}

#[test]
fn threads_within_an_operator_change_no_digit() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(4);
    if threads < 2 {
        println!("skipped: one processor has no room for two threads");
        return;
    }
    let images = images(16);
    for model in MODELS {
        let demand = demand_for(model, 8);
        let answers = bed(&demand, &[("threads", &threads.to_string())]).answers(&demand, &images, &[8, 1]);
        assert_close(model.0, &answers, &reference(model.0).logits);
    }
}

#[test]
fn every_input_byte_is_copied_once_and_counted_and_the_stamps_are_in_order() {
    let images = images(11);
    let demand = demand_for(MODELS[0], 4);
    for sizes in [&[1][..], &[4, 3]] {
        let bed = bed(&demand, &[]);
        for ran in bed.run(&demand, &images, sizes).into_iter().flatten() {
            let stamps = ran.stamps;
            let order = [stamps.copy_in_ns, stamps.compute_ns, stamps.copy_out_ns, stamps.end_ns];
            assert!(order[0] > 0 && order.is_sorted(), "{order:?}");
        }
        let copied = bed.backend.metrics().get("input_bytes_copied").copied();
        assert_eq!(copied, Some(f64::from(11 * 64 * 4)), "the warm-up does not count");
    }
}

#[test]
fn explain_says_what_was_compiled() {
    let mut demand = demand_for(MODELS[1], 6);
    demand.instance_count = 2;
    let text = bed(&demand, &[("threads", "1")]).model.explain().expect("it says").expect("something");
    assert_eq!(text, "compiled for batches of 6, 4, 2, 1; 1 thread for each instance");
}
