//! One step of a GRU whose reset gate acts on the state before the hidden product: two sweeps.
//!
//! First `r, z = sigmoid(...)` and `r * h` of all units, then `n = tanh(x + U (r h))` and `h = (1 - z) n + z h`, as in the
//! ONNX operator GRU with `linear_before_reset = 0`. The input gates are `[block][r, z, n][lane]` as for the other GRU.

use super::exp::Bounds;
use super::sweep::{Groups, Tiles, add_product, load_units, one_step, store_units};
use super::weights::{Ahead, Weights};
use crate::args::{Rows, Start, Step};
use crate::cell::PackedCell;
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
    let tiles = Tiles::narrow::<V>(step.rows);
    let mut groups = Groups::new(step, 2);
    // SAFETY: blocks and rows are those of the step; the rest is the caller's duty.
    unsafe {
        let hidden = prepare::<V, W>(cell, step, step.previous);
        while let Some((block, width)) = groups.next() {
            let next = groups.peek();
            let mut row = 0;
            for tile in 0..tiles.count() {
                let rows = tiles.rows(tile);
                let ahead = cell.hidden.ahead(next, width, tile, tiles.count());
                match (width, rows) {
                    (1, 1) => gate_tile::<V, W, 1, 2, 4>(cell, step, hidden, ahead, block, row),
                    (1, 2) => gate_tile::<V, W, 2, 2, 2>(cell, step, hidden, ahead, block, row),
                    (1, 3) if V::ROWS >= 3 => {
                        gate_tile::<V, W, 3, 2, 1>(cell, step, hidden, ahead, block, row)
                    }
                    (1, 4) if V::ROWS >= 4 => {
                        gate_tile::<V, W, 4, 2, 1>(cell, step, hidden, ahead, block, row)
                    }
                    (1, 5) if V::ROWS >= 5 => {
                        gate_tile::<V, W, 5, 2, 1>(cell, step, hidden, ahead, block, row)
                    }
                    (1, 6) if V::ROWS >= 6 => {
                        gate_tile::<V, W, 6, 2, 1>(cell, step, hidden, ahead, block, row)
                    }
                    (_, 1) => gate_tile::<V, W, 1, 4, 2>(cell, step, hidden, ahead, block, row),
                    (_, 2) => gate_tile::<V, W, 2, 4, 1>(cell, step, hidden, ahead, block, row),
                    (_, 3) if V::ROWS >= 3 => {
                        gate_tile::<V, W, 3, 4, 1>(cell, step, hidden, ahead, block, row)
                    }
                    (_, 4) if V::ROWS >= 4 => {
                        gate_tile::<V, W, 4, 4, 1>(cell, step, hidden, ahead, block, row)
                    }
                    (_, 5) if V::ROWS >= 5 => {
                        gate_tile::<V, W, 5, 4, 1>(cell, step, hidden, ahead, block, row)
                    }
                    (_, 6) if V::ROWS >= 6 => {
                        gate_tile::<V, W, 6, 4, 1>(cell, step, hidden, ahead, block, row)
                    }
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
    let tiles = Tiles::narrow::<V>(step.rows);
    let mut groups = Groups::new(step, 4);
    // SAFETY: blocks and rows are those of the step; the rest is the caller's duty.
    unsafe {
        let reset_hidden =
            if step.previous.is_some() { Some(step.between.reset_hidden.as_rows()) } else { None };
        let hidden = prepare::<V, W>(cell, step, reset_hidden);
        while let Some((block, width)) = groups.next() {
            let next = groups.peek();
            let mut row = 0;
            for tile in 0..tiles.count() {
                let rows = tiles.rows(tile);
                let ahead = cell.candidate.ahead(next, width, tile, tiles.count());
                match (width, rows) {
                    (1, 1) => candidate_tile::<V, W, 1, 1, 4>(cell, step, hidden, ahead, block, row),
                    (1, _) => {
                        for r in 0..rows {
                            candidate_tile::<V, W, 1, 1, 4>(cell, step, hidden, ahead, block, row + r);
                        }
                    }
                    (2, 1) => candidate_tile::<V, W, 1, 2, 4>(cell, step, hidden, ahead, block, row),
                    (2, _) => {
                        for r in 0..rows {
                            candidate_tile::<V, W, 1, 2, 4>(cell, step, hidden, ahead, block, row + r);
                        }
                    }
                    (_, 1) => candidate_tile::<V, W, 1, 4, 2>(cell, step, hidden, ahead, block, row),
                    (_, 2) => candidate_tile::<V, W, 2, 4, 1>(cell, step, hidden, ahead, block, row),
                    (_, 3) if V::ROWS >= 3 => {
                        candidate_tile::<V, W, 3, 4, 1>(cell, step, hidden, ahead, block, row);
                    }
                    (_, 4) if V::ROWS >= 4 => {
                        candidate_tile::<V, W, 4, 4, 1>(cell, step, hidden, ahead, block, row);
                    }
                    (_, 5) if V::ROWS >= 5 => {
                        candidate_tile::<V, W, 5, 4, 1>(cell, step, hidden, ahead, block, row);
                    }
                    (_, 6) if V::ROWS >= 6 => {
                        candidate_tile::<V, W, 6, 4, 1>(cell, step, hidden, ahead, block, row);
                    }
                    _ => {}
                }
                row += rows;
            }
        }
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
    hidden: Option<W::Source>,
    ahead: Ahead,
    block: usize,
    row: usize,
) {
    let units = cell.hidden.depth();
    // SAFETY: the caller's duty.
    unsafe {
        let mut sums = [[V::splat(0.0); N]; R];
        for n in 0..N {
            let start: [V; R] = start_gate(step, block + n / 2, n % 2, row);
            for r in 0..R {
                sums[r][n] = start[r];
            }
        }
        if let Some(source) = &hidden {
            let mut panel = cell.hidden.pairs_panel::<V, N>(block);
            panel.ahead = ahead;
            add_product::<V, W, R, N, P>(source, row, &panel, units, &mut sums);
        }
        let bounds = Bounds::new(cell.clip);
        for r in 0..R {
            let gates = bounds.sigmoids(sums[r]);
            for pair in 0..N / 2 {
                let unit = (block + pair) * V::LANES;
                let before = match step.previous {
                    Some(rows) => load_units(rows.row(row + r), unit, units),
                    None => V::splat(0.0),
                };
                let reset = gates[2 * pair].mul(before);
                store_units(reset, step.between.reset_hidden.row(row + r), unit, units);
                gates[2 * pair + 1]
                    .store(step.between.update.add((row + r) * step.between.update_stride + unit));
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
    hidden: Option<W::Source>,
    ahead: Ahead,
    block: usize,
    row: usize,
) {
    let units = cell.hidden.depth();
    // SAFETY: the caller's duty.
    unsafe {
        let mut sums = [[V::splat(0.0); N]; R];
        for n in 0..N {
            let start: [V; R] = start_gate(step, block + n, 2, row);
            for r in 0..R {
                sums[r][n] = start[r];
            }
        }
        if let Some(source) = &hidden {
            let mut panel = cell.candidate.blocks_panel::<V, N>(block);
            panel.ahead = ahead;
            add_product::<V, W, R, N, P>(source, row, &panel, units, &mut sums);
        }
        let bounds = Bounds::new(cell.clip);
        for r in 0..R {
            let candidates = bounds.tanhs(sums[r]);
            for n in 0..N {
                let unit = (block + n) * V::LANES;
                let before = match step.previous {
                    Some(rows) => load_units(rows.row(row + r), unit, units),
                    None => V::splat(0.0),
                };
                let update = V::load(step.between.update.add((row + r) * step.between.update_stride + unit));
                let hidden = update.fma(before.sub(candidates[n]), candidates[n]);
                store_units(hidden, step.hidden.row(row + r), unit, units);
            }
        }
    }
}

/// Makes the rows of the hidden operand ready.
///
/// # Safety
/// - As [`gates`] for the rows of h, as [`candidate`] for those of `r * h`.
#[inline(always)]
unsafe fn prepare<V: Vector, W: Weights>(
    cell: &PackedCell,
    step: &Step,
    rows: Option<Rows>,
) -> Option<W::Source> {
    match rows {
        // SAFETY: the caller's duty.
        Some(rows) => unsafe {
            Some(W::prepare::<V>(&one_step(rows, step.rows), cell.hidden.depth(), step.scratch))
        },
        None => None,
    }
}

/// The start of one gate of a block. [`PackedCell::step`] turns every start into finished products.
///
/// # Safety
/// - The step's pointers are valid for these rows and this block.
#[inline(always)]
unsafe fn start_gate<V: Vector, const R: usize>(
    step: &Step,
    block: usize,
    gate: usize,
    row: usize,
) -> [V; R] {
    // SAFETY: the caller's duty.
    unsafe {
        let mut sums = [V::splat(0.0); R];
        if let Start::Gates { gates, row_stride } = step.start {
            let column = (block * GATES + gate) * V::LANES;
            for r in 0..R {
                sums[r] = V::load(gates.add((row + r) * row_stride + column));
            }
        }
        sums
    }
}
