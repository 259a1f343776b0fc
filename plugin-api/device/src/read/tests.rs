//! Files made for tests, and the graphs that they become.

mod elementwise;
mod files;
mod layers;
mod models;
mod movement;
mod onnx_node_tests;
mod shapes;
mod windows;

use std::path::Path;

use proctor_onnx_file::{Attribute, Dim, GraphBuilder, proto::NodeProto};
use proctor_vocabulary::ElementType::{self, F32};
use prost::Message;

use super::Source;
use crate::{graph::Graph, op::Op, tensor::Tensor};

/// An input of a node.
#[derive(Clone, Copy)]
enum Given<'a> {
    /// An input of the graph, of this type and shape.
    Input(ElementType, &'a [usize]),
    /// A constant i64 list.
    Ints(&'a [i64]),
    /// A constant of f32, of this shape and with these values.
    Reals(&'a [usize], &'a [f32]),
    /// A constant of zeros, of this type and shape.
    Zeros(ElementType, &'a [usize]),
    /// Omitted operand.
    Absent,
}

use Given::{Absent, Input, Ints, Reals, Zeros};

/// An input of f32.
fn real(shape: &[usize]) -> Given<'_> {
    Input(F32, shape)
}

/// A graph of one node, whose results are all outputs, or the reason why the node is refused.
fn read_node(
    opset: i64,
    operator: &str,
    inputs: &[Given<'_>],
    result_count: usize,
    attributes: &[(&str, Attribute)],
) -> Result<Graph, String> {
    read_edited(opset, operator, inputs, result_count, attributes, |_| ())
}

/// Does the same as [`read_node`], with a change of the node that the builder of graphs cannot make.
fn read_edited(
    opset: i64,
    operator: &str,
    inputs: &[Given<'_>],
    result_count: usize,
    attributes: &[(&str, Attribute)],
    edit: impl FnOnce(&mut NodeProto),
) -> Result<Graph, String> {
    let mut builder = GraphBuilder::new("test");
    let mut names = Vec::new();
    let mut shapes = Vec::new();
    for (index, given) in inputs.iter().enumerate() {
        let name = format!("x{index}");
        names.push(match given {
            Input(element, shape) => {
                builder.input(&name, *element, &Dim::fixed(shape));
                shapes.push(shape.to_vec());
                name
            }
            Ints(values) => builder.ints(values),
            Reals(shape, values) => builder.constant(&name, shape, values),
            Zeros(element, shape) => {
                let size = element.bytes_of(shape.iter().product());
                builder.constant_of(&name, *element, shape, vec![0; size])
            }
            Absent => String::new(),
        });
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let results = builder.node_of_many(operator, "it", &names, result_count, attributes);
    results.iter().for_each(|result| builder.output(result, F32, &[]));
    let mut model = builder.into_model();
    model.opset_import[0].version = Some(opset);
    if let Some(graph) = &mut model.graph {
        edit(&mut graph.node[0]);
    }
    let graph = Source::from_bytes(Path::new("m.onnx"), &model.encode_to_vec())
        .and_then(|source| source.graph(&shapes));
    graph.map_err(|error| {
        let message = error.to_string();
        let start = format!("m.onnx has a node that cannot be run: {operator} \"it\": ");
        message.strip_prefix(&start).map_or(message.clone(), str::to_owned)
    })
}

/// Types and shapes of the outputs.
fn outputs(graph: &Graph) -> Vec<(ElementType, Vec<usize>)> {
    let kind = |id| (graph.value(id).element, graph.value(id).shape.clone());
    graph.outputs().iter().copied().map(kind).collect()
}

/// Shape of the only output.
fn shape(graph: &Graph) -> Vec<usize> {
    let all = outputs(graph);
    assert_eq!(all.len(), 1);
    all[0].1.clone()
}

/// Returns the operators of a graph.
fn ops(graph: &Graph) -> Vec<&Op> {
    graph.nodes().iter().map(|node| &node.op).collect()
}

/// Returns the only operator of a graph.
fn op(graph: &Graph) -> &Op {
    let all = ops(graph);
    assert_eq!(all.len(), 1, "{all:?}");
    all[0]
}

/// The only output, which must be known.
fn known(graph: &Graph) -> &Tensor {
    assert!(graph.nodes().is_empty(), "{:?}", graph.nodes());
    graph.value(graph.outputs()[0]).constant.as_ref().expect("the output is known")
}

/// The integers of the only output, which must be known.
fn known_integers(graph: &Graph) -> Vec<i64> {
    known(graph).integers().expect("a list of integers")
}
