//! Turns a graph into the calls of kernels.
//!
//! [`Program::new`] goes through the nodes of a graph once. Where elements only change their places it changes a
//! [`View`], and the results of nodes that work element by element it keeps as expressions until they are needed in a
//! buffer: so chains of them become one call, or the end of the product before them.

pub mod call;
mod expression;
pub mod library;
mod lower;
pub(crate) mod memory;
#[cfg(test)]
mod tests;
mod types;
pub(crate) mod view;

pub use memory::ALIGNMENT;
pub use view::{BufferId, View};

use std::{collections::BTreeSet, ops::Range, sync::Arc};

use self::{
    call::Call,
    library::Convolution,
    memory::{Layout, Lifetime, lay_out},
};
use crate::graph::Graph;

/// Extents of the tiles and groups that suit a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tuning {
    /// 32-bit floating-point numbers of a vector: 1, 2, 4, 8 or 16.
    pub width: usize,
    /// Number of vectors of a row that an item of a product computes.
    pub vectors: usize,
    /// Number of rows that it computes.
    pub rows: usize,
    /// Number of items of a group of a product, which compute rows below each other.
    pub product_group: usize,
    /// Number of items of a group of a kernel whose items each write an element.
    pub element_group: usize,
    /// Number of items that take a row together: a power of two.
    pub row_lanes: usize,
    /// Maximum number of items of a group of a recurrent layer, which share its hidden units.
    pub recurrent_group: usize,
    /// Width of its vectors.
    pub recurrent_width: usize,
    /// Maximum number of sequences of such a group: its weights are read once for all of them.
    pub recurrent_samples: usize,
    /// Bytes of recurrent weights of a direction above which each step is a call, of groups that take a panel each.
    pub recurrent_step_bytes: usize,
    /// Maximum number of items of a group then.
    pub recurrent_step_group: usize,
    /// Number of rows of queries that a group of attention in one call takes, 64 at most, or that an item of
    /// a product takes; 0 if a product, a softmax and a product are faster. On PoCL the one call took 0.25
    /// times as long as the three with 12 heads of 384 tokens by 64 in [`PROCESSOR`](Self::PROCESSOR), and
    /// 0.47 times in [`GPU`](Self::GPU), by the example `attention` of the plugin opencl.
    pub attention_rows: usize,
    /// Number of keys that it takes at a time.
    pub attention_keys: usize,
    /// Number of items of such a group.
    pub attention_group: usize,
    /// True if the device has a library of products, which [`Driver::product`](crate::driver::Driver::product) offers:
    /// then matrices lie row by row, and only an end that such a library knows ends a product.
    pub has_library: bool,
}

impl Tuning {
    /// Returns the same with groups of at most `items_max` items.
    #[must_use]
    pub fn within(self, items_max: usize) -> Self {
        let items_max = items_max.max(1);
        Self {
            product_group: self.product_group.min(items_max),
            element_group: self.element_group.min(items_max),
            attention_group: self.attention_group.min(items_max),
            row_lanes: self.row_lanes.min(1 << items_max.ilog2()),
            recurrent_group: self.recurrent_group.min(items_max),
            recurrent_step_group: self.recurrent_step_group.min(items_max),
            ..self
        }
    }

    /// Layout for processors: vectors do the work of items.
    pub const PROCESSOR: Self = Self {
        width: 16,
        vectors: 2,
        rows: 8,
        product_group: 8,
        element_group: 256,
        row_lanes: 1,
        recurrent_group: 1,
        recurrent_width: 16,
        recurrent_samples: 4,
        recurrent_step_bytes: 2 << 20,
        recurrent_step_group: 1,
        attention_rows: 32,
        attention_keys: 64,
        attention_group: 1,
        has_library: false,
    };

    /// Tuning for graphics processors.
    pub const GPU: Self = Self {
        width: 4,
        vectors: 1,
        rows: 8,
        product_group: 64,
        element_group: 256,
        row_lanes: 128,
        recurrent_group: 256,
        recurrent_width: 1,
        recurrent_samples: 2,
        recurrent_step_bytes: 512 << 10,
        recurrent_step_group: 32,
        attention_rows: 32,
        attention_keys: 64,
        attention_group: 64,
        has_library: false,
    };
}

