//! One step of a GRU whose reset gate acts on the hidden product: one sweep.
//!
//! `r, z = sigmoid(...)`, `n = tanh(x + r (U h + b))`, `h = (1 - z) n + z h`, as in the ONNX operator GRU with
//! `linear_before_reset = 1`.

use std::mem::MaybeUninit;

use super::exp::Bounds;
use super::operands::{HIDDEN, INPUT, Operands, start};
use super::shared::Products;
use super::sweep::{Groups, ONE_ROW_BLOCKS, Tiles};
use super::tile::{ROWS_MAX, TileRows, block_products, copy, with_rows};
use super::units::{At, load_units, store_units};
use super::weights::Weights;
use crate::args::Step;
use crate::packed::PackedWeights;
use crate::panel::{Ahead, Initial};
use crate::vector::Vector;

/// Rows of gates r, z, n of a tile. n has two parts, which stay apart: the reset gate acts on the hidden one alone.
struct Gates<V> {
    /// r and z of both products, the hidden part of n.
    sums: *mut [V; 3],
    /// Input products, where the step computes them.
    inputs: *mut [V; 3],
}

/// # Safety
/// - As [`PackedCell::step`](crate::PackedCell::step), for such a GRU whose weights are of format `W` and packed for
///   `V`.
/// - The processor has the instructions of `V`.
#[inline(always)]
pub(crate) unsafe fn step<V: Products<W>, W: Weights>(cell: &PackedWeights, step: &Step) {
    let mut room = [const { MaybeUninit::<[[V; 3]; ROWS_MAX]>::uninit() }; 2];
    let [sums, inputs]: [*mut [V; 3]; 2] = room.each_mut().map(|rows| rows.as_mut_ptr().cast());
    let width = 3 * V::LANES;
    // SAFETY: blocks and rows are those of the step, whose pointers are valid for them; `room` has the rows of a tile.
    unsafe {
        if step.rows == 1 {
            let operands = Operands::<W>::of_one_row::<V>(step, cell.input.depth, cell.hidden.depth);
            let mut groups = Groups::new(step, ONE_ROW_BLOCKS);
            while let Some((block, count)) = groups.next() {
                let mut from_input = std::ptr::null();
                for visit in 0..count {
                    let index = if step.descending { count - 1 - visit } else { visit };
                    let gates = Gates { sums: sums.add(index), inputs: inputs.add(index) };
                    let ahead = cell.hidden.nothing_ahead();
                    let (at, _) = tile::<V, W, 1>(cell, step, &operands, ahead, block + index, 0, 1, gates);
                    // The gates have the same layout as `inputs`.
                    from_input = at.wrapping_sub(index * width);
                }
                let (inputs, at) = ((from_input, width), At::blocks(block));
                match count {
                    4 => V::gru_cells::<4>(cell, step, sums, inputs, at),
                    2 => V::gru_cells::<2>(cell, step, sums, inputs, at),
                    _ => V::gru_cells::<1>(cell, step, sums, inputs, at),
                }
            }
            return;
        }
        let tiles = Tiles::narrow::<V>(step.rows);
        let operands = Operands::<W>::new::<V>(step, cell.input.depth, cell.hidden.depth);
        let mut blocks = Groups::new(step, 1);
        while let Some((block, _)) = blocks.next() {
            let next = blocks.peek();
            let mut row = 0;
            for index in 0..tiles.count() {
                let rows = tiles.rows(index);
                let ahead = cell.hidden.ahead(next, 1, index, tiles.count());
                let gates = Gates { sums, inputs };
                let (from_input, stride) =
                    tile::<V, W, ROWS_MAX>(cell, step, &operands, ahead, block, row, rows, gates);
                // The cells of six rows at once would need more registers than there are.
                let parts = if rows == 6 { 2 } else { 1 };
                for part in 0..parts {
                    let (height, first) = (rows / parts, part * (rows / parts));
                    let inputs = (from_input.add(first * stride), stride);
                    let (sums, at) = (sums.add(first), At::rows(row + first, block));
                    with_rows!(V, height, H => V::gru_cells::<H>(cell, step, sums, inputs, at));
                }
                row += rows;
            }
        }
    }
}

