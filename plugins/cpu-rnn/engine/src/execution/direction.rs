//! One thread's share of a call: for each direction its input products and its steps.

use std::ops::Range;

use proctor_rnn_kernels::{Between, PackedCell, Product, Rows, RowsMut, Start, Step};

use super::{
    meeting::{Hidden, Meeting},
    pipeline::Pipeline,
    split::{Share, Split},
    workspace::{DirectionSpace, ThreadSpace, Workspace, gates_stride},
};
use crate::{call::LayerCall, spec::LayerSpec};

/// A call as the threads see it: plain pointers, because all of them write the output, each its own units of its own
/// rows.
pub(super) struct Job<'a> {
    pub(super) spec: &'a LayerSpec,
    cells: &'a [PackedCell],
    split: Split,
    /// Number of steps of one time-independent phase.
    chunk: usize,
    /// Set if time-independent phases run concurrently with time-dependent ones: the work of each thread, and the gates
    /// of all steps.
    pipeline: Option<(&'a Pipeline, *mut f32)>,
    /// Whether each step sweeps the weights against the direction of the step before, and how the first one does.
    alternating: bool,
    descending: bool,
    pub(super) time: usize,
    input_stride: usize,
    pub(super) output_stride: usize,
    pub(super) order: &'a [usize],
    pub(super) lengths: &'a [usize],
    directions: [Option<Direction<'a>>; 2],
    threads: *mut ThreadSpace,
    pub(super) initial_cell: Option<&'a [f32]>,
    pub(super) last_hidden: Option<*mut f32>,
    pub(super) last_cell: Option<*mut f32>,
}

/// One direction: where its rows and states lie. The lists have one element for each row.
#[derive(Clone, Copy)]
pub(super) struct Direction<'a> {
    input: &'a [*const f32],
    pub(super) output: &'a [*mut f32],
    staged: &'a [*mut f32],
    pub(super) initial: &'a [*const f32],
    pub(super) cells: *mut f32,
    reset_rows: &'a [*mut f32],
    update: *mut f32,
}

// SAFETY: threads write through the pointers only what is in their own share, and shares are disjoint (see `Split`).
// They read hidden states of others behind the barrier that follows the write, and gates of a pipeline once their part
// is done.
unsafe impl Sync for Job<'_> {}

/// A thread's share of one direction, ready to run.
pub(super) struct Run<'a> {
    pub(super) job: &'a Job<'a>,
    pub(super) cell: &'a PackedCell,
    pub(super) direction: Direction<'a>,
    pub(super) number: usize,
    pub(super) blocks: Range<usize>,
    pub(super) rows: Range<usize>,
    /// Start gates of step 0 of the chunk, row 0 of the share, block 0 of the layer.
    pub(super) gates: *mut f32,
    pub(super) gates_stride: usize,
    scratch: *mut u8,
    /// Distance from step to step; negative against time.
    input_stride: isize,
    pub(super) output_stride: isize,
}

