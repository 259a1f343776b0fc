//! The bed with a plugin in it that doubles what it is given, or does what it should not.

mod doubling;

use std::path::Path;

use proctor_plugin_api::vocabulary::{ElementType, SampleIndex};
use proctor_plugin_bed::{
    Bed, ModelDemand, Run, Samples, Stage, demand, f32_bytes, f32_spec, i32_bytes, open, spec,
};

/// A demand for batches of two, one instance, two inputs and two outputs.
fn two_of_two() -> ModelDemand {
    let integer = |name| spec(name, ElementType::I32, &[1]);
    let inputs = [f32_spec("x", &[3]), integer("n")];
    let demand = demand(Path::new("nothing.there"), &inputs, &[f32_spec("y", &[3]), integer("m")]);
    ModelDemand { batch_size_max: 2, ..demand }
}

/// Samples whose integer is this, and whose other values are it and the two that follow.
fn samples(integers: &[i8]) -> Samples {
    let sample = |n: &i8| {
        let x = [0.0, 1.0, 2.0].map(|more| f32::from(*n) + more);
        vec![f32_bytes(&x), i32_bytes(&[i32::from(*n)])]
    };
    Samples::new(&integers.iter().map(sample).collect::<Vec<_>>())
}

fn with_trouble(trouble: &str) -> Result<Run, String> {
    Bed::open("doubling", &[("trouble", trouble)], &two_of_two())?.run(&samples(&[1, 2, 3]), &[2, 1])
}

#[test]
fn a_demand_is_for_the_model_that_the_file_is_called_after() {
    let demand = demand(Path::new("models/digits-cnn.onnx"), &[], &[]);
    assert_eq!((demand.model.as_str(), demand.files[0].0.as_str()), ("digits-cnn", "onnx"));
    assert_eq!((demand.batch_size_max, demand.instance_count), (1, 1));
}

#[test]
fn every_sample_is_answered_by_every_instance_in_batches_of_its_own_sizes() {
    let demand = ModelDemand { instance_count: 2, ..two_of_two() };
    let mut bed = Bed::open("doubling", &[], &demand).unwrap();
    let run = bed.run_each(&samples(&[1, -2, 30, 4, 5]), &[&[2], &[1, 2]]).unwrap();
    for ran in &run.instances {
        assert_eq!(ran.answers.len(), 5);
        assert_eq!(ran.answers[1].f32s(0), [-4.0, -2.0, 0.0]);
        assert_eq!(ran.answers[2].i32s(1), [60]);
        let token_counts: Vec<u32> = ran.answers.iter().map(|answer| answer.token_count).collect();
        assert_eq!(token_counts, [1, 2, 3, 4, 5]);
        assert_eq!(ran.first_tokens, [0, 1, 2, 3, 4].map(SampleIndex));
    }
    assert_eq!(run.instances.iter().map(|ran| ran.stages.len()).collect::<Vec<_>>(), [3, 4]);
    assert!(run.stages().all(|stages| stages.len() == 1 && stages[0].name() == "compute"));
    assert!(run.stages().all(|stages| stages[0].duration_ns() > 0));
    assert_eq!(run.metrics["samples_executed"], 10.0, "the warm-up does not count");
}

#[test]
fn spans_around_parts_of_the_work_are_stages_of_their_batch() {
    let run = with_trouble("spans").unwrap();
    assert_eq!(run.stages().count(), 2);
    for stages in run.stages() {
        assert_eq!(stages.iter().map(Stage::name).collect::<Vec<_>>(), ["compute", "copy_out"]);
        assert!(stages.iter().all(|stage| stage.duration_ns() > 0));
        assert!(stages[0].end_ns < stages[1].begin_ns);
    }
}

#[test]
fn a_batch_with_more_spans_than_it_may_have_stages_has_none() {
    let run = with_trouble("many").unwrap();
    assert!(run.stages().all(<[Stage]>::is_empty));
}

#[test]
fn a_bed_runs_again_with_the_same_instances_after_a_batch_failed() {
    let mut bed = Bed::open("doubling", &[], &two_of_two()).unwrap();
    let error = bed.run(&samples(&[1, 2, 100, 4]), &[1]).unwrap_err();
    assert!(error.contains("execute failed (FAILED): 100 is too much for 1 sample"), "{error}");
    let error = bed.run(&samples(&[100, 2, 3]), &[1]).unwrap_err();
    assert!(error.contains("warm_up failed (FAILED): 100 is too much for 2 samples"), "{error}");
    let run = bed.run(&samples(&[7]), &[1]).unwrap();
    assert_eq!(run.answers()[0].i32s(1), [14]);
    assert_eq!(run.metrics["instances_made"], 1.0);
}

#[test]
fn a_batch_that_is_larger_than_demanded_does_not_reach_the_plugin() {
    let error =
        Bed::open("doubling", &[], &two_of_two()).unwrap().run(&samples(&[1, 2, 3]), &[3]).unwrap_err();
    assert!(error.ends_with("a batch of 3 samples is larger than 2"), "{error}");
}

#[test]
fn what_is_refused_is_said_as_a_user_reads_it() {
    let refusal = |options: &[(&str, &str)]| open("doubling", options).map(drop).unwrap_err();
    assert!(refusal(&[("troubel", "none")]).contains("trouble"));
    assert!(refusal(&[("trouble", "much")]).contains("much"));
    assert!(open("halving", &[]).map(drop).unwrap_err().contains("found no plugin \"halving\""));
    let bf16 = ModelDemand { precision: Some("bf16".into()), ..two_of_two() };
    let error = Bed::open("doubling", &[], &bf16).unwrap_err();
    assert_eq!(error, "plugin doubling does not declare precision bf16; it declares f32");
}

#[test]
fn misbehaviour_is_an_error_of_the_run() {
    assert!(with_trouble("none").is_ok());
    for (trouble, words) in [
        ("fail", &["sample 1 failed (status 7)"][..]),
        ("short", &["sample 0 failed", "output \"m\" of sample 0 has 2 bytes instead of 4"]),
        ("stages", &["plugin doubling: stage \"compute\" from ", "it ends before it begins"]),
        ("early", &["answered samples while no test was running"]),
        ("token", &["reported a first token of id 0x3e7"]),
        ("complete", &["the plugin completed id 0x1, which is the host's to complete"]),
        ("stop", &["stop failed (FAILED): there is no end to it"]),
    ] {
        let error = with_trouble(trouble).unwrap_err();
        for words in words {
            assert!(error.contains(words), "no \"{words}\" in: {error}");
        }
    }
}

#[test]
#[should_panic(expected = "batches have sizes: [1, 0]")]
fn a_batch_has_a_size() {
    drop(Bed::open("doubling", &[], &two_of_two()).unwrap().run(&samples(&[1]), &[1, 0]));
}
