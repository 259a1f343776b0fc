//! One step of a GRU whose reset gate acts on the state before the hidden product: two sweeps.
//!
//! First `r, z = sigmoid(...)` and `r * h` of all units, then `n = tanh(x + U (r h))` and `h = (1 - z) n + z h`, as in the
//! ONNX operator GRU with `linear_before_reset = 0`. The input gates are `[block][r, z, n][lane]` as for the other GRU.

use super::exp::Bounds;
use super::quantise::scratch_bytes as quantised_bytes;
use super::sweep::{Groups, Operands, Tiles, add_product, load_units, one_step, store_units};
use super::weights::{Panel, Weights};
use crate::args::{Start, Step};
use crate::cell::PackedCell;
use crate::matrix::Matrix;
use crate::vector::Vector;

/// Gates of a block: r, z, n.
const GATES: usize = 3;

/// The first sweep.
///
/// # Safety
/// - As [`PackedCell::step`], for such a GRU whose weights are of format `W` and packed for `V`.
/// - The processor has the instructions of `V`.
#[inline(always)]
pub(crate) unsafe fn gates<V: Vector, W: Weights>(cell: &PackedCell, step: &Step) {
    let tiles = Tiles::new(step.rows, V::ROWS);
    let mut groups = Groups::new(step, 2);
    // SAFETY: blocks and rows are those of the step; the rest is the caller's duty.
    unsafe {
        let operands = Operands::<W>::new::<V>(step, cell.input.depth(), cell.hidden.depth());
        while let Some((block, width)) = groups.next() {
            let mut row = 0;
            for tile in 0..tiles.count() {
                let rows = tiles.rows(tile);
                match (width, rows) {
                    (1, 1) => gate_tile::<V, W, 1, 2, 4>(cell, step, &operands, block, row),
                    (1, 2) => gate_tile::<V, W, 2, 2, 2>(cell, step, &operands, block, row),
                    (1, 3) if V::ROWS >= 3 => gate_tile::<V, W, 3, 2, 1>(cell, step, &operands, block, row),
                    (1, 4) if V::ROWS >= 4 => gate_tile::<V, W, 4, 2, 1>(cell, step, &operands, block, row),
                    (1, 5) if V::ROWS >= 5 => gate_tile::<V, W, 5, 2, 1>(cell, step, &operands, block, row),
                    (1, 6) if V::ROWS >= 6 => gate_tile::<V, W, 6, 2, 1>(cell, step, &operands, block, row),
                    (_, 1) => gate_tile::<V, W, 1, 4, 2>(cell, step, &operands, block, row),
                    (_, 2) => gate_tile::<V, W, 2, 4, 1>(cell, step, &operands, block, row),
                    (_, 3) if V::ROWS >= 3 => gate_tile::<V, W, 3, 4, 1>(cell, step, &operands, block, row),
                    (_, 4) if V::ROWS >= 4 => gate_tile::<V, W, 4, 4, 1>(cell, step, &operands, block, row),
                    (_, 5) if V::ROWS >= 5 => gate_tile::<V, W, 5, 4, 1>(cell, step, &operands, block, row),
                    (_, 6) if V::ROWS >= 6 => gate_tile::<V, W, 6, 4, 1>(cell, step, &operands, block, row),
                    _ => {}
                }
                row += rows;
            }
        }
    }
}

/// The second sweep.
///
/// # Safety
/// - As [`gates`]; the first sweep of all blocks is done.
#[inline(always)]
pub(crate) unsafe fn candidate<V: Vector, W: Weights>(cell: &PackedCell, step: &Step) {
    let tiles = Tiles::new(step.rows, V::ROWS);
    let mut groups = Groups::new(step, 4);
    // SAFETY: blocks and rows are those of the step; the rest is the caller's duty.
    unsafe {
        let operands = candidate_operands::<V, W>(cell, step);
        while let Some((block, width)) = groups.next() {
            let mut row = 0;
            for tile in 0..tiles.count() {
                let rows = tiles.rows(tile);
                match (width, rows) {
                    (1, 1) => candidate_tile::<V, W, 1, 1, 4>(cell, step, &operands, block, row),
                    (1, _) => {
                        for r in 0..rows {
                            candidate_tile::<V, W, 1, 1, 4>(cell, step, &operands, block, row + r);
                        }
                    }
                    (2, 1) => candidate_tile::<V, W, 1, 2, 4>(cell, step, &operands, block, row),
                    (2, _) => {
                        for r in 0..rows {
                            candidate_tile::<V, W, 1, 2, 4>(cell, step, &operands, block, row + r);
                        }
                    }
                    (_, 1) => candidate_tile::<V, W, 1, 4, 2>(cell, step, &operands, block, row),
                    (_, 2) => candidate_tile::<V, W, 2, 4, 1>(cell, step, &operands, block, row),
                    (_, 3) if V::ROWS >= 3 => {
                        candidate_tile::<V, W, 3, 4, 1>(cell, step, &operands, block, row);
                    }
                    (_, 4) if V::ROWS >= 4 => {
                        candidate_tile::<V, W, 4, 4, 1>(cell, step, &operands, block, row);
                    }
                    (_, 5) if V::ROWS >= 5 => {
                        candidate_tile::<V, W, 5, 4, 1>(cell, step, &operands, block, row);
                    }
                    (_, 6) if V::ROWS >= 6 => {
                        candidate_tile::<V, W, 6, 4, 1>(cell, step, &operands, block, row);
                    }
                    _ => {}
                }
                row += rows;
            }
        }
    }
}

