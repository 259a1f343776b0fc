//! Plans and files of small graphs.

use std::{collections::BTreeMap, path::Path};

use proctor_onnx_file::{
    Batching, Dim, GraphBuilder, OnnxFile, Precision,
    proto::{GraphProto, ModelProto, NodeProto, OperatorSetIdProto},
};
use proctor_vocabulary::ElementType::{F16, F32, I64};
use proptest::prelude::*;
use prost::Message;

use crate::{Plan, QuantiseError, Ranges, WeightSteps, Why};

/// A small network: convolution, bound, sum with a shortcut, mean, product; its last step has no integers.
fn network() -> GraphBuilder {
    let mut graph = GraphBuilder::new("net");
    graph.input("image", F32, &Dim::batch_of(&[2, 4, 4]));
    let weights: Vec<f32> = (0..8).map(|it| 0.25 * it as f32 - 1.0).collect();
    let w = graph.constant("w", &[2, 2, 1, 1], &weights[..4]);
    let b = graph.constant("b", &[2], &[0.5, -0.5]);
    graph.node("Conv", "conv", &["image", &w, &b], &[]);
    graph.node("Relu", "relu", &["conv"], &[]);
    graph.node("Conv", "again", &["relu", &w, &b], &[]);
    graph.node("Add", "sum", &["again", "relu"], &[]);
    graph.node("GlobalAveragePool", "mean", &["sum"], &[]);
    graph.node("Flatten", "flat", &["mean"], &[]);
    let fc = graph.constant("fc", &[2, 4], &weights);
    graph.node("MatMul", "scores", &["flat", &fc], &[]);
    graph.node("Softmax", "shares", &["scores"], &[]);
    graph.output("shares", F32, &Dim::batch_of(&[4]));
    graph
}

fn plan(graph: GraphBuilder) -> Result<Plan, QuantiseError> {
    Plan::new(Path::new("net.onnx"), graph.into_bytes())
}

/// Ranges from 0 to 1 for each tensor of a plan.
fn ranges(plan: &Plan) -> Ranges {
    let count = plan.observed().count();
    let mut ranges = Ranges::new(count);
    ranges.add(&[0.0, 1.0].repeat(count)).unwrap();
    ranges
}

fn quantised(plan: &Plan) -> GraphProto {
    let made = plan.quantise(&ranges(plan), WeightSteps::Safe).unwrap();
    let (file, model) = OnnxFile::model_from_bytes(Path::new("made.onnx"), &made.bytes).unwrap();
    assert_eq!(file.precision, Precision::Int8);
    model.graph.unwrap()
}

/// The nodes of a graph by their outputs.
fn nodes(graph: &GraphProto) -> BTreeMap<&str, &NodeProto> {
    graph.node.iter().map(|node| (node.output[0].as_str(), node)).collect()
}

/// Asserts that each node reads what stands before it.
fn assert_in_order(graph: &GraphProto) {
    let mut known: Vec<&str> = graph.initializer.iter().filter_map(|it| it.name.as_deref()).collect();
    known.extend(graph.input.iter().filter_map(|it| it.name.as_deref()));
    for node in &graph.node {
        let unknown = node.input.iter().find(|input| !known.contains(&input.as_str()));
        assert_eq!(unknown, None, "of {:?}", node.output);
        known.extend(node.output.iter().map(String::as_str));
    }
}

#[test]
fn what_lies_between_products_is_rounded_and_what_ends_in_floats_is_not() {
    let plan = plan(network()).unwrap();
    // Not "conv", whose bound has the pair; "flat" has the scale of "mean"; "scores" goes to a Softmax.
    assert_eq!(plan.observed().collect::<Vec<_>>(), ["image", "relu", "again", "sum", "mean"]);
    let rounded: Vec<_> = plan.rounded.iter().map(|it| (it.name.as_str(), it.scale)).collect();
    assert_eq!(rounded[4..], [("mean", 4), ("flat", 4)]);
    let integers =
        [("Add", 1), ("Conv", 2), ("Flatten", 1), ("GlobalAveragePool", 1), ("MatMul", 1), ("Relu", 1)];
    assert_eq!(plan.integers(), BTreeMap::from(integers));
    let [kept] = plan.kept() else { panic!("{:?}", plan.kept()) };
    assert_eq!((kept.operator.as_str(), &kept.why, kept.count), ("Softmax", &Why::NoIntegers, 1));
}

