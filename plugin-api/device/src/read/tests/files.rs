//! Files as a whole: sharing, removal and refusals.

use std::{fs, sync::Arc};

use proctor_onnx_file::proto::{ModelProto, SparseTensorProto, TensorProto};
use proctor_vocabulary::ElementType::{F32, I64};
use proptest::prelude::*;

use super::*;
use crate::read::ReadError;

const PATH: &str = "m.onnx";

fn source(builder: GraphBuilder) -> Result<Source, ReadError> {
    Source::from_bytes(Path::new(PATH), &builder.into_bytes())
}

/// A product with weights that are transposed first, too large to be computed at once, by way of shapes.
fn network(width: usize) -> GraphBuilder {
    let mut builder = GraphBuilder::new("network");
    builder.input("x", F32, &Dim::batch_of(&[2, 4]));
    let weights = builder.constant("weights", &[8, width], &vec![0.5; 8 * width]);
    builder.constant("unread", &[2], &[0.0; 2]);
    let turned = builder.node("Transpose", "turned", &[&weights], &[]);
    builder.node("Transpose", "unneeded", &[&weights], &[]);
    builder.node("Relu", "unneeded as well", &["x"], &[]);
    let extents = builder.node("Shape", "extents", &["x"], &[]);
    let (zero, eight) = (builder.ints(&[0]), builder.ints(&[8]));
    let batch = builder.node("Gather", "batch", &[&extents, &zero], &[]);
    let rows = builder.node("Concat", "rows", &[&batch, &eight], &[("axis", 0.into())]);
    let rows = builder.node("Reshape", "flat", &["x", &rows], &[]);
    let y = builder.node("Gemm", "y", &[&rows, &turned], &[("transB", 1.into())]);
    builder.output(&y, F32, &Dim::batch_of(&[width]));
    builder
}

#[test]
fn graphs_of_all_batch_sizes_share_their_weights() {
    let width = 1 << 14;
    let source = source(network(width)).unwrap();
    assert_eq!(source.file().signature.inputs[0].name, "x");
    let graphs = [1, 5].map(|batch| source.graph(&[vec![batch, 2, 4]]).unwrap());
    let mut weights = Vec::new();
    for (graph, batch) in graphs.iter().zip([1, 5]) {
        let labels: Vec<&str> = graph.nodes().iter().map(|node| node.label.as_str()).collect();
        assert_eq!(labels, ["Reshape \"flat\"", "Gemm \"y\""], "the rest is known or not needed");
        assert_eq!(outputs(graph), [(F32, vec![batch, width])]);
        let constants: Vec<_> = graph.values.iter().filter_map(|value| value.constant.clone()).collect();
        assert_eq!(constants.len(), 1, "constants that nothing reads are left out");
        assert_eq!(constants[0].shape, [width, 8]);
        weights.push(constants[0].clone());
    }
    assert!(Arc::ptr_eq(&weights[0].bytes, &weights[1].bytes));
}

#[test]
fn an_output_may_be_an_input_or_a_constant() {
    let mut builder = GraphBuilder::new("through");
    builder.input("x", F32, &Dim::batch_of(&[]));
    builder.constant("c", &[2], &[1.0, 2.0]);
    for name in ["x", "c"] {
        builder.output(name, F32, &[]);
    }
    let graph = source(builder).unwrap().graph(&[vec![3]]).unwrap();
    assert_eq!(graph.outputs()[0], graph.inputs()[0]);
    assert!(graph.value(graph.outputs()[1]).constant.is_some());
    assert!(graph.nodes().is_empty());
}

#[test]
fn all_nodes_that_are_not_supported_are_named_at_once() {
    let mut builder = GraphBuilder::new("refused");
    builder.input("x", F32, &[Dim::Fixed(2)]);
    builder.node("Loop", "first", &["x"], &[]);
    builder.node("Relu", "fine", &["first"], &[]);
    builder.node("Relu", "second", &["fine"], &[("alpha", 0.5.into())]);
    builder.output("second", F32, &[]);
    let error = source(builder).unwrap_err();
    let expected = "m.onnx has 2 nodes that cannot be run: Loop \"first\": the operator is not supported; \
                    Relu \"second\": attribute \"alpha\" is not known";
    assert_eq!(error.to_string(), expected);
    assert!(matches!(error, ReadError::Refused { nodes, .. } if nodes.len() == 2));
}

#[test]
fn all_nodes_that_do_not_fit_are_named_but_those_that_follow_from_others() {
    let mut builder = GraphBuilder::new("misfits");
    builder.input("x", F32, &[Dim::Fixed(2)]);
    builder.constant("c", &[3], &[0.0; 3]);
    builder.node("Add", "first", &["x", "c"], &[]);
    builder.node("Relu", "follows", &["first"], &[]);
    builder.node("MaxPool", "second", &["x"], &[("kernel_shape", [1].into())]);
    builder.node("Relu", "lost", &["nowhere"], &[]);
    builder.output("follows", F32, &[]);
    let error = source(builder).unwrap().graph(&[vec![2]]).unwrap_err().to_string();
    let expected = "m.onnx has 3 nodes that cannot be run: Add \"first\": shapes [2] and [3] do not fit each other; \
                    MaxPool \"second\": windows [1] do not fit into an image [2]; Relu \"lost\": it reads \"nowhere\", \
                    which nothing before it gives; the file may be cut short";
    assert_eq!(error, expected);
}

