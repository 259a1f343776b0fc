//! One step of a GRU whose reset gate acts on the hidden product: one sweep.
//!
//! `r, z = sigmoid(...)`, `n = tanh(x + r (U h + b))`, `h = (1 - z) n + z h`, as in the ONNX operator GRU with
//! `linear_before_reset = 1`.

use super::exp::Bounds;
use super::sweep::{Groups, HIDDEN, Operands, Tiles, add_product, load_units, start, store_units};
use super::weights::{Ahead, Weights};
use crate::args::Step;
use crate::cell::PackedCell;
use crate::vector::Vector;

/// # Safety
/// - As [`PackedCell::step`], for such a GRU whose weights are of format `W` and packed for `V`.
/// - The processor has the instructions of `V`.
#[inline(always)]
pub(crate) unsafe fn step<V: Vector, W: Weights>(cell: &PackedCell, step: &Step) {
    let tiles = Tiles::narrow::<V>(step.rows);
    // SAFETY: blocks and rows are those of the step; the rest is the caller's duty.
    unsafe {
        let operands = Operands::<W>::new::<V>(step, cell.input.depth(), cell.hidden.depth());
        let mut blocks = Groups::new(step, 1);
        while let Some((block, _)) = blocks.next() {
            let next = blocks.peek();
            let mut row = 0;
            for tile in 0..tiles.count() {
                let rows = tiles.rows(tile);
                let ahead = cell.hidden.ahead(next, 1, tile, tiles.count());
                match rows {
                    1 => self::tile::<V, W, 1, 3>(cell, step, &operands, ahead, block, row),
                    2 => self::tile::<V, W, 2, 2>(cell, step, &operands, ahead, block, row),
                    3 if V::ROWS >= 3 => self::tile::<V, W, 3, 1>(cell, step, &operands, ahead, block, row),
                    4 if V::ROWS >= 4 => self::tile::<V, W, 4, 1>(cell, step, &operands, ahead, block, row),
                    5 if V::ROWS >= 5 => self::tile::<V, W, 5, 1>(cell, step, &operands, ahead, block, row),
                    6 if V::ROWS >= 6 => self::tile::<V, W, 6, 1>(cell, step, &operands, ahead, block, row),
                    _ => {}
                }
                row += rows;
            }
        }
    }
}

/// # Safety
/// - As [`step`], for rows and a block of the step.
#[inline(always)]
unsafe fn tile<V: Vector, W: Weights, const R: usize, const P: usize>(
    cell: &PackedCell,
    step: &Step,
    operands: &Operands<W>,
    ahead: Ahead,
    block: usize,
    row: usize,
) {
    let (unit, units) = (block * V::LANES, cell.hidden.depth());
    // SAFETY: the caller's duty.
    unsafe {
        let mut gates: [[V; 3]; R] = start(step, &cell.input, 3 * unit, row);
        // The candidate's two products stay apart: the reset gate acts on one of them.
        let mut from_input = [V::splat(0.0); R];
        // One copy of the product's code, for both products.
        for which in 0..2 {
            let matrix = if which == HIDDEN { &cell.hidden } else { &cell.input };
            if which == HIDDEN {
                let bias = V::load(cell.candidate_bias(block));
                for r in 0..R {
                    from_input[r] = gates[r][2];
                    gates[r][2] = bias;
                }
            }
            if let Some(source) = operands.source(which) {
                let mut panel = matrix.panel::<V, 3>(block);
                if which == HIDDEN {
                    panel.ahead = ahead;
                }
                add_product::<V, W, R, 3, P>(&source, row, &panel, matrix.depth(), &mut gates);
            }
        }
        let bounds = Bounds::new(cell.clip);
        let (mut candidates, mut updates) = (from_input, from_input);
        for r in 0..R {
            let [reset, update, from_hidden] = gates[r];
            let [reset, update] = bounds.sigmoids([reset, update]);
            candidates[r] = reset.fma(from_hidden, from_input[r]);
            updates[r] = update;
        }
        candidates = bounds.tanhs(candidates);
        for r in 0..R {
            let before = match step.previous {
                Some(rows) => load_units(rows.row(row + r), unit, units),
                None => V::splat(0.0),
            };
            // (1 - z) n + z h = n + z (h - n).
            let hidden = updates[r].fma(before.sub(candidates[r]), candidates[r]);
            store_units(hidden, step.hidden.row(row + r), unit, units);
        }
    }
}