/// Contents of a buffer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Contents {
    /// The input of this number, which each batch brings.
    Input(usize),
    /// Bytes that are known when the model is loaded.
    Constant(Arc<Vec<u8>>),
    /// Results of calls.
    Scratch,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Buffer {
    /// Contents.
    pub contents: Contents,
    /// Size in bytes. So that a product may read whole vectors, [`SLACK_BYTES`] more have to be there.
    pub bytes: usize,
}

/// Bytes after each buffer that are read, and have no meaning.
pub const SLACK_BYTES: usize = 256;

/// The calls that compute a graph.
#[derive(Debug, Clone)]
pub struct Program {
    calls: Vec<Call>,
    buffers: Vec<Buffer>,
    inputs: Vec<BufferId>,
    outputs: Vec<View>,
}

impl Program {
    /// Plans a graph.
    ///
    /// # Errors
    /// Returns the node that no kernel computes, and why, in words.
    pub fn new(graph: &Graph, tuning: Tuning) -> Result<Self, String> {
        Self::with_library(graph, tuning, &mut |_| false)
    }

    /// Plans a graph for a device with a library of convolutions, which says whether it takes one.
    ///
    /// # Errors
    /// Same as [`new`](Self::new).
    pub(crate) fn with_library(
        graph: &Graph,
        tuning: Tuning,
        takes: &mut dyn FnMut(&Convolution) -> bool,
    ) -> Result<Self, String> {
        lower::lower(graph, tuning, takes)
    }

    /// Returns the calls, in order.
    #[must_use]
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// Returns the multiplications and additions of all calls, counted one by one.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.calls.iter().map(|call| call.operations).sum()
    }

    pub(crate) fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// Returns the bytes of the buffers that a call reads or writes, each counted once. It may use a part of them
    /// alone.
    #[must_use]
    pub fn bytes_of(&self, call: &Call) -> usize {
        let buffers: BTreeSet<BufferId> = call.buffers().into_iter().collect();
        buffers.into_iter().map(|BufferId(buffer)| self.buffers[buffer].bytes).sum()
    }

    /// Returns the bytes of the constants, to be shared with other programs.
    pub(crate) fn constants_mut(&mut self) -> impl Iterator<Item = &mut Arc<Vec<u8>>> {
        self.buffers.iter_mut().filter_map(|buffer| match &mut buffer.contents {
            Contents::Constant(bytes) => Some(bytes),
            Contents::Input(_) | Contents::Scratch => None,
        })
    }

    /// Returns the buffers that a batch fills, in the order of the graph's inputs.
    pub(crate) fn inputs(&self) -> &[BufferId] {
        &self.inputs
    }

    /// Returns the results, each row by row in a buffer of scratch of its own, in the order of the graph's outputs.
    #[must_use]
    pub fn outputs(&self) -> &[View] {
        &self.outputs
    }

    /// Returns the offsets of the buffers of inputs and scratch in one memory; constants are not in it.
    pub(crate) fn layout(&self) -> Layout {
        // Before the first call that uses it.
        let no_call = Range { start: usize::MAX, end: 0 };
        let mut lifetimes: Vec<Lifetime> = (self.buffers.iter())
            .map(|buffer| match &buffer.contents {
                Contents::Constant(_) => Lifetime { bytes: 0, calls: 0..0 },
                // Filled before the first call.
                Contents::Input(_) => Lifetime { bytes: buffer.bytes + SLACK_BYTES, calls: 0..1 },
                Contents::Scratch => Lifetime { bytes: buffer.bytes + SLACK_BYTES, calls: no_call.clone() },
            })
            .collect();
        for (number, call) in self.calls.iter().enumerate() {
            for BufferId(buffer) in call.buffers() {
                let calls = &mut lifetimes[buffer].calls;
                *calls = calls.start.min(number)..calls.end.max(number + 1);
            }
        }
        // Read after the last call.
        for View { buffer: BufferId(buffer), .. } in &self.outputs {
            lifetimes[*buffer].calls.end = self.calls.len() + 1;
        }
        lay_out(&lifetimes)
    }
}
