//! Graphs of operators on tensors of known shapes.

use proctor_vocabulary::ElementType;

use crate::{op::Op, tensor::Tensor};

/// Number of a value in its graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub(crate) usize);

/// A tensor that connects one node with others.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// Type of the elements.
    pub element: ElementType,
    /// Extent of each dimension.
    pub shape: Vec<usize>,
    /// The elements, if they are known when a model is loaded.
    pub constant: Option<Tensor>,
}

/// An operator with its operands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    /// Operator and name in the file, for messages.
    pub label: String,
    /// Operator of the node.
    pub op: Op,
    /// Operands; `None` for an omitted optional one.
    pub inputs: Vec<Option<ValueId>>,
    /// Results; `None` for an unwanted one.
    pub outputs: Vec<Option<ValueId>>,
}

/// A graph whose shapes are all known: a model for one batch size.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    /// Values by number.
    pub(crate) values: Vec<Value>,
    /// Nodes, each after those whose results it takes.
    pub(crate) nodes: Vec<Node>,
    /// Values that a batch brings, in the order of the file.
    pub(crate) inputs: Vec<ValueId>,
    /// Values that are wanted, in the order of the file. One may be a constant, or an input.
    pub(crate) outputs: Vec<ValueId>,
}

impl Graph {
    /// Returns the value of this number.
    #[must_use]
    pub fn value(&self, id: ValueId) -> &Value {
        &self.values[id.0]
    }

    /// Returns the nodes, each after those whose results it takes.
    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the values that a batch brings, in the order of the file.
    #[must_use]
    pub fn inputs(&self) -> &[ValueId] {
        &self.inputs
    }

    /// Returns the values that are wanted, in the order of the file.
    #[must_use]
    pub fn outputs(&self) -> &[ValueId] {
        &self.outputs
    }

    /// Returns the number of readers of each value, nodes and outputs, by its number.
    pub(crate) fn reader_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.values.len()];
        let read = self.nodes.iter().flat_map(|node| node.inputs.iter().flatten());
        read.chain(&self.outputs).for_each(|value| counts[value.0] += 1);
        counts
    }

    pub(crate) fn add_value(&mut self, value: Value) -> ValueId {
        self.values.push(value);
        ValueId(self.values.len() - 1)
    }
}
