//! The memory that one caller of a layer needs.

use proctor_rnn_kernels::{Buffer, PackedCell};
use proctor_rnn_layer::Cell;

use super::{pipeline::Pipeline, split::Split};
use crate::{call::LayerCall, spec::LayerSpec};

/// Memory that one caller of a layer needs. Grows to the largest call and then allocates nothing.
#[derive(Debug, Default)]
pub struct Workspace {
    /// Order of the samples as rows: longest first, dealt out to the parts of the batch.
    pub(super) order: Vec<usize>,
    /// Length of each row.
    pub(super) lengths: Vec<usize>,
    sorted: Vec<usize>,
    pub(super) directions: Vec<DirectionSpace>,
    pub(super) threads: Vec<ThreadSpace>,
    pub(super) pipeline: Pipeline,
    /// Whether the next step sweeps the weights backwards, where sweeps alternate.
    pub(super) descending: bool,
}

/// Memory that the threads share for one direction. Rows are in the order of the workspace.
#[derive(Debug, Default)]
pub(super) struct DirectionSpace {
    /// The row that each sequence's first step reads.
    pub(super) input: Vec<*const f32>,
    /// The row of output, from this direction's columns on, that each sequence's first step writes and the
    /// step after reads.
    pub(super) output: Vec<*mut f32>,
    /// Initial hidden states; empty for zeros.
    pub(super) initial: Vec<*const f32>,
    /// Cell states `[row][padded hidden]`.
    pub(super) cells: Buffer,
    /// `r * h` of a GRU with the reset gate before the product, `[row][padded hidden]`.
    pub(super) reset_hidden: Buffer,
    pub(super) reset_rows: Vec<*mut f32>,
    /// Update gates, `[row][padded hidden]`.
    pub(super) update: Buffer,
    /// Hidden states of even and of odd steps, `[2][row][padded hidden]`, where the output's rows would make threads
    /// write the same cache lines; see [`Workspace::stage`].
    stage: Buffer,
    /// Rows of the stage of even steps; empty if hidden states go straight into the output.
    pub(super) staged: Vec<*mut f32>,
}

/// Memory of one thread.
#[derive(Debug, Default)]
pub(super) struct ThreadSpace {
    /// Start gates of a chunk of steps, `[step][row][own block][gate][lane]`.
    pub(super) gates: Buffer,
    pub(super) scratch: Buffer,
}

// SAFETY: the pointers are set anew by every call, from what the call borrows, and not used between calls.
unsafe impl Send for Workspace {}
// SAFETY: a shared workspace has no method that reads a pointer.
unsafe impl Sync for Workspace {}

impl Workspace {
    /// Puts the rows in order: longest first, so that those still active at a step are a prefix; dealt to `parts`
    /// parts, each in order, so that each has its share of the long ones.
    pub(super) fn order_rows(&mut self, call: &LayerCall<'_>, parts: usize) {
        let (time, batch) = (call.input.time(), call.input.batch());
        self.order.clear();
        self.order.extend(0..batch);
        if let Some(lengths) = call.lengths {
            self.sorted.clear();
            self.sorted.extend(0..batch);
            self.sorted.sort_unstable_by_key(|sample| (std::cmp::Reverse(lengths[*sample]), *sample));
            let mut next = 0;
            for part in 0..parts {
                for rank in (part..batch).step_by(parts) {
                    self.order[next] = self.sorted[rank];
                    next += 1;
                }
            }
        }
        self.lengths.clear();
        let length = |sample: &usize| call.lengths.map_or(time, |lengths| lengths[*sample]);
        self.lengths.extend(self.order.iter().map(length));
    }

