//! One step of a GRU whose reset gate acts on the hidden product: one sweep.
//!
//! `r, z = sigmoid(...)`, `n = tanh(x + r (U h + b))`, `h = (1 - z) n + z h`, as in the ONNX operator GRU with
//! `linear_before_reset = 1`.

use super::exp::Bounds;
use super::sweep::{
    At, Groups, HIDDEN, ONE_ROW_BLOCKS, Operands, Tiles, add_product, load_units, start, store_units,
};
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
                let ahead = cell.hidden.ahead(next, 1, tile, tiles.count());
                match rows {
                    1 => self::tile::<V, W, 1, 3, 1>(cell, step, &operands, ahead, block, row),
                    2 => self::tile::<V, W, 2, 2, 2>(cell, step, &operands, ahead, block, row),
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
                        self::tile::<V, W, 6, 1, 3>(cell, step, &operands, ahead, block, row)
                    }
                    _ => {}
                }
                row += rows;
            }
        }
    }
}

/// What a cell is computed from: r, z, the hidden and the input part of n. The candidate's two parts stay apart, because the
/// reset gate acts on one of them.
type Sums<V> = [V; 4];

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
    // SAFETY: the caller's duty; `width` sums are there.
    unsafe {
        let mut sums = [[V::splat(0.0); 4]; ONE_ROW_BLOCKS];
        for visit in 0..width {
            let index = if step.descending { width - 1 - visit } else { visit };
            let ahead = cell.hidden.nothing_ahead();
            [sums[index]] = products::<V, W, 1, 3>(cell, step, operands, ahead, block + index, 0);
        }
        let at = At::blocks(block);
        match width {
            4 => finish::<V, 4>(cell, step, &sums, at),
            2 => finish::<V, 2>(cell, step, &*sums.as_ptr().cast(), at),
            _ => finish::<V, 1>(cell, step, &*sums.as_ptr().cast(), at),
        }
    }
}

/// `R` rows of a block; the cells `H` rows at a time.
///
/// # Safety
/// - As [`step`], for rows and a block of the step. `H` divides `R`.
#[inline(always)]
unsafe fn tile<V: Vector, W: Weights, const R: usize, const P: usize, const H: usize>(
    cell: &PackedCell,
    step: &Step,
    operands: &Operands<W>,
    ahead: Ahead,
    block: usize,
    row: usize,
) {
    // SAFETY: the caller's duty; `done + H <= R` rows of sums are there.
    unsafe {
        let sums: [Sums<V>; R] = products::<V, W, R, P>(cell, step, operands, ahead, block, row);
        let mut done = 0;
        while done < R {
            let part: &[Sums<V>; H] = &*sums.as_ptr().add(done).cast();
            finish(cell, step, part, At::rows(row + done, block));
            done += H;
        }
    }
}

/// The products of `R` rows of a block.
///
/// # Safety
/// - As [`step`], for rows and a block of the step.
#[inline(always)]
unsafe fn products<V: Vector, W: Weights, const R: usize, const P: usize>(
    cell: &PackedCell,
    step: &Step,
    operands: &Operands<W>,
    ahead: Ahead,
    block: usize,
    row: usize,
) -> [Sums<V>; R] {
    // SAFETY: the caller's duty.
    unsafe {
        let mut gates: [[V; 3]; R] = start(step, &cell.input, 3 * block * V::LANES, row);
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
        let mut sums = [[V::splat(0.0); 4]; R];
        for r in 0..R {
            let [reset, update, from_hidden] = gates[r];
            sums[r] = [reset, update, from_hidden, from_input[r]];
        }
        sums
    }
}

/// The cells of `H` vectors of units.
///
/// # Safety
/// - As [`step`], for rows and blocks of the step.
#[inline(always)]
unsafe fn finish<V: Vector, const H: usize>(cell: &PackedCell, step: &Step, sums: &[Sums<V>; H], at: At) {
    let units = cell.hidden.depth();
    // SAFETY: the caller's duty.
    unsafe {
        let bounds = Bounds::new(cell.clip);
        let (mut candidates, mut updates) = ([sums[0][0]; H], [sums[0][0]; H]);
        for index in 0..H {
            candidates[index] = sums[index][0];
            updates[index] = sums[index][1];
        }
        let resets = bounds.sigmoids(candidates);
        updates = bounds.sigmoids(updates);
        for index in 0..H {
            candidates[index] = resets[index].fma(sums[index][2], sums[index][3]);
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
