//! Lowering of a graph to calls, one node after the other.

mod attention;
mod convolution;
mod elementwise;
mod library;
mod matrices;
mod movement;
mod pool;
mod products;
mod recurrent;
mod rows;
mod windows;

use std::{collections::BTreeSet, sync::Arc};

use proctor_vocabulary::ElementType;

use self::elementwise::Pending;
use super::{
    Buffer, Contents, Program, Tuning,
    call::{Argument, Call, Kernel, KernelCall, Work},
    library::Convolution,
    view::{BufferId, View},
};
use crate::{
    graph::{Graph, Node, ValueId},
    op::Op,
    tensor::{Tensor, element_count},
};

/// A graph is checked when it is read.
const HAS_INPUTS: &str = "a node has all inputs that it needs";

/// Plans a graph, with the device's library for the convolutions that it takes.
pub(super) fn lower(
    graph: &Graph,
    tuning: Tuning,
    takes: &mut dyn FnMut(&Convolution) -> bool,
) -> Result<Program, String> {
    let mut lowering = Lowering {
        graph,
        tuning,
        takes,
        reader_counts: graph.reader_counts(),
        states: vec![None; graph.values.len()],
        buffers: Vec::new(),
        calls: Vec::new(),
        label: String::new(),
    };
    let mut inputs = Vec::new();
    for (number, id) in graph.inputs.iter().enumerate() {
        let view = lowering.buffer(*id, Contents::Input(number));
        let view = view.map_err(|what| format!("input {number}: {what}"))?;
        inputs.push(view.buffer);
        lowering.states[id.0] = Some(ValueState::Stored(view));
    }
    for node in &graph.nodes {
        lowering.label.clone_from(&node.label);
        lowering.node(node).map_err(|what| format!("{}: {what}", node.label))?;
    }
    "output".clone_into(&mut lowering.label);
    let mut outputs = Vec::new();
    for (number, id) in graph.outputs.iter().enumerate() {
        outputs.push(lowering.output(*id).map_err(|what| format!("output {number}: {what}"))?);
    }
    let Lowering { calls, mut buffers, .. } = lowering;
    forget_unread_constants(&mut buffers, &calls);
    Ok(Program { calls, buffers, inputs, outputs })
}

/// Forgets the bytes of constants that no call reads: weights, which were packed.
fn forget_unread_constants(buffers: &mut [Buffer], calls: &[Call]) {
    let read: BTreeSet<BufferId> = calls.iter().flat_map(Call::buffers).collect();
    for (number, buffer) in buffers.iter_mut().enumerate() {
        if matches!(buffer.contents, Contents::Constant(_)) && !read.contains(&BufferId(number)) {
            *buffer = Buffer { contents: Contents::Constant(Arc::default()), bytes: 0 };
        }
    }
}

struct Lowering<'a> {
    graph: &'a Graph,
    tuning: Tuning,
    /// Function that returns whether the device's library takes a convolution.
    takes: &'a mut dyn FnMut(&Convolution) -> bool,
    /// Number of readers of each value, nodes and outputs.
    reader_counts: Vec<usize>,
    states: Vec<Option<ValueState>>,
    buffers: Vec<Buffer>,
    calls: Vec<Call>,
    /// Name of the current node.
    label: String,
}

#[derive(Debug, Clone)]
enum ValueState {
    /// A buffer holds the elements.
    Stored(View),
    /// The values are not computed yet; each is computed on its own.
    Pending(Box<Pending>),
}

impl<'a> Lowering<'a> {
    fn node(&mut self, node: &Node) -> Result<(), String> {
        match &node.op {
            Op::Unary(_)
            | Op::Binary(_)
            | Op::Where
            | Op::Cast(_)
            | Op::QuantizeLinear { .. }
            | Op::DequantizeLinear { .. } => self.elementwise(node),
            Op::Reshape | Op::Transpose { .. } | Op::Slice { .. } | Op::Split { .. } | Op::Expand => {
                self.moved(node)
            }
            Op::Concat { axis } => self.concat(node, *axis),
            Op::Gather { axis } => self.gather(node, *axis),
            Op::Gemm(gemm) => self.gemm(node, *gemm),
            Op::Attention { scale } => self.attention(node, *scale),
            Op::MatMul | Op::MatMulInteger => self.matmul(node),
            Op::Conv(conv) | Op::ConvInteger(conv) => self.conv(node, conv),
            Op::Pool(pool) => self.pool(node, pool),
            Op::Reduce(reduce) => self.reduce(node, reduce),
            Op::ArgMax { axis, is_last, .. } => self.arg_max(node, *axis, *is_last),
            Op::Softmax { axis } => self.softmax(node, *axis),
            Op::LayerNormalization { axis, epsilon } => self.layer_normalization(node, *axis, *epsilon),
            Op::BatchNormalization { .. } => Err("its parameters are not constant".to_owned()),
            Op::Recurrent(recurrent) => self.recurrent(node, *recurrent),
        }
    }

    /// Returns the value of an operand.
    fn input(node: &Node, at: usize) -> ValueId {
        Self::optional_input(node, at).expect(HAS_INPUTS)
    }

    /// Returns the value of an operand that may be left out.
    fn optional_input(node: &Node, at: usize) -> Option<ValueId> {
        node.inputs.get(at).copied().flatten()
    }

    /// Returns the value of the only result.
    fn result(node: &Node) -> ValueId {
        match node.outputs[..] {
            [Some(result)] => result,
            _ => unreachable!("{} has other results than one", node.label),
        }
    }