    /// Points each direction's rows into the tensors of a call, and makes room for the states.
    pub(super) fn point(&mut self, spec: &LayerSpec, cells: &[PackedCell], call: &mut LayerCall<'_>) {
        // Never fewer: a layer of one direction may come between two of both.
        if self.directions.len() < cells.len() {
            self.directions.resize_with(cells.len(), DirectionSpace::default);
        }
        let batch = self.order.len();
        let [input_stride, output_stride] = [call.input.step_stride(), call.output.step_stride()];
        for (direction, (space, cell)) in self.directions.iter_mut().zip(cells).enumerate() {
            let first_step =
                |length: usize| if spec.is_reversed(direction) { length.saturating_sub(1) } else { 0 };
            let rows = || {
                self.order.iter().zip(&self.lengths).map(|(sample, length)| (*sample, first_step(*length)))
            };
            space.input.clear();
            let start = |(sample, step)| call.input.sample_ptr(sample).wrapping_add(step * input_stride);
            space.input.extend(rows().map(start));
            space.output.clear();
            let columns = direction * spec.hidden;
            let start =
                |(sample, step)| call.output.sample_ptr(sample).wrapping_add(step * output_stride + columns);
            space.output.extend(rows().map(start));
            space.initial.clear();
            if let Some(initial) = call.initial_hidden {
                let row = |sample: &usize| initial[(direction * batch + sample) * spec.hidden..].as_ptr();
                space.initial.extend(self.order.iter().map(row));
            }
            let states = batch * cell.padded_hidden();
            if spec.cell == Cell::Lstm {
                fit(&mut space.cells, states);
            }
            if cell.has_two_sweeps() {
                fit(&mut space.reset_hidden, states);
                fit(&mut space.update, states);
                let start = space.reset_hidden.values_mut().as_mut_ptr();
                space.reset_rows.clear();
                let row = |row| start.wrapping_add(row * cell.padded_hidden());
                space.reset_rows.extend((0..batch).map(row));
            }
        }
    }

    /// Lays out a stage for hidden states if threads share rows of output that are not aligned to cache lines: where
    /// two of them write the same line at every step, it goes back and forth between their cores.
    pub(super) fn stage(&mut self, split: &Split, cells: &[PackedCell], call: &LayerCall<'_>) {
        const LINE_BYTES: usize = 64;
        let batch = self.order.len();
        for (space, cell) in self.directions.iter_mut().zip(cells) {
            space.staged.clear();
            let stride_bytes = call.output.step_stride() * size_of::<f32>();
            let is_aligned = |row: &*mut f32| row.addr().is_multiple_of(LINE_BYTES);
            let aligned = stride_bytes.is_multiple_of(LINE_BYTES) && space.output.iter().all(is_aligned);
            if aligned || !split.meets() {
                continue;
            }
            fit(&mut space.stage, 2 * batch * cell.padded_hidden());
            let start = space.stage.values_mut().as_mut_ptr();
            let row = |row| start.wrapping_add(row * cell.padded_hidden());
            space.staged.extend((0..batch).map(row));
        }
    }

    /// Makes room for each thread's gates of a chunk of steps.
    pub(super) fn fit_threads(&mut self, split: &Split, cells: &[PackedCell], chunk: usize) {
        if self.threads.len() < split.threads() {
            self.threads.resize_with(split.threads(), ThreadSpace::default);
        }
        let Some(cell) = cells.first() else { return };
        let pipelined = split.is_pipelined().then(|| self.pipeline.plan(&self.lengths, chunk));
        for (thread, space) in self.threads[..split.threads()].iter_mut().enumerate() {
            let share = split.share(thread);
            let (rows, width) = (share.rows.len(), gates_stride(cell, share.blocks.len()));
            // The kernels count blocks from the layer's first: a row begins before this thread's part of it.
            let before = share.blocks.start * block_width(cell);
            let rows_of_gates = match pipelined {
                Some(all) if thread == 0 => all,
                Some(_) => 0,
                None => chunk * rows,
            };
            fit(&mut space.gates, before + rows_of_gates * width);
            let scratch_bytes = cell.product_scratch_bytes(chunk * rows).max(cell.step_scratch_bytes(rows));
            fit(&mut space.scratch, scratch_bytes.div_ceil(size_of::<f32>()));
        }
    }
}

/// Returns the number of values of one block of a row of gates.
pub(super) fn block_width(cell: &PackedCell) -> usize {
    cell.kind().gate_count() * cell.lanes()
}

/// Returns the number of values from a row of gates to the next, for `blocks` blocks of units: not a multiple of a
/// page, or the rows of a batch would share the same few sets of the cache.
pub(super) fn gates_stride(cell: &PackedCell, blocks: usize) -> usize {
    const PAGE: usize = 1024;
    const LINE: usize = 16;
    let width = (blocks * block_width(cell)).next_multiple_of(LINE);
    if width.is_multiple_of(PAGE / 2) { width + LINE } else { width }
}

fn fit(buffer: &mut Buffer, values: usize) {
    if buffer.values().len() < values {
        *buffer = Buffer::zeroed(values);
    }
}
