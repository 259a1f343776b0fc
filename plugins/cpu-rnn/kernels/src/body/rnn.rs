//! One step of a vanilla RNN: `h = f(W x + U h + b)` with tanh or `max(x, 0)`, as in the ONNX operator RNN.
//!
//! One gate alone would leave most of a register tile empty, so that up to four blocks of units are taken at once.

use proctor_rnn_layer::{Cell, RnnActivation};

use super::exp::Bounds;
use super::sweep::{Groups, HIDDEN, Operands, Tiles, add_product, start, store_units};
use super::weights::{Ahead, Weights};
use crate::args::Step;
use crate::cell::PackedCell;
use crate::vector::Vector;

/// # Safety
/// - As [`PackedCell::step`], for a vanilla RNN whose weights are of format `W` and packed for `V`.
/// - The processor has the instructions of `V`.
#[inline(always)]
pub(crate) unsafe fn step<V: Vector, W: Weights>(cell: &PackedCell, step: &Step) {
    let tiles = Tiles::narrow::<V>(step.rows);
    let mut groups = Groups::new(step, 4);
    // SAFETY: blocks and rows are those of the step; the rest is the caller's duty.
    unsafe {
        let operands = Operands::<W>::new::<V>(step, cell.input.depth(), cell.hidden.depth());
        while let Some((block, width)) = groups.next() {
            let next = groups.peek();
            let mut row = 0;
            for tile in 0..tiles.count() {
                let rows = tiles.rows(tile);
                let ahead = cell.hidden.ahead(next, width, tile, tiles.count());
                match (width, rows) {
                    (1, _) => {
                        for r in 0..rows {
                            self::tile::<V, W, 1, 1, 4>(cell, step, &operands, ahead, block, row + r);
                        }
                    }
                    (2, _) => {
                        for r in 0..rows {
                            self::tile::<V, W, 1, 2, 4>(cell, step, &operands, ahead, block, row + r);
                        }
                    }
                    (_, 1) => self::tile::<V, W, 1, 4, 2>(cell, step, &operands, ahead, block, row),
                    (_, 2) => self::tile::<V, W, 2, 4, 1>(cell, step, &operands, ahead, block, row),
                    (_, 3) if V::ROWS >= 3 => {
                        self::tile::<V, W, 3, 4, 1>(cell, step, &operands, ahead, block, row)
                    }
                    (_, 4) if V::ROWS >= 4 => {
                        self::tile::<V, W, 4, 4, 1>(cell, step, &operands, ahead, block, row)
                    }
                    (_, 5) if V::ROWS >= 5 => {
                        self::tile::<V, W, 5, 4, 1>(cell, step, &operands, ahead, block, row)
                    }
                    (_, 6) if V::ROWS >= 6 => {
                        self::tile::<V, W, 6, 4, 1>(cell, step, &operands, ahead, block, row)
                    }
                    _ => {}
                }
                row += rows;
            }
        }
    }
}

/// `N` blocks.
///
/// # Safety
/// - As [`step`], for rows and blocks of the step.
#[inline(always)]
unsafe fn tile<V: Vector, W: Weights, const R: usize, const N: usize, const P: usize>(
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
        let mut sums: [[V; N]; R] = start(step, &cell.input, unit, row);
        // One copy of the product's code, for both products.
        for which in 0..2 {
            let matrix = if which == HIDDEN { &cell.hidden } else { &cell.input };
            if let Some(source) = operands.source(which) {
                let mut panel = matrix.blocks_panel::<V, N>(block);
                if which == HIDDEN {
                    panel.ahead = ahead;
                }
                add_product::<V, W, R, N, P>(&source, row, &panel, matrix.depth(), &mut sums);
            }
        }
        let bounds = Bounds::new(cell.clip);
        let (clip, minus_clip, zero) = (V::splat(cell.clip), V::splat(-cell.clip), V::splat(0.0));
        for r in 0..R {
            let mut hidden = sums[r];
            if cell.kind == Cell::Rnn(RnnActivation::Relu) {
                for n in 0..N {
                    hidden[n] = hidden[n].at_least(minus_clip).at_most(clip).at_least(zero);
                }
            } else {
                hidden = bounds.tanhs(hidden);
            }
            for n in 0..N {
                store_units(hidden[n], step.hidden.row(row + r), unit + n * V::LANES, units);
            }
        }
    }
}