impl<'a> Job<'a> {
    pub(super) fn new(
        spec: &'a LayerSpec,
        cells: &'a [PackedCell],
        split: Split,
        chunk: usize,
        alternating: bool,
        workspace: &'a mut Workspace,
        call: &'a mut LayerCall<'_>,
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
            pipeline: workspace
                .threads
                .first_mut()
                .filter(|_| split.is_pipelined())
                .map(|first| (&workspace.pipeline, first.gates.values_mut().as_mut_ptr())),
            threads: workspace.threads.as_mut_ptr(),
            initial_cell: call.initial_cell,
            last_hidden: call.last_hidden.as_mut().map(|last| last.as_mut_ptr()),
            last_cell: call.last_cell.as_mut().map(|last| last.as_mut_ptr()),
        }
    }

    /// Computes a thread's share.
    ///
    /// # Safety
    /// - `thread` is below the split's number of threads, and no two threads run the same share.
    /// - `meeting` belongs to this split, so that threads that share a direction wait for each other.
    /// - The workspace fits the call and the split: it was ordered, pointed into the tensors, staged and given each
    ///   thread's gates and scratch for them (see [`Workspace`]).
    pub(super) unsafe fn run_share(&self, thread: usize, meeting: &Meeting<'_>) {
        let Share { directions, blocks, rows } = self.split.share(thread);
        // SAFETY: the workspace has a space for each thread of the split, and this thread alone uses this one.
        let space = unsafe { &mut *self.threads.add(thread) };
        for number in directions {
            let (Some(direction), Some(cell)) = (self.directions[number], self.cells.get(number)) else {
                continue;
            };
            let sign = if self.spec.is_reversed(number) { -1 } else { 1 };
            // The gates of a pipeline are all threads', so no thread borrows the first one's buffer meanwhile.
            let gates = match self.pipeline {
                Some((_, gates)) => gates,
                None => space.gates.values_mut().as_mut_ptr(),
            };
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
            // SAFETY: `run` is this thread's share of a direction. All functions demand what the caller promises of the
            // share, the meeting and the workspace. Of a pipeline only the first thread writes states and output, and
            // only the others come to `input_products`.
            unsafe {
                match self.pipeline {
                    Some((pipeline, _)) if thread > 0 => run.input_products(pipeline),
                    Some((pipeline, _)) => {
                        run.begin();
                        run.pipelined_steps(pipeline, meeting);
                        run.finish();
                    }
                    None => {
                        run.begin();
                        run.steps(meeting);
                        run.finish();
                    }
                }
            }
        }
    }
}

impl<'a> Direction<'a> {
    fn new(space: &'a mut DirectionSpace) -> Self {
        Self {
            input: &space.input,
            output: &space.output,
            staged: &space.staged,
            initial: &space.initial,
            cells: space.cells.values_mut().as_mut_ptr(),
            reset_rows: &space.reset_rows,
            update: space.update.values_mut().as_mut_ptr(),
        }
    }
}

