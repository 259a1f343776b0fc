//! What the kernels of all cells share: the order of tiles, and how the hidden product of a tile is begun.

use super::quantise::scratch_bytes as quantised_bytes;
use super::weights::{Ahead, Grid, Panel, Weights};
use crate::args::{Rows, Start, Step};
use crate::fetch::fetch;
use crate::matrix::Matrix;
use crate::vector::Vector;

/// Cuts rows into as few register tiles as possible, of nearly equal size: 7 rows are 4 and 3.
///
/// A tile has at most `V::ROWS` rows times all vectors of a block. An LSTM's step of exactly 8, 10 or 12 rows is one wide
/// tile where registers are many: all rows times two vectors, in two passes. It reads the weights once, at the pace at
/// which it computes. Measured with weights in the last-level cache, 10 rows take a tenth less time so; 20 rows, and GRUs,
/// are faster in narrow tiles.
#[derive(Clone, Copy)]
pub(crate) struct Tiles {
    size: usize,
    larger: usize,
    count: usize,
}

/// Registers for wide tiles are there if narrow ones have so many rows.
pub(crate) const ROWS_OF_WIDE: usize = 6;

impl Tiles {
    /// One wide tile if it fits, else narrow ones.
    #[inline(always)]
    pub(crate) fn wide_or_narrow<V: Vector>(rows: usize) -> Self {
        if V::ROWS >= ROWS_OF_WIDE && (rows == 8 || rows == 10 || rows == 12) {
            return Self { size: rows, larger: 0, count: 1 };
        }
        Self::narrow::<V>(rows)
    }

    /// Tiles of at most `V::ROWS` rows.
    #[inline(always)]
    pub(crate) fn narrow<V: Vector>(rows: usize) -> Self {
        // The common case needs no division.
        if rows <= V::ROWS {
            return Self { size: rows, larger: 0, count: 1 };
        }
        let count = rows.div_ceil(V::ROWS);
        Self { size: rows / count, larger: rows % count, count }
    }

    #[inline(always)]
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Rows of tile `index`.
    #[inline(always)]
    pub(crate) fn rows(&self, index: usize) -> usize {
        self.size + usize::from(index < self.larger)
    }
}

/// Goes through a range of blocks in groups of at most 4, 2 or 1, upwards or downwards.
#[derive(Clone, Copy)]
pub(crate) struct Groups {
    first: usize,
    left: usize,
    descending: bool,
    most: usize,
}

impl Groups {
    #[inline(always)]
    pub(crate) fn new(step: &Step, most: usize) -> Self {
        let (first, end) = (step.blocks.start, step.blocks.end);
        Self { first, left: end.saturating_sub(first), descending: step.descending, most }
    }

    /// First block and number of blocks of the next group.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<(usize, usize)> {
        let mut size = self.most;
        while size > self.left {
            size /= 2;
        }
        if size == 0 {
            return None;
        }
        self.left -= size;
        if self.descending {
            return Some((self.first + self.left, size));
        }
        self.first += size;
        Some((self.first - size, size))
    }
}

impl Groups {
    /// First block of the next group, without taking it.
    #[inline(always)]
    pub(crate) fn peek(&self) -> Option<usize> {
        let mut copy = *self;
        match copy.next() {
            Some((block, _)) => Some(block),
            None => None,
        }
    }
}

/// Blocks of one row whose cells are computed together, at most.
///
/// A cell is a chain of a hundred dependent instructions. They fill the processor's scheduler, so that the products of
/// the next block behind them wait, too. After the products of several blocks their cells hide each other's latency.
pub(crate) const ONE_ROW_BLOCKS: usize = 4;

/// Where the vectors of units lie whose cells are computed together: successive rows of one block, or blocks of one row.
#[derive(Clone, Copy)]
pub(crate) struct At {
    row: usize,
    block: usize,
    next_row: usize,
    next_block: usize,
}

impl At {
    /// Rows of a block, from `row` on.
    #[inline(always)]
    pub(crate) fn rows(row: usize, block: usize) -> Self {
        Self { row, block, next_row: 1, next_block: 0 }
    }

    /// Blocks of row 0, from `block` on.
    #[inline(always)]
    pub(crate) fn blocks(block: usize) -> Self {
        Self { row: 0, block, next_row: 0, next_block: 1 }
    }

    /// Row and block of vector `index`.
    #[inline(always)]
    pub(crate) fn of(self, index: usize) -> (usize, usize) {
        (self.row + index * self.next_row, self.block + index * self.next_block)
    }
}

/// The operands of a step: rows of the input, if its product is wanted, and of the hidden state, unless it is zero.
pub(crate) struct Operands<W: Weights> {
    sources: [Option<W::Source>; 2],
}

/// The operand of the hidden product; the other one is that of the input product.
pub(crate) const HIDDEN: usize = 1;

