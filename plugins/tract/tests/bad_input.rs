//! A file or request that cannot be run is refused when it is loaded, with the reason.

mod common;

use std::{fs, path::Path};

use common::{graph, written};
use proctor_onnx_file::{Dim, GraphBuilder};
use proctor_plugin_api::vocabulary::ElementType::{Bf16, F8E4M3, F8E5M2, F32, I4, U4};
use proctor_plugin_bed::{Bed, ModelDemand, demand, digits, f32_bytes, f32_spec, spec};
use prost::Message;
// The plugin is linked in by being named.
use tract_sut as _;

/// A demand for a file with one input `x` and one output `y` of three values.
fn for_file(path: &Path, batch_size_max: u32) -> ModelDemand {
    let tensors = [f32_spec("x", &[3]), f32_spec("y", &[3])];
    ModelDemand { batch_size_max, ..demand(path, &tensors[..1], &tensors[1..]) }
}

/// A graph from `x` to `y`, three values each, in batches of any size.
fn of_three(nodes: impl FnOnce(&mut GraphBuilder)) -> GraphBuilder {
    graph(&Dim::batch_of(&[3]), &Dim::batch_of(&[3]), nodes)
}

/// The message with which a demand is refused, before any instance is made.
fn refusal(demand: &ModelDemand, options: &[(&str, &str)]) -> String {
    let message = Bed::open("tract", options, demand).expect_err("the demand is refused");
    assert!(!message.contains("create_instance"), "{message}");
    message
}

/// Asserts that a message contains all of these parts.
fn assert_says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in: {message}");
    }
}

#[test]
fn a_file_that_is_not_onnx_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model.onnx");
    fs::write(&path, "PK\u{3}\u{4} an archive").expect("the folder can be written");
    assert_says(&refusal(&for_file(&path, 1), &[]), &["model.onnx is not an ONNX file"]);
}

#[test]
fn a_truncated_file_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = fs::read(digits::file("digits-cnn.onnx")).expect("the repository has it");
    let path = folder.path().join("model.onnx");
    fs::write(&path, &whole[..whole.len() / 2]).expect("the folder can be written");
    assert_says(&refusal(&for_file(&path, 1), &[]), &["model.onnx is cut short"]);
}

#[test]
fn missing_external_data_are_refused_by_their_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let graph = of_three(|graph| {
        let weights = graph.external("w", F32, &[3], "weights.bin", 0);
        graph.node("Add", "y", &["x", &weights], &[]);
    });
    let path = written(folder.path(), graph.into_bytes());
    assert_says(&refusal(&for_file(&path, 1), &[]), &["the weights of", "\"w\"", "weights.bin"]);
    fs::write(folder.path().join("weights.bin"), f32_bytes(&[1.0, 2.0])).expect("the folder can be written");
    assert_says(&refusal(&for_file(&path, 1), &[]), &["cut short", "weights.bin", "has 8"]);
}

#[test]
fn all_unknown_operators_are_named_with_their_nodes() {
    let folder = tempfile::tempdir().expect("a folder");
    let graph = of_three(|graph| {
        graph.node("Frobnicate", "first", &["x"], &[]);
        graph.node("Relu", "known", &["first"], &[]);
        graph.node("Defrobnicate", "second", &["known"], &[]);
        graph.node("Relu", "y", &["second"], &[]);
    });
    let path = written(folder.path(), graph.into_bytes());
    let message = refusal(&for_file(&path, 1), &[]);
    let parts =
        ["operator Frobnicate of node \"first\"", "operator Defrobnicate of node \"second\"", "model.onnx"];
    assert_says(&message, &parts);
    assert!(!message.contains("known\""), "{message}");
}

#[test]
fn an_operator_of_another_domain_is_not_taken_for_onnxs() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut model = of_three(|graph| drop(graph.node("Relu", "y", &["x"], &[]))).into_model();
    model.graph.as_mut().expect("it has one").node[0].domain = Some("org.example".into());
    let path = written(folder.path(), model.encode_to_vec());
    assert_says(
        &refusal(&for_file(&path, 1), &[]),
        &["operator Relu of domain \"org.example\"", "model.onnx"],
    );
}

