//! Trained networks of PyTorch and TensorFlow: checkpoints, frozen graphs, and graph models with their shards.

use proctor_model_files::{
    Attribute, Checkpoint, Graph, GraphError, GraphInput, GraphOutput, Order, Values, convert_graph,
};
use proctor_vocabulary::ElementType;

use crate::memory::bounded_besides;

/// Room for the tables of a checkpoint.
const CHECKPOINT_BYTES: u64 = 1 << 20;
/// Room for the values of a graph that repeat one.
const GRAPH_BYTES: u64 = 1 << 27;
/// An instruction of a byte is a value, and a message of two bytes a node, of some hundred bytes each.
const MEMORY_FACTOR: u64 = 1024;
/// Maximum number of values of the constants of a graph that is converted.
const CONVERTED_MAX: usize = 1 << 14;
/// Separates a model from its shards.
const SEPARATOR: u8 = 0;

/// Checks the reader of PyTorch's checkpoints: a table has the values that its shapes say, and whatever else is in a
/// pickle is refused.
///
/// # Panics
/// If an invariant does not hold.
pub fn check_torch(data: &[u8]) {
    let read = || Checkpoint::parse(data);
    let checkpoint = match bounded_besides(CHECKPOINT_BYTES, data.len(), MEMORY_FACTOR, read) {
        Err(error) => return assert!(!error.to_string().is_empty()),
        Ok(checkpoint) => checkpoint,
    };
    for (name, shape) in checkpoint.shapes() {
        let read = || checkpoint.reals(name, shape);
        match bounded_besides(CHECKPOINT_BYTES, data.len(), MEMORY_FACTOR, read) {
            Err(error) => assert!(error.to_string().contains("of the checkpoint"), "{error}"),
            Ok(values) => assert_eq!(values.len(), shape.iter().product::<usize>(), "{name}"),
        }
        let longer = [shape, &[1]].concat();
        assert!(checkpoint.reals(name, &longer).is_err(), "{name} has one shape");
    }
}

/// Checks the reader of frozen graphs: nodes are found by their names, constants have the values that their shapes say,
/// and a graph becomes an ONNX file or is refused.
///
/// # Panics
/// If an invariant does not hold.
pub fn check_frozen_graph(data: &[u8]) {
    check_graph(data.len(), || Graph::frozen(data));
}

/// Checks the reader of graph models in the same way. The file is `model.json`, a byte of zero, and the shards.
///
/// # Panics
/// If an invariant does not hold.
pub fn check_graph_model(data: &[u8]) {
    let model = data.split(|byte| *byte == SEPARATOR).next().unwrap_or_default();
    // Zeros are frequent in weights, so the shards are the rest, whole or cut in two.
    let rest = data.get(model.len() + 1..).unwrap_or_default();
    let whole = [rest.to_vec()];
    let halves = [rest[..rest.len() / 2].to_vec(), rest[rest.len() / 2..].to_vec()];
    for shards in [&[][..], &whole, &halves] {
        check_graph(data.len(), || Graph::of_graph_model(model, shards));
    }
}

fn check_graph(length: usize, read: impl FnOnce() -> Result<Graph, GraphError>) {
    let graph = match bounded_besides(GRAPH_BYTES, length, MEMORY_FACTOR, read) {
        Err(error) => return assert!(!error.to_string().is_empty()),
        Ok(graph) => graph,
    };
    let mut value_count = 0;
    for (place, node) in graph.nodes().iter().enumerate() {
        assert_eq!(graph.place(&node.name), Some(place));
        for attribute in node.attributes.values() {
            let Attribute::Constant(constant) = attribute else { continue };
            let count = match &constant.values {
                Values::Reals(values) => values.len(),
                Values::Ints(values) => values.len(),
                Values::Other(_) => continue,
            };
            let is_full = constant.dims.contains(&0) || constant.dims.iter().product::<usize>() == count;
            assert!(is_full, "{}", node.name);
            value_count += count;
        }
    }
    if value_count <= CONVERTED_MAX {
        check_conversion(&graph);
    }
}

/// Converts the graph from its first node to its last.
fn check_conversion(graph: &Graph) {
    let [first, .., last] = graph.nodes() else { return };
    for order in [Order::ChannelsFirst, Order::ChannelsLast] {
        let input = GraphInput {
            node: &first.name,
            name: "x",
            element_type: ElementType::F32,
            shape: &[4, 4, 2],
            order,
        };
        let output = GraphOutput { node: &last.name, name: "y" };
        let convert = || convert_graph("model", graph, &[input], &[output]);
        match (convert(), convert()) {
            (Ok(file), again) => assert_eq!(Some(file), again.ok(), "each conversion gives the same bytes"),
            (Err(error), _) => assert!(!error.to_string().is_empty()),
        }
    }
}
