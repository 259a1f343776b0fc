//! The operands of a step, and the sums from which it starts.

use super::quantise::scratch_bytes as quantised_bytes;
use super::shared::Shared;
use super::weights::Weights;
use crate::args::{Grid, Start, Step};
use crate::fetch::fetch;
use crate::matrix::Matrix;

/// The operands of a step: rows of the input, if its product is wanted, and of the hidden state, unless it is zero.
pub(crate) struct Operands<W: Weights> {
    sources: [Option<W::Source>; 2],
}

/// The operand of the input product.
pub(crate) const INPUT: usize = 0;

/// The operand of the hidden product.
pub(crate) const HIDDEN: usize = 1;

impl<W: Weights> Operands<W> {
    /// # Safety
    /// - As the kernel's: the step's pointers are valid, the processor has the instructions of `V`.
    #[inline(always)]
    pub(crate) unsafe fn new<V: Shared>(step: &Step, input_depth: usize, hidden_depth: usize) -> Self {
        let mut scratch = step.scratch;
        let mut sources = [None; 2];
        // SAFETY: the caller promises the instructions of `V` and `step.rows` readable rows of the input and of the
        // state; `PackedCell::step_scratch_bytes` counts room for both, the latter behind the former.
        unsafe {
            if let Start::Input(rows) = step.start {
                sources[INPUT] =
                    Some(W::prepare(&Grid::of_step(rows, step.rows), input_depth, scratch, V::quantise));
                scratch = scratch.wrapping_add(quantised_bytes(step.rows, input_depth));
            }
            if let Some(rows) = step.previous {
                sources[HIDDEN] =
                    Some(W::prepare(&Grid::of_step(rows, step.rows), hidden_depth, scratch, V::quantise));
            }
        }
        Self { sources }
    }

    /// Returns the operands of a step of one row. Requests all of them at once: other cores may have written them.
    ///
    /// # Safety
    /// - As [`Self::new`].
    #[inline(always)]
    pub(crate) unsafe fn of_one_row<V: Shared>(step: &Step, input_depth: usize, hidden_depth: usize) -> Self {
        // SAFETY: the step has a row 0, which the caller promises to be valid, with all else that `new` demands.
        unsafe {
            if let Start::Input(rows) = step.start {
                fetch(rows.row(0), input_depth);
            }
            if let Some(rows) = step.previous {
                fetch(rows.row(0), hidden_depth);
            }
            Self::new::<V>(step, input_depth, hidden_depth)
        }
    }

    /// Returns the rows of a product, if there is one.
    #[inline(always)]
    pub(crate) fn source(&self, which: usize) -> Option<W::Source> {
        self.sources[which]
    }
}

/// Returns the first row of a step's starting values in the columns from `column` on, and the values from row to row:
/// finished products, or the biases for all rows.
///
/// # Safety
/// - The step's gates have row `row` and these columns, or `input` has these columns.
#[inline(always)]
pub(crate) unsafe fn start(step: &Step, input: &Matrix, column: usize, row: usize) -> (*const f32, usize) {
    // SAFETY: the caller promises that the step's gates have this row and column, or that `input` has the column, and
    // so a bias for it.
    unsafe {
        match step.start {
            Start::Gates { gates, row_stride } => (gates.add(row * row_stride + column), row_stride),
            Start::Input(_) => (input.bias().add(column), 0),
        }
    }
}
