//! Compares results of converted graphs with NumPy, which computes the graphs themselves as TensorFlow defines them.
//!
//! `peer.py` needs ONNX Runtime and NumPy by `PYTHONPATH`, as `cargo xtask test` sets it.

use std::{ffi::OsStr, fs, path::Path};

use proctor_test_needs::python;
use serde_json::json;

use crate::models::{Model, list, window};

/// Maximum difference of a value; they are about as large as 10.
const DIFFERENCE_MAX: f64 = 2e-5;

#[test]
fn converted_graphs_compute_what_the_graphs_do() {
    let folder = tempfile::tempdir().unwrap();
    let cases: [(&str, Model, &[usize]); 5] = [
        ("blocks", blocks(), &[9, 8, 3]),
        ("boxes", boxes(), &[6, 6, 4]),
        ("volume", volume(), &[6, 4, 8, 1]),
        ("windows", windows(), &[10, 9, 4]),
        ("orders", orders(), &[5, 6, 3]),
    ];
    for (name, model, shape) in &cases {
        let part = folder.path().join(name);
        fs::create_dir(&part).unwrap();
        fs::write(part.join("model.json"), model.json()).unwrap();
        fs::write(part.join("weights.bin"), &model.bytes).unwrap();
        fs::write(part.join("shape.json"), json!(shape).to_string()).unwrap();
        fs::write(part.join("model.onnx"), model.convert(shape).unwrap()).unwrap();
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/beside/peer.py");
    let arguments: [&dyn AsRef<OsStr>; 1] = [&folder.path()];
    let Some(printed) = python(&script, &arguments, "onnxruntime, numpy") else { return };
    let differences: Vec<(&str, f64)> = printed
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(name, it)| (name, it.parse().unwrap()))
        .collect();
    assert_eq!(differences.len(), cases.len(), "{printed}");
    assert!(differences.iter().all(|(_, difference)| *difference < DIFFERENCE_MAX), "{printed}");
}

fn from_x() -> Model {
    let mut model = Model::default();
    model.node("Placeholder", "x", &[], json!({}));
    model
}

/// Parameters of a batch norm that is no longer trained.
fn fixed() -> serde_json::Value {
    json!({"is_training": {"b": false}, "epsilon": {"f": 0.001}})
}

/// Adds a scale, an offset, a mean and a variance, and gives the node its name.
fn norm(model: &mut Model, name: &str, value: &str, channels: usize) {
    let [scale, offset, mean, variance] =
        ["scale", "offset", "mean", "variance"].map(|part| format!("{name}/{part}"));
    [&scale, &offset, &mean].iter().for_each(|part| model.weights(part, &[channels]));
    let values: Vec<f32> = (0..channels).map(|channel| 0.5 + channel as f32).collect();
    model.reals(&variance, &[channels], &values);
    model.node("FusedBatchNorm", name, &[value, &scale, &offset, &mean, &variance], fixed());
}

/// The blocks of MobileNet-v2: factors and terms, a depthwise convolution, batch norms, and a sum.
fn blocks() -> Model {
    let mut model = from_x();
    model.reals("half", &[], &[0.5]);
    model.reals("one", &[], &[1.0]);
    model.node("Mul", "scaled", &["half", "x"], json!({}));
    model.node("Sub", "image", &["scaled", "one"], json!({}));
    model.weights("stem/kernel", &[3, 3, 3, 6]);
    model.node("Conv2D", "stem", &["image", "stem/kernel"], window(&[2, 2], "SAME"));
    model.weights("stem/factors", &[6]);
    model.weights("stem/terms", &[6]);
    model.node("Mul", "stem/mul", &["stem", "stem/factors"], json!({}));
    model.node("Add", "stem/add", &["stem/mul", "stem/terms"], json!({}));
    model.node("Relu6", "stem/relu", &["stem/add"], json!({}));
    model.weights("depth/kernel", &[3, 3, 6, 2]);
    model.node("DepthwiseConv2dNative", "depth", &["stem/relu", "depth/kernel"], window(&[1, 1], "SAME"));
    norm(&mut model, "depth/norm", "depth", 12);
    model.node("Relu", "depth/relu", &["depth/norm"], json!({}));
    model.weights("project/kernel", &[1, 1, 12, 6]);
    model.node("Conv2D", "project", &["depth/relu", "project/kernel"], window(&[1, 1], "SAME"));
    model.weights("project/bias", &[6]);
    model.node("BiasAdd", "project/add", &["project", "project/bias"], json!({}));
    model.node("AddN", "sum", &["project/add", "stem/relu", "stem/relu"], json!({}));
    norm(&mut model, "last", "sum", 6);
    model.node("Sigmoid", "y", &["last"], json!({}));
    model
}

