//! The digits models give the logits of their reference in batches of any size, and its digits; in fewer bits hardly any
//! others.
//!
//! Models, images and reference lie in `datasets/digits` and are made together by `make.py` there.

use std::{collections::HashMap, fs, thread::available_parallelism};

use serde::Deserialize;

use crate::{
    host::{Sample, TestHost},
    requests::{digits, digits_file, values, words},
};

/// Largest absolute difference of a logit (they reach ±15) from the reference framework's, which adds f32 in another
/// order.
const TOLERANCE_F32: f64 = 1e-4;

/// The same for weights and values in f16 (11 bits) and weights in bf16 (8 bits).
const TOLERANCE_F16: f64 = 0.1;
const TOLERANCE_BF16: f64 = 0.5;

/// Bytes before the pixels of an IDX file of images.
const IMAGE_HEADER_BYTES: usize = 16;

const MODELS: [&str; 3] = ["digits-lstm", "digits-cnn", "digits-mlp"];

fn bytes(file: &str) -> Vec<u8> {
    fs::read(digits_file(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The validation images, as the benchmark hands them in.
fn validation() -> Vec<Sample> {
    #[derive(Deserialize)]
    struct Split {
        validation: Vec<usize>,
    }
    let split: Split = toml::from_slice(&bytes("split.toml")).expect("split.toml is sound");
    let pixels = bytes("images.idx3-ubyte");
    let image = |index: &usize| {
        let pixels = &pixels[IMAGE_HEADER_BYTES + index * 64..][..64];
        vec![words(pixels.iter().map(|pixel| f32::from(*pixel) / 16.0))]
    };
    split.validation.iter().map(image).collect()
}

/// What reference.json says of one model.
#[derive(Deserialize)]
struct Reference {
    /// Of the first validation images.
    logits: Vec<Vec<f64>>,
    /// The digit of each validation image.
    predictions: String,
}

fn reference(model: &str) -> Reference {
    #[derive(Deserialize)]
    struct References {
        models: HashMap<String, Reference>,
    }
    let mut all: References =
        serde_json::from_slice(&bytes("reference.json")).expect("reference.json is sound");
    all.models.remove(model).expect("reference.json knows the model")
}

/// The logits of all samples, in batches of so many; the last one is what is left.
fn logits(model: &str, precision: &str, samples: &[Sample], batch_size: usize) -> Vec<Vec<f32>> {
    let mut request = digits(model);
    request.precision = precision.into();
    let host = TestHost::open(&[("threads", "1")], &request).unwrap();
    let mut instance = host.instance();
    let run = |samples| instance.execute(samples).unwrap().answers;
    samples.chunks(batch_size).flat_map(run).map(|answer| values(&answer[0])).collect()
}

fn classes(logits: &[Vec<f32>]) -> Vec<u8> {
    let best =
        |row: &Vec<f32>| (0..10_u8).max_by(|a, b| row[usize::from(*a)].total_cmp(&row[usize::from(*b)]));
    logits.iter().map(|row| best(row).expect("ten logits")).collect()
}

/// Largest difference from the reference of the first images.
fn error(logits: &[Vec<f32>], reference: &[Vec<f64>]) -> f64 {
    let difference = |(got, expected): (&f32, &f64)| (f64::from(*got) - expected).abs();
    let rows = logits.iter().zip(reference);
    rows.flat_map(|(got, expected)| got.iter().zip(expected).map(difference)).fold(0.0, f64::max)
}

#[test]
fn the_first_logits_are_those_of_the_reference_at_every_batch_size() {
    let images = validation();
    for model in MODELS {
        let expected = reference(model).logits;
        assert_eq!(expected.len(), 16);
        for batch_size in [1, 2, 7, 8] {
            let got = logits(model, "f32", &images[..expected.len()], batch_size);
            let error = error(&got, &expected);
            assert!(error <= TOLERANCE_F32, "{model} in batches of {batch_size}: {error}");
        }
    }
}

#[test]
fn every_digit_is_that_of_the_reference() {
    let images = validation();
    for model in MODELS {
        let got: String =
            classes(&logits(model, "f32", &images, 8)).iter().map(|class| char::from(b'0' + class)).collect();
        assert_eq!(got, reference(model).predictions, "{model}");
    }
}

#[test]
fn fewer_bits_change_logits_a_little_and_digits_hardly_ever() {
    let images = validation();
    for model in MODELS {
        let exact = logits(model, "f32", &images, 8);
        for (precision, tolerance) in [("f16", TOLERANCE_F16), ("bf16", TOLERANCE_BF16)] {
            let rounded = logits(model, precision, &images, 8);
            assert_ne!(rounded, exact, "{model}: {precision} is not computed in f32 from f32 weights");
            let error = error(&rounded[..16], &reference(model).logits);
            assert!(error <= tolerance, "{model} in {precision}: {error}");
            let other = classes(&rounded).iter().zip(classes(&exact)).filter(|(a, b)| *a != b).count();
            // Of 600 images; a benchmark lets 1 % of what is right go.
            assert!(other <= 5, "{model} in {precision}: {other} digits differ");
        }
    }
}

#[test]
fn inputs_are_copied_once_and_counted_from_start_to_stop() {
    let images = validation();
    let host = TestHost::open(&[], &digits("digits-mlp")).unwrap();
    let mut instance = host.instance();
    instance.warm_up(&images[..4]).unwrap();
    host.start();
    for batch_size in [1, 3] {
        instance.execute(&images[..batch_size]).unwrap();
    }
    host.stop();
    let copied = host.told.metrics.lock().unwrap()["input_bytes_copied"];
    assert_eq!(copied, f64::from(4 * 64 * 4), "four images of 64 values of four bytes");
}

#[test]
fn a_batch_says_when_it_moved_and_computed() {
    let images = validation();
    let host = TestHost::open(&[], &digits("digits-cnn")).unwrap();
    let stamps = host.instance().execute(&images[..2]).unwrap().stamps;
    let instants = [stamps.copy_in_ns, stamps.compute_ns, stamps.copy_out_ns, stamps.end_ns];
    assert!(instants[0] > 0 && instants.is_sorted_by(|a, b| a < b), "{instants:?}");
}

#[test]
fn all_cores_give_the_same_digits_as_one_thread() {
    let images = validation();
    let cores = available_parallelism().map_or(1, usize::from).to_string();
    for model in MODELS {
        let expected = classes(&logits(model, "f32", &images[..64], 8));
        for threads in ["0", &cores] {
            let host = TestHost::open(&[("threads", threads)], &digits(model)).unwrap();
            let answers = host.instance().execute(&images[..64]).unwrap().answers;
            let got: Vec<_> = answers.iter().map(|answer| values(&answer[0])).collect();
            assert_eq!(classes(&got), expected, "{model} on {threads} threads");
        }
    }
}

#[test]
fn more_threads_than_cores_are_refused_with_both_numbers() {
    let cores = available_parallelism().map_or(1, usize::from);
    let threads = (cores + 1).to_string();
    let error = TestHost::open(&[("threads", &threads)], &digits("digits-cnn")).err().unwrap();
    assert!(
        error.contains(&format!(
            "threads = {threads} are more threads than the cores that this process may use ({cores})"
        )),
        "{error}"
    );
}
