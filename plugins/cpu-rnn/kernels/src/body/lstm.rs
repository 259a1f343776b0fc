//! One step of an LSTM.
//!
//! `i, f, o = sigmoid(...)`, `g = tanh(...)`, `c = f c + i g`, `h = o tanh(c)`; with peepholes i and f see the cell state
//! before and o the one after, as in the ONNX operator LSTM.

use super::exp::Bounds;
use super::sweep::{HIDDEN, Operands, Tiles, add_product, start, store_units};
use super::weights::Weights;
use crate::args::Step;
use crate::cell::PackedCell;
use crate::vector::Vector;

/// # Safety
/// - As [`PackedCell::step`], for an LSTM whose weights are of format `W` and packed for `V`.
/// - The processor has the instructions of `V`.
#[inline(always)]
pub(crate) unsafe fn step<V: Vector, W: Weights>(cell: &PackedCell, step: &Step) {
    let tiles = Tiles::new(step.rows, V::ROWS);
    // SAFETY: blocks and rows are those of the step; the rest is the caller's duty.
    unsafe {
        let operands = Operands::<W>::new::<V>(step, cell.input.depth(), cell.hidden.depth());
        for index in step.blocks.clone() {
            let block = if step.descending { step.blocks.start + step.blocks.end - 1 - index } else { index };
            let mut row = 0;
            for tile in 0..tiles.count() {
                let rows = tiles.rows(tile);
                match rows {
                    1 => self::tile::<V, W, 1, 2>(cell, step, &operands, block, row),
                    2 => self::tile::<V, W, 2, 1>(cell, step, &operands, block, row),
                    3 if V::ROWS >= 3 => self::tile::<V, W, 3, 1>(cell, step, &operands, block, row),
                    4 if V::ROWS >= 4 => self::tile::<V, W, 4, 1>(cell, step, &operands, block, row),
                    5 if V::ROWS >= 5 => self::tile::<V, W, 5, 1>(cell, step, &operands, block, row),
                    6 if V::ROWS >= 6 => self::tile::<V, W, 6, 1>(cell, step, &operands, block, row),
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
    block: usize,
    row: usize,
) {
    let (unit, units) = (block * V::LANES, cell.hidden.depth());
    // SAFETY: the caller's duty.
    unsafe {
        let mut gates: [[V; 4]; R] = start(step, &cell.input, 4 * unit, row);
        // One copy of the product's code, for both products.
        for which in 0..2 {
            let matrix = if which == HIDDEN { &cell.hidden } else { &cell.input };
            if let Some(source) = operands.source(which) {
                let panel = matrix.panel::<V, 4>(block);
                add_product::<V, W, R, 4, P>(&source, row, &panel, matrix.depth(), &mut gates);
            }
        }
        let bounds = Bounds::new(cell.clip);
        let peepholes = cell.peepholes(block);
        for r in 0..R {
            let state = step.cell.add((row + r) * step.cell_stride + unit);
            let hidden = if let Some(peepholes) = peepholes {
                with_peepholes(gates[r], state, peepholes, &bounds)
            } else {
                plain(gates[r], state, &bounds)
            };
            store_units(hidden, step.hidden.row(row + r), unit, units);
        }
    }
}

/// The cell of one vector of units: updates the state and returns h.
///
/// # Safety
/// - The processor has the instructions of `V`; a vector can be read and written at `state`.
#[inline(always)]
unsafe fn plain<V: Vector>([i, f, g, o]: [V; 4], state: *mut f32, bounds: &Bounds<V>) -> V {
    // SAFETY: the caller's duty.
    unsafe {
        let c = V::load(state).fma(bounds.sigmoid(f), bounds.sigmoid_times_tanh(i, g));
        c.store(state);
        bounds.sigmoid_times_tanh(o, c)
    }
}

/// The same with peepholes `[i, f, o][lane]`.
///
/// # Safety
/// - As [`plain`]; three vectors can be read at `peepholes`.
#[inline(always)]
unsafe fn with_peepholes<V: Vector>(
    [i, f, g, o]: [V; 4],
    state: *mut f32,
    peepholes: *const f32,
    bounds: &Bounds<V>,
) -> V {
    // SAFETY: the caller's duty.
    unsafe {
        let before = V::load(state);
        let i = before.fma(V::load(peepholes), i);
        let f = before.fma(V::load(peepholes.add(V::LANES)), f);
        let c = before.fma(bounds.sigmoid(f), bounds.sigmoid_times_tanh(i, g));
        c.store(state);
        bounds.sigmoid_times_tanh(c.fma(V::load(peepholes.add(2 * V::LANES)), o), c)
    }
}
