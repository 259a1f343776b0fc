//! The third way: fused and partitioned phases, each a parallel region of its own.

use proctor_rnn_kernels::{
    Between, Buffer, DirectionWeights, Isa, PackedCell, Product, Rows, RowsMut, Start, Step,
};

use super::Sizes;
use crate::execution::split::part;
use crate::{spec::LayerSpec, team::Team};

/// A cell with the memory for its phases.
#[derive(Debug)]
pub(super) struct Partitioned {
    sizes: Sizes,
    weights: PackedCell,
    /// `[step][row][block][gate][lane]`.
    gates: Buffer,
    cell: Buffer,
}

/// Pointers that the threads of a region share.
struct Pointers {
    input: Vec<*const f32>,
    output: Vec<*mut f32>,
    gates: *mut f32,
    cell: *mut f32,
}

// SAFETY: within a region each thread writes only the blocks of its own partition, and what it reads of other threads'
// blocks was written in a region before.
unsafe impl Sync for Pointers {}

impl Partitioned {
    pub(super) fn new(spec: &LayerSpec, weights: &DirectionWeights<'_>, sizes: Sizes) -> Self {
        let weights = spec.pack(Isa::best(), weights);
        let Sizes { batch, time, .. } = sizes;
        Self {
            sizes,
            gates: Buffer::zeroed(time * batch * weights.gates_width()),
            cell: Buffer::zeroed(batch * weights.padded_hidden()),
            weights,
        }
    }

    pub(super) fn run(&mut self, team: &mut Team, input: &[f32], output: &mut [f32]) {
        let Sizes { input: width, hidden, batch, time } = self.sizes;
        assert_eq!((input.len(), output.len()), (time * batch * width, time * batch * hidden), "sizes");
        if batch == 0 {
            // The kernels take at least one row.
            return;
        }
        self.cell.values_mut().fill(0.0);
        let output = output.as_mut_ptr();
        let pointers = Pointers {
            input: (0..batch).map(|row| input.as_ptr().wrapping_add(row * width)).collect(),
            output: (0..batch).map(|row| output.wrapping_add(row * hidden)).collect(),
            gates: self.gates.values_mut().as_mut_ptr(),
            cell: self.cell.values_mut().as_mut_ptr(),
        };
        team.run(|member| {
            let blocks = part(self.weights.blocks(), member.threads(), member.index());
            // SAFETY: `part` gives each thread blocks of its own among those of the weights. There is a base for each
            // row of the batch, and row `row` of step `step` lies in `input`, `step * batch + row` rows of `width`
            // values in, as was checked. `gates` has a row of all gates for each, and only this thread uses its blocks
            // of it. The weights are f32 (see `Ablation::new`), which need no work space.
            unsafe { self.weights.product(&self.phase(&pointers, blocks)) };
        });
        for step in 0..time {
            team.run(|member| {
                // Nothing keeps a partition on its core: here it moves on with every step.
                let index = (member.index() + step) % member.threads();
                let blocks = part(self.weights.blocks(), member.threads(), index);
                // SAFETY: `part` gives each thread blocks of its own among those of the weights. The gates of all steps
                // were written in the first region, and the previous hidden states, rows of `output` that this step
                // does not write, in the region before. `output` has a row of `hidden` values for each step and row of
                // the batch, as was checked, and `cell` a padded one for each row; only this thread uses its blocks of
                // them. An LSTM has one sweep, and f32 weights need no work space.
                unsafe { self.weights.step(&self.step(&pointers, blocks, step)) };
            });
        }
    }

    /// Returns the time-independent phase.
    fn phase(&self, pointers: &Pointers, blocks: std::ops::Range<usize>) -> Product {
        let (width, batch) = (self.weights.gates_width(), self.sizes.batch);
        Product {
            blocks,
            rows: Rows { bases: pointers.input.as_ptr(), offset: 0 },
            samples: batch,
            steps: self.sizes.time,
            step_stride: (batch * self.sizes.input) as isize,
            output: pointers.gates,
            output_step_stride: batch * width,
            output_row_stride: width,
            scratch: std::ptr::null_mut(),
        }
    }

    /// Returns a time-dependent phase.
    fn step(&self, pointers: &Pointers, blocks: std::ops::Range<usize>, step: usize) -> Step {
        let Sizes { hidden, batch, .. } = self.sizes;
        let (width, stride) = (self.weights.gates_width(), batch * hidden);
        let written =
            |step: usize| RowsMut { bases: pointers.output.as_ptr(), offset: (step * stride) as isize };
        Step {
            blocks,
            descending: false,
            rows: batch,
            start: Start::Gates {
                gates: pointers.gates.wrapping_add(step * batch * width),
                row_stride: width,
            },
            previous: step.checked_sub(1).map(|before| written(before).as_rows()),
            hidden: written(step),
            cell: pointers.cell,
            cell_stride: self.weights.padded_hidden(),
            between: Between::NONE,
            scratch: std::ptr::null_mut(),
        }
    }
}