/// The heads of SSD, which ask for the size of the batch, and the decoding of boxes beside anchors.
fn boxes() -> Model {
    let mut model = from_x();
    for (name, shape, numbers) in
        [("zero", vec![1], &[0][..]), ("one", vec![1], &[1]), ("open", vec![], &[-1])]
    {
        model.ints(name, &shape, numbers);
    }
    model.ints("single", &[], &[1]);
    model.ints("four", &[], &[4]);
    for (name, stride) in [("near", 1), ("far", 2)] {
        let of = |part: &str| format!("{name}/{part}");
        model.weights(&of("kernel"), &[1, 1, 4, 8]);
        model.node("Conv2D", name, &["x", &of("kernel")], window(&[stride, stride], "SAME"));
        model.node("Shape", &of("shape"), &[name], json!({}));
        let shrink = json!({"shrink_axis_mask": {"i": "1"}});
        model.node("StridedSlice", &of("samples"), &[&of("shape"), "zero", "one", "one"], shrink);
        let axis = json!({"axis": {"i": "0"}});
        model.node("Pack", &of("target"), &[&of("samples"), "open", "single", "four"], axis);
        model.node("Reshape", &of("offsets"), &[name, &of("target")], json!({}));
    }
    model.node("ConcatV2", "all", &["near/offsets", "far/offsets", "single"], json!({}));
    model.node("Squeeze", "offsets", &["all"], json!({"squeeze_dims": list(&[2])}));
    model.ints("rows", &[2], &[-1, 4]);
    model.node("Reshape", "flat", &["offsets", "rows"], json!({}));
    model.ints("turn", &[2], &[1, 0]);
    model.node("Transpose", "columns", &["flat", "turn"], json!({}));
    model.node("Unpack", "edges", &["columns"], json!({"axis": {"i": "0"}, "num": {"i": "4"}}));
    model.weights("anchors", &[1, 90, 4]);
    model.node("Pack", "repeats", &["near/samples", "single", "single"], json!({"axis": {"i": "0"}}));
    model.node("Tile", "tiled", &["anchors", "repeats"], json!({}));
    model.node("Reshape", "anchor/flat", &["tiled", "rows"], json!({}));
    model.node("Transpose", "anchor/columns", &["anchor/flat", "turn"], json!({}));
    model.node("Unpack", "anchor", &["anchor/columns"], json!({"axis": {"i": "0"}}));
    model.node("Exp", "high", &["edges:2"], json!({}));
    model.node("Mul", "height", &["high", "anchor:2"], json!({}));
    model.node("Add", "middle", &["edges", "anchor"], json!({}));
    model.node("Sub", "top", &["middle", "height"], json!({}));
    model.node("Add", "bottom", &["middle", "height"], json!({}));
    model.node("Pack", "ends", &["top", "bottom", "edges:3"], json!({"axis": {"i": "0"}}));
    model.node("Transpose", "found", &["ends", "turn"], json!({}));
    model.node("Pack", "form", &["near/samples", "open", "three"], json!({"axis": {"i": "0"}}));
    model.ints("three", &[], &[3]);
    model.node("Reshape", "of_samples", &["found", "form"], json!({}));
    model.node("ExpandDims", "y", &["of_samples", "single"], json!({}));
    model
}

