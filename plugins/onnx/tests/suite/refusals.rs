//! Models that cannot be run are refused when they are loaded, in words that name what is wrong.

use std::{fs, path::Path};

use proctor_onnx_file::{Dim, GraphBuilder};
use proctor_plugin_api::vocabulary::ElementType;
use proctor_plugin_bed::{ModelDemand, Samples, demand, digits, f32_bytes, f32_spec, spec};
use prost::Message;

use crate::common::{doubling, opened, run};

/// Why the plugin refuses a demand; `None` where there is no runtime library.
fn refusal(demand: &ModelDemand) -> Option<String> {
    let backend = opened(&[])?;
    Some(backend.load_model(demand).map(drop).expect_err("the model cannot be run").to_string())
}

/// A demand for the file that `doubling` makes of samples of four values.
fn four(path: &Path) -> ModelDemand {
    demand(path, &[f32_spec("x", &[4])], &[f32_spec("y", &[4])])
}

/// A graph from `x` to `y`, batches of four values.
fn graph(nodes: impl FnOnce(&mut GraphBuilder)) -> GraphBuilder {
    let mut graph = GraphBuilder::new("test");
    graph.input("x", ElementType::F32, &Dim::batch_of(&[4]));
    nodes(&mut graph);
    graph.output("y", ElementType::F32, &Dim::batch_of(&[4]));
    graph
}

fn assert_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no \"{part}\" in: {text}");
    }
}

#[test]
fn a_file_that_is_not_onnx() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    fs::write(&path, "version https://example.org/spec/v1\n").unwrap();
    let Some(error) = refusal(&four(&path)) else { return };
    assert_says(&error, &["model.onnx", "is not an ONNX file"]);
}

#[test]
fn a_truncated_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    let whole = fs::read(digits::file("digits-cnn.onnx")).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let files = vec![("onnx".to_owned(), path)];
    let demand = ModelDemand { files, ..digits::model("digits-cnn.onnx") };
    let Some(error) = refusal(&demand) else { return };
    assert_says(&error, &["model.onnx is cut short", &format!("the file has {}", whole.len() / 2)]);
}

/// `y = x + w` with the weights in another file, which has `weights_bytes` bytes or does not exist.
fn external(folder: &Path, weights_bytes: Option<usize>) -> ModelDemand {
    let path = folder.join("model.onnx");
    let graph = graph(|graph| {
        let weights = graph.external("w", ElementType::F32, &[4], "weights.bin", 8);
        graph.node("Add", "y", &["x", &weights], &[]);
    });
    fs::write(&path, graph.into_bytes()).unwrap();
    if let Some(size) = weights_bytes {
        fs::write(folder.join("weights.bin"), &f32_bytes(&[0.0, 0.0, 1.0, 2.0, 3.0, 4.0])[..size]).unwrap();
    }
    four(&path)
}

#[test]
fn external_data_that_are_missing() {
    let folder = tempfile::tempdir().unwrap();
    let Some(error) = refusal(&external(folder.path(), None)) else { return };
    assert_says(&error, &["the weights of", "model.onnx are missing", "\"w\"", "weights.bin"]);
}

#[test]
fn external_data_that_are_cut_short() {
    let folder = tempfile::tempdir().unwrap();
    let Some(error) = refusal(&external(folder.path(), Some(20))) else { return };
    assert_says(&error, &["\"w\" ends at byte 24", "weights.bin, which has 20"]);
}

#[test]
fn external_data_that_are_whole_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let Some(backend) = opened(&[]) else { return };
    let samples = Samples::of_f32(&[vec![10.0; 4]]);
    let run = run(&backend, &external(folder.path(), Some(24)), &samples).unwrap();
    assert_eq!(run.answers()[0].f32s(0), [11.0, 12.0, 13.0, 14.0]);
}

#[test]
fn an_unknown_operator() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    let graph = graph(|graph| drop(graph.node("Frobnicate", "y", &["x"], &[])));
    fs::write(&path, graph.into_bytes()).unwrap();
    let Some(error) = refusal(&four(&path)) else { return };
    assert_says(&error, &["model.onnx uses an operator that ONNX Runtime 1.", "does not have", "Frobnicate"]);
}

#[test]
fn a_fixed_batch_that_is_smaller_than_the_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    fs::write(&path, doubling(&Dim::fixed(&[2, 4]))).unwrap();
    let Some(error) = refusal(&ModelDemand { batch_size_max: 8, ..four(&path) }) else { return };
    assert_says(&error, &["model.onnx", "batches of 2", "batches of 8", "batch_size = 2"]);
}

#[test]
fn an_output_of_a_type_that_nothing_scores() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    // `TensorProto.DataType.STRING`.
    const STRING: i32 = 8;
    let graph = graph(|graph| drop(graph.node("Cast", "y", &["x"], &[("to", i64::from(STRING).into())])));
    let mut model = graph.into_model();
    let output = model.graph.as_mut().unwrap().output[0].r#type.as_mut().unwrap();
    output.tensor_type.as_mut().unwrap().elem_type = Some(STRING);
    fs::write(&path, model.encode_to_vec()).unwrap();
    let Some(error) = refusal(&four(&path)) else { return };
    assert_says(&error, &["output \"y\" of the model holds string, which nothing can score", "f32"]);
}

#[test]
fn inputs_of_other_names_shapes_and_types() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    fs::write(&path, doubling(&Dim::batch_of(&[4]))).unwrap();
    let demand = |inputs: &[_], output: &[usize]| demand(&path, inputs, &[f32_spec("y", output)]);
    let Some(error) = refusal(&demand(&[f32_spec("x", &[3, 5])], &[4])) else { return };
    assert_says(&error, &["takes x f32[batch, 4]", "has x f32[3, 5]", "[3, 5] does not fit"]);
    let element = demand(&[spec("x", ElementType::I32, &[4])], &[4]);
    assert_says(&refusal(&element).unwrap(), &["has x i32[4]", "i32 are not f32 of \"x\""]);
    let more = demand(&[f32_spec("x", &[4]), f32_spec("z", &[4])], &[4]);
    assert_says(&refusal(&more).unwrap(), &["1 inputs for 2 tensors"]);
    let wider = demand(&[f32_spec("x", &[4])], &[5]);
    assert_says(&refusal(&wider).unwrap(), &["gives y f32[batch, 4]", "wants y f32[5]"]);
}

#[test]
fn another_precision_than_the_files() {
    let precision = Some("int8".to_owned());
    let demand = ModelDemand { precision, ..digits::model("digits-cnn.onnx") };
    let Some(error) = refusal(&demand) else { return };
    assert_says(&error, &["digits-cnn.onnx computes in f32, but int8 was asked for", "--precision f32"]);
}

#[test]
fn a_provider_that_the_library_does_not_have_or_that_computes_elsewhere() {
    let demand = digits::model("digits-mlp.onnx");
    let Some(backend) = opened(&[("provider", "cuda")]) else { return };
    let error = backend.load_model(&demand).map(drop).unwrap_err().to_string();
    assert_says(&error, &["provider cuda computes on device cuda, but cpu was asked for"]);
    // Whether a library has OpenVINO is for it to say: it runs the model, or the providers that there are are listed.
    let backend = opened(&[("provider", "openvino")]).unwrap();
    if let Err(error) = backend.load_model(&demand) {
        assert_says(&error.to_string(), &["no provider openvino; it has", "CPU", "onnx.library"]);
    }
}
