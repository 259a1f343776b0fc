//! One step of an LSTM.
//!
//! `i, f, o = sigmoid(...)`, `g = tanh(...)`, `c = f c + i g`, `h = o tanh(c)`; with peepholes i and f see the cell state
//! before and o the one after, as in the ONNX operator LSTM.

use super::exp::Bounds;
use super::exp::Kind::{Sigmoid, Tanh};
use super::sweep::{
    At, Groups, HIDDEN, ONE_ROW_BLOCKS, Operands, ROWS_OF_WIDE, Tiles, add_part, add_product, start,
    store_units,
};
use super::weights::{Ahead, Weights};
use crate::args::Step;
use crate::cell::PackedCell;
use crate::vector::Vector;

/// # Safety
/// - As [`PackedCell::step`], for an LSTM whose weights are of format `W` and packed for `V`.
/// - The processor has the instructions of `V`.
#[inline(always)]
pub(crate) unsafe fn step<V: Vector, W: Weights>(cell: &PackedCell, step: &Step) {
    let tiles = Tiles::wide_or_narrow::<V>(step.rows);
    // SAFETY: blocks and rows are those of the step; the rest is the caller's duty.
    unsafe {
        if step.rows == 1 {
            let operands = Operands::<W>::of_one_row::<V>(step, cell.input.depth(), cell.hidden.depth());
            let mut groups = Groups::new(step, ONE_ROW_BLOCKS);
            while let Some((block, width)) = groups.next() {
                one_row::<V, W>(cell, step, &operands, block, width);
            }
            return;
        }
        let operands = Operands::<W>::new::<V>(step, cell.input.depth(), cell.hidden.depth());
        let mut blocks = Groups::new(step, 1);
        while let Some((block, _)) = blocks.next() {
            let next = blocks.peek();
            let mut row = 0;
            for tile in 0..tiles.count() {
                let rows = tiles.rows(tile);
                // A wide tile sweeps the block twice, and asks for half of the next one in each.
                let sweeps = if rows > V::ROWS { 2 } else { 1 };
                let (part, parts) = (sweeps * tile, sweeps * tiles.count());
                let ahead =
                    [cell.hidden.ahead(next, 1, part, parts), cell.hidden.ahead(next, 1, part + 1, parts)];
                match rows {
                    1 => self::tile::<V, W, 1, 2, 1>(cell, step, &operands, ahead, block, row),
                    2 => self::tile::<V, W, 2, 1, 2>(cell, step, &operands, ahead, block, row),
                    3 if V::ROWS >= 3 => {
                        self::tile::<V, W, 3, 1, 3>(cell, step, &operands, ahead, block, row)
                    }
                    4 if V::ROWS >= 4 => {
                        self::tile::<V, W, 4, 1, 4>(cell, step, &operands, ahead, block, row)
                    }
                    5 if V::ROWS >= 5 => {
                        self::tile::<V, W, 5, 1, 5>(cell, step, &operands, ahead, block, row)
                    }
                    6 if V::ROWS >= 6 => {
                        self::tile::<V, W, 6, 1, 6>(cell, step, &operands, ahead, block, row)
                    }
                    8 if V::ROWS >= ROWS_OF_WIDE => {
                        self::tile::<V, W, 8, 1, 4>(cell, step, &operands, ahead, block, row);
                    }
                    10 if V::ROWS >= ROWS_OF_WIDE => {
                        self::tile::<V, W, 10, 1, 5>(cell, step, &operands, ahead, block, row);
                    }
                    12 if V::ROWS >= ROWS_OF_WIDE => {
                        self::tile::<V, W, 12, 1, 6>(cell, step, &operands, ahead, block, row);
                    }
                    _ => {}
                }
                row += rows;
            }
        }
    }
}

/// The only row of `width` blocks, which are 1, 2 or 4: first the products, then the cells together; see
/// [`ONE_ROW_BLOCKS`].
///
/// # Safety
/// - As [`step`], for blocks of the step, which has one row.
#[inline(always)]
unsafe fn one_row<V: Vector, W: Weights>(
    cell: &PackedCell,
    step: &Step,
    operands: &Operands<W>,
    block: usize,
    width: usize,
) {
    // SAFETY: the caller's duty; `width` gates are there.
    unsafe {
        let mut gates = [[V::splat(0.0); 4]; ONE_ROW_BLOCKS];
        for visit in 0..width {
            let index = if step.descending { width - 1 - visit } else { visit };
            let block = block + index;
            let mut sums: [[V; 4]; 1] = start(step, &cell.input, 4 * block * V::LANES, 0);
            // One copy of the product's code, for both products.
            for which in 0..2 {
                let matrix = if which == HIDDEN { &cell.hidden } else { &cell.input };
                let Some(source) = operands.source(which) else { continue };
                let panel = matrix.panel::<V, 4>(block);
                add_product::<V, W, 1, 4, 2>(&source, 0, &panel, matrix.depth(), &mut sums);
            }
            [gates[index]] = sums;
        }
        let at = At::blocks(block);
        match width {
            4 => finish::<V, 4>(cell, step, &gates, at),
            2 => finish::<V, 2>(cell, step, &*gates.as_ptr().cast(), at),
            _ => finish::<V, 1>(cell, step, &*gates.as_ptr().cast(), at),
        }
    }
}

