//! The digits models give the logits of their reference, from both kinds of file, and the same digits in every
//! precision and by every schedule.
//!
//! Models, images, split and reference lie in `datasets/digits` and are made together by `make.py` there.

use cpu_rnn_sut::planning::{Planning, PlanningOptions};
use proctor_plugin_bed::{digits, f32_spec};
use proctor_rnn_engine::Team;
use proctor_rnn_layer::{GruReset, Precision};
use proctor_rnn_models::{Instance, LoadRequest, Scheduler, SingleThread, load};

use crate::owned_batch::OwnedBatch;

/// Largest absolute difference of a logit (they reach ±15) from the reference framework's, which adds f32 in another
/// order.
const TOLERANCE: f64 = 1e-4;

/// An instance of a digits model for batches of up to 16.
fn instance(
    file: &str,
    precision: Precision,
    scheduler: &dyn Scheduler,
    threads: usize,
) -> Box<dyn Instance> {
    let path = digits::file(file);
    let image: &[usize] = if file.starts_with("digits-mlp") { &[64] } else { &[8, 8] };
    let is_onnx = file.ends_with(".onnx");
    let model = load(&LoadRequest {
        model: file,
        safetensors: (!is_onnx).then_some(&path),
        onnx: is_onnx.then_some(&path),
        vocabulary: None,
        inputs: &[f32_spec("image", image)],
        outputs: &[f32_spec("logits", &[10])],
        batch_size_max: 16,
        precision,
        reset: GruReset::default(),
        scheduler,
    });
    let model = model.unwrap_or_else(|error| panic!("{error}"));
    model.instance(Team::new(threads)).unwrap_or_else(|error| panic!("{error}"))
}

fn logits(instance: &mut dyn Instance, images: &[Vec<f32>], batch_size: usize) -> Vec<Vec<f32>> {
    let run = |images: &[Vec<f32>]| {
        let mut batch = OwnedBatch::default();
        images.iter().for_each(|image| batch.push_f32(&[image], &[10]));
        instance.execute(&mut batch).unwrap_or_else(|error| panic!("{error}"));
        (0..images.len()).map(|sample| batch.output(sample, 0)).collect::<Vec<_>>()
    };
    images.chunks(batch_size).flat_map(run).collect()
}

fn classes(logits: &[Vec<f32>]) -> Vec<usize> {
    let best = |row: &Vec<f32>| (0..10).max_by(|a, b| row[*a].total_cmp(&row[*b])).expect("ten logits");
    logits.iter().map(best).collect()
}

#[test]
fn the_first_logits_are_those_of_the_reference_at_every_batch_size() {
    let images = digits::images();
    for file in ["digits-lstm.safetensors", "digits-lstm.onnx", "digits-mlp.onnx"] {
        let expected = digits::reference(file.split('.').next().expect("a name")).logits;
        assert_eq!(expected.len(), 16);
        for batch_size in [1, 3, 16] {
            let mut instance = instance(file, Precision::F32, &SingleThread, 1);
            let outputs = logits(&mut *instance, &images[..16], batch_size);
            for (output, expected) in outputs.iter().zip(&expected) {
                assert_eq!(output.len(), expected.len());
                for (got, expected) in output.iter().zip(expected) {
                    assert!(
                        (f64::from(*got) - expected).abs() <= TOLERANCE,
                        "{file}: {got} is not {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_optimiser_changes_no_digit_and_fewer_bits_hardly_any() {
    let images = digits::images();
    let expected = classes(&logits(
        &mut *instance("digits-lstm.safetensors", Precision::F32, &SingleThread, 1),
        &images,
        16,
    ));
    for precision in [Precision::F32, Precision::Bf16, Precision::Int8] {
        let planning = Planning::new(PlanningOptions {
            model: "digits-lstm".into(),
            engine: "test".into(),
            threads: 2,
            cores: Vec::new(),
            pin: false,
            // Schedules that are measured differ from run to run, and so may the last bits, which int8 rounds.
            budget: std::time::Duration::ZERO,
            cache: None,
        });
        let file = "digits-lstm.safetensors";
        let off = classes(&logits(&mut *instance(file, precision, &SingleThread, 1), &images, 16));
        let on = classes(&logits(&mut *instance(file, precision, &planning, 2), &images, 16));
        assert_eq!(on, off, "{precision:?}: with the optimiser and without");
        // Of 600 images 585 are read rightly in f32; that may change by 1 %, so by five.
        let other = on.iter().zip(&expected).filter(|(a, b)| a != b).count();
        assert!(other <= 5, "{precision:?}: {other} of {} digits differ", images.len());
    }
}
