//! Files as they come: weights elsewhere, other types, batches of a fixed size or without a dimension.

mod bed;
#[path = "bed/graph.rs"]
mod graph;

use std::fs;

use bed::{bytes, demand, f32s, load, spec};
use graph::{Graph, integer, integers};
use proctor_onnx_file::proto::AttributeProto;
use proctor_plugin_api::vocabulary::ElementType::{self, F16, F32, I32, I64};
use proctor_plugin_host::ModelDemand;

/// Runs samples of f32 values through a model in batches of these sizes and returns the outputs.
fn outputs(demand: &ModelDemand, samples: &[Vec<f32>], sizes: &[usize]) -> Vec<Vec<f32>> {
    let samples: Vec<_> = samples.iter().map(|sample| vec![bytes(sample)]).collect();
    let bed = load(demand, &[]).unwrap_or_else(|error| panic!("{error}"));
    bed.answers(demand, &samples, sizes).values().map(|answer| f32s(answer)).collect()
}

/// `y = x * w`, with a matrix of three rows and two columns.
fn product(graph: Graph, batch: Option<i64>) -> Graph {
    graph.input("x", F32, &[batch, Some(3)]).output("y", F32, &[batch, Some(2)]).node(
        "MatMul",
        "product",
        &["x", "w"],
        "y",
    )
}

const MATRIX: [f32; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

#[test]
fn weights_are_read_from_another_file_at_their_offset() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut weights = bytes(&[7.0; 5]);
    weights.extend(bytes(&MATRIX));
    weights.extend(bytes(&[9.0]));
    fs::write(folder.path().join("model.safetensors"), weights).expect("the folder can be written");
    let path = product(Graph::default(), None).external("w", &[3, 2], "model.safetensors", 20);
    let path = path.write(folder.path(), "model.onnx");
    let demand = demand(&path, &[spec("x", F32, &[3])], &[spec("y", F32, &[2])], 4);
    let samples = [vec![1.0, 0.0, 0.0], vec![0.0, 1.0, 0.0], vec![1.0, 1.0, 1.0]];
    assert_eq!(outputs(&demand, &samples, &[3]), [[1.0, 2.0], [3.0, 4.0], [9.0, 12.0]]);
}

#[test]
fn a_model_of_a_fixed_batch_takes_fewer_samples_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = product(Graph::default(), Some(4)).constant("w", F32, &[3, 2], &bytes(&MATRIX));
    let path = path.write(folder.path(), "model.onnx");
    let demand = demand(&path, &[spec("x", F32, &[3])], &[spec("y", F32, &[2])], 3);
    let samples: Vec<Vec<f32>> = (0..5_u8).map(|k| vec![f32::from(k), 0.0, 1.0]).collect();
    let expected: Vec<Vec<f32>> =
        (0..5_u8).map(|k| vec![f32::from(k) + 5.0, 2.0 * f32::from(k) + 6.0]).collect();
    assert_eq!(outputs(&demand, &samples, &[3, 1]), expected);
}

#[test]
fn a_model_without_a_batch_takes_samples_one_by_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = Graph::default()
        .input("x", F32, &[Some(2), Some(2)])
        .output("y", F32, &[Some(2), Some(2)])
        .node("Relu", "relu", &["x"], "y")
        .write(folder.path(), "model.onnx");
    let tensors = [spec("x", F32, &[2, 2])];
    let demand = demand(&path, &tensors, &[spec("y", F32, &[2, 2])], 1);
    assert_eq!(outputs(&demand, &[vec![-1.0, 2.0, -3.0, 4.0]], &[1]), [[0.0, 2.0, 0.0, 4.0]]);
}

#[test]
fn an_input_that_is_handed_through_is_not_overwritten_by_the_next_batch() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = Graph::default()
        .input("x", F32, &[None, Some(2)])
        .output("y", F32, &[None, Some(2)])
        .node("Identity", "same", &["x"], "y")
        .write(folder.path(), "model.onnx");
    let demand = demand(&path, &[spec("x", F32, &[2])], &[spec("y", F32, &[2])], 4);
    let samples: Vec<Vec<f32>> = (0..9_u8).map(|k| vec![f32::from(k), -f32::from(k)]).collect();
    assert_eq!(outputs(&demand, &samples, &[1, 4, 3]), samples);
}