/// A file of `y = Relu(x)`, x of f32[2], after a change.
fn changed(change: impl FnOnce(&mut ModelProto)) -> Result<Graph, String> {
    let mut builder = GraphBuilder::new("change");
    builder.input("x", F32, &[Dim::Fixed(2)]);
    builder.node("Relu", "y", &["x"], &[]);
    builder.output("y", F32, &[]);
    let mut model = builder.into_model();
    change(&mut model);
    let source = Source::from_bytes(Path::new(PATH), &model.encode_to_vec());
    let graph = |source: Source| source.graph(&vec![vec![2]; source.file().signature.inputs.len()]);
    source.and_then(graph).map_err(|error| error.to_string())
}

#[test]
fn parts_that_make_no_graph_are_named() {
    assert!(changed(|_| ()).is_ok());
    for (expected, change) in [
        (
            "m.onnx uses version 6 of ONNX's operators, supported are 7 to 23; convert the model",
            (|model| model.opset_import[0].version = Some(6)) as fn(&mut ModelProto),
        ),
        ("m.onnx uses version 0 of ONNX's operators, supported are 7 to 23; convert the model", |model| {
            model.opset_import[0].domain = Some("com.example".to_owned());
        }),
        (
            "m.onnx has a node that cannot be run: com.example.Relu \"y\": domain \"com.example\" is not supported",
            |model| model.graph.as_mut().unwrap().node[0].domain = Some("com.example".to_owned()),
        ),
        ("m.onnx has a node that cannot be run: Relu \"y\": \"x\" is given twice", |model| {
            model.graph.as_mut().unwrap().node[0].output = vec!["x".to_owned()];
        }),
        ("m.onnx: \"y\" is an output, but no node gives it; the file may be cut short", |model| {
            model.graph.as_mut().unwrap().node.clear();
        }),
        ("m.onnx: \"s\" is a sparse constant, which is not supported", |model| {
            let values = TensorProto { name: Some("s".to_owned()), ..TensorProto::default() };
            let sparse = SparseTensorProto { values: Some(values) };
            model.graph.as_mut().unwrap().sparse_initializer.push(sparse);
        }),
        ("m.onnx: constant \"c\" has 0 values, but the shape [3] has 3", |model| {
            let (name, dims) = (Some("c".to_owned()), vec![3]);
            let tensor = TensorProto { name, dims, data_type: Some(1), ..TensorProto::default() };
            model.graph.as_mut().unwrap().initializer.push(tensor);
        }),
        ("m.onnx: \"c\" is a constant: elements of u64 are not supported", |model| {
            let (name, dims) = (Some("c".to_owned()), vec![0]);
            let tensor = TensorProto { name, dims, data_type: Some(13), ..TensorProto::default() };
            model.graph.as_mut().unwrap().initializer.push(tensor);
        }),
        ("m.onnx: \"x\" is given twice", |model| {
            let input = model.graph.as_ref().unwrap().input[0].clone();
            model.graph.as_mut().unwrap().input.push(input);
        }),
    ] {
        assert_eq!(changed(change).unwrap_err(), expected);
    }
}

#[test]
fn inputs_take_the_shapes_that_the_file_says() {
    let mut builder = GraphBuilder::new("inputs");
    builder.input("x", F32, &Dim::batch_of(&[3]));
    builder.input("n", I64, &[]);
    builder.output("x", F32, &[]);
    let source = source(builder).unwrap();
    assert!(source.graph(&[vec![7, 3], vec![]]).is_ok());
    for (shapes, expected) in [
        (vec![vec![7, 3]], "m.onnx has 2 inputs, but 1 shapes were given for them"),
        (vec![vec![7, 4], vec![]], "\"x\" is an input x f32[batch, 3], which does not take the shape [7, 4]"),
        (vec![vec![3], vec![]], "which does not take the shape [3]"),
        (vec![vec![usize::MAX, 3], vec![]], "which does not fit into memory"),
    ] {
        let message = source.graph(&shapes).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn weights_may_lie_in_another_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut builder = GraphBuilder::new("external");
    builder.input("x", F32, &[Dim::Fixed(2)]);
    builder.external("w", F32, &[2], "w.bin", 4);
    builder.node("Mul", "y", &["x", "w"], &[]);
    builder.output("y", F32, &[]);
    let path = folder.path().join("m.onnx");
    fs::write(&path, builder.into_bytes()).unwrap();
    assert!(matches!(Source::open(&path), Err(ReadError::File(_))));
    let values = [0.0_f32, 1.5, -2.0].map(f32::to_le_bytes).concat();
    fs::write(folder.path().join("w.bin"), values).unwrap();
    let graph = Source::open(&path).unwrap().graph(&[vec![2]]).unwrap();
    let weights = graph.nodes()[0].inputs[1].and_then(|id| graph.value(id).constant.clone()).unwrap();
    assert_eq!(weights.array().unwrap().reals().unwrap(), [1.5, -2.0]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// Damage anywhere gives an error or another graph, never a panic.
    #[test]
    fn damage_never_panics(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = network(3).into_bytes();
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Ok(source) = Source::from_bytes(Path::new(PATH), &bytes) {
            let inputs = &source.file().signature.inputs;
            let shapes: Vec<Vec<usize>> = inputs.iter().map(|input| shape_of(input.dims.as_deref())).collect();
            drop(source.graph(&shapes));
        }
    }
}

/// A shape that an input takes: 3 wherever any extent would do.
fn shape_of(dims: Option<&[Dim]>) -> Vec<usize> {
    let extent = |dim: &Dim| match dim {
        Dim::Fixed(fixed) => *fixed,
        Dim::Free(_) => 3,
    };
    dims.unwrap_or(&[]).iter().map(extent).collect()
}
