//! Graphs, converted: which nodes come out, and which graphs are refused. Their results are tested in `beside`.

use proctor_model_files::{Constant, ConvertError, GraphInput, GraphOutput, Order, Values, convert_graph};
use proctor_onnx_file::{OnnxFile, proto::ModelProto};
use proctor_vocabulary::ElementType;
use prost::Message;
use serde_json::json;

use crate::models::{Model, list, window};

fn operators(file: &[u8]) -> Vec<String> {
    let graph = ModelProto::decode(file).unwrap().graph.unwrap();
    graph.node.into_iter().map(|node| node.op_type.unwrap()).collect()
}

/// Returns a graph from `x` to a convolution `conv` of two channels to three.
fn convolution() -> Model {
    let mut model = Model::default();
    model.node("Placeholder", "x", &[], json!({}));
    model.weights("kernel", &[3, 3, 2, 3]);
    model.node("Conv2D", "conv", &["x", "kernel"], window(&[1, 1], "SAME"));
    model
}

fn message(model: &Model, shape: &[usize]) -> String {
    model.convert(shape).unwrap_err().to_string()
}

#[test]
fn factors_and_terms_of_channels_become_part_of_the_weights() {
    let mut model = convolution();
    ["factors", "terms", "mean"].iter().for_each(|name| model.weights(name, &[3]));
    model.reals("variance", &[3], &[1.0, 2.0, 3.0]);
    model.node("Mul", "scaled", &["factors", "conv"], json!({}));
    model.node("Sub", "shifted", &["scaled", "terms"], json!({}));
    model.node("BiasAdd", "biased", &["shifted", "terms"], json!({}));
    let norm = ["biased", "factors", "terms", "mean", "variance"];
    model.node("FusedBatchNorm", "normal", &norm, json!({"is_training": {"b": false}}));
    model.node("Relu6", "y", &["normal"], json!({}));
    let file = model.convert(&[4, 5, 2]).unwrap();
    assert_eq!(operators(&file), ["Transpose", "Conv", "Clip", "Transpose"]);
    let file = OnnxFile::from_bytes("y.onnx".as_ref(), &file).unwrap();
    assert_eq!(file.signature.inputs[0].to_string(), "x f32[batch, 4, 5, 2]");
    assert_eq!(file.signature.outputs[0].to_string(), "result f32[batch, 4, 5, 3]");
}

#[test]
fn a_convolution_that_is_read_twice_keeps_its_weights() {
    let mut model = convolution();
    model.weights("factors", &[3]);
    model.node("Mul", "scaled", &["conv", "factors"], json!({}));
    model.node("Add", "y", &["scaled", "conv"], json!({}));
    assert_eq!(
        operators(&model.convert(&[4, 5, 2]).unwrap()),
        ["Transpose", "Conv", "Mul", "Add", "Transpose"]
    );
}

#[test]
fn an_input_may_have_its_channels_first_and_any_type() {
    let mut model = convolution();
    model.node("Relu", "y", &["conv"], json!({}));
    let input = GraphInput {
        node: "x",
        name: "image",
        element_type: ElementType::U8,
        shape: &[4, 5, 2],
        order: Order::ChannelsFirst,
    };
    let outputs = [GraphOutput { node: "y", name: "y" }];
    let file = convert_graph("model", &model.graph(), &[input], &outputs).unwrap();
    assert_eq!(operators(&file), ["Cast", "Conv", "Relu", "Transpose"]);
    assert_eq!(convert_graph("model", &model.graph(), &[input], &outputs).unwrap(), file);
    let file = OnnxFile::from_bytes("y.onnx".as_ref(), &file).unwrap();
    assert_eq!(file.signature.inputs[0].to_string(), "image u8[batch, 2, 4, 5]");
}

