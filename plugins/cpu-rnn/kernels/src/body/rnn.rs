//! One step of a vanilla RNN: `h = f(W x + U h + b)` with tanh or `max(x, 0)`, as in the ONNX operator RNN.
//!
//! One gate alone would leave most of a register tile empty, so that up to four blocks of units are taken at once.

use std::mem::MaybeUninit;

use proctor_rnn_layer::{Cell, RnnActivation};

use super::exp::Bounds;
use super::operands::{HIDDEN, Operands, start};
use super::shared::Products;
use super::sweep::{Groups, Tiles};
use super::tile::{ROWS_MAX, TileRows, copy, products};
use super::units::store_units;
use super::weights::Weights;
use crate::args::Step;
use crate::packed::PackedWeights;
use crate::panel::{ANYWHERE, Ahead, Initial};
use crate::vector::Vector;

/// # Safety
/// - As [`PackedCell::step`](crate::PackedCell::step), for a vanilla RNN whose weights are of format `W` and packed for
///   `V`.
/// - The processor has the instructions of `V`.
#[inline(always)]
pub(crate) unsafe fn step<V: Products<W>, W: Weights>(cell: &PackedWeights, step: &Step) {
    let tiles = Tiles::narrow::<V>(step.rows);
    let mut groups = Groups::new(step, 4);
    // SAFETY: blocks and rows are those of the step, whose pointers are valid for them.
    unsafe {
        let operands = Operands::<W>::new::<V>(step, cell.input.depth, cell.hidden.depth);
        while let Some((block, width)) = groups.next() {
            let next = groups.peek();
            let mut row = 0;
            for index in 0..tiles.count() {
                let rows = (row, tiles.rows(index));
                let ahead = cell.hidden.ahead(next, width, index, tiles.count());
                match width {
                    4 => tile::<V, W, 4>(cell, step, &operands, ahead, block, rows),
                    2 => tile::<V, W, 2>(cell, step, &operands, ahead, block, rows),
                    _ => tile::<V, W, 1>(cell, step, &operands, ahead, block, rows),
                }
                row += rows.1;
            }
        }
    }
}

/// Computes `count` rows of `N` blocks, from `row` on.
///
/// # Safety
/// - As [`step`](self::step), for rows and blocks of the step.
#[inline(always)]
unsafe fn tile<V: Products<W>, W: Weights, const N: usize>(
    cell: &PackedWeights,
    step: &Step,
    operands: &Operands<W>,
    ahead: Ahead,
    block: usize,
    (row, count): (usize, usize),
) {
    // SAFETY: rows and blocks are the step's; each product starts from what is there: the step's start, then the sums.
    unsafe {
        let mut room = MaybeUninit::<[[V; N]; ROWS_MAX]>::uninit();
        let sums: *mut [V; N] = room.as_mut_ptr().cast();
        let (mut from, mut stride) = start(step, &cell.input, block * V::LANES, row);
        let mut is_copy = true;
        for which in 0..2 {
            let matrix = if which == HIDDEN { &cell.hidden } else { &cell.input };
            let Some(source) = operands.source(which) else { continue };
            let mut panel = matrix.blocks_panel::<V, N>(block);
            if which == HIDDEN {
                panel.ahead = ahead;
            }
            let rows = TileRows::successive(&source, row, count, sums.cast(), N * V::LANES);
            let initial = Initial::successive::<V>(from, stride);
            products::<V, W, ROWS_MAX, N, ANYWHERE>(&panel, matrix.depth, &rows, count, &initial);
            (from, stride, is_copy) = (sums.cast::<f32>().cast_const(), N * V::LANES, false);
        }
        if is_copy {
            copy(&Initial::successive::<V>(from, stride), count, sums);
        }
        V::rnn_rows::<N>(cell, step, sums, (row, count), block);
    }
}

/// Computes hidden states of `N` blocks.
///
/// # Safety
/// - As [`Shared::rnn_rows`](super::shared::Shared::rnn_rows); the processor has the instructions of `V`.
#[inline(always)]
pub(crate) unsafe fn rows<V: Vector, const N: usize>(
    cell: &PackedWeights,
    step: &Step,
    sums: *const [V; N],
    (first, count): (usize, usize),
    block: usize,
) {
    let units = cell.hidden.depth;
    // SAFETY: rows and units are those of the step.
    unsafe {
        let bounds = Bounds::new(cell.clip);
        let (clip, minus_clip, zero) = (V::splat(cell.clip), V::splat(-cell.clip), V::splat(0.0));
        for r in 0..count {
            let mut hidden = *sums.add(r);
            if cell.kind == Cell::Rnn(RnnActivation::Relu) {
                for n in 0..N {
                    hidden[n] = hidden[n].at_least(minus_clip).at_most(clip).at_least(zero);
                }
            } else {
                hidden = bounds.tanhs(hidden);
            }
            for n in 0..N {
                store_units(hidden[n], step.hidden.row(first + r), (block + n) * V::LANES, units);
            }
        }
    }
}