impl Run<'_> {
    /// Runs the phases of all steps: an input product for each chunk, then its steps.
    ///
    /// # Safety
    /// - As for [`Job::run_share`], of the thread that has this share; there is no pipeline.
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
                // SAFETY: the caller promises what `run_share` demands. Without a pipeline `self.gates` is this
                // thread's own, with room for `chunk` steps of the share's rows: these are no more steps and `active`
                // is no more rows, each of which has all of the steps.
                unsafe { self.input_product(first..end, active, self.gates) };
            }
            for step in first..end {
                let gates = self.gates.wrapping_add((step - first) * active * self.gates_stride);
                // SAFETY: the caller promises what `run_share` demands. The gates of the chunk were computed above, and
                // those of this step begin `active` rows for each step further, unless the step computes them itself.
                // Its first `active` rows have this step, and the threads have met since the step before.
                unsafe { self.step(step, (!fused).then_some(gates), active, meeting) };
                let goes_on = step + 1 < steps;
                if goes_on {
                    meeting.arrive();
                }
                if !self.direction.staged.is_empty() {
                    // SAFETY: this thread has just written its units of these rows of the stage. It alone writes them,
                    // next in the step after the next.
                    unsafe { self.unstage(step, active) };
                }
                if goes_on {
                    meeting.wait();
                }
            }
            first = end;
        }
    }

    /// Runs the time-independent phase of some steps, for the units of this share, into the gates from `gates` on.
    ///
    /// # Safety
    /// - As for [`Job::run_share`], of the thread that has this share.
    /// - The first `active` rows of the share, at least one, have all these steps.
    /// - `gates` has room for `active` rows of these steps, and no other thread uses it.
    pub(super) unsafe fn input_product(&self, steps: Range<usize>, active: usize, gates: *mut f32) {
        let product = Product {
            blocks: self.blocks.clone(),
            rows: Rows {
                bases: self.direction.input[self.rows.clone()].as_ptr(),
                offset: steps.start as isize * self.input_stride,
            },
            samples: active,
            steps: steps.len(),
            step_stride: self.input_stride,
            output: gates,
            output_step_stride: active * self.gates_stride,
            output_row_stride: self.gates_stride,
            scratch: self.scratch,
        };
        // SAFETY: the blocks are the share's, and so the cell's. The bases are those of the share's rows; the caller
        // promises that the first `active` have all these steps, so the rows lie in the input tensor, and that the
        // gates have room for them and are this thread's. The scratch is this thread's, too, made for the rows of a
        // chunk.
        unsafe { self.cell.product(&product) };
    }

    /// Runs one time-dependent phase (two for a GRU with the reset gate before the product), from finished gates or
    /// from the input itself.
    ///
    /// # Safety
    /// - As for [`Job::run_share`], of the thread that has this share.
    /// - The first `active` rows of the share, at least one, have this step; all threads that share the direction have
    ///   finished the step before.
    /// - `gates` are the finished ones of this step, and no thread writes them meanwhile.
    pub(super) unsafe fn step(
        &self,
        step: usize,
        gates: Option<*mut f32>,
        active: usize,
        meeting: &Meeting<'_>,
    ) {
        let Direction { input, initial, .. } = self.direction;
        let rows = self.rows.clone();
        let hidden = self.hidden();
        let at = |stride: isize, step: usize| step as isize * stride;
        let start = match gates {
            Some(gates) => Start::Gates { gates, row_stride: self.gates_stride },
            None => Start::Input(Rows {
                bases: input[rows.clone()].as_ptr(),
                offset: at(self.input_stride, step),
            }),
        };
        let previous = match step.checked_sub(1) {
            Some(before) => Some(hidden.at(before, &rows).as_rows()),
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
            hidden: hidden.at(step, &rows),
            cell: self.direction.cells.wrapping_add(rows.start * padded),
            cell_stride: padded,
            between,
            scratch: self.scratch,
        };
        // SAFETY: the blocks are the share's, and so the cell's. The first `active` rows have this step, so their rows
        // lie in the tensors, and the gates are theirs, as the caller promises; states have a row for each row of the
        // batch. Other threads write other blocks or other rows, and have finished the previous hidden states that this
        // one reads. These are rows apart from those written now: of another step, of the other half of the stage, or
        // initial ones. The scratch is this thread's, made for the rows of its share.
        unsafe { self.cell.step(&arguments) };
        if self.cell.has_two_sweeps() {
            meeting.arrive();
            meeting.wait();
            // SAFETY: the arguments are those of the first sweep, with the work space as that has left it, and valid as
            // said there. All blocks of these rows have had the first sweep: this thread's above, those of others
            // before the barrier; threads that do not meet have all blocks of their rows.
            unsafe { self.cell.step_candidate(&arguments) };
        }
    }

    /// Returns where hidden states go.
    fn hidden(&self) -> Hidden<'_> {
        let Direction { output, staged, .. } = self.direction;
        if staged.is_empty() {
            return Hidden { rows: output, stride: self.output_stride, period: usize::MAX };
        }
        let stride = (self.job.order.len() * self.cell.padded_hidden()) as isize;
        Hidden { rows: staged, stride, period: 2 }
    }

    /// Copies this share's units of a step from the stage into the output.
    ///
    /// # Safety
    /// - As for [`Job::run_share`], of the thread that has this share.
    /// - This thread has written its units of the stage for the first `active` rows, which have this step, and no
    ///   thread writes them meanwhile.
    unsafe fn unstage(&self, step: usize, active: usize) {
        let hidden = self.hidden();
        for row in self.rows.start..self.rows.start + active {
            let from = hidden.rows[row].cast_const().wrapping_offset(hidden.offset(step));
            let to = self.direction.output[row].wrapping_offset(step as isize * self.output_stride);
            // SAFETY: the caller promises that this thread's units of the stage's row are there and stay. The row has
            // this step, so it lies in the output, of which only this thread uses these units: others read the stage.
            // The two do not overlap: the workspace owns the stage.
            unsafe { self.copy_own(Some(from), to) };
        }
    }

    /// Returns the units of this share.
    pub(super) fn units(&self) -> Range<usize> {
        let hidden = self.job.spec.hidden;
        let lanes = self.cell.lanes();
        (self.blocks.start * lanes).min(hidden)..(self.blocks.end * lanes).min(hidden)
    }
}
