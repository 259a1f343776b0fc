//! One node with its inputs, while it is converted.

use super::{
    value::{Computed, Value},
    writer::Writer,
};
use crate::tensorflow::node::Node;

/// A node with the values of its inputs. Its faults are sentences without the subject, which is the node.
pub(crate) struct Call<'a> {
    pub(crate) node: &'a Node,
    pub(crate) inputs: &'a [Value],
    pub(crate) writer: &'a mut Writer,
}

impl<'a> Call<'a> {
    /// Returns all inputs, of which there must be as many.
    pub(crate) fn all<const N: usize>(&self) -> Result<&'a [Value; N], String> {
        let got = self.inputs.len();
        self.inputs.try_into().map_err(|_| format!("has {got} inputs, not {N}"))
    }

    /// Writes a node with the name of this one, or that with a suffix; gives its result.
    pub(crate) fn write(&mut self, operator: &str, inputs: &[&str], result: Computed) -> Value {
        let name = self.writer.node(operator, &self.node.name, inputs, &[]);
        Value::Computed(Computed { name, ..result })
    }
}
