//! One step of an LSTM.
//!
//! `i, f, o = sigmoid(...)`, `g = tanh(...)`, `c = f c + i g`, `h = o tanh(c)`; with peepholes i and f see the cell
//! state before and o the one after, as in the ONNX operator LSTM.

use std::mem::MaybeUninit;

use super::exp::Bounds;
use super::exp::Kind::{Sigmoid, Tanh};
use super::operands::{HIDDEN, Operands, start};
use super::shared::Products;
use super::sweep::{Groups, ONE_ROW_BLOCKS, Tiles};
use super::tile::{ROWS_MAX, TileRows, block_products, copy, wide_products, with_rows};
use super::units::{At, store_units};
use super::weights::Weights;
use crate::args::Step;
use crate::packed::PackedWeights;
use crate::panel::{Ahead, Initial};
use crate::vector::{ROWS_OF_WIDE, Vector};

/// # Safety
/// - As [`PackedCell::step`](crate::PackedCell::step), for an LSTM whose weights are of format `W` and packed for `V`.
/// - The processor has the instructions of `V`.
#[inline(always)]
pub(crate) unsafe fn step<V: Products<W>, W: Weights>(cell: &PackedWeights, step: &Step) {
    let mut room = MaybeUninit::<[[V; 4]; ROWS_MAX]>::uninit();
    let gates: *mut [V; 4] = room.as_mut_ptr().cast();
    // SAFETY: blocks and rows are those of the step, whose pointers are valid for them; `room` has the rows of a tile.
    unsafe {
        if step.rows == 1 {
            let operands = Operands::<W>::of_one_row::<V>(step, cell.input.depth, cell.hidden.depth);
            let ahead = [cell.hidden.nothing_ahead(); 2];
            let mut groups = Groups::new(step, ONE_ROW_BLOCKS);
            while let Some((block, width)) = groups.next() {
                for visit in 0..width {
                    let index = if step.descending { width - 1 - visit } else { visit };
                    tile::<V, W, 1>(cell, step, &operands, ahead, block + index, 0, 1, gates.add(index));
                }
                let at = At::blocks(block);
                match width {
                    4 => V::lstm_cells::<4>(cell, step, gates, at),
                    2 => V::lstm_cells::<2>(cell, step, gates, at),
                    _ => V::lstm_cells::<1>(cell, step, gates, at),
                }
            }
            return;
        }
        // Only narrow tiles have columns side by side; the input's columns lie as the hidden ones do.
        let (whole, narrow) = (Tiles::wide_or_narrow::<V>(step.rows), Tiles::narrow::<V>(step.rows));
        let operands = Operands::<W>::new::<V>(step, cell.input.depth, cell.hidden.depth);
        let mut blocks = Groups::new(step, 1);
        while let Some((block, _)) = blocks.next() {
            let next = blocks.peek();
            let tiles = if cell.hidden.dense(block).is_some() { narrow } else { whole };
            let mut row = 0;
            for index in 0..tiles.count() {
                let rows = tiles.rows(index);
                // A wide tile sweeps the block twice, and asks for half of the next one in each.
                let halves = if rows > V::ROWS { 2 } else { 1 };
                let (part, parts) = (halves * index, halves * tiles.count());
                let ahead =
                    [cell.hidden.ahead(next, 1, part, parts), cell.hidden.ahead(next, 1, part + 1, parts)];
                tile::<V, W, ROWS_MAX>(cell, step, &operands, ahead, block, row, rows, gates);
                for half in 0..halves {
                    let (height, first) = (rows / halves, half * (rows / halves));
                    let (gates, at) = (gates.add(first), At::rows(row + first, block));
                    with_rows!(V, height, H => V::lstm_cells::<H>(cell, step, gates, at));
                }
                row += rows;
            }
        }
    }
}

/// Computes the gates of `count` rows of a block, at most `M`, to `gates`. A wide tile asks for the second part of
/// `ahead`, too.
///
/// # Safety
/// - As [`step`](self::step), for rows and a block of the step; `gates` has room for these rows.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "inlined everywhere: a struct of them would live for one call")]
unsafe fn tile<V: Products<W>, W: Weights, const M: usize>(
    cell: &PackedWeights,
    step: &Step,
    operands: &Operands<W>,
    ahead: [Ahead; 2],
    block: usize,
    row: usize,
    count: usize,
    gates: *mut [V; 4],
) {
    // SAFETY: rows and block are the step's; each product starts from what is there: the step's start, then `gates`.
    unsafe {
        let (mut from, mut stride) = start(step, &cell.input, 4 * block * V::LANES, row);
        let mut is_copy = true;
        for which in 0..2 {
            let matrix = if which == HIDDEN { &cell.hidden } else { &cell.input };
            let Some(source) = operands.source(which) else { continue };
            let ahead = if which == HIDDEN { ahead } else { [matrix.nothing_ahead(); 2] };
            if const { M > 1 && V::ROWS >= ROWS_OF_WIDE } && count > V::ROWS {
                for half in 0..2 {
                    let offset = 2 * half * V::LANES;
                    let mut panel = matrix.part_panel::<V, 2, 4>(block, 2 * half);
                    panel.ahead = ahead[half];
                    let to = gates.cast::<f32>().add(offset);
                    let rows = TileRows::successive(&source, row, count, to, 4 * V::LANES);
                    let initial = Initial::successive::<V>(from.add(offset), stride);
                    wide_products::<V, W>(&panel, matrix.depth, &rows, count, &initial);
                }
            } else {
                let mut panel = matrix.panel::<V, 4>(block);
                panel.ahead = ahead[0];
                let rows = TileRows::successive(&source, row, count, gates.cast(), 4 * V::LANES);
                let initial = Initial::successive::<V>(from, stride);
                block_products::<V, W, M, 4, 4>((matrix, block), &panel, &rows, count, &initial);
            }
            (from, stride, is_copy) = (gates.cast::<f32>().cast_const(), 4 * V::LANES, false);
        }
        if is_copy {
            copy::<V, 4>(&Initial::successive::<V>(from, stride), count, gates);
        }
    }
}

/// Computes the cells of `H` vectors of units.
///
/// # Safety
/// - As [`Shared::lstm_cells`](super::shared::Shared::lstm_cells); the processor has the instructions of `V`.
#[inline(always)]
pub(crate) unsafe fn cells<V: Vector, const H: usize>(
    cell: &PackedWeights,
    step: &Step,
    gates: *const [V; 4],
    at: At,
) {
    let units = cell.hidden.depth;
    // SAFETY: indices are below `H`, so that gates, rows and blocks are there; states are padded to whole blocks.
    unsafe {
        let gates: &[[V; 4]; H] = &*gates.cast();
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
    // SAFETY: the caller vouches for the instructions of `V` and for the vector at `at`.
    unsafe {
        let one = V::splat(1.0);
        // sigmoid(i) tanh(g) with one reciprocal.
        let fresh = one.sub(g).mul(one.add(i).mul(one.add(g)).reciprocal());
        let state = V::load(at).fma(one.add(f).reciprocal(), fresh);
        state.store(at);
        (state, one.add(o))
    }
}

/// Returns the cell of one vector of units with peepholes `[i, f, o][lane]`: updates the state and returns h.
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
    // SAFETY: the caller vouches for the instructions of `V`, the vector at `at` and the three at `peepholes`.
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
