//! One thread's share of a call: for each direction its input products and its steps.

use std::ops::Range;

use proctor_rnn_kernels::{Between, PackedCell, Product, Rows, RowsMut, Start, Step};
use proctor_rnn_optimiser::Cell;

use super::{
    meeting::{Hidden, Meeting},
    split::{Share, Split},
    workspace::{DirectionSpace, ThreadSpace, Workspace, gates_stride},
};
use crate::{Call, LayerSpec};

/// A call as the threads see it: plain pointers, because all of them write the output, each its own units of its own rows.
pub(super) struct Job<'a> {
    spec: &'a LayerSpec,
    cells: &'a [PackedCell],
    split: Split,
    /// Steps of one time-independent phase.
    chunk: usize,
    /// Whether each step sweeps the weights against the direction of the step before, and how the first one does.
    alternating: bool,
    descending: bool,
    time: usize,
    input_stride: usize,
    output_stride: usize,
    order: &'a [usize],
    lengths: &'a [usize],
    directions: [Option<Direction<'a>>; 2],
    threads: *mut ThreadSpace,
    initial_cell: Option<&'a [f32]>,
    last_hidden: Option<*mut f32>,
    last_cell: Option<*mut f32>,
}

/// One direction: where its rows and states lie. The lists have one element for each row.
#[derive(Clone, Copy)]
struct Direction<'a> {
    input: &'a [*const f32],
    output: &'a [*mut f32],
    output_read: &'a [*const f32],
    staged: &'a [*mut f32],
    staged_read: &'a [*const f32],
    initial: &'a [*const f32],
    cells: *mut f32,
    reset_rows: &'a [*mut f32],
    update: *mut f32,
}

// SAFETY: threads write through the pointers only what is in their own share: the shares are disjoint (see `Split`), and what
// one thread reads of another's, the hidden states, it reads behind the barrier that follows the write.
unsafe impl Sync for Job<'_> {}

/// A thread's share of one direction, ready to run.
struct Run<'a> {
    job: &'a Job<'a>,
    cell: &'a PackedCell,
    direction: Direction<'a>,
    number: usize,
    blocks: Range<usize>,
    rows: Range<usize>,
    /// Start gates of step 0 of the chunk, row 0 of the share, block 0 of the layer.
    gates: *mut f32,
    gates_stride: usize,
    scratch: *mut u8,
    /// From step to step; negative against time.
    input_stride: isize,
    output_stride: isize,
}

impl<'a> Job<'a> {
    pub(super) fn new(
        spec: &'a LayerSpec,
        cells: &'a [PackedCell],
        split: Split,
        chunk: usize,
        alternating: bool,
        workspace: &'a mut Workspace,
        call: &'a mut Call<'_>,
    ) -> Self {
        let mut directions = [None; 2];
        for (direction, space) in directions.iter_mut().zip(&mut workspace.directions).take(cells.len()) {
            *direction = Some(Direction::new(space));
        }
        Self {
            spec,
            cells,
            split,
            chunk,
            alternating,
            descending: alternating && workspace.descending,
            time: call.input.time(),
            input_stride: call.input.step_stride(),
            output_stride: call.output.step_stride(),
            order: &workspace.order,
            lengths: &workspace.lengths,
            directions,
            threads: workspace.threads.as_mut_ptr(),
            initial_cell: call.initial_cell,
            last_hidden: call.last_hidden.as_mut().map(|last| last.as_mut_ptr()),
            last_cell: call.last_cell.as_mut().map(|last| last.as_mut_ptr()),
        }
    }

    /// Computes a thread's share. `meeting` is of all threads that have one.
    ///
    /// # Safety
    /// - `thread` is below the split's number, no two threads run the same, and all lists fit the call: see `Workspace`.
    pub(super) unsafe fn run_share(&self, thread: usize, meeting: &Meeting<'_>) {
        let Share { directions, blocks, rows } = self.split.share(thread);
        // SAFETY: the workspace has a space for each thread of the split, and this thread alone uses this one.
        let space = unsafe { &mut *self.threads.add(thread) };
        for number in directions {
            let (Some(direction), Some(cell)) = (self.directions[number], self.cells.get(number)) else {
                continue;
            };
            let sign = if self.spec.is_reversed(number) { -1 } else { 1 };
            let gates = space.gates.values_mut().as_mut_ptr();
            let run = Run {
                job: self,
                cell,
                direction,
                number,
                rows: rows.clone(),
                gates,
                gates_stride: gates_stride(cell, blocks.len()),
                blocks: blocks.clone(),
                scratch: space.scratch.bytes_mut().as_mut_ptr(),
                input_stride: sign * self.input_stride as isize,
                output_stride: sign * self.output_stride as isize,
            };
            // SAFETY: the caller's promises.
            unsafe {
                run.begin();
                run.steps(meeting);
                run.finish();
            }
        }
    }
}

