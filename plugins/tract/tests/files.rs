//! Files as they come: weights elsewhere, other types, batches of a fixed size or without a dimension.

mod common;

use std::fs;

use common::{graph, written};
use proctor_onnx_file::{Attribute, Dim, GraphBuilder};
use proctor_plugin_api::vocabulary::ElementType::{F16, F32, I8, I32, I64};
use proctor_plugin_bed::{Bed, ModelDemand, Samples, demand, f32_bytes, f32_spec, i32_bytes, spec};
use prost::Message;
// The plugin is linked in by being named.
use tract_sut as _;

fn bed(demand: &ModelDemand) -> Bed {
    Bed::open("tract", &[], demand).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs samples of f32 values through a model in batches of these sizes and returns the outputs.
fn outputs(demand: &ModelDemand, samples: &[Vec<f32>], sizes: &[usize]) -> Vec<Vec<f32>> {
    let run = bed(demand).run(&Samples::of_f32(samples), sizes).unwrap_or_else(|error| panic!("{error}"));
    run.answers().iter().map(|answer| answer.f32s(0)).collect()
}

/// A demand for a file that makes one output of one input.
fn for_file(path: &std::path::Path, x: &[usize], y: &[usize], batch_size_max: u32) -> ModelDemand {
    ModelDemand { batch_size_max, ..demand(path, &[f32_spec("x", x)], &[f32_spec("y", y)]) }
}

/// The matrix of a product, three rows and two columns.
const MATRIX: [f32; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

#[test]
fn weights_are_read_from_another_file_at_their_offset() {
    let folder = tempfile::tempdir().expect("a folder");
    let weights = [&[7.0; 5][..], &MATRIX, &[9.0]].concat();
    fs::write(folder.path().join("model.safetensors"), f32_bytes(&weights))
        .expect("the folder can be written");
    let graph = graph(&Dim::batch_of(&[3]), &Dim::batch_of(&[2]), |graph| {
        let weights = graph.external("w", F32, &[3, 2], "model.safetensors", 20);
        graph.node("MatMul", "y", &["x", &weights], &[]);
    });
    let demand = for_file(&written(folder.path(), graph.into_bytes()), &[3], &[2], 4);
    let samples = [vec![1.0, 0.0, 0.0], vec![0.0, 1.0, 0.0], vec![1.0, 1.0, 1.0]];
    assert_eq!(outputs(&demand, &samples, &[3]), [[1.0, 2.0], [3.0, 4.0], [9.0, 12.0]]);
}

#[test]
fn a_model_of_a_fixed_batch_takes_fewer_samples_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let graph = graph(&Dim::fixed(&[4, 3]), &Dim::fixed(&[4, 2]), |graph| {
        let weights = graph.constant("w", &[3, 2], &MATRIX);
        graph.node("MatMul", "y", &["x", &weights], &[]);
    });
    let demand = for_file(&written(folder.path(), graph.into_bytes()), &[3], &[2], 3);
    let samples: Vec<Vec<f32>> = (0..5_u8).map(|k| vec![f32::from(k), 0.0, 1.0]).collect();
    let expected: Vec<Vec<f32>> =
        (0..5_u8).map(|k| vec![f32::from(k) + 5.0, 2.0 * f32::from(k) + 6.0]).collect();
    assert_eq!(outputs(&demand, &samples, &[3, 1]), expected);
}

#[test]
fn a_model_without_a_batch_takes_samples_one_by_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let dims = Dim::fixed(&[2, 2]);
    let graph = graph(&dims, &dims, |graph| drop(graph.node("Relu", "y", &["x"], &[])));
    let demand = for_file(&written(folder.path(), graph.into_bytes()), &[2, 2], &[2, 2], 1);
    assert_eq!(outputs(&demand, &[vec![-1.0, 2.0, -3.0, 4.0]], &[1]), [[0.0, 2.0, 0.0, 4.0]]);
}

#[test]
fn an_input_that_is_handed_through_is_not_overwritten_by_the_next_batch() {
    let folder = tempfile::tempdir().expect("a folder");
    let dims = Dim::batch_of(&[2]);
    let graph = graph(&dims, &dims, |graph| drop(graph.node("Identity", "y", &["x"], &[])));
    let demand = for_file(&written(folder.path(), graph.into_bytes()), &[2], &[2], 4);
    let samples: Vec<Vec<f32>> = (0..9_u8).map(|k| vec![f32::from(k), -f32::from(k)]).collect();
    assert_eq!(outputs(&demand, &samples, &[1, 4, 3]), samples);
}

#[test]
fn integers_are_widened_for_the_model_and_narrowed_for_the_benchmark() {
    let folder = tempfile::tempdir().expect("a folder");
    let table: Vec<u8> = [3_i64, 1, 4, 1, 5].into_iter().flat_map(i64::to_le_bytes).collect();
    let mut graph = GraphBuilder::new("look-up");
    graph.input("ids", I64, &Dim::batch_of(&[2]));
    graph.constant_of("table", I64, &[5], table);
    graph.node("Gather", "values", &["table", "ids"], &[("axis", 0.into())]);
    graph.output("values", I64, &Dim::batch_of(&[2]));
    let path = written(folder.path(), graph.into_bytes());
    let demand = demand(&path, &[spec("ids", I32, &[2])], &[spec("values", I32, &[2])]);
    let samples = Samples::new(&[[0, 2], [4, 1], [3, 3]].map(|ids| vec![i32_bytes(&ids)]));
    let run = bed(&ModelDemand { batch_size_max: 2, ..demand }).run(&samples, &[2]).unwrap();
    let values: Vec<_> = run.answers().iter().map(|answer| answer.i32s(0)).collect();
    assert_eq!(values, [[3, 4], [5, 1], [1, 1]]);
}

