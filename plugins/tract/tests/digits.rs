//! The digits models answer as their reference does, in every division into batches, on every instance.

use proctor_plugin_bed::{Answer, Bed, ModelDemand, Samples, Stage, digits};
use proctor_test_needs::skip_without_hardware;
// The plugin is linked in by being named.
use tract_sut as _;

/// Largest absolute difference of a logit (they reach ±15) from the reference, which adds f32 in another order.
const TOLERANCE: f64 = 1e-4;

/// The first images.
fn images(count: usize) -> Samples {
    Samples::of_f32(&digits::images()[..count])
}

fn demand_for(model: &str, batch_size_max: u32) -> ModelDemand {
    ModelDemand { batch_size_max, ..digits::model(&format!("{model}.onnx")) }
}

fn bed(demand: &ModelDemand, options: &[(&str, &str)]) -> Bed {
    Bed::open("tract", options, demand).unwrap_or_else(|error| panic!("{error}"))
}

fn answers(bed: &mut Bed, samples: &Samples, sizes: &[usize]) -> Vec<Answer> {
    let run = bed.run(samples, sizes).unwrap_or_else(|error| panic!("{error}"));
    run.answers().to_vec()
}

fn assert_close(model: &str, answers: &[Answer]) {
    let error = digits::reference(model).error(answers);
    assert!(error <= TOLERANCE, "{model}: a logit differs by {error}");
}

#[test]
fn logits_are_those_of_the_reference_in_batches_of_1_2_7_and_8() {
    let images = images(16);
    for model in digits::MODELS {
        assert_eq!(digits::reference(model).logits.len(), 16);
        let mut bed = bed(&demand_for(model, 8), &[]);
        for sizes in [&[1][..], &[2], &[7, 8, 1]] {
            let answers = answers(&mut bed, &images, sizes);
            assert_eq!(answers.len(), 16);
            assert_close(model, &answers);
        }
    }
}

#[test]
fn every_digit_is_that_of_the_reference() {
    let images = images(600);
    for model in digits::MODELS {
        let answers = answers(&mut bed(&demand_for(model, 8), &[]), &images, &[8]);
        assert_eq!(digits::predictions(&answers), digits::reference(model).predictions, "{model}");
    }
}

#[test]
fn instances_on_several_threads_answer_as_one_does() {
    let images = images(24);
    for model in digits::MODELS {
        let demand = demand_for(model, 5);
        let alone = answers(&mut bed(&demand, &[]), &images, &[5, 3, 1]);
        let mut bed = bed(&ModelDemand { instance_count: 3, ..demand }, &[]);
        let run = bed.run(&images, &[5, 3, 1]).unwrap();
        assert_eq!(run.instances.len(), 3);
        for ran in run.instances {
            assert_eq!(ran.answers, alone, "{model}");
        }
    }
}

#[test]
fn threads_within_an_operator_change_no_digit() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(4);
    if threads < 2 {
        return skip_without_hardware("one processor has no room for two threads");
    }
    let images = images(16);
    for model in digits::MODELS {
        let mut bed = bed(&demand_for(model, 8), &[("threads", &threads.to_string())]);
        assert_close(model, &answers(&mut bed, &images, &[8, 1]));
    }
}

#[test]
fn every_input_byte_is_copied_once_and_counted_and_every_stage_is_told() {
    let images = images(11);
    for sizes in [&[1][..], &[4, 3]] {
        let run = bed(&demand_for("digits-cnn", 4), &[]).run(&images, sizes).unwrap();
        // The host knows that they follow each other.
        for stages in run.stages() {
            let names: Vec<_> = stages.iter().map(Stage::name).collect();
            assert_eq!(names, ["copy_in", "compute", "copy_out"]);
        }
        let copied = run.metrics["input_bytes_copied"];
        assert_eq!(copied, f64::from(11 * 64 * 4), "the warm-up does not count");
    }
}

#[test]
fn explain_says_what_was_compiled() {
    let demand = ModelDemand { instance_count: 2, ..demand_for("digits-mlp", 6) };
    let text = bed(&demand, &[("threads", "1")]).model().explain().unwrap().unwrap();
    assert_eq!(text, "compiled for batches of 6, 4, 2, 1; 1 thread for each instance\n");
}
