//! One step of a GRU whose reset gate acts on the state before the hidden product: two sweeps.
//!
//! First `r, z = sigmoid(...)` and `r * h` of all units, then `n = tanh(x + U (r h))` and `h = (1 - z) n + z h`, as in
//! the ONNX operator GRU with `linear_before_reset = 0`. The input gates are `[block][r, z, n][lane]` as for the other
//! GRU.

use std::mem::MaybeUninit;

use super::exp::Bounds;
use super::shared::Products;
use super::sweep::{Groups, Tiles};
use super::tile::{ROWS_MAX, TileRows, copy, products};
use super::units::{load_units, store_units};
use super::weights::Weights;
use crate::args::{Grid, Rows, Start, Step};
use crate::matrix::Matrix;
use crate::packed::PackedWeights;
use crate::panel::{ANYWHERE, Ahead, Initial, Panel};
use crate::vector::Vector;

/// Number of gates of a block: r, z, n.
const GATES: usize = 3;

/// Runs the first sweep.
///
/// # Safety
/// - As [`PackedCell::step`](crate::PackedCell::step), for such a GRU whose weights are of format `W` and packed for
///   `V`.
/// - The processor has the instructions of `V`.
#[inline(always)]
pub(crate) unsafe fn gates<V: Products<W>, W: Weights>(cell: &PackedWeights, step: &Step) {
    let mut groups = Groups::new(step, 2);
    // SAFETY: blocks and rows are those of the step, whose pointers are valid for them.
    unsafe {
        let sweep = Sweep::<W>::new::<V>(step, &cell.hidden, step.previous);
        while let Some((block, width)) = groups.next() {
            let next = groups.peek();
            let mut row = 0;
            for tile in 0..sweep.tiles.count() {
                let rows = (row, sweep.tiles.rows(tile));
                let ahead = cell.hidden.ahead(next, width, tile, sweep.tiles.count());
                match width {
                    2 => gate_tile::<V, W, 4>(cell, step, &sweep, ahead, block, rows),
                    _ => gate_tile::<V, W, 2>(cell, step, &sweep, ahead, block, rows),
                }
                row += rows.1;
            }
        }
    }
}

/// Runs the second sweep.
///
/// # Safety
/// - As [`gates`]; the first sweep of all blocks is done.
#[inline(always)]
pub(crate) unsafe fn candidate<V: Products<W>, W: Weights>(cell: &PackedWeights, step: &Step) {
    let reset_hidden = if step.previous.is_some() { Some(step.between.reset_hidden.as_rows()) } else { None };
    let mut groups = Groups::new(step, 4);
    // SAFETY: blocks and rows are those of the step, whose pointers are valid for them; all units of `r * h` are there.
    unsafe {
        let sweep = Sweep::<W>::new::<V>(step, &cell.candidate, reset_hidden);
        while let Some((block, width)) = groups.next() {
            let next = groups.peek();
            let mut row = 0;
            for tile in 0..sweep.tiles.count() {
                let rows = (row, sweep.tiles.rows(tile));
                let ahead = cell.candidate.ahead(next, width, tile, sweep.tiles.count());
                match width {
                    4 => candidate_tile::<V, W, 4>(cell, step, &sweep, ahead, block, rows),
                    2 => candidate_tile::<V, W, 2>(cell, step, &sweep, ahead, block, rows),
                    _ => candidate_tile::<V, W, 1>(cell, step, &sweep, ahead, block, rows),
                }
                row += rows.1;
            }
        }
    }
}

/// Computes r and z of `N / 2` blocks, in `count` rows from `row` on.
///
/// # Safety
/// - As [`gates`], for rows and blocks of the step.
#[inline(always)]
unsafe fn gate_tile<V: Products<W>, W: Weights, const N: usize>(
    cell: &PackedWeights,
    step: &Step,
    sweep: &Sweep<W>,
    ahead: Ahead,
    block: usize,
    rows: (usize, usize),
) {
    let mut room = MaybeUninit::<[[V; N]; ROWS_MAX]>::uninit();
    let sums: *mut [V; N] = room.as_mut_ptr().cast();
    let mut places = [0; N];
    for n in 0..N {
        places[n] = n / 2 * GATES + n % 2;
    }
    let mut panel = cell.hidden.pairs_panel::<V, N>(block);
    panel.ahead = ahead;
    // SAFETY: rows and blocks are the step's; the sums of these rows are there before they are read.
    unsafe {
        sweep.products::<V, N, ANYWHERE>(step, &panel, block, places, rows, sums);
        V::reset_rows::<N>(cell, step, sums, rows, block);
    }
}

/// Computes n and h of `N` blocks, in `count` rows from `row` on.
///
/// # Safety
/// - As [`candidate`], for rows and blocks of the step.
#[inline(always)]
unsafe fn candidate_tile<V: Products<W>, W: Weights, const N: usize>(
    cell: &PackedWeights,
    step: &Step,
    sweep: &Sweep<W>,
    ahead: Ahead,
    block: usize,
    rows: (usize, usize),
) {
    let mut room = MaybeUninit::<[[V; N]; ROWS_MAX]>::uninit();
    let sums: *mut [V; N] = room.as_mut_ptr().cast();
    let mut places = [0; N];
    for n in 0..N {
        places[n] = n * GATES + 2;
    }
    let mut panel = cell.candidate.blocks_panel::<V, N>(block);
    panel.ahead = ahead;
    // SAFETY: rows and blocks are the step's; the sums of these rows are there before they are read.
    unsafe {
        sweep.products::<V, N, ANYWHERE>(step, &panel, block, places, rows, sums);
        V::candidate_rows::<N>(cell, step, sums, rows, block);
    }
}

