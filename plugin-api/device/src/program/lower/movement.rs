//! Nodes that move elements.

use super::{Lowering, ValueState, elementwise::Pending, int};
use crate::{
    graph::Node,
    kernels::KernelFile,
    op::Op,
    program::{
        call::{Argument, Kernel},
        types,
        view::View,
    },
};

impl Lowering<'_> {
    /// Makes another view of the same elements; if that is impossible, of a copy.
    pub(super) fn moved(&mut self, node: &Node) -> Result<(), String> {
        let from = self.stored(Self::input(node, 0))?;
        let mut begin = 0;
        for output in &node.outputs {
            let result = output.as_ref().expect("all parts of a split stay");
            let shape = self.shape(*result).to_vec();
            let view = match &node.op {
                Op::Transpose { order } => from.transposed(order),
                Op::Slice { starts, steps } => from.sliced(starts, steps, &shape),
                Op::Expand => from.broadcast(&shape),
                Op::Split { axis } => {
                    let mut starts = vec![0; shape.len()];
                    starts[*axis] = begin;
                    begin += shape[*axis];
                    from.sliced(&starts, &vec![1; shape.len()], &shape)
                }
                _ => {
                    let contiguous = self.copied_unless(from.clone(), View::is_contiguous)?;
                    contiguous.reshaped(&shape).expect("the copy is contiguous")
                }
            };
            self.states[result.0] = Some(ValueState::Stored(view));
        }
        Ok(())
    }

    pub(super) fn concat(&mut self, node: &Node, axis: usize) -> Result<(), String> {
        let result = Self::result(node);
        let shape = self.shape(result).to_vec();
        let to = self.scratch(self.graph.value(result).element, &shape)?;
        let mut starts = vec![0; shape.len()];
        for id in node.inputs.iter().flatten() {
            let part = self.shape(*id).to_vec();
            let place = to.sliced(&starts, &vec![1; shape.len()], &part);
            starts[axis] += part[axis];
            if part.contains(&0) {
                continue;
            }
            // A pending value is computed into its place in the result, without a copy.
            let is_alone = self.reader_counts[id.0] == 1;
            match self.states[id.0].take() {
                Some(ValueState::Pending(pending)) if is_alone => self.emit(*pending, &place)?,
                state => {
                    self.states[id.0] = state;
                    let view = self.stored(*id)?;
                    self.emit(Pending::copy_of(view)?, &place)?;
                }
            }
        }
        self.states[result.0] = Some(ValueState::Stored(to));
        Ok(())
    }

    pub(super) fn gather(&mut self, node: &Node, axis: usize) -> Result<(), String> {
        let result = Self::result(node);
        let from = self.contiguous(Self::input(node, 0))?;
        let indices = self.contiguous(Self::input(node, 1))?;
        let to = self.scratch(from.element, self.shape(result))?;
        let count: usize = indices.shape.iter().product();
        let outer: usize = from.shape[..axis].iter().product();
        let inner: usize = from.shape[axis + 1..].iter().product();
        let preamble = format!(
            "#define MOVED {}\n#define INDEX_TYPE {}\n",
            types::moved(from.element)?,
            types::stored(indices.element)?
        );
        let kernel = Kernel { file: KernelFile::Gather, function: "gather", defines: Vec::new(), preamble };
        let mut arguments = [&from, &indices, &to].map(|view| Argument::Buffer(view.buffer)).to_vec();
        arguments.extend([super::long(from.offset), super::long(indices.offset)]);
        arguments.extend([int(outer)?, int(count)?, int(from.shape[axis])?, int(inner)?]);
        let items = outer * count * inner;
        let group = self.tuning.element_group.min(items.max(1).next_power_of_two());
        self.call(kernel, arguments, [items, 1, 1], group, 0);
        self.states[result.0] = Some(ValueState::Stored(to));
        Ok(())
    }
}