impl<W: Weights> Operands<W> {
    /// # Safety
    /// - As the kernel's: the step's pointers are valid, the processor has the instructions of `V`.
    #[inline(always)]
    pub(crate) unsafe fn new<V: Vector>(step: &Step, input_depth: usize, hidden_depth: usize) -> Self {
        let mut scratch = step.scratch;
        let mut sources = [None; 2];
        // SAFETY: the work space has room for the rows of the input and of the state, in this order.
        unsafe {
            if let Start::Input(rows) = step.start {
                sources[0] = Some(W::prepare::<V>(&one_step(rows, step.rows), input_depth, scratch));
                scratch = scratch.wrapping_add(quantised_bytes(step.rows, input_depth));
            }
            if let Some(rows) = step.previous {
                sources[HIDDEN] = Some(W::prepare::<V>(&one_step(rows, step.rows), hidden_depth, scratch));
            }
        }
        Self { sources }
    }

    /// The operands of a step of one row. All of them are asked for at once: other cores may have written them.
    ///
    /// # Safety
    /// - As [`Self::new`].
    #[inline(always)]
    pub(crate) unsafe fn of_one_row<V: Vector>(step: &Step, input_depth: usize, hidden_depth: usize) -> Self {
        // SAFETY: the caller's duty.
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

    /// The rows of a product, if there is one.
    #[inline(always)]
    pub(crate) fn source(&self, which: usize) -> Option<W::Source> {
        self.sources[which]
    }
}

/// The rows of one step as a grid.
#[inline(always)]
pub(crate) fn one_step(rows: Rows, samples: usize) -> Grid {
    Grid { rows, samples, steps: 1, step_stride: 0 }
}

/// Adds the product of `R` rows from `row` with a panel.
///
/// # Safety
/// - The source has these rows; the rest as [`Weights::accumulate`].
#[inline(always)]
pub(crate) unsafe fn add_product<V: Vector, W: Weights, const R: usize, const N: usize, const P: usize>(
    source: &W::Source,
    row: usize,
    panel: &Panel<N>,
    depth: usize,
    sums: &mut [[V; N]; R],
) {
    // SAFETY: the caller's duty.
    unsafe {
        let mut rows = [W::row(source, 0, row); R];
        for r in 1..R {
            rows[r] = W::row(source, 0, row + r);
        }
        W::accumulate::<V, R, N, P>(panel, depth, &rows, sums);
    }
}

/// Adds the product of `R` rows from `row` with `N` of the `ALL` vectors of a block, from `vector` on.
///
/// # Safety
/// - As [`add_product`], for a matrix with blocks of `ALL` vectors, `vector + N <= ALL`.
#[inline(always)]
pub(crate) unsafe fn add_part<V: Vector, W: Weights, const R: usize, const N: usize, const ALL: usize>(
    source: &W::Source,
    row: usize,
    matrix: &Matrix,
    block: usize,
    vector: usize,
    ahead: Ahead,
    sums: &mut [[V; ALL]; R],
) {
    // SAFETY: the caller's duty.
    unsafe {
        let mut part = [[V::splat(0.0); N]; R];
        for r in 0..R {
            for n in 0..N {
                part[r][n] = sums[r][vector + n];
            }
        }
        let mut panel = matrix.part_panel::<V, N, ALL>(block, vector);
        panel.ahead = ahead;
        add_product::<V, W, R, N, 1>(source, row, &panel, matrix.depth(), &mut part);
        for r in 0..R {
            for n in 0..N {
                sums[r][vector + n] = part[r][n];
            }
        }
    }
}

/// What `R` rows of `N` successive vectors from `column` on start from: finished products, or biases.
///
/// # Safety
/// - As the kernel's: the step's pointers are valid for these rows and columns, `input` is the input matrix.
#[inline(always)]
pub(crate) unsafe fn start<V: Vector, const R: usize, const N: usize>(
    step: &Step,
    input: &Matrix,
    column: usize,
    row: usize,
) -> [[V; N]; R] {
    // SAFETY: the caller's duty.
    unsafe {
        let (first, stride) = match step.start {
            Start::Gates { gates, row_stride } => (gates.add(row * row_stride), row_stride),
            Start::Input(_) => (input.bias(), 0),
        };
        let mut sums = [[V::splat(0.0); N]; R];
        for r in 0..R {
            for n in 0..N {
                sums[r][n] = V::load(first.add(r * stride + column + n * V::LANES));
            }
        }
        sums
    }
}

/// Loads a vector of units of a row that has `units` of them, from `unit` on; those beyond are 0.
///
/// # Safety
/// - `units` values can be read at `row`, and `unit < units`.
#[inline(always)]
pub(crate) unsafe fn load_units<V: Vector>(row: *const f32, unit: usize, units: usize) -> V {
    // SAFETY: the caller's duty.
    unsafe {
        if unit + V::LANES <= units {
            V::load(row.add(unit))
        } else {
            V::load_first(row.add(unit), units - unit)
        }
    }
}

/// Stores a vector of units of a row that has `units` of them, from `unit` on, and nothing beyond.
///
/// # Safety
/// - `units` values can be written at `row`, and `unit < units`.
#[inline(always)]
pub(crate) unsafe fn store_units<V: Vector>(value: V, row: *mut f32, unit: usize, units: usize) {
    // SAFETY: the caller's duty.
    unsafe {
        if unit + V::LANES <= units {
            value.store(row.add(unit));
        } else {
            value.store_first(row.add(unit), units - unit);
        }
    }
}