/// Returns the sums of `count` rows of a block, at most `M`. Returns where the input part of n lies, and how far it is
/// from row to row.
///
/// # Safety
/// - As [`step`](self::step), for rows and a block of the step; `gates` has room for these rows.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "inlined everywhere: a struct of them would live for one call")]
unsafe fn tile<V: Products<W>, W: Weights, const M: usize>(
    cell: &PackedWeights,
    step: &Step,
    operands: &Operands<W>,
    ahead: Ahead,
    block: usize,
    row: usize,
    count: usize,
    gates: Gates<V>,
) -> (*const f32, usize) {
    let width = 3 * V::LANES;
    // SAFETY: rows and block are the step's, and `gates` has these rows.
    unsafe {
        let (mut from, mut stride) = start(step, &cell.input, block * width, row);
        if let Some(source) = operands.source(INPUT) {
            let rows = TileRows::successive(&source, row, count, gates.inputs.cast(), width);
            let (panel, initial) = (cell.input.panel::<V, 3>(block), Initial::successive::<V>(from, stride));
            block_products::<V, W, M, 3, 3>((&cell.input, block), &panel, &rows, count, &initial);
            (from, stride) = (gates.inputs.cast::<f32>().cast_const(), width);
        }
        let mut initial = Initial::successive::<V>(from, stride);
        let from_input = initial.at[2];
        (initial.at[2], initial.strides[2]) = (cell.candidate_bias(block), 0);
        match operands.source(HIDDEN) {
            Some(source) => {
                let rows = TileRows::successive(&source, row, count, gates.sums.cast(), width);
                let mut panel = cell.hidden.panel::<V, 3>(block);
                panel.ahead = ahead;
                block_products::<V, W, M, 3, 3>((&cell.hidden, block), &panel, &rows, count, &initial);
            }
            None => copy(&initial, count, gates.sums),
        }
        (from_input, stride)
    }
}

/// Computes the cells of `H` vectors of units.
///
/// # Safety
/// - As [`Shared::gru_cells`](super::shared::Shared::gru_cells); the processor has the instructions of `V`.
#[inline(always)]
pub(crate) unsafe fn cells<V: Vector, const H: usize>(
    cell: &PackedWeights,
    step: &Step,
    gates: *const [V; 3],
    (inputs, stride): (*const f32, usize),
    at: At,
) {
    let units = cell.hidden.depth;
    // SAFETY: indices are below `H`, so that gates, inputs, rows and blocks are there.
    unsafe {
        let gates: &[[V; 3]; H] = &*gates.cast();
        let bounds = Bounds::new(cell.clip);
        let (mut candidates, mut updates) = ([gates[0][0]; H], [gates[0][0]; H]);
        for index in 0..H {
            candidates[index] = gates[index][0];
            updates[index] = gates[index][1];
        }
        let resets = bounds.sigmoids(candidates);
        updates = bounds.sigmoids(updates);
        for index in 0..H {
            let from_input = V::load(inputs.add(index * stride));
            candidates[index] = resets[index].fma(gates[index][2], from_input);
        }
        candidates = bounds.tanhs(candidates);
        for index in 0..H {
            let (row, block) = at.of(index);
            let unit = block * V::LANES;
            let before = match step.previous {
                Some(rows) => load_units(rows.row(row), unit, units),
                None => V::splat(0.0),
            };
            // (1 - z) n + z h = n + z (h - n).
            let hidden = updates[index].fma(before.sub(candidates[index]), candidates[index]);
            store_units(hidden, step.hidden.row(row), unit, units);
        }
    }
}
