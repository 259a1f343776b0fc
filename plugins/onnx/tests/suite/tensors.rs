//! Tensors on their way from samples to the model and back: types, fixed batches, several inputs and outputs.

use std::{fs, path::PathBuf};

use half::f16;
use proctor_onnx_file::{Dim, GraphBuilder};
use proctor_plugin_api::vocabulary::ElementType;
use proctor_plugin_bed::{Answer, Bed, ModelDemand, Samples, demand, f32_spec, i32_bytes, spec};
use tempfile::TempDir;

use crate::common::{doubling, opened, run};

/// A file of these bytes, for as long as the folder is there.
fn written(bytes: Vec<u8>) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

fn rising(count: usize) -> Vec<Vec<f32>> {
    (0_u8..)
        .take(count)
        .map(|sample| (0_u8..4).map(|value| f32::from(sample * 4 + value)).collect())
        .collect()
}

fn assert_doubled(answers: &[Answer], samples: &[Vec<f32>]) {
    assert_eq!(answers.len(), samples.len());
    for (answer, sample) in answers.iter().zip(samples) {
        let doubled: Vec<f32> = sample.iter().map(|value| 2.0 * value).collect();
        assert_eq!(answer.f32s(0), doubled);
    }
}

#[test]
fn a_model_of_fixed_batches_runs_fewer_samples_and_keeps_them_apart() {
    let (_folder, path) = written(doubling(&Dim::fixed(&[3, 4])));
    let Some(backend) = opened(&[]) else { return };
    let demand = demand(&path, &[f32_spec("x", &[4])], &[f32_spec("y", &[4])]);
    let values = rising(5);
    let demand = ModelDemand { batch_size_max: 3, ..demand };
    let run = run(&backend, &demand, &Samples::of_f32(&values)).unwrap();
    assert_doubled(run.answers(), &values);
    assert_eq!(run.metrics["input_bytes_copied"], f64::from(5 * 16));
}

#[test]
fn a_model_without_a_batch_dimension_runs_one_by_one_without_a_copy() {
    let (_folder, path) = written(doubling(&Dim::fixed(&[2, 2])));
    let Some(backend) = opened(&[]) else { return };
    let demand = demand(&path, &[f32_spec("x", &[2, 2])], &[f32_spec("y", &[2, 2])]);
    let values = rising(3);
    let run = run(&backend, &demand, &Samples::of_f32(&values)).unwrap();
    assert_doubled(run.answers(), &values);
    assert_eq!(run.metrics["input_bytes_copied"], 0.0);
}

/// A model in f16 takes and gives f16; the benchmark has f32 on both sides.
#[test]
fn a_model_in_f16_takes_f32_samples_and_gives_f32_answers() {
    let mut graph = GraphBuilder::new("third");
    graph.input("x", ElementType::F16, &Dim::batch_of(&[4]));
    let third = f16::from_f32(1.0 / 3.0).to_le_bytes().to_vec();
    graph.constant_of("third", ElementType::F16, &[1], third);
    graph.node("Mul", "y", &["x", "third"], &[]);
    graph.output("y", ElementType::F16, &Dim::batch_of(&[4]));
    let (_folder, path) = written(graph.into_bytes());
    let Some(backend) = opened(&[]) else { return };
    let demand = demand(&path, &[f32_spec("x", &[4])], &[f32_spec("y", &[4])]);
    let values = rising(5);
    for batch_size_max in [1, 3] {
        let demand = ModelDemand { batch_size_max, precision: Some("f16".into()), ..demand.clone() };
        let backend = if batch_size_max == 1 { backend.clone() } else { opened(&[]).unwrap() };
        let run = run(&backend, &demand, &Samples::of_f32(&values)).unwrap();
        assert_eq!(run.answers().len(), values.len());
        for (answer, sample) in run.answers().iter().zip(&values) {
            for (got, value) in answer.f32s(0).iter().zip(sample) {
                // Both factors and the product are rounded to 11 bits.
                assert!((got - value / 3.0).abs() <= value / 1000.0, "{got} is not {value} / 3");
            }
        }
        assert_eq!(run.metrics["input_bytes_copied"], f64::from(5 * 16), "batches of {batch_size_max}");
    }
}

#[test]
fn several_inputs_of_integers_go_by_name_and_are_widened() {
    let dims = Dim::batch_of(&[2]);
    let mut graph = GraphBuilder::new("integers");
    graph.input("b", ElementType::I64, &dims);
    graph.input("a", ElementType::I32, &dims);
    graph.node("Add", "wide", &["b", "b"], &[]);
    graph.node("Add", "a2", &["a", "a"], &[]);
    graph.output("wide", ElementType::I64, &dims);
    graph.output("a2", ElementType::I32, &dims);
    let (_folder, path) = written(graph.into_bytes());
    let i32s = |name: &str| spec(name, ElementType::I32, &[2]);
    // The benchmark has `a` first, and wants the outputs in the other order, too.
    let demand = demand(&path, &[i32s("a"), i32s("b")], &[i32s("a2"), i32s("wide")]);
    let samples = [[[1, 2], [-30, 40]], [[5, 6], [70, -80]], [[9, 10], [110, 120]]];
    let samples = samples.map(|sample| sample.map(|values| i32_bytes(&values)).to_vec());
    let expected = [[[2, 4], [-60, 80]], [[10, 12], [140, -160]], [[18, 20], [220, 240]]];
    for batch_size_max in [1, 2] {
        let Some(backend) = opened(&[]) else { return };
        let demand = ModelDemand { batch_size_max, ..demand.clone() };
        let run = run(&backend, &demand, &Samples::new(&samples)).unwrap();
        let got: Vec<_> = run.answers().iter().map(|answer| [answer.i32s(0), answer.i32s(1)]).collect();
        assert_eq!(got, expected, "batches of {batch_size_max}");
    }
}