/// A small U-Net of volumes, with a dropout that is switched off.
fn volume() -> Model {
    let mut model = from_x();
    model.weights("down/kernel", &[3, 3, 3, 1, 4]);
    model.node("Conv3D", "down", &["x", "down/kernel"], window(&[1, 1, 1], "SAME"));
    model.weights("down/bias", &[4]);
    model.node("BiasAdd", "down/add", &["down", "down/bias"], json!({}));
    model.node("Relu", "down/relu", &["down/add"], json!({}));
    let mut pool = window(&[2, 2, 2], "VALID");
    pool["ksize"] = list(&[1, 2, 2, 2, 1]);
    model.node("MaxPool3D", "pool", &["down/relu"], pool);
    model.constant(json!({"name": "training", "shape": [], "dtype": "bool"}), &[0]);
    model.node("Switch", "either", &["pool", "training"], json!({}));
    model.node("RandomUniform", "random", &["either:1"], json!({}));
    model.node("Merge", "kept", &["either", "random"], json!({}));
    model.weights("deep/kernel", &[3, 1, 3, 4, 6]);
    model.node("Conv3D", "deep", &["kept", "deep/kernel"], window(&[1, 1, 1], "SAME"));
    model.node("Shape", "shape", &["deep"], json!({}));
    let mut target = Vec::new();
    for axis in 0..4 {
        let [begin, end, found] = ["begin", "end", "found"].map(|part| format!("{part}/{axis}"));
        model.ints(&begin, &[1], &[axis]);
        model.ints(&end, &[1], &[axis + 1]);
        let shrink = json!({"shrink_axis_mask": {"i": 1}});
        model.node("StridedSlice", &found, &["shape", &begin, &end, "end/0"], shrink);
        let doubled = format!("doubled/{axis}");
        model.node("Mul", &doubled, &[&found, "two"], json!({}));
        target.push(if axis == 0 { found } else { doubled });
    }
    model.ints("two", &[], &[2]);
    model.ints("five", &[], &[5]);
    target.push("five".to_owned());
    let target: Vec<&str> = target.iter().map(String::as_str).collect();
    model.node("Pack", "target", &target, json!({"axis": {"i": 0}}));
    model.weights("up/kernel", &[2, 3, 1, 5, 6]);
    model.node("Conv3DBackpropInputV2", "up", &["target", "up/kernel", "deep"], window(&[2, 2, 2], "SAME"));
    model.weights("up/bias", &[5]);
    model.node("BiasAdd", "up/add", &["up", "up/bias"], json!({}));
    model.ints("last", &[], &[-1]);
    model.node("ConcatV2", "both", &["up/add", "down/relu", "last"], json!({}));
    model.weights("out/kernel", &[1, 1, 1, 9, 1]);
    model.node("Conv3D", "out", &["both", "out/kernel"], window(&[1, 1, 1], "SAME"));
    model.node("Sigmoid", "y", &["out"], json!({}));
    model
}

/// Windows with holes, in groups, without padding, and with strides that leave rows over.
fn windows() -> Model {
    let mut model = from_x();
    let mut holes = window(&[1, 1], "SAME");
    holes["dilations"] = list(&[1, 2, 3, 1]);
    model.weights("holes/kernel", &[3, 2, 2, 6]);
    model.node("Conv2D", "holes", &["x", "holes/kernel"], holes);
    model.weights("valid/kernel", &[2, 3, 6, 4]);
    model.node("Conv2D", "valid", &["holes", "valid/kernel"], window(&[1, 2], "VALID"));
    let mut pool = window(&[2, 3], "SAME");
    pool["ksize"] = list(&[1, 3, 2, 1]);
    model.node("MaxPool", "pool", &["valid"], pool);
    model.weights("depth/kernel", &[5, 2, 4, 1]);
    model.node("DepthwiseConv2dNative", "depth", &["pool", "depth/kernel"], window(&[2, 2], "SAME"));
    model.node("Shape", "shape", &["depth"], json!({}));
    model.ints("zero", &[1], &[0]);
    model.ints("one", &[1], &[1]);
    model.node(
        "StridedSlice",
        "samples",
        &["shape", "zero", "one", "one"],
        json!({"shrink_axis_mask": {"i": 1}}),
    );
    for (name, value) in [("five", 5), ("four", 4), ("three", 3)] {
        model.ints(name, &[], &[value]);
    }
    model.node("Pack", "wanted", &["samples", "five", "four", "three"], json!({}));
    model.weights("up/kernel", &[3, 3, 3, 4]);
    model.node("Conv2DBackpropInput", "y", &["wanted", "up/kernel", "depth"], window(&[2, 4], "SAME"));
    model
}

/// Tensors in both orders of axes that meet each other and constants of every shape.
fn orders() -> Model {
    let mut model = from_x();
    model.weights("kernel", &[3, 3, 3, 4]);
    model.node("Conv2D", "conv", &["x", "kernel"], window(&[1, 1], "SAME"));
    model.weights("columns", &[6, 1]);
    model.node("Add", "shifted", &["conv", "columns"], json!({}));
    model.weights("channels", &[1, 1, 1, 4]);
    model.node("Sub", "turned", &["channels", "conv"], json!({}));
    model.node("Mul", "product", &["shifted", "turned"], json!({}));
    model.weights("wide/kernel", &[1, 1, 4, 4]);
    model.node("Conv2D", "wide", &["product", "wide/kernel"], window(&[1, 1], "SAME"));
    model.reals("two", &[1, 1, 1, 1], &[2.0]);
    model.node("Mul", "doubled", &["wide", "two"], json!({}));
    model.ints("order", &[4], &[0, 2, 1, 3]);
    model.node("Transpose", "across", &["doubled", "order"], json!({}));
    model.ints("form", &[4], &[-1, 5, 6, 4]);
    model.node("Reshape", "back", &["across", "form"], json!({}));
    model.ints("axis", &[], &[3]);
    model.node("ConcatV2", "joined", &["back", "turned", "axis"], json!({}));
    model.weights("all", &[5, 6, 8]);
    model.node("AddV2", "y", &["joined", "all"], json!({}));
    model
}
