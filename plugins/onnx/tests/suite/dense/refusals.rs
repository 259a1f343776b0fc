//! Models that cannot take samples of their own shapes, or volumes, are refused when they are loaded.

use std::{fs, path::Path};

use proctor_onnx_file::{Dim, GraphBuilder};
use proctor_plugin_api::vocabulary::ElementType;
use proctor_plugin_bed::{ModelDemand, demand, f32_spec, spec};

use crate::{
    common::opened,
    dense::{peer::Made, rows, volumes},
};

/// Asserts that a demand is refused in these words.
fn assert_refused(demand: &ModelDemand, parts: &[&str]) {
    let Some(backend) = opened(&[]) else { return };
    let error = backend.load_model(demand).map(drop).expect_err("the model cannot be run").to_string();
    for part in parts {
        assert!(error.contains(part), "no \"{part}\" in: {error}");
    }
}

#[test]
fn samples_whose_tensors_do_not_have_the_same_rows() {
    let made = Made::new("dlrm-tiny");
    let good = rows::demand_for(&made, false);
    let all = "cannot run samples whose shapes differ";
    let fixed = ModelDemand { last_output_varies: false, ..good.clone() };
    assert_refused(&fixed, &["dlrm-tiny.onnx", all, "\"predictions\" does not vary", "varies = true"]);
    let mut other = good.clone();
    other.inputs[1].shape[0] = 600;
    assert_refused(&other, &[all, "first extent of \"categories\" is 600, and not 700", "volumes"]);
    let two = ModelDemand { outputs: [&good.outputs[..], &good.outputs[..]].concat(), ..good.clone() };
    assert_refused(&two, &[all, "the benchmark has 2 outputs"]);
    let mut wider = good;
    wider.inputs[0].shape[1] = 14;
    assert_refused(&wider, &[all, "no sample of the model", "dense f32[batch, 13]", "dense f32[14]"]);
}

/// Writes `y = x + x`, of these extents.
fn doubled(path: &Path, element_type: ElementType, dims: &[usize]) {
    let mut graph = GraphBuilder::new("doubled");
    graph.input("x", element_type, &Dim::fixed(dims));
    graph.node("Add", "y", &["x", "x"], &[]);
    graph.output("y", element_type, &Dim::fixed(dims));
    fs::write(path, graph.into_bytes()).unwrap();
}

#[test]
fn a_model_of_a_fixed_number_of_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    doubled(&path, ElementType::F32, &[700, 1]);
    let demand = demand(&path, &[f32_spec("x", &[700, 1])], &[f32_spec("y", &[700])]);
    let demand = ModelDemand { inputs_vary: true, last_output_varies: true, ..demand };
    assert_refused(&demand, &["model.onnx", "the first dimension of the model's inputs is not free"]);
}

#[test]
fn windows_of_other_channels_or_types_and_volumes_that_they_do_not_tile() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    doubled(&path, ElementType::F32, &[1, 3, 8, 8, 8]);
    let good = volumes::demand_for(&path, [16, 16, 16]);
    assert_refused(&good, &["in windows", "the model has x f32[1, 3, 8, 8, 8]", "volume f32[1, 16, 16, 16]"]);
    doubled(&path, ElementType::F16, &[1, 2, 8, 8, 8]);
    let halves = ModelDemand { precision: Some("f16".into()), ..good.clone() };
    assert_refused(&halves, &["in windows, in f32", "x f16[1, 2, 8, 8, 8]"]);
    doubled(&path, ElementType::F32, &[1, 2, 8, 8, 8]);
    let fixed = ModelDemand { inputs_vary: false, last_output_varies: false, ..good.clone() };
    let untiled = ModelDemand {
        inputs: vec![f32_spec("volume", &[2, 16, 17, 16])],
        outputs: vec![spec("labels", ElementType::U8, &[1, 16, 17, 16])],
        ..fixed
    };
    assert_refused(&untiled, &["cannot label the benchmark's volumes", "do not tile [16, 17, 16]"]);
    // One class is no choice.
    doubled(&path, ElementType::F32, &[1, 1, 8, 8, 8]);
    assert_refused(&good, &["cannot run samples whose shapes differ", "x f32[1, 1, 8, 8, 8]", "in windows"]);
    // Windows have to be cubes.
    doubled(&path, ElementType::F32, &[1, 1, 8, 8, 4]);
    assert_refused(&good, &["cannot run samples whose shapes differ", "x f32[1, 1, 8, 8, 4]", "in windows"]);
}