#[test]
fn the_file_in_integers_has_pairs_and_weights_by_channel() {
    let graph = quantised(&plan(network()).unwrap());
    assert_in_order(&graph);
    let nodes = nodes(&graph);
    let inputs = |name: &str| nodes[name].input.iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(inputs("conv"), ["image_dequantized", "w_dequantized", "b_dequantized"]);
    assert_eq!(inputs("relu"), ["conv"]);
    assert_eq!(inputs("again")[0], "relu_dequantized");
    assert_eq!(inputs("sum"), ["again_dequantized", "relu_dequantized"]);
    assert_eq!(inputs("flat_quantized"), ["flat", "mean_scale", "mean_zero_point"]);
    assert_eq!(inputs("shares"), ["scores"]);
    let axis = |name: &str| nodes[name].attribute[0].i;
    assert_eq!((axis("w_dequantized"), axis("fc_dequantized")), (Some(0), Some(1)));
    let constants: BTreeMap<_, _> =
        graph.initializer.iter().map(|it| (it.name.as_deref().unwrap(), it)).collect();
    assert!(!constants.contains_key("w") && !constants.contains_key("fc"), "weights are there once");
    assert_eq!(constants["fc_scale"].dims, [4]);
    assert_eq!(constants["w_quantized"].raw_data.as_deref().unwrap(), [192, 208, 192, 224]);
    // Both convolutions read inputs of one range.
    assert!(constants.contains_key("b_quantized"));
}

#[test]
fn the_same_ranges_give_the_same_bytes() {
    let made = || {
        let plan = plan(network()).unwrap();
        plan.quantise(&ranges(&plan), WeightSteps::All).unwrap()
    };
    assert_eq!(made(), made());
}

#[test]
fn the_file_that_gives_ranges_has_them_as_its_only_output() {
    for (batching, dims) in [
        (Batching::Free, "[batch, 10]"),
        (Batching::Fixed(1), "[1, 10]"),
        (Batching::Fixed(3), "[3, 10]"),
        (Batching::None, "[10]"),
    ] {
        let (bytes, output) = plan(network()).unwrap().observing(batching).unwrap();
        let (file, model) = OnnxFile::model_from_bytes(Path::new("ranges.onnx"), &bytes).unwrap();
        let outputs: Vec<_> = file.signature.outputs.iter().map(ToString::to_string).collect();
        assert_eq!(outputs, [format!("{output} f32{dims}")]);
        assert_in_order(&model.graph.unwrap());
    }
}

#[test]
fn a_file_that_has_nothing_for_integers_says_why() {
    let error = |change: &dyn Fn(&mut GraphBuilder)| {
        let mut graph = GraphBuilder::new("net");
        graph.input("x", F32, &Dim::batch_of(&[4]));
        change(&mut graph);
        graph.output("y", F32, &Dim::batch_of(&[4]));
        plan(graph).unwrap_err().to_string()
    };
    let none = error(&|graph| drop(graph.node("Relu", "y", &["x"], &[])));
    assert!(
        none.ends_with("nothing to quantise: it has no convolution and no product of matrices"),
        "{none}"
    );
    let alpha = error(&|graph| {
        let w = graph.constant("w", &[4, 4], &[0.0; 16]);
        graph.node("Gemm", "y", &["x", &w], &[("alpha", 0.5.into())]);
    });
    assert!(
        alpha.ends_with("Gemm \"y\" has the parameter alpha in a value that integers do not have"),
        "{alpha}"
    );
    let half = error(&|graph| {
        let w = graph.constant_of("w", F16, &[4, 4], vec![0; 32]);
        graph.node("MatMul", "y", &["x", &w], &[]);
    });
    assert!(half.contains("computes in f16 already"), "{half}");
    for (value, bias) in [(f32::NAN, 0.0), (f32::INFINITY, 0.0), (0.0, f32::NEG_INFINITY), (0.0, f32::NAN)] {
        let endless = error(&|graph| {
            let mut weights = [0.5; 16];
            weights[5] = value;
            let w = graph.constant("w", &[4, 4], &weights);
            let b = graph.constant("b", &[4], &[0.0, 1.0, bias, 2.0]);
            graph.node("Gemm", "y", &["x", &w, &b], &[]);
        });
        assert!(endless.ends_with("Gemm \"y\" has weights that are infinite or no numbers"), "{endless}");
    }
    let integers = error(&|graph| {
        let w = graph.constant_of("w", I64, &[4, 4], vec![0; 128]);
        graph.node("MatMul", "y", &["x", &w], &[]);
    });
    assert!(integers.contains("does not compute in f32"), "{integers}");
}

