//! ONNX files: the reader of every plugin that checks a file before its engine sees it, and the reader of cpu-rnn's
//! graphs.

use std::path::Path;

use proctor_onnx_file::{Dim, OnnxFile, fit};
use proctor_rnn_engine::Team;
use proctor_rnn_layer::Schedule;
use proctor_rnn_models::{
    graph::{self, Element, Graph, Program, Session, Tensor},
    onnx::{ReadOptions, from_bytes},
};
use proctor_vocabulary::{ElementType, TensorSpec};

use crate::{file::with_folder, memory::bounded_besides};

/// Room for the messages about many nodes, and for constants that are computed while reading.
const FIXED_BYTES: u64 = 1 << 20;
/// A message of two bytes is a node of some hundred.
const MEMORY_FACTOR: u64 = 512;
/// Limit of computed constants: a multiple of the limit of the graph's reader.
const GRAPH_BYTES: u64 = 1 << 30;
/// Maximum number of bytes of the inputs and of the values in between of a graph that is run.
const RUN_BYTES_MAX: usize = 1 << 20;
/// Extent of each free dimension.
const FREE_EXTENT: usize = 2;

/// Checks the reader of ONNX files: it reads or refuses, and a read file fits a benchmark or does not.
///
/// # Panics
/// If an invariant does not hold.
pub fn check_onnx_file(data: &[u8]) {
    with_folder(|folder| {
        let path = folder.join("model.onnx");
        let read = || OnnxFile::from_bytes(&path, data);
        match bounded_besides(FIXED_BYTES, data.len(), MEMORY_FACTOR, read) {
            Err(error) => assert!(error.to_string().contains("model.onnx"), "{error}"),
            Ok(file) => {
                assert!(!file.signature.outputs.is_empty() && !file.opsets.is_empty());
                assert!(file.external_data.iter().all(|data| data.file.starts_with(folder)));
                check_fit(&file);
            }
        }
    });
}

/// Checks that a benchmark with the model's own tensors is refused in words, or fits with the shapes that it has.
fn check_fit(file: &OnnxFile) {
    let spec = |dims: Option<&Vec<Dim>>| TensorSpec {
        name: "tensor".to_owned(),
        element_type: ElementType::F32,
        shape: dims.into_iter().flatten().skip(1).map(|dim| extent(dim).max(1)).collect(),
    };
    let inputs: Vec<_> = file.signature.inputs.iter().map(|value| spec(value.dims.as_ref())).collect();
    let outputs: Vec<_> = file.signature.outputs.iter().map(|value| spec(value.dims.as_ref())).collect();
    match fit(&file.signature, &inputs, &outputs, 2) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(fit) => {
            assert_eq!(fit.outputs.len(), outputs.len());
            assert!(
                fit.inputs
                    .iter()
                    .chain(&fit.outputs)
                    .all(|port| !fit.shape(port, 2).is_empty() || port.spec.shape.is_empty())
            );
        }
    }
}

fn extent(dim: &Dim) -> usize {
    match dim {
        Dim::Fixed(extent) => *extent,
        _ => FREE_EXTENT,
    }
}

/// Checks the reader of graphs: it reads or refuses, and a graph that can be planned for small inputs runs.
///
/// # Panics
/// If an invariant does not hold.
pub fn check_onnx_graph(data: &[u8]) {
    let path = Path::new("model.onnx");
    let read = || from_bytes(path, data, &ReadOptions::default());
    match bounded_besides(GRAPH_BYTES, data.len(), MEMORY_FACTOR, read) {
        Err(error) => assert!(error.to_string().contains("model.onnx"), "{error}"),
        Ok(graph) => check_run(&graph),
    }
}

fn check_run(graph: &Graph) {
    let extent = |dim: &graph::Dim| match dim {
        graph::Dim::Fixed(extent) => *extent,
        graph::Dim::Free(_) => FREE_EXTENT,
    };
    let shapes: Vec<Vec<usize>> =
        graph.inputs().iter().map(|input| input.dims.iter().map(extent).collect()).collect();
    let Ok(program) = Program::new(graph, &shapes, &mut |_, _, _| Schedule::SINGLE) else { return };
    let count = |shape: &[usize]| shape.iter().fold(1_usize, |count, extent| count.saturating_mul(*extent));
    let bytes = program.inputs().chain(program.outputs()).map(|(_, shape)| count(shape).saturating_mul(8));
    if bytes.fold(program.memory_bytes(), usize::saturating_add) > RUN_BYTES_MAX {
        return;
    }
    let tensors: Vec<Tensor> =
        program.inputs().map(|(element, shape)| Tensor::zeros(element, shape)).collect();
    let views: Vec<_> = tensors.iter().map(Tensor::view).collect();
    let mut session = Session::new(Team::new(1));
    session.announce(&program);
    // A row that is not there is an error of the run.
    if session.run(&program, &views).is_err() {
        return;
    }
    for (index, (element, shape)) in program.outputs().enumerate() {
        let output = session.output(&program, &views, index);
        let got = if element == Element::F32 { output.reals().len() } else { output.integers().len() };
        assert_eq!((output.shape, got), (shape, count(shape)), "output {index}");
    }
}
