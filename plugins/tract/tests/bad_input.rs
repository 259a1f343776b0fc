//! What cannot be run is refused when it is loaded, in words that say what is wrong.

mod bed;
#[path = "bed/graph.rs"]
mod graph;

use std::{fs, path::Path};

use bed::{bytes, data, demand, refusal, spec};
use graph::Graph;
use proctor_plugin_api::vocabulary::ElementType::F32;
use proctor_plugin_host::ModelDemand;

/// A demand for a file with one input `x` and one output `y` of three values.
fn for_file(path: &Path, batch_size_max: u32) -> ModelDemand {
    demand(path, &[spec("x", F32, &[3])], &[spec("y", F32, &[3])], batch_size_max)
}

fn graph(batch: Option<i64>) -> Graph {
    Graph::default().input("x", F32, &[batch, Some(3)]).output("y", F32, &[batch, Some(3)])
}

/// That a message has all of these in it.
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
    let whole = fs::read(data("digits/digits-cnn.onnx")).expect("the repository has it");
    let path = folder.path().join("model.onnx");
    fs::write(&path, &whole[..whole.len() / 2]).expect("the folder can be written");
    assert_says(&refusal(&for_file(&path, 1), &[]), &["model.onnx is cut short"]);
}

#[test]
fn missing_external_data_are_refused_by_their_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = graph(None).external("w", &[3], "weights.bin", 0).node("Add", "sum", &["x", "w"], "y");
    let path = path.write(folder.path(), "model.onnx");
    assert_says(&refusal(&for_file(&path, 1), &[]), &["the weights of", "\"w\"", "weights.bin"]);
    fs::write(folder.path().join("weights.bin"), bytes(&[1.0, 2.0])).expect("the folder can be written");
    assert_says(&refusal(&for_file(&path, 1), &[]), &["cut short", "weights.bin", "has 8"]);
}

#[test]
fn all_unknown_operators_are_named_with_their_nodes() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = graph(None)
        .node("Frobnicate", "first", &["x"], "a")
        .node("Relu", "known", &["a"], "b")
        .node("Defrobnicate", "second", &["b"], "y")
        .write(folder.path(), "model.onnx");
    let message = refusal(&for_file(&path, 1), &[]);
    let parts =
        ["operator Frobnicate of node \"first\"", "operator Defrobnicate of node \"second\"", "model.onnx"];
    assert_says(&message, &parts);
    assert!(!message.contains("known\""), "{message}");
}

#[test]
fn an_operator_of_another_domain_is_not_taken_for_onnxs() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = graph(None).node("Relu", "theirs", &["x"], "y").of_domain("org.example");
    let path = path.write(folder.path(), "model.onnx");
    assert_says(
        &refusal(&for_file(&path, 1), &[]),
        &["operator Relu of domain \"org.example\"", "model.onnx"],
    );
}

#[test]
fn a_fixed_batch_smaller_than_asked_for_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = graph(Some(2)).node("Relu", "relu", &["x"], "y").write(folder.path(), "model.onnx");
    assert_says(&refusal(&for_file(&path, 3), &[]), &["model.onnx", "batches of 2", "batches of 3"]);
}

#[test]
fn an_output_of_a_type_that_nothing_can_score_is_refused() {
    // Texts have the number 8 in ONNX.
    let folder = tempfile::tempdir().expect("a folder");
    let path = Graph::default().input("x", F32, &[None, Some(3)]).output_of_type("y", 8, &[None, Some(3)]);
    let path = path.node("Identity", "same", &["x"], "y").write(folder.path(), "model.onnx");
    assert_says(&refusal(&for_file(&path, 1), &[]), &["model.onnx", "output \"y\"", "string", "score"]);
}

#[test]
fn an_output_that_turns_out_otherwise_than_the_file_says_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = graph(None).constant("w", F32, &[3, 5], &bytes(&[1.0; 15]));
    let path = path.node("MatMul", "product", &["x", "w"], "y").write(folder.path(), "model.onnx");
    assert_says(&refusal(&for_file(&path, 2), &[]), &["output \"y\"", "model.onnx", "y f32[3]"]);
}

#[test]
fn nodes_that_do_not_fit_together_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = graph(None).constant("w", F32, &[4, 3], &bytes(&[1.0; 12]));
    let path = path.node("MatMul", "product", &["x", "w"], "y").write(folder.path(), "model.onnx");
    assert_says(&refusal(&for_file(&path, 1), &[]), &["tract cannot compile", "model.onnx", "product"]);
}

#[test]
fn tensors_that_are_not_the_benchmarks_are_explained() {
    let path = data("digits/digits-cnn.onnx");
    let demand = demand(&path, &[spec("image", F32, &[3, 224, 224])], &[spec("logits", F32, &[1000])], 1);
    assert_says(&refusal(&demand, &[]), &["digits-cnn.onnx does not fit", "image", "224"]);
}

#[test]
fn a_file_of_another_precision_is_refused() {
    let mut demand = for_file(&data("digits/digits-cnn.onnx"), 1);
    demand.precision = Some("int8".into());
    assert_says(&refusal(&demand, &[]), &["digits-cnn.onnx computes in f32, but int8 was asked for"]);
}

#[test]
fn more_threads_than_processors_are_refused() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from) + 1;
    let message =
        refusal(&for_file(&data("digits/digits-cnn.onnx"), 1), &[("threads", &threads.to_string())]);
    assert_says(
        &message,
        &[
            &format!("threads = {threads} are more threads than the cores"),
            &format!("set at most {}", threads - 1),
        ],
    );
}