#[test]
fn f16_models_run_as_f16() {
    let folder = tempfile::tempdir().expect("a folder");
    // 1, 2, 3, 4, 5 and 6 in binary16.
    let halves = [0x3c00_u16, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600];
    let matrix: Vec<u8> = halves.into_iter().flat_map(u16::to_le_bytes).collect();
    let mut graph = GraphBuilder::new("product");
    graph.input("x", F16, &Dim::batch_of(&[3]));
    graph.constant_of("w", F16, &[3, 2], matrix);
    graph.node("MatMul", "y", &["x", "w"], &[]);
    graph.output("y", F16, &Dim::batch_of(&[2]));
    let demand = for_file(&written(folder.path(), graph.into_bytes()), &[3], &[2], 2);
    let demand = ModelDemand { precision: Some("f16".into()), ..demand };
    assert_eq!(
        outputs(&demand, &[vec![1.0, 1.0, 1.0], vec![0.0, 0.0, 2.0]], &[2]),
        [[9.0, 12.0], [10.0, 12.0]]
    );
}

#[test]
fn int8_models_quantise_between_their_operators() {
    let folder = tempfile::tempdir().expect("a folder");
    let graph = graph(&Dim::batch_of(&[3]), &Dim::batch_of(&[2]), |graph| {
        graph.constant("scale", &[], &[0.5]);
        graph.constant_of("zero", I8, &[], vec![0]);
        graph.constant_of("weights", I8, &[3, 2], vec![2, 4, 6, 8, 10, 12]);
        graph.node("QuantizeLinear", "q", &["x", "scale", "zero"], &[]);
        graph.node("DequantizeLinear", "d", &["q", "scale", "zero"], &[]);
        graph.node("DequantizeLinear", "w", &["weights", "scale", "zero"], &[]);
        graph.node("MatMul", "y", &["d", "w"], &[]);
    });
    let demand = for_file(&written(folder.path(), graph.into_bytes()), &[3], &[2], 2);
    let demand = ModelDemand { precision: Some("int8".into()), ..demand };
    // 0.6 is 0.5 in steps of a half, and 100 is beyond the largest, which is 63.5.
    let samples = [vec![0.6, 0.0, 0.0], vec![0.0, 0.0, 100.0]];
    assert_eq!(outputs(&demand, &samples, &[2]), [[0.5, 1.0], [317.5, 381.0]]);
}

/// The file of a recurrent layer of two units over five steps, whose last state is the output.
fn recurrent(operator: &str, gates: usize, attributes: &[(&str, Attribute)]) -> Vec<u8> {
    let weights: Vec<f32> = (0..gates * 4).map(|k| (k as f32).sin()).collect();
    let attributes = [attributes, &[("hidden_size", 2.into())]].concat();
    let graph = graph(&Dim::batch_of(&[5, 2]), &Dim::batch_of(&[2]), |graph| {
        graph.constant("w", &[1, gates * 2, 2], &weights);
        let axes = graph.ints(&[0]);
        graph.node("Transpose", "steps", &["x"], &[("perm", [1, 0, 2].into())]);
        let outputs = graph.node_of_many(operator, "layer", &["steps", "w", "w"], 2, &attributes);
        graph.node("Squeeze", "y", &[&outputs[1], &axes], &[]);
    });
    let mut model = graph.into_model();
    // The states of all steps are not wanted.
    model.graph.as_mut().expect("it has one").node[1].output[0].clear();
    model.encode_to_vec()
}

#[test]
fn recurrent_layers_forget_the_samples_before() {
    let folder = tempfile::tempdir().expect("a folder");
    let layers = [
        ("LSTM", 4, &[][..]),
        ("GRU", 3, &[]),
        // tract has an operator of its own for this one.
        ("GRU", 3, &[("linear_before_reset", 1.into())]),
        ("RNN", 1, &[]),
    ];
    for (operator, gates, attributes) in layers {
        let path = written(folder.path(), recurrent(operator, gates, attributes));
        let demand = for_file(&path, &[5, 2], &[2], 2);
        let (one, other) = (vec![1.0; 10], vec![-0.5; 10]);
        let samples = [one.clone(), other.clone(), one.clone(), one, other];
        for sizes in [[1], [2]] {
            let outputs = outputs(&demand, &samples, &sizes);
            assert_eq!(outputs[0], outputs[2], "{operator}");
            assert_eq!(outputs[0], outputs[3], "{operator}");
            assert_eq!(outputs[1], outputs[4], "{operator}");
            assert_ne!(outputs[0], outputs[1], "{operator}");
        }
    }
}