#[test]
fn old_operators_have_a_scale_for_each_tensor_or_are_refused() {
    let of_version = |version: i64| {
        let mut model: ModelProto = network().into_model();
        model.opset_import = vec![OperatorSetIdProto { domain: None, version: Some(version) }];
        Plan::new(Path::new("net.onnx"), model.encode_to_vec())
    };
    let graph = quantised(&of_version(11).unwrap());
    let scale = graph.initializer.iter().find(|it| it.name.as_deref() == Some("w_scale")).unwrap();
    assert!(scale.dims.is_empty());
    let error = of_version(9).unwrap_err().to_string();
    assert!(error.contains("is of version 9 of ONNX's operators, and integers need 10"), "{error}");
}

#[test]
fn constants_that_are_inputs_of_old_files_are_constants_again() {
    let mut model = network().into_model();
    model.ir_version = Some(3);
    let graph = model.graph.as_mut().unwrap();
    let mut as_input = graph.input[0].clone();
    as_input.name = Some("w".to_owned());
    graph.input.push(as_input);
    let made = Plan::new(Path::new("net.onnx"), model.encode_to_vec()).unwrap();
    let bytes = made.quantise(&ranges(&made), WeightSteps::Safe).unwrap().bytes;
    let model = ModelProto::decode(bytes.as_slice()).unwrap();
    assert_eq!((model.ir_version, model.graph.unwrap().input.len()), (Some(4), 1));
}

#[test]
fn constants_of_other_files_are_put_into_the_file_and_missing_ones_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("net.onnx");
    let mut graph = GraphBuilder::new("net");
    graph.input("x", F32, &Dim::batch_of(&[2]));
    let w = graph.external("w", F32, &[2, 2], "net.bin", 0);
    let shift = graph.external("shift", F32, &[2], "net.bin", 16);
    graph.node("MatMul", "y", &["x", &w], &[]);
    graph.node("Sub", "z", &["y", &shift], &[]);
    graph.output("z", F32, &Dim::batch_of(&[2]));
    let bytes = graph.into_bytes();
    assert!(matches!(Plan::new(&path, bytes.clone()), Err(QuantiseError::File(_))));
    std::fs::write(folder.path().join("net.bin"), [0; 24]).unwrap();
    let plan = Plan::new(&path, bytes).unwrap();
    let graph = quantised(&plan);
    let shift = graph.initializer.iter().find(|it| it.name.as_deref() == Some("shift")).unwrap();
    assert_eq!((shift.data_location, shift.raw_data.as_deref()), (None, Some(&[0; 8][..])));
    assert!(graph.initializer.iter().all(|it| it.name.as_deref() != Some("w")));
}

#[test]
fn ranges_of_nothing_or_without_end_are_refused() {
    let plan = plan(network()).unwrap();
    let count = plan.observed().count();
    let none = plan.quantise(&Ranges::new(count), WeightSteps::Safe).unwrap_err();
    assert!(matches!(none, QuantiseError::NoSamples));
    let mut endless = Ranges::new(count);
    let mut answer = [0.0, 1.0].repeat(count);
    answer[3] = f32::INFINITY;
    endless.add(&answer).unwrap();
    let error = plan.quantise(&endless, WeightSteps::Safe).unwrap_err().to_string();
    assert!(error.starts_with("tensor \"relu\" reaches from 0 to inf"), "{error}");
    let other = plan.quantise(&ranges_of(2), WeightSteps::Safe).unwrap_err();
    assert!(matches!(other, QuantiseError::RangeCount { got: 2, expected: 5 }));
}

proptest! {
    #[test]
    fn damaged_files_are_refused_or_made_whole(
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<proptest::sample::Index>(),
    ) {
        let mut bytes = network().into_bytes();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if cut.index(4) == 0 {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(plan) = Plan::new(Path::new("net.onnx"), bytes) {
            for bytes in [
                plan.observing(Batching::Free).map(|(bytes, _)| bytes),
                plan.quantise(&ranges(&plan), WeightSteps::Safe).map(|made| made.bytes),
            ] {
                match bytes {
                    Ok(bytes) => drop(OnnxFile::from_bytes(Path::new("made.onnx"), &bytes).unwrap()),
                    Err(error) => assert!(error.to_string().contains("net.onnx"), "{error}"),
                }
            }
        }
    }
}

fn ranges_of(count: usize) -> Ranges {
    let mut ranges = Ranges::new(count);
    ranges.add(&[0.0, 1.0].repeat(count)).unwrap();
    ranges
}