#[test]
fn names_that_would_meet_are_told_apart() {
    let mut model = Model::default();
    model.node("Placeholder", "x", &[], json!({}));
    model.reals("result", &[], &[2.0]);
    model.node("Relu", "float_6", &["x"], json!({}));
    model.node("Relu6", "ints_1", &["float_6"], json!({}));
    model.node("Mul", "batch", &["ints_1", "result"], json!({}));
    model.node("Exp", "y", &["batch"], json!({}));
    let file = model.convert(&[3]).unwrap();
    let graph = ModelProto::decode(file.as_slice()).unwrap().graph.unwrap();
    let mut names: Vec<String> = graph.node.iter().flat_map(|node| node.output.clone()).collect();
    names.extend(graph.initializer.iter().map(|tensor| tensor.name.clone().unwrap()));
    names.push("x".to_owned());
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "{names:?}");
}

#[test]
fn an_operator_that_is_not_known_is_named_with_its_node() {
    let mut model = Model::default();
    model.node("Placeholder", "x", &[], json!({}));
    model.node("MatrixInverse", "head/inverse", &["x"], json!({}));
    model.node("Relu", "y", &["head/inverse"], json!({}));
    assert_eq!(
        message(&model, &[2, 2]),
        "node \"head/inverse\" has the operator MatrixInverse, which this converter does not know"
    );
    // One that nothing needs is no reason.
    model.nodes.retain(|node| node["name"] != "y");
    model.node("Relu", "y", &["x"], json!({}));
    assert_eq!(operators(&model.convert(&[2, 2]).unwrap()), ["Relu", "Identity"]);
}

#[test]
fn a_branch_that_is_not_taken_may_hold_anything() {
    let mut model = Model::default();
    model.node("Placeholder", "x", &[], json!({}));
    model.constant(json!({"name": "default", "shape": [], "dtype": "bool"}), &[0]);
    model.node("PlaceholderWithDefault", "training", &["default"], json!({}));
    model.node("Switch", "either", &["x", "training"], json!({}));
    model.node("RandomUniform", "random", &["either:1"], json!({}));
    model.reals("shares", &[2], &[0.5, 0.25]);
    // Nothing of the branch is known here, but this sum is.
    model.node("Add", "range", &["shares", "shares"], json!({}));
    model.node("Mul", "dropped", &["random", "range"], json!({}));
    model.node("Identity", "kept", &["either"], json!({}));
    model.node("Merge", "y", &["kept", "dropped"], json!({}));
    assert_eq!(operators(&model.convert(&[2]).unwrap()), ["Identity"]);
    model.nodes.retain(|node| node["name"] != "either");
    model.node("Switch", "either", &["x", "x"], json!({}));
    assert_eq!(message(&model, &[2]), "Switch \"either\" needs integers that are known before it runs");
}

#[test]
fn a_node_can_be_made_a_constant() {
    let mut model = Model::default();
    model.node("Placeholder", "x", &[], json!({}));
    model.constant(json!({"name": "default", "shape": [], "dtype": "bool"}), &[1]);
    model.node("PlaceholderWithDefault", "training", &["default"], json!({}));
    model.node("Switch", "either", &["x", "training"], json!({}));
    model.node("Dropout", "dropped", &["either:1"], json!({}));
    model.node("Merge", "y", &["either", "dropped"], json!({}));
    assert!(message(&model, &[2]).contains("operator Dropout"));
    let used = Constant { dims: Vec::new(), values: Values::Ints(vec![0]) };
    let graph = model.graph().with_constant("training", used.clone()).unwrap();
    let input = GraphInput {
        node: "x",
        name: "x",
        element_type: ElementType::F32,
        shape: &[2],
        order: Order::ChannelsLast,
    };
    let file = convert_graph("model", &graph, &[input], &[GraphOutput { node: "y", name: "y" }]).unwrap();
    assert_eq!(operators(&file), ["Identity"]);
    let error = graph.with_constant("trained", used).unwrap_err();
    assert_eq!(error.to_string(), "the graph has no node \"trained\" that could become a constant");
}

