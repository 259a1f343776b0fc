//! Tensors on their way from samples to the model and back: types, fixed batches, several inputs and outputs.

mod common;

use common::{
    Samples, demand, f32_bytes, f32_spec, f32_values,
    graphs::{FREE, Graph, doubling, tensor},
    opened, run, spec,
};
use half::f16;
use proctor_plugin_api::vocabulary::ElementType;
use proctor_plugin_host::ModelDemand;

fn rising(count: usize) -> Vec<Vec<f32>> {
    (0_u8..)
        .take(count)
        .map(|sample| (0_u8..4).map(|value| f32::from(sample * 4 + value)).collect())
        .collect()
}

fn assert_doubled(answers: &[Vec<u8>], samples: &[Vec<f32>]) {
    assert_eq!(answers.len(), samples.len());
    for (answer, sample) in answers.iter().zip(samples) {
        let doubled: Vec<f32> = sample.iter().map(|value| 2.0 * value).collect();
        assert_eq!(f32_values(answer), doubled);
    }
}

#[test]
fn a_model_of_fixed_batches_runs_fewer_samples_and_keeps_them_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    doubling(&[3], &[4]).write(&path);
    let Some(backend) = opened(&[]) else { return };
    let demand = demand(&path, vec![f32_spec("x", &[4])], vec![f32_spec("y", &[4])]);
    let values = rising(5);
    let (answers, figures) =
        run(&backend, &ModelDemand { batch_size_max: 3, ..demand }, &Samples::of_f32(&values)).unwrap();
    assert_doubled(&answers, &values);
    assert_eq!(figures["input_bytes_copied"], f64::from(5 * 16));
}

#[test]
fn a_model_without_a_batch_dimension_runs_one_by_one_without_a_copy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    doubling(&[], &[2, 2]).write(&path);
    let Some(backend) = opened(&[]) else { return };
    let demand = demand(&path, vec![f32_spec("x", &[2, 2])], vec![f32_spec("y", &[2, 2])]);
    let values = rising(3);
    let (answers, figures) = run(&backend, &demand, &Samples::of_f32(&values)).unwrap();
    assert_doubled(&answers, &values);
    assert_eq!(figures["input_bytes_copied"], 0.0);
}

/// A model in f16 takes and gives f16; the benchmark has f32 on both sides.
#[test]
fn a_model_in_f16_takes_f32_samples_and_gives_f32_answers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    let third: Vec<u8> = f16::from_f32(1.0 / 3.0).to_le_bytes().to_vec();
    Graph::default()
        .input("x", ElementType::F16, &[FREE, 4])
        .output("y", ElementType::F16, &[FREE, 4])
        .constant(tensor("third", ElementType::F16, &[1], third))
        .node("Mul", &["x", "third"], &["y"], &[])
        .write(&path);
    let Some(backend) = opened(&[]) else { return };
    let demand = demand(&path, vec![f32_spec("x", &[4])], vec![f32_spec("y", &[4])]);
    let values = rising(5);
    for batch_size_max in [1, 3] {
        let demand = ModelDemand { batch_size_max, precision: Some("f16".into()), ..demand.clone() };
        let backend = if batch_size_max == 1 { backend.clone() } else { opened(&[]).unwrap() };
        let (answers, figures) = run(&backend, &demand, &Samples::of_f32(&values)).unwrap();
        for (answer, sample) in answers.iter().zip(&values) {
            for (got, value) in f32_values(answer).iter().zip(sample) {
                // Both factors and the product are rounded to 11 bits.
                assert!((got - value / 3.0).abs() <= value / 1000.0, "{got} is not {value} / 3");
            }
        }
        assert_eq!(figures["input_bytes_copied"], f64::from(5 * 16), "batches of {batch_size_max}");
    }
}

#[test]
fn several_inputs_of_integers_go_by_name_and_are_widened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    Graph::default()
        .input("b", ElementType::I64, &[FREE, 2])
        .input("a", ElementType::I32, &[FREE, 2])
        .output("wide", ElementType::I64, &[FREE, 2])
        .output("a2", ElementType::I32, &[FREE, 2])
        .node("Add", &["b", "b"], &["wide"], &[])
        .node("Add", &["a", "a"], &["a2"], &[])
        .write(&path);
    let i32s = |name: &str| spec(name, ElementType::I32, &[2]);
    let bytes = |values: [i32; 2]| -> Vec<u8> { values.into_iter().flat_map(i32::to_le_bytes).collect() };
    // The benchmark has `a` first, and wants the outputs in the other order, too.
    let demand = demand(&path, vec![i32s("a"), i32s("b")], vec![i32s("a2"), i32s("wide")]);
    let samples = Samples::new(vec![
        vec![bytes([1, 2]), bytes([-30, 40])],
        vec![bytes([5, 6]), bytes([70, -80])],
        vec![bytes([9, 10]), bytes([110, 120])],
    ]);
    let expected = [[2, 4, -60, 80], [10, 12, 140, -160], [18, 20, 220, 240]];
    for batch_size_max in [1, 2] {
        let Some(backend) = opened(&[]) else { return };
        let (answers, _) =
            run(&backend, &ModelDemand { batch_size_max, ..demand.clone() }, &samples).unwrap();
        for (answer, expected) in answers.iter().zip(&expected) {
            let got: Vec<i32> = answer.as_chunks().0.iter().map(|bytes| i32::from_le_bytes(*bytes)).collect();
            assert_eq!(got, expected, "batches of {batch_size_max}");
        }
    }
}

#[test]
fn an_answer_that_does_not_fit_the_benchmarks_type_fails_the_batch_by_its_value() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    Graph::default()
        .input("x", ElementType::I64, &[FREE, 1])
        .output("y", ElementType::I64, &[FREE, 1])
        .node("Mul", &["x", "x"], &["y"], &[])
        .write(&path);
    let Some(backend) = opened(&[]) else { return };
    let i32s = |name: &str| spec(name, ElementType::I32, &[1]);
    let samples = Samples::new(vec![vec![1_000_000_i32.to_le_bytes().to_vec()]]);
    let error = run(&backend, &demand(&path, vec![i32s("x")], vec![i32s("y")]), &samples).unwrap_err();
    assert!(error.contains("the value 1000000000000 does not fit into i32"), "{error}");
}

#[test]
fn an_output_of_another_shape_than_the_file_says_shows_in_the_warm_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    // The file does not say the shape, and the benchmark wants another one than it is.
    Graph::default()
        .input("x", ElementType::F32, &[FREE, 4])
        .output("y", ElementType::F32, &[FREE, FREE])
        .node("Concat", &["x", "x"], &["y"], &[("axis", 1)])
        .write(&path);
    let Some(backend) = opened(&[]) else { return };
    let demand = demand(&path, vec![f32_spec("x", &[4])], vec![f32_spec("y", &[7])]);
    let samples = Samples::new(vec![vec![f32_bytes(&[1.0; 4])]]);
    let error = run(&backend, &demand, &samples).unwrap_err();
    assert!(
        error.contains("invalid dimensions for output: y") && error.contains("Got: 7 Expected: 8"),
        "{error}"
    );
}