    fn shape(&self, id: ValueId) -> &'a [usize] {
        &self.graph.value(id).shape
    }

    /// Returns a view of a value whose elements are in a buffer, computing them now if necessary.
    fn stored(&mut self, id: ValueId) -> Result<View, String> {
        match self.states[id.0].take() {
            Some(ValueState::Stored(view)) => {
                self.states[id.0] = Some(ValueState::Stored(view.clone()));
                Ok(view)
            }
            Some(ValueState::Pending(pending)) => {
                let to = self.buffer(id, Contents::Scratch)?;
                self.emit(*pending, &to)?;
                self.states[id.0] = Some(ValueState::Stored(to.clone()));
                Ok(to)
            }
            None => {
                let constant = self.graph.value(id).constant.clone();
                let constant = constant.expect("nodes come after those that they read");
                let view = self.constant(&constant)?;
                self.states[id.0] = Some(ValueState::Stored(view.clone()));
                Ok(view)
            }
        }
    }

    /// Returns a view as of [`stored`](Self::stored), of this type.
    fn of_element(&mut self, id: ValueId, element: ElementType) -> Result<View, String> {
        let view = self.stored(id)?;
        if view.element == element {
            return Ok(view);
        }
        let to = self.scratch(element, &view.shape)?;
        self.emit(Pending::copy_of(view)?, &to)?;
        Ok(to)
    }

    /// Returns a view as of [`stored`](Self::stored), row by row and without gaps.
    fn contiguous(&mut self, id: ValueId) -> Result<View, String> {
        let view = self.stored(id)?;
        self.copied_unless(view, View::is_contiguous)
    }

    /// Returns the view, or one of a contiguous copy if it does not fit.
    fn copied_unless(&mut self, view: View, fits: impl Fn(&View) -> bool) -> Result<View, String> {
        if fits(&view) {
            return Ok(view);
        }
        let to = self.scratch(view.element, &view.shape)?;
        self.emit(Pending::copy_of(view)?, &to)?;
        Ok(to)
    }

    /// Returns a wanted value, in its own buffer.
    fn output(&mut self, id: ValueId) -> Result<View, String> {
        let view = self.stored(id)?;
        let buffers = &self.buffers;
        let is_own = |view: &View| {
            let Buffer { contents, bytes } = &buffers[view.buffer.0];
            let is_whole = *bytes == view.element.bytes_of(view.shape.iter().product());
            *contents == Contents::Scratch && is_whole && view.offset == 0 && view.is_contiguous()
        };
        if is_own(&view) {
            return Ok(view);
        }
        let to = self.scratch(view.element, &view.shape)?;
        self.emit(Pending::copy_of(view)?, &to)?;
        Ok(to)
    }

    /// Returns a new buffer for a value.
    fn buffer(&mut self, id: ValueId, contents: Contents) -> Result<View, String> {
        let value = self.graph.value(id);
        self.new_buffer(value.element, &value.shape, contents)
    }

    fn scratch(&mut self, element: ElementType, shape: &[usize]) -> Result<View, String> {
        self.new_buffer(element, shape, Contents::Scratch)
    }

    fn constant(&mut self, tensor: &Tensor) -> Result<View, String> {
        self.new_buffer(tensor.element, &tensor.shape, Contents::Constant(Arc::clone(&tensor.bytes)))
    }

    fn new_buffer(
        &mut self,
        element: ElementType,
        shape: &[usize],
        contents: Contents,
    ) -> Result<View, String> {
        let count =
            element_count(shape).ok_or_else(|| format!("a tensor of shape {shape:?} is too large"))?;
        // Kernels compute places in 32 bits.
        i32::try_from(count)
            .map_err(|_| format!("a tensor of shape {shape:?} has more than 2^31 elements"))?;
        super::types::stored(element)?;
        self.buffers.push(Buffer { contents, bytes: element.bytes_of(count) });
        Ok(View::of(BufferId(self.buffers.len() - 1), element, shape))
    }

    /// Returns integers that a kernel reads, as a buffer.
    fn integers(&mut self, integers: &[i32]) -> BufferId {
        let bytes: Vec<u8> = integers.iter().flat_map(|integer| integer.to_le_bytes()).collect();
        self.buffers.push(Buffer { bytes: bytes.len(), contents: Contents::Constant(Arc::new(bytes)) });
        BufferId(self.buffers.len() - 1)
    }

    /// Adds a call of at least these items, in groups of `group` along the first dimension; none for no items.
    fn call(
        &mut self,
        kernel: Kernel,
        arguments: Vec<Argument>,
        items: [usize; 3],
        group: usize,
        operations: u64,
    ) {
        if items.contains(&0) {
            return;
        }
        let items = [items[0].next_multiple_of(group), items[1], items[2]];
        let label = self.label.clone();
        let call = KernelCall { kernel, arguments, items, group: [group, 1, 1], product: None };
        self.calls.push(Call { label, work: Work::Kernel(call), operations });
    }
}

/// Returns a count or stride as a kernel takes it.
fn int(number: impl TryInto<i32>) -> Result<Argument, String> {
    number.try_into().map(Argument::Int).map_err(|_| "a tensor has more than 2^31 elements".to_owned())
}

/// Returns a count or stride that may be larger than 32 bits.
fn long(number: isize) -> Argument {
    Argument::Long(number as i64)
}
