//! The file that gives the ranges of tensors, for an engine to run on the samples.

use proctor_onnx_file::{
    Batching, Dim, GraphBuilder,
    proto::{GraphProto, NodeProto, ValueInfoProto},
};
use proctor_vocabulary::ElementType;

use crate::{
    error::QuantiseError,
    names::Names,
    plan::Plan,
    wire::{GraphEdit, edited},
};

/// First version of the operators in which reductions have their axes as an input.
const VERSION_OF_AXES: i64 = 18;

impl Plan {
    /// Returns a file with the inputs of the planned one and a single output, and the name of that. For a batch of any
    /// size and for each of its samples the output is f32`[2 * tensors]`: the smallest and the largest value of each of
    /// the [`observed`](Self::observed) tensors, over the whole batch. So each sample has to be a batch of its own, or,
    /// where the file has batches of a fixed size, each sample gets the ranges of the whole batch.
    ///
    /// # Errors
    /// If the file is damaged.
    pub fn observing(&self, batching: Batching) -> Result<(Vec<u8>, String), QuantiseError> {
        let mut names = self.names();
        let mut nodes = GraphBuilder::new("");
        let row = names.free("ranges_row");
        let row = nodes.constant_of(&row, ElementType::I64, &[2], ints(&[1, -1]));
        let axes = names.free("ranges_axes");
        let mut ends = Vec::new();
        let observed: Vec<&str> = self.observed().collect();
        for tensor in &observed {
            let flat = names.free(&format!("{tensor}_row"));
            nodes.node("Reshape", &flat, &[tensor, &row], &[]);
            for (operator, end) in [("ReduceMin", "low"), ("ReduceMax", "high")] {
                let end = names.free(&format!("{tensor}_{end}"));
                if self.version < VERSION_OF_AXES {
                    nodes.node(operator, &end, &[&flat], &[("axes", [1].into())]);
                } else {
                    let axes = nodes.constant_of(&axes, ElementType::I64, &[1], ints(&[1]));
                    nodes.node(operator, &end, &[&flat, &axes], &[]);
                }
                ends.push(end);
            }
        }
        let ends: Vec<&str> = ends.iter().map(String::as_str).collect();
        let mut output = names.free("ranges");
        nodes.node("Concat", &output, &ends, &[("axis", 1.into())]);
        let own = Dim::Fixed(2 * observed.len());
        let dims = match batching {
            Batching::Free => vec![Dim::Free("batch".to_owned()), own],
            Batching::Fixed(1) => vec![Dim::Fixed(1), own],
            Batching::Fixed(count) => {
                let counts = names.free("ranges_counts");
                let counts = nodes.constant_of(&counts, ElementType::I64, &[2], ints(&[as_i64(count), 1]));
                let each = names.free("ranges_of_each");
                output = nodes.node("Tile", &each, &[&output, &counts], &[]);
                vec![Dim::Fixed(count), own]
            }
            Batching::None => {
                let flat = names.free("ranges_flat");
                let shape = nodes.constant_of(&flat, ElementType::I64, &[1], ints(&[-1]));
                let each = names.free("ranges_of_one");
                output = nodes.node("Reshape", &each, &[&output, &shape], &[]);
                vec![own]
            }
        };
        nodes.output(&output, ElementType::F32, &dims);
        let GraphProto { node, initializer, output: outputs, .. } =
            nodes.into_model().graph.unwrap_or_default();
        let edit = GraphEdit {
            last: node,
            initializers: initializer,
            outputs: Some(outputs),
            without_inputs: self.constant_inputs(),
            replaced_initializers: self.inlined(|_| true)?,
            ..GraphEdit::default()
        };
        Ok((edited(&self.bytes, &edit).map_err(|_| self.damaged())?, output))
    }

    /// Returns the names of all values and nodes.
    pub(crate) fn names(&self) -> Names {
        let of_node = |node: &NodeProto| {
            let named = node.name.clone().into_iter();
            named.chain(node.input.iter().cloned()).chain(node.output.iter().cloned()).collect::<Vec<_>>()
        };
        let values = |values: &[ValueInfoProto]| {
            values.iter().filter_map(|value| value.name.clone()).collect::<Vec<_>>()
        };
        let constants = self.graph.initializer.iter().filter_map(|tensor| tensor.name.clone());
        let all: Vec<String> = (self.graph.node.iter().flat_map(of_node))
            .chain(values(&self.graph.input))
            .chain(values(&self.graph.output))
            .chain(constants)
            .collect();
        Names::new(all.iter().map(String::as_str))
    }

    pub(crate) fn damaged(&self) -> QuantiseError {
        QuantiseError::Damaged { file: self.name.clone(), what: "fields that are cut short" }
    }
}

fn as_i64(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn ints(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}