/// One of the two sweeps: its operand and its tiles.
struct Sweep<W: Weights> {
    /// Rows of `h` or of `r * h`; `None` for zeros.
    hidden: Option<W::Source>,
    depth: usize,
    tiles: Tiles,
}

impl<W: Weights> Sweep<W> {
    /// Makes the rows of the operand ready.
    ///
    /// # Safety
    /// - As [`gates`]; `rows` are as many as the step's and as wide as the matrix is deep.
    #[inline(always)]
    unsafe fn new<V: Products<W>>(step: &Step, matrix: &Matrix, rows: Option<Rows>) -> Self {
        let (depth, tiles) = (matrix.depth, Tiles::narrow::<V>(step.rows));
        let hidden = match rows {
            // SAFETY: each row has `depth` values, and the step's work space has room for them.
            Some(rows) => unsafe {
                Some(W::prepare(&Grid::of_step(rows, step.rows), depth, step.scratch, V::quantise))
            },
            None => None,
        };
        Self { hidden, depth, tiles }
    }

    /// Writes the sums of `count` rows from `row` on: the hidden products, added to the vectors of gates at `places`
    /// from the block's first on.
    ///
    /// # Safety
    /// - Rows, block and places are in the step's gates, the panel is of this matrix and in layout `L`, and `sums` has
    ///   room for the rows.
    #[inline(always)]
    unsafe fn products<V: Products<W>, const N: usize, const L: usize>(
        &self,
        step: &Step,
        panel: &Panel<N>,
        block: usize,
        places: [usize; N],
        (row, count): (usize, usize),
        sums: *mut [V; N],
    ) {
        let Start::Gates { gates, row_stride } = step.start else {
            unreachable!("PackedCell::step has turned the input of a cell of two sweeps into gates")
        };
        // SAFETY: rows, block and places are in the step's gates; there is room for a tile's rows.
        unsafe {
            let mut initial = Initial { at: [gates; N], strides: [row_stride; N] };
            for n in 0..N {
                initial.at[n] = gates.add(row * row_stride + (block * GATES + places[n]) * V::LANES);
            }
            match &self.hidden {
                Some(source) => {
                    let rows = TileRows::successive(source, row, count, sums.cast(), N * V::LANES);
                    products::<V, W, ROWS_MAX, N, L>(panel, self.depth, &rows, count, &initial);
                }
                None => copy(&initial, count, sums),
            }
        }
    }
}

/// Computes r and z of `N / 2` blocks.
///
/// # Safety
/// - As [`Shared::reset_rows`](super::shared::Shared::reset_rows); the processor has the instructions of `V`.
#[inline(always)]
pub(crate) unsafe fn reset_rows<V: Vector, const N: usize>(
    cell: &PackedWeights,
    step: &Step,
    sums: *const [V; N],
    (first, count): (usize, usize),
    block: usize,
) {
    let units = cell.hidden.depth;
    // SAFETY: rows and units are those of the step; `between` has room for them.
    unsafe {
        let bounds = Bounds::new(cell.clip);
        for r in 0..count {
            let (row, gates) = (first + r, bounds.sigmoids(*sums.add(r)));
            for pair in 0..N / 2 {
                let unit = (block + pair) * V::LANES;
                let before = match step.previous {
                    Some(rows) => load_units(rows.row(row), unit, units),
                    None => V::splat(0.0),
                };
                let reset = gates[2 * pair].mul(before);
                store_units(reset, step.between.reset_hidden.row(row), unit, units);
                gates[2 * pair + 1].store(step.between.update.add(row * step.between.update_stride + unit));
            }
        }
    }
}

/// Computes n and h of `N` blocks.
///
/// # Safety
/// - As [`Shared::candidate_rows`](super::shared::Shared::candidate_rows); the processor has the instructions of `V`.
#[inline(always)]
pub(crate) unsafe fn candidate_rows<V: Vector, const N: usize>(
    cell: &PackedWeights,
    step: &Step,
    sums: *const [V; N],
    (first, count): (usize, usize),
    block: usize,
) {
    let units = cell.hidden.depth;
    // SAFETY: rows and units are those of the step; the first sweep has written their update gates.
    unsafe {
        let bounds = Bounds::new(cell.clip);
        for r in 0..count {
            let (row, candidates) = (first + r, bounds.tanhs(*sums.add(r)));
            for n in 0..N {
                let unit = (block + n) * V::LANES;
                let before = match step.previous {
                    Some(rows) => load_units(rows.row(row), unit, units),
                    None => V::splat(0.0),
                };
                let update = V::load(step.between.update.add(row * step.between.update_stride + unit));
                let hidden = update.fma(before.sub(candidates[n]), candidates[n]);
                store_units(hidden, step.hidden.row(row), unit, units);
            }
        }
    }
}