impl<'a> Direction<'a> {
    fn new(space: &'a mut DirectionSpace) -> Self {
        Self {
            input: &space.input,
            output: &space.output,
            output_read: &space.output_read,
            staged: &space.staged,
            staged_read: &space.staged_read,
            initial: &space.initial,
            cells: space.cells.values_mut().as_mut_ptr(),
            reset_rows: &space.reset_rows,
            update: space.update.values_mut().as_mut_ptr(),
        }
    }
}

impl Run<'_> {
    /// The phases of all steps: an input product for each chunk, then its steps.
    ///
    /// # Safety
    /// As for [`Job::run_share`].
    unsafe fn steps(&self, meeting: &Meeting<'_>) {
        let lengths = &self.job.lengths[self.rows.clone()];
        let steps = lengths.first().copied().unwrap_or(0);
        let mut active = lengths.len();
        let mut first = 0;
        while first < steps {
            while lengths[active - 1] <= first {
                active -= 1;
            }
            // A chunk ends where a sequence ends: its next rows would lie outside the tensor.
            let end = lengths[active - 1].min(first + self.job.chunk);
            let fused = steps == 1;
            if !fused {
                // SAFETY: the caller's promises.
                unsafe { self.input_product(first..end, active) };
            }
            for step in first..end {
                // SAFETY: the caller's promises; the gates of the chunk are there unless the step computes them itself.
                unsafe { self.step(step, step - first, active, fused, meeting) };
                let goes_on = step + 1 < steps;
                if goes_on {
                    meeting.arrive();
                }
                if !self.direction.staged.is_empty() {
                    // SAFETY: this thread has written its units of these rows of the stage, and nobody writes them again
                    // before the step after the next, which begins behind a barrier that this thread has to come to.
                    unsafe { self.unstage(step, active) };
                }
                if goes_on {
                    meeting.wait();
                }
            }
            first = end;
        }
    }

    /// The time-independent phase of some steps, for the units of this share.
    ///
    /// # Safety
    /// As for [`Job::run_share`].
    unsafe fn input_product(&self, steps: Range<usize>, active: usize) {
        let product = Product {
            blocks: self.blocks.clone(),
            rows: Rows {
                bases: self.direction.input[self.rows.clone()].as_ptr(),
                offset: steps.start as isize * self.input_stride,
            },
            samples: active,
            steps: steps.len(),
            step_stride: self.input_stride,
            output: self.gates,
            output_step_stride: active * self.gates_stride,
            output_row_stride: self.gates_stride,
            scratch: self.scratch,
        };
        // SAFETY: the first `active` sequences have all these steps, so the rows lie in the input tensor; the gates have
        // room for a chunk of the share's rows and belong to this thread.
        unsafe { self.cell.product(&product) };
    }

    /// One time-dependent phase (two for a GRU with the reset gate before the product).
    ///
    /// # Safety
    /// As for [`Job::run_share`].
    unsafe fn step(&self, step: usize, in_chunk: usize, active: usize, fused: bool, meeting: &Meeting<'_>) {
        let Direction { input, initial, .. } = self.direction;
        let rows = self.rows.clone();
        let hidden = self.hidden();
        let at = |stride: isize, step: usize| step as isize * stride;
        let start = if fused {
            Start::Input(Rows { bases: input[rows.clone()].as_ptr(), offset: at(self.input_stride, step) })
        } else {
            let gates = self.gates.wrapping_add(in_chunk * active * self.gates_stride);
            Start::Gates { gates, row_stride: self.gates_stride }
        };
        let previous = match step.checked_sub(1) {
            Some(before) => {
                Some(Rows { bases: hidden.read[rows.clone()].as_ptr(), offset: hidden.offset(before) })
            }
            None if initial.is_empty() => None,
            None => Some(Rows { bases: initial[rows.clone()].as_ptr(), offset: 0 }),
        };
        let padded = self.cell.padded_hidden();
        let between = if self.cell.has_two_sweeps() {
            Between {
                reset_hidden: RowsMut { bases: self.direction.reset_rows[rows.clone()].as_ptr(), offset: 0 },
                update: self.direction.update.wrapping_add(rows.start * padded),
                update_stride: padded,
            }
        } else {
            Between::NONE
        };
        let arguments = Step {
            blocks: self.blocks.clone(),
            descending: self.job.descending ^ (self.job.alternating && step % 2 == 1),
            rows: active,
            start,
            previous,
            hidden: RowsMut { bases: hidden.write[rows.clone()].as_ptr(), offset: hidden.offset(step) },
            cell: self.direction.cells.wrapping_add(rows.start * padded),
            cell_stride: padded,
            between,
            scratch: self.scratch,
        };
        // SAFETY: the first `active` sequences have this step, so their rows lie in the tensors; states have a row for each
        // row of the batch. Other threads write other blocks or other rows. What they wrote of the step before was
        // written before the barrier.
        unsafe { self.cell.step(&arguments) };
        if self.cell.has_two_sweeps() {
            meeting.arrive();
            meeting.wait();
            // SAFETY: as above; all units of `r * h` are there, behind the barrier where others computed some.
            unsafe { self.cell.step_candidate(&arguments) };
        }
    }

    /// Where hidden states go.
    fn hidden(&self) -> Hidden<'_> {
        let Direction { output, output_read, staged, staged_read, .. } = self.direction;
        if staged.is_empty() {
            return Hidden {
                write: output,
                read: output_read,
                stride: self.output_stride,
                period: usize::MAX,
            };
        }
        let stride = (self.job.order.len() * self.cell.padded_hidden()) as isize;
        Hidden { write: staged, read: staged_read, stride, period: 2 }
    }

    /// Copies this share's units of a step from the stage into the output.
    ///
    /// # Safety
    /// As for [`Job::run_share`]; the units are there.
    unsafe fn unstage(&self, step: usize, active: usize) {
        let hidden = self.hidden();
        for row in self.rows.start..self.rows.start + active {
            let from = hidden.read[row].wrapping_offset(hidden.offset(step));
            let to = self.direction.output[row].wrapping_offset(step as isize * self.output_stride);
            // SAFETY: the first `active` sequences have this step, so the row lies in the output.
            unsafe { self.copy_own(Some(from), to) };
        }
    }

    /// The cell states before the first step.
    ///
    /// # Safety
    /// As for [`Job::run_share`].
    unsafe fn begin(&self) {
        if self.job.spec.cell != Cell::Lstm {
            return;
        }
        let (units, lanes) = (self.units(), self.cell.lanes());
        let width = self.blocks.len() * lanes;
        for row in self.rows.clone() {
            let first = row * self.cell.padded_hidden() + self.blocks.start * lanes;
            // SAFETY: the cell states have a padded row for each row of the batch; these blocks of it are this thread's.
            let states =
                unsafe { std::slice::from_raw_parts_mut(self.direction.cells.wrapping_add(first), width) };
            // The padding, too: what an earlier call left there would decay into denormal numbers, which are slow.
            states.fill(0.0);
            if let Some(initial) = self.job.initial_cell {
                states[..units.len()].copy_from_slice(&initial[self.state(row)..][units.clone()]);
            }
        }
    }

    /// Zeros behind the end of each sequence, and the last states.
    ///
    /// # Safety
    /// As for [`Job::run_share`].
    unsafe fn finish(&self) {
        for row in self.rows.clone() {
            let (length, state) = (self.job.lengths[row], self.state(row));
            let first = self.direction.output[row];
            let in_memory = |step: usize| {
                let before = if self.output_stride < 0 { length.saturating_sub(1) } else { 0 };
                (step as isize - before as isize) * self.job.output_stride as isize
            };
            for step in length..self.job.time {
                // SAFETY: the sequence's row of this step lies in the output; this share's units of it are this thread's.
                unsafe { self.own(first.wrapping_offset(in_memory(step)), 0) }.fill(0.0);
            }
            if let Some(last) = self.job.last_hidden {
                let hidden = match length.checked_sub(1) {
                    Some(step) => {
                        Some(first.cast_const().wrapping_offset(step as isize * self.output_stride))
                    }
                    None => self.direction.initial.get(row).copied(),
                };
                // SAFETY: the tensor of last states has a row for each row of a direction.
                unsafe { self.copy_own(hidden, last.wrapping_add(state)) };
            }
            if let Some(last) = self.job.last_cell {
                let cells = self.direction.cells.wrapping_add(row * self.cell.padded_hidden());
                // SAFETY: as above.
                unsafe { self.copy_own(Some(cells.cast_const()), last.wrapping_add(state)) };
            }
        }
    }

    /// The units of this share.
    fn units(&self) -> Range<usize> {
        let hidden = self.job.spec.hidden;
        let lanes = self.cell.lanes();
        (self.blocks.start * lanes).min(hidden)..(self.blocks.end * lanes).min(hidden)
    }

    /// Where a row's state begins in a tensor `[direction, batch, hidden]`.
    fn state(&self, row: usize) -> usize {
        (self.number * self.job.order.len() + self.job.order[row]) * self.job.spec.hidden
    }

    /// This share's units of a row that begins `offset` values from `start`.
    ///
    /// # Safety
    /// - The row has `hidden` values, and nobody else uses these units of it for as long as the result lives.
    unsafe fn own<'b>(&self, start: *mut f32, offset: usize) -> &'b mut [f32] {
        let units = self.units();
        // SAFETY: the caller's promises.
        unsafe { std::slice::from_raw_parts_mut(start.wrapping_add(offset + units.start), units.len()) }
    }

    /// Copies this share's units from row to row; zeros if there is none to copy from.
    ///
    /// # Safety
    /// - As for [`Self::own`], for both rows, which do not overlap.
    unsafe fn copy_own(&self, from: Option<*const f32>, to: *mut f32) {
        // SAFETY: the caller's promises.
        let to = unsafe { self.own(to, 0) };
        match from {
            Some(from) => {
                let from = from.wrapping_add(self.units().start);
                // SAFETY: the caller's promises.
                to.copy_from_slice(unsafe { std::slice::from_raw_parts(from, to.len()) });
            }
            None => to.fill(0.0),
        }
    }
}