#[test]
fn integers_without_sign_come_back_as_they_went() {
    for (element_type, sample) in [
        (ElementType::U16, [1_u16, u16::MAX].map(u16::to_ne_bytes).concat()),
        (ElementType::U32, [1_u32, u32::MAX].map(u32::to_ne_bytes).concat()),
        (ElementType::U64, [1_u64, u64::MAX].map(u64::to_ne_bytes).concat()),
    ] {
        let dims = Dim::batch_of(&[2]);
        let mut graph = GraphBuilder::new("same");
        graph.input("x", element_type, &dims);
        graph.node("Identity", "y", &["x"], &[]);
        graph.output("y", element_type, &dims);
        let (_folder, path) = written(graph.into_bytes());
        let Some(backend) = opened(&[]) else { return };
        let tensor = |name| [spec(name, element_type, &[2])];
        let demand = ModelDemand { batch_size_max: 3, ..demand(&path, &tensor("x"), &tensor("y")) };
        let samples: Vec<_> = (0..4).map(|_| vec![sample.clone()]).collect();
        let run = run(&backend, &demand, &Samples::new(&samples)).unwrap();
        assert_eq!(run.answers().len(), 4);
        assert!(run.answers().iter().all(|answer| answer.outputs == [sample.clone()]), "{element_type}");
    }
}

#[test]
fn an_input_that_is_handed_through_is_not_overwritten_by_the_next_batch() {
    let dims = Dim::batch_of(&[2]);
    let mut graph = GraphBuilder::new("same");
    graph.input("x", ElementType::F32, &dims);
    graph.node("Identity", "y", &["x"], &[]);
    graph.output("y", ElementType::F32, &dims);
    let (_folder, path) = written(graph.into_bytes());
    let Some(backend) = opened(&[]) else { return };
    let demand = demand(&path, &[f32_spec("x", &[2])], &[f32_spec("y", &[2])]);
    let demand = ModelDemand { batch_size_max: 4, ..demand };
    let values: Vec<Vec<f32>> = (0..9_u8).map(|k| vec![f32::from(k), -f32::from(k)]).collect();
    let mut bed = Bed::load(&backend, &demand).unwrap();
    let run = bed.run(&Samples::of_f32(&values), &[1, 4, 3]).unwrap();
    let got: Vec<_> = run.answers().iter().map(|answer| answer.f32s(0)).collect();
    assert_eq!(got, values);
}

#[test]
fn an_answer_that_does_not_fit_the_benchmarks_type_fails_the_batch_by_its_value() {
    let mut graph = GraphBuilder::new("square");
    graph.input("x", ElementType::I64, &Dim::batch_of(&[1]));
    graph.node("Mul", "y", &["x", "x"], &[]);
    graph.output("y", ElementType::I64, &Dim::batch_of(&[1]));
    let (_folder, path) = written(graph.into_bytes());
    let Some(backend) = opened(&[]) else { return };
    let i32s = |name: &str| spec(name, ElementType::I32, &[1]);
    // The first sample fits, so that the warm-up goes well.
    let samples = Samples::new(&[1000, 1_000_000].map(|value| vec![i32_bytes(&[value])]));
    let error = run(&backend, &demand(&path, &[i32s("x")], &[i32s("y")]), &samples).unwrap_err();
    assert!(error.contains("execute failed"), "{error}");
    assert!(error.contains("the value 1000000000000 does not fit into i32"), "{error}");
}

#[test]
fn an_output_of_another_shape_than_the_file_says_shows_in_the_warm_up() {
    // The file does not say the shape, and the benchmark wants another one than it is.
    let mut graph = GraphBuilder::new("twice");
    graph.input("x", ElementType::F32, &Dim::batch_of(&[4]));
    graph.node("Concat", "y", &["x", "x"], &[("axis", 1.into())]);
    graph.output("y", ElementType::F32, &[Dim::Free("batch".into()), Dim::Free("width".into())]);
    let (_folder, path) = written(graph.into_bytes());
    let Some(backend) = opened(&[]) else { return };
    let demand = demand(&path, &[f32_spec("x", &[4])], &[f32_spec("y", &[7])]);
    let samples = Samples::of_f32(&[vec![1.0; 4]]);
    let error = run(&backend, &demand, &samples).unwrap_err();
    assert!(
        error.contains("invalid dimensions for output: y") && error.contains("Got: 7 Expected: 8"),
        "{error}"
    );
}