/// `R` rows of a block; the cells `H` rows at a time. A wide tile asks for the second part of `ahead`, too.
///
/// # Safety
/// - As [`step`], for rows and a block of the step. `H` divides `R`.
#[inline(always)]
unsafe fn tile<V: Vector, W: Weights, const R: usize, const P: usize, const H: usize>(
    cell: &PackedCell,
    step: &Step,
    operands: &Operands<W>,
    ahead: [Ahead; 2],
    block: usize,
    row: usize,
) {
    // SAFETY: the caller's duty; `done + H <= R` rows of gates are there.
    unsafe {
        let unit = block * V::LANES;
        let mut gates: [[V; 4]; R] = start(step, &cell.input, 4 * unit, row);
        // One copy of the product's code, for both products.
        for which in 0..2 {
            let matrix = if which == HIDDEN { &cell.hidden } else { &cell.input };
            let Some(source) = operands.source(which) else { continue };
            if R > V::ROWS {
                for half in 0..2 {
                    let ahead = if which == HIDDEN { ahead[half] } else { matrix.nothing_ahead() };
                    add_part::<V, W, R, 2, 4>(&source, row, matrix, block, 2 * half, ahead, &mut gates);
                }
            } else {
                let mut panel = matrix.panel::<V, 4>(block);
                if which == HIDDEN {
                    panel.ahead = ahead[0];
                }
                add_product::<V, W, R, 4, P>(&source, row, &panel, matrix.depth(), &mut gates);
            }
        }
        let mut done = 0;
        while done < R {
            let part: &[[V; 4]; H] = &*gates.as_ptr().add(done).cast();
            finish(cell, step, part, At::rows(row + done, block));
            done += H;
        }
    }
}

/// The cells of `H` vectors of units.
///
/// # Safety
/// - As [`step`], for rows and blocks of the step.
#[inline(always)]
unsafe fn finish<V: Vector, const H: usize>(cell: &PackedCell, step: &Step, gates: &[[V; 4]; H], at: At) {
    let units = cell.hidden.depth();
    // SAFETY: the caller's duty.
    unsafe {
        let bounds = Bounds::new(cell.clip);
        let (mut places, mut to) = ([step.cell; H], [step.cell; H]);
        for index in 0..H {
            let (row, block) = at.of(index);
            places[index] = step.cell.add(row * step.cell_stride + block * V::LANES);
            to[index] = step.hidden.row(row);
        }
        if cell.has_peepholes() {
            for index in 0..H {
                let block = at.of(index).1;
                let Some(peepholes) = cell.peepholes(block) else { continue };
                let hidden = with_peepholes(gates[index], places[index], peepholes, &bounds);
                store_units(hidden, to[index], block * V::LANES, units);
            }
            return;
        }
        // All cell states first, two vectors at a time; then all hidden states together.
        let (mut states, mut output) = ([gates[0][0]; H], [gates[0][0]; H]);
        let mut index = 0;
        while index < H {
            if index + 1 < H && V::ROWS >= ROWS_OF_WIDE {
                let ([i, f, g, o], [i1, f1, g1, o1]) = (gates[index], gates[index + 1]);
                let kinds = [Sigmoid, Sigmoid, Tanh, Sigmoid, Sigmoid, Sigmoid, Tanh, Sigmoid];
                let [i, f, g, o, i1, f1, g1, o1] = bounds.powers(kinds, [i, f, g, o, i1, f1, g1, o1]);
                (states[index], output[index]) = state([i, f, g, o], places[index]);
                (states[index + 1], output[index + 1]) = state([i1, f1, g1, o1], places[index + 1]);
                index += 2;
            } else {
                let powers = bounds.powers([Sigmoid, Sigmoid, Tanh, Sigmoid], gates[index]);
                (states[index], output[index]) = state(powers, places[index]);
                index += 1;
            }
        }
        let hidden = bounds.gated_tanhs(output, states);
        for index in 0..H {
            store_units(hidden[index], to[index], at.of(index).1 * V::LANES, units);
        }
    }
}

/// Updates a vector of cell states at `at` from the powers `e^-i`, `e^-f`, `e^-2g`, `e^-o`, and returns it with the
/// denominator of the output gate.
///
/// # Safety
/// - The processor has the instructions of `V`; a vector can be read and written at `at`.
#[inline(always)]
unsafe fn state<V: Vector>([i, f, g, o]: [V; 4], at: *mut f32) -> (V, V) {
    // SAFETY: the caller's duty.
    unsafe {
        let one = V::splat(1.0);
        // sigmoid(i) tanh(g) with one reciprocal.
        let fresh = one.sub(g).mul(one.add(i).mul(one.add(g)).reciprocal());
        let state = V::load(at).fma(one.add(f).reciprocal(), fresh);
        state.store(at);
        (state, one.add(o))
    }
}

/// The cell of one vector of units with peepholes `[i, f, o][lane]`: updates the state and returns h.
///
/// # Safety
/// - The processor has the instructions of `V`; a vector can be read and written at `at`, three read at `peepholes`.
#[inline(always)]
unsafe fn with_peepholes<V: Vector>(
    [i, f, g, o]: [V; 4],
    at: *mut f32,
    peepholes: *const f32,
    bounds: &Bounds<V>,
) -> V {
    // SAFETY: the caller's duty.
    unsafe {
        let before = V::load(at);
        let i = before.fma(V::load(peepholes), i);
        let f = before.fma(V::load(peepholes.add(V::LANES)), f);
        let [i, f, g] = bounds.powers([Sigmoid, Sigmoid, Tanh], [i, f, g]);
        let (after, _) = state([i, f, g, g], at);
        let o = after.fma(V::load(peepholes.add(2 * V::LANES)), o);
        let [o] = bounds.powers([Sigmoid], [o]);
        let [hidden] = bounds.gated_tanhs([V::splat(1.0).add(o)], [after]);
        hidden
    }
}
