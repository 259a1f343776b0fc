//! Arguments of the kernels: plain structs of sizes and pointers.

use std::ops::Range;

/// Rows to be read: row `r` starts at `*bases.add(r) + offset`.
///
/// For step `t` of a batch of sequences the bases are the samples' first rows and `offset` is `t * stride`; a reverse
/// direction has a negative stride and bases that point to last rows.
#[derive(Debug, Clone, Copy)]
pub struct Rows {
    /// Array of at least as many pointers as there are rows.
    pub bases: *const *const f32,
    /// Offset in values, added to every base.
    pub offset: isize,
}

/// Rows to be written: row `r` starts at `*bases.add(r) + offset`. Rows need not be contiguous with each other.
#[derive(Debug, Clone, Copy)]
pub struct RowsMut {
    /// Array of at least as many pointers as there are rows.
    pub bases: *const *mut f32,
    /// Offset in values, added to every base.
    pub offset: isize,
}

impl Rows {
    /// # Safety
    /// - `bases` has more than `row` elements, and the row lies within one allocation with its base.
    #[inline(always)]
    pub(crate) unsafe fn row(self, row: usize) -> *const f32 {
        // SAFETY: the caller promises that `bases` has element `row`, and that the row `offset` values further lies in
        // one allocation with it.
        unsafe { (*self.bases.add(row)).offset(self.offset) }
    }
}

impl RowsMut {
    /// Returns the same rows, to be read.
    #[inline(always)]
    #[must_use]
    pub fn as_rows(self) -> Rows {
        Rows { bases: self.bases.cast(), offset: self.offset }
    }

    /// # Safety
    /// - `bases` has more than `row` elements, and the row lies within one allocation with its base.
    #[inline(always)]
    pub(crate) unsafe fn row(self, row: usize) -> *mut f32 {
        // SAFETY: the caller promises that `bases` has element `row`, and that the row `offset` values further lies in
        // one allocation with it.
        unsafe { (*self.bases.add(row)).offset(self.offset) }
    }
}

/// Rows of several steps: row `(step, sample)` starts at `rows` row `sample` plus `step * step_stride` values.
#[derive(Clone, Copy)]
pub(crate) struct Grid {
    pub(crate) rows: Rows,
    pub(crate) samples: usize,
    pub(crate) steps: usize,
    pub(crate) step_stride: isize,
}

impl Grid {
    /// Returns the rows of one step.
    #[inline(always)]
    pub(crate) fn of_step(rows: Rows, samples: usize) -> Self {
        Self { rows, samples, steps: 1, step_stride: 0 }
    }

    /// # Safety
    /// - `step` and `sample` are below the grid's, `rows.bases` has `samples` pointers, and the row lies within one
    ///   allocation with its base.
    #[inline(always)]
    pub(crate) unsafe fn row(&self, step: usize, sample: usize) -> *const f32 {
        // SAFETY: `sample` is below the number of bases, and the row lies in one allocation with its base and with the
        // sample's row of step 0, from which it is `step` strides.
        unsafe { self.rows.row(sample).offset(step as isize * self.step_stride) }
    }
}

/// The product of many rows with packed weights: `y = x W + b`. For a cell it is the time-independent part, the start
/// gates of several steps; for a dense layer it is the layer.
///
/// There are `steps * samples` rows. Row `(step, sample)` is read from
/// `rows.bases[sample] + rows.offset + step * step_stride` and written at
/// `output + step * output_step_stride + sample * output_row_stride`.
#[derive(Debug, Clone)]
pub struct Product {
    /// Blocks of columns to compute.
    pub blocks: Range<usize>,
    /// Input rows of the first step.
    pub rows: Rows,
    /// Number of samples, at least 1: the length of `rows.bases`.
    pub samples: usize,
    /// Number of steps.
    pub steps: usize,
    /// Values from an input row to the same sample's row of the next step.
    pub step_stride: isize,
    /// First value written. The kernel writes columns of `blocks` only; a cell's layout is `[block][gate][lane]`.
    pub output: *mut f32,
    /// Number of values from a step's first row to the next step's.
    pub output_step_stride: usize,
    /// Number of values from a sample's row to the next sample's.
    pub output_row_stride: usize,
    /// Work space of [`PackedCell::product_scratch_bytes`](crate::PackedCell::product_scratch_bytes) bytes, aligned
    /// for f32 (best to a cache line), that no other thread uses; may be dangling if that is 0.
    pub scratch: *mut u8,
}

/// Start of the gates of a step.
#[derive(Debug, Clone, Copy)]
pub enum Start {
    /// Finished input products: row `r` is `[block][gate][lane]` at `gates + r * row_stride`.
    Gates {
        /// Row of the first sample.
        gates: *const f32,
        /// Number of values from sample to sample.
        row_stride: usize,
    },
    /// The input itself: both products of a block in one sweep, as a decoder's single steps want it.
    Input(Rows),
}

/// One time step of some blocks of units, for the first `rows` sequences of the batch.
#[derive(Debug, Clone)]
pub struct Step {
    /// Blocks of units to compute.
    pub blocks: Range<usize>,
    /// Whether to visit the blocks from last to first (zig-zag sweeps).
    pub descending: bool,
    /// Number of sequences, at least 1.
    pub rows: usize,
    /// Start of the gates.
    pub start: Start,
    /// Hidden states before the step, all `hidden` units of each row; `None` for zeros, which skips the hidden product.
    pub previous: Option<Rows>,
    /// Hidden states after the step: the units of `blocks` are written, nothing beyond unit `hidden - 1`.
    ///
    /// A row must not be the memory of its previous row: later blocks still read all of that.
    pub hidden: RowsMut,
    /// LSTM: cell states, updated in place: row `r` at `cell + r * cell_stride`, `padded_hidden` values. Not read by
    /// others.
    pub cell: *mut f32,
    /// Number of values from a row of cell states to the next.
    pub cell_stride: usize,
    /// GRU with the reset gate before the product: room that both sweeps share, see [`Between`]. Otherwise unused.
    pub between: Between,
    /// Work space of [`PackedCell::step_scratch_bytes`](crate::PackedCell::step_scratch_bytes) bytes, aligned for
    /// f32 (best to a cache line), that no other thread uses; may be dangling if that is 0.
    pub scratch: *mut u8,
}

/// Room in which the first sweep of a GRU with the reset gate before the product leaves its results to the second.
///
/// Both are `[row][padded_hidden]`. All threads write and read the same `reset_hidden`; the second sweep reads all
/// units of it, so that a barrier must lie between the sweeps.
#[derive(Debug, Clone, Copy)]
pub struct Between {
    /// `r * h`, the operand of the second sweep: one pointer for each row.
    pub reset_hidden: RowsMut,
    /// The update gate z: row `r` at `update + r * update_stride`.
    pub update: *mut f32,
    /// Number of values from row to row of `update`.
    pub update_stride: usize,
}

impl Between {
    /// Second sweep of cells that have none.
    pub const NONE: Self = Self {
        reset_hidden: RowsMut { bases: std::ptr::null(), offset: 0 },
        update: std::ptr::null_mut(),
        update_stride: 0,
    };
}