#[test]
fn graphs_that_do_not_hold_together_are_refused() {
    let mut model = Model::default();
    model.node("Placeholder", "x", &[], json!({}));
    assert_eq!(message(&model, &[1]), "the graph has no node \"y\", which the output result needs");
    model.node("Relu", "y", &["gone"], json!({}));
    assert_eq!(message(&model, &[1]), "the graph has no node \"gone\", which \"y\" needs");
    let mut model = Model::default();
    model.node("Placeholder", "x", &[], json!({}));
    model.node("Add", "y", &["x", "next"], json!({}));
    model.node("Relu", "next", &["y"], json!({}));
    assert!(matches!(model.convert(&[1]), Err(ConvertError::Circle { .. })));
    let mut model = Model::default();
    model.node("Placeholder", "x", &[], json!({}));
    model.node("Relu", "y", &["x:1"], json!({}));
    assert_eq!(message(&model, &[1]), "Relu \"y\" wants the result 1 of an input");
    model.nodes.pop();
    model.node("Relu", "y", &["x", "x"], json!({}));
    assert_eq!(message(&model, &[1]), "Relu \"y\" has 2 inputs, not 1");
}

#[test]
fn a_tensor_has_a_few_dimensions() {
    let mut model = Model::default();
    model.node("Placeholder", "x", &[], json!({}));
    let form = [&[-1][..], &[1; 16]].concat();
    model.ints("form", &[17], &form);
    model.node("Reshape", "y", &["x", "form"], json!({}));
    assert_eq!(message(&model, &[2]), "Reshape \"y\" has more than 16 dimensions");
}

#[test]
fn forms_of_operators_that_are_not_known_are_refused() {
    let y = |change: &dyn Fn(&mut Model)| {
        let mut model = Model::default();
        model.node("Placeholder", "x", &[], json!({}));
        model.weights("kernel", &[3, 3, 2, 3]);
        model.weights("channels", &[3]);
        model.ints("two", &[1], &[2]);
        change(&mut model);
        message(&model, &[4, 5, 2])
    };
    let mut format = window(&[1, 1], "SAME");
    format["data_format"] = json!({"s": b"NCHW"});
    for (operator, inputs, attributes, reason) in [
        ("Conv2D", vec!["x", "kernel"], format, "has the order of axes NCHW"),
        ("Conv2D", vec!["x", "kernel"], window(&[1, 1], "EXPLICIT"), "has the padding \"EXPLICIT\""),
        ("Conv2D", vec!["x", "kernel"], window(&[0, 1], "SAME"), "has strides [1, 0, 1, 1]"),
        ("Conv2D", vec!["x", "kernel"], window(&[1], "SAME"), "has strides [1, 1, 1]"),
        (
            "Conv2D",
            vec!["x", "channels"],
            window(&[1, 1], "SAME"),
            "has weights of fewer than two dimensions",
        ),
        ("Conv2D", vec!["x", "x"], window(&[1, 1], "SAME"), "needs constant weights"),
        ("MaxPool", vec!["x"], window(&[1, 1], "SAME"), "has ksize []"),
        ("FusedBatchNorm", vec!["x"; 5], json!({}), "computes its statistics from the batch"),
        ("Add", vec!["x", "channels"], json!({}), "has tensors whose shapes do not go together"),
        ("Reshape", vec!["x", "two"], json!({}), "makes [2] of [batch, 4, 5, 2]"),
        ("Reshape", vec!["x", "x"], json!({}), "needs integers that are known before it runs"),
        (
            "Squeeze",
            vec!["x"],
            json!({"squeeze_dims": list(&[1])}),
            "takes the axis 1 away, which has several rows",
        ),
        ("Transpose", vec!["x", "two"], json!({}), "has the order of axes [2] for 4"),
        ("ExpandDims", vec!["x", "kernel"], json!({}), "needs integers that are known before it runs"),
        ("Pack", vec!["x", "channels"], json!({}), "has inputs of different shapes"),
        (
            "StridedSlice",
            vec!["x", "two", "two", "two"],
            json!({}),
            "needs integers that are known before it runs",
        ),
        ("Tile", vec!["x", "two"], json!({}), "repeats a tensor in a way that cannot be known"),
    ] {
        let said = y(&|model| model.node(operator, "y", &inputs, attributes.clone()));
        assert!(said.starts_with(&format!("{operator} \"y\" {reason}")), "{said}");
    }
}