#[test]
fn a_fixed_batch_smaller_than_asked_for_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let dims = Dim::fixed(&[2, 3]);
    let graph = graph(&dims, &dims, |graph| drop(graph.node("Relu", "y", &["x"], &[])));
    let path = written(folder.path(), graph.into_bytes());
    assert_says(&refusal(&for_file(&path, 3), &[]), &["model.onnx", "batches of 2", "batches of 3"]);
}

#[test]
fn an_output_of_a_type_that_nothing_can_score_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut model = of_three(|graph| drop(graph.node("Identity", "y", &["x"], &[]))).into_model();
    let output = &mut model.graph.as_mut().expect("it has one").output[0];
    let tensor = output.r#type.as_mut().and_then(|kind| kind.tensor_type.as_mut());
    // Texts have the number 8 in ONNX.
    tensor.expect("it is a tensor").elem_type = Some(8);
    let path = written(folder.path(), model.encode_to_vec());
    assert_says(&refusal(&for_file(&path, 1), &[]), &["model.onnx", "output \"y\"", "string", "score"]);
}

#[test]
fn an_output_that_turns_out_otherwise_than_the_file_says_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let graph = of_three(|graph| {
        let weights = graph.constant("w", &[3, 5], &[1.0; 15]);
        graph.node("MatMul", "y", &["x", &weights], &[]);
    });
    let path = written(folder.path(), graph.into_bytes());
    assert_says(&refusal(&for_file(&path, 2), &[]), &["output \"y\"", "model.onnx", "y f32[3]"]);
}

#[test]
fn a_type_that_tract_does_not_have_is_refused_by_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    for element_type in [Bf16, F8E4M3, F8E5M2, I4, U4] {
        let mut graph = GraphBuilder::new("test");
        graph.input("x", element_type, &Dim::batch_of(&[4]));
        graph.node("Identity", "y", &["x"], &[]);
        graph.output("y", element_type, &Dim::batch_of(&[4]));
        let path = written(folder.path(), graph.into_bytes());
        let tensors = ["x", "y"].map(|name| spec(name, element_type, &[4]));
        let message = refusal(&demand(&path, &tensors[..1], &tensors[1..]), &[]);
        let reason = format!("\"x\" holds {element_type}, which tract does not have");
        assert_says(&message, &["model.onnx", &reason]);
    }
}

#[test]
fn nodes_that_do_not_fit_together_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let graph = of_three(|graph| {
        let weights = graph.constant("w", &[4, 3], &[1.0; 12]);
        graph.node("MatMul", "y", &["x", &weights], &[]);
    });
    let path = written(folder.path(), graph.into_bytes());
    assert_says(&refusal(&for_file(&path, 1), &[]), &["tract cannot compile", "model.onnx", "\"y\""]);
}

#[test]
fn tensors_that_are_not_the_benchmarks_are_explained() {
    let tensors = [f32_spec("image", &[3, 224, 224]), f32_spec("logits", &[1000])];
    let demand = demand(&digits::file("digits-cnn.onnx"), &tensors[..1], &tensors[1..]);
    assert_says(&refusal(&demand, &[]), &["digits-cnn.onnx does not fit", "image", "224"]);
}

#[test]
fn a_file_of_another_precision_is_refused() {
    let mut demand = for_file(&digits::file("digits-cnn.onnx"), 1);
    demand.precision = Some("int8".into());
    assert_says(&refusal(&demand, &[]), &["digits-cnn.onnx computes in f32, but int8 was asked for"]);
}

#[test]
fn more_threads_than_processors_are_refused() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from) + 1;
    let message =
        refusal(&for_file(&digits::file("digits-cnn.onnx"), 1), &[("threads", &threads.to_string())]);
    assert_says(
        &message,
        &[
            &format!("threads = {threads} are more threads than the cores"),
            &format!("set at most {}", threads - 1),
        ],
    );
}
