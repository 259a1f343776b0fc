//! Shared by the tests of files.

use std::{
    fs,
    path::{Path, PathBuf},
};

use proctor_onnx_file::{Dim, GraphBuilder};
use proctor_plugin_api::vocabulary::ElementType::F32;

/// A graph from an input `x` to an output `y`, both of f32.
pub fn graph(x: &[Dim], y: &[Dim], nodes: impl FnOnce(&mut GraphBuilder)) -> GraphBuilder {
    let mut graph = GraphBuilder::new("test");
    graph.input("x", F32, x);
    nodes(&mut graph);
    graph.output("y", F32, y);
    graph
}

/// Writes a file of the model.
pub fn written(folder: &Path, bytes: Vec<u8>) -> PathBuf {
    let path = folder.join("model.onnx");
    fs::write(&path, bytes).expect("the folder can be written");
    path
}