#[test]
fn integers_are_widened_for_the_model_and_narrowed_for_the_benchmark() {
    let folder = tempfile::tempdir().expect("a folder");
    let table: Vec<u8> = [3_i64, 1, 4, 1, 5].into_iter().flat_map(i64::to_le_bytes).collect();
    let path = Graph::default()
        .input("ids", I64, &[None, Some(2)])
        .output("values", I64, &[None, Some(2)])
        .constant("table", I64, &[5], &table)
        .node_with("Gather", "look-up", &["table", "ids"], "values", vec![integer("axis", 0)])
        .write(folder.path(), "model.onnx");
    let demand = demand(&path, &[spec("ids", I32, &[2])], &[spec("values", I32, &[2])], 2);
    let ints = |values: [i32; 2]| vec![values.into_iter().flat_map(i32::to_le_bytes).collect::<Vec<u8>>()];
    let bed = load(&demand, &[]).unwrap_or_else(|error| panic!("{error}"));
    let answers = bed.answers(&demand, &[ints([0, 2]), ints([4, 1]), ints([3, 3])], &[2]);
    let expected = [[3, 4], [5, 1], [1, 1]].map(|values| ints(values).remove(0));
    assert_eq!(answers.into_values().collect::<Vec<_>>(), expected);
}

#[test]
fn f16_models_run_as_f16() {
    let folder = tempfile::tempdir().expect("a folder");
    // 1, 2, 3, 4, 5 and 6 in binary16.
    let halves = [0x3c00_u16, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600];
    let matrix: Vec<u8> = halves.into_iter().flat_map(u16::to_le_bytes).collect();
    let path = Graph::default()
        .input("x", F16, &[None, Some(3)])
        .output("y", F16, &[None, Some(2)])
        .constant("w", F16, &[3, 2], &matrix)
        .node("MatMul", "product", &["x", "w"], "y")
        .write(folder.path(), "model.onnx");
    let mut demand = demand(&path, &[spec("x", F32, &[3])], &[spec("y", F32, &[2])], 2);
    demand.precision = Some("f16".into());
    assert_eq!(
        outputs(&demand, &[vec![1.0, 1.0, 1.0], vec![0.0, 0.0, 2.0]], &[2]),
        [[9.0, 12.0], [10.0, 12.0]]
    );
}

#[test]
fn int8_models_quantise_between_their_operators() {
    let folder = tempfile::tempdir().expect("a folder");
    let scale = bytes(&[0.5]);
    let path = Graph::default()
        .input("x", F32, &[None, Some(3)])
        .output("y", F32, &[None, Some(2)])
        .constant("scale", F32, &[], &scale)
        .constant("zero", ElementType::I8, &[], &[0])
        .constant("weights", ElementType::I8, &[3, 2], &[2, 4, 6, 8, 10, 12])
        .node("QuantizeLinear", "quantise", &["x", "scale", "zero"], "q")
        .node("DequantizeLinear", "back", &["q", "scale", "zero"], "d")
        .node("DequantizeLinear", "unpack", &["weights", "scale", "zero"], "w")
        .node("MatMul", "product", &["d", "w"], "y")
        .write(folder.path(), "model.onnx");
    let mut demand = demand(&path, &[spec("x", F32, &[3])], &[spec("y", F32, &[2])], 2);
    demand.precision = Some("int8".into());
    // 0.6 is 0.5 in steps of a half, and 100 is beyond the largest, which is 63.5.
    let samples = [vec![0.6, 0.0, 0.0], vec![0.0, 0.0, 100.0]];
    assert_eq!(outputs(&demand, &samples, &[2]), [[0.5, 1.0], [317.5, 381.0]]);
}

/// A recurrent layer of two units over five steps, whose last state is the output.
fn recurrent(operator: &str, gates: i64, layer: Vec<AttributeProto>) -> Graph {
    let weights: Vec<f32> = (0..gates * 4).map(|k| (k as f32).sin()).collect();
    let layer = [layer, vec![integer("hidden_size", 2)]].concat();
    Graph::default()
        .input("x", F32, &[None, Some(5), Some(2)])
        .output("y", F32, &[None, Some(2)])
        .constant("w", F32, &[1, gates * 2, 2], &bytes(&weights))
        .constant("axes", I64, &[1], &0_i64.to_le_bytes())
        .node_with("Transpose", "steps-first", &["x"], "steps", vec![integers("perm", &[1, 0, 2])])
        .node_outputs(operator, "layer", &["steps", "w", "w"], &["", "state"], layer)
        .node("Squeeze", "one-direction", &["state", "axes"], "y")
}

#[test]
fn recurrent_layers_forget_the_samples_before() {
    let folder = tempfile::tempdir().expect("a folder");
    let layers = [
        ("LSTM", 4, vec![]),
        ("GRU", 3, vec![]),
        // tract has an operator of its own for this one.
        ("GRU", 3, vec![integer("linear_before_reset", 1)]),
        ("RNN", 1, vec![]),
    ];
    for (operator, gates, attributes) in layers {
        let path = recurrent(operator, gates, attributes).write(folder.path(), "model.onnx");
        let demand = demand(&path, &[spec("x", F32, &[5, 2])], &[spec("y", F32, &[2])], 2);
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