/// Rows of `r * h` in place of those of `h`.
///
/// # Safety
/// - As [`candidate`].
#[inline(always)]
unsafe fn candidate_operands<V: Vector, W: Weights>(cell: &PackedCell, step: &Step) -> Operands<W> {
    let (input_depth, hidden_depth) = (cell.input.depth(), cell.hidden.depth());
    // SAFETY: the work space has room for the rows of the input and of the state, in this order.
    unsafe {
        let mut operands = Operands { input: None, hidden: None };
        let mut scratch = step.scratch;
        if let Start::Input(rows) = step.start {
            operands.input = Some(W::prepare::<V>(&one_step(rows, step.rows), input_depth, scratch));
            scratch = scratch.wrapping_add(quantised_bytes(step.rows, input_depth));
        }
        if step.previous.is_some() {
            let rows = step.between.reset_hidden.as_rows();
            operands.hidden = Some(W::prepare::<V>(&one_step(rows, step.rows), hidden_depth, scratch));
        }
        operands
    }
}

/// r and z of `N / 2` blocks.
///
/// # Safety
/// - As [`gates`], for rows and blocks of the step.
#[inline(always)]
unsafe fn gate_tile<V: Vector, W: Weights, const R: usize, const N: usize, const P: usize>(
    cell: &PackedCell,
    step: &Step,
    operands: &Operands<W>,
    block: usize,
    row: usize,
) {
    let units = cell.hidden.depth();
    // SAFETY: the caller's duty.
    unsafe {
        let mut places = [(0, 0); N];
        for n in 0..N {
            places[n] = (block + n / 2, n % 2);
        }
        let mut sums: [[V; N]; R] = start_at::<V, W, R, N, P>(cell, step, operands, &places, row);
        if let Some(source) = &operands.hidden {
            let panel = panel_at(&cell.hidden, &places);
            add_product::<V, W, R, N, P>(source, row, &panel, units, &mut sums);
        }
        let bounds = Bounds::new(cell.clip);
        for r in 0..R {
            for pair in 0..N / 2 {
                let unit = (block + pair) * V::LANES;
                let before = match step.previous {
                    Some(rows) => load_units(rows.row(row + r), unit, units),
                    None => V::splat(0.0),
                };
                let reset = bounds.sigmoid(sums[r][2 * pair]).mul(before);
                store_units(reset, step.between.reset_hidden.row(row + r), unit, units);
                let update = bounds.sigmoid(sums[r][2 * pair + 1]);
                update.store(step.between.update.add((row + r) * step.between.update_stride + unit));
            }
        }
    }
}

/// n and h of `N` blocks.
///
/// # Safety
/// - As [`candidate`], for rows and blocks of the step.
#[inline(always)]
unsafe fn candidate_tile<V: Vector, W: Weights, const R: usize, const N: usize, const P: usize>(
    cell: &PackedCell,
    step: &Step,
    operands: &Operands<W>,
    block: usize,
    row: usize,
) {
    let units = cell.hidden.depth();
    // SAFETY: the caller's duty.
    unsafe {
        let (mut places, mut columns) = ([(0, 0); N], [(0, 0); N]);
        for n in 0..N {
            places[n] = (block + n, 2);
            columns[n] = (block + n, 0);
        }
        let mut sums: [[V; N]; R] = start_at::<V, W, R, N, P>(cell, step, operands, &places, row);
        if let Some(source) = &operands.hidden {
            let panel = panel_at(&cell.candidate, &columns);
            add_product::<V, W, R, N, P>(source, row, &panel, units, &mut sums);
        }
        let bounds = Bounds::new(cell.clip);
        for r in 0..R {
            for n in 0..N {
                let unit = (block + n) * V::LANES;
                let before = match step.previous {
                    Some(rows) => load_units(rows.row(row + r), unit, units),
                    None => V::splat(0.0),
                };
                let candidate = bounds.tanh(sums[r][n]);
                let update = V::load(step.between.update.add((row + r) * step.between.update_stride + unit));
                let hidden = update.fma(before.sub(candidate), candidate);
                store_units(hidden, step.hidden.row(row + r), unit, units);
            }
        }
    }
}

/// The panel of any vectors of a matrix, each a block and a vector of it.
#[inline(always)]
fn panel_at<const N: usize>(matrix: &Matrix, places: &[(usize, usize); N]) -> Panel<N> {
    let mut panel = matrix.panel::<N>(places[0].0, places[0].1);
    for n in 1..N {
        let one = matrix.panel::<1>(places[n].0, places[n].1);
        panel.at[n] = one.at[0];
        panel.scales[n] = one.scales[0];
        panel.corrections[n] = one.corrections[0];
    }
    panel
}

/// The start gates of any vectors.
///
/// # Safety
/// - As [`super::sweep::start`], for these vectors.
#[inline(always)]
unsafe fn start_at<V: Vector, W: Weights, const R: usize, const N: usize, const P: usize>(
    cell: &PackedCell,
    step: &Step,
    operands: &Operands<W>,
    places: &[(usize, usize); N],
    row: usize,
) -> [[V; N]; R] {
    // SAFETY: the caller's duty.
    unsafe {
        let mut sums = [[V::splat(0.0); N]; R];
        for n in 0..N {
            let column = (places[n].0 * GATES + places[n].1) * V::LANES;
            for r in 0..R {
                sums[r][n] = match step.start {
                    Start::Gates { gates, row_stride } => V::load(gates.add((row + r) * row_stride + column)),
                    Start::Input(_) => V::load(cell.input.bias().add(column)),
                };
            }
        }
        if let Some(source) = &operands.input {
            let panel = panel_at(&cell.input, places);
            add_product::<V, W, R, N, P>(source, row, &panel, cell.input.depth(), &mut sums);
        }
        sums
    }
}
