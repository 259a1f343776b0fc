//! The product of many rows with packed weights: the time-independent part of a layer, and dense layers.

use super::sweep::Tiles;
use super::weights::{Grid, Panel, Weights};
use crate::args::Product;
use crate::matrix::Matrix;
use crate::vector::Vector;

/// # Safety
/// - As [`crate::PackedCell::product`], for a matrix of format `W` packed for `V`.
/// - The processor has the instructions of `V`.
#[inline(always)]
pub(crate) unsafe fn product<V: Vector, W: Weights>(matrix: &Matrix, args: &Product) {
    let grid =
        Grid { rows: args.rows, samples: args.samples, steps: args.steps, step_stride: args.step_stride };
    if args.samples * args.steps == 0 {
        return;
    }
    // SAFETY: the caller's duty; `block..block + width` are blocks of the arguments.
    unsafe {
        let source = W::prepare::<V>(&grid, matrix.depth(), args.scratch);
        let mut block = args.blocks.start;
        while block < args.blocks.end {
            let (vectors, left) = (matrix.vectors(), args.blocks.end - block);
            // Both kinds of four vectors share one copy of the code: the one block's, and those of four blocks.
            let width = if vectors == 1 && left >= 4 { 4 } else { 1 };
            let next = if block + width < args.blocks.end { Some(block + width) } else { None };
            if vectors * width == 4 {
                let panel = if vectors == 4 {
                    matrix.panel::<V, 4>(block)
                } else {
                    matrix.blocks_panel::<V, 4>(block)
                };
                rows::<V, W, 4>(matrix, args, &source, panel, next, block);
            } else if vectors == 3 {
                rows::<V, W, 3>(matrix, args, &source, matrix.panel::<V, 3>(block), next, block);
            } else {
                rows::<V, W, 1>(matrix, args, &source, matrix.blocks_panel::<V, 1>(block), None, block);
            }
            block += width;
        }
    }
}

/// All rows times one panel.
///
/// # Safety
/// - As [`product`]; the panel is that of `block` on.
#[inline(always)]
unsafe fn rows<V: Vector, W: Weights, const N: usize>(
    matrix: &Matrix,
    args: &Product,
    source: &W::Source,
    mut panel: Panel<N>,
    next: Option<usize>,
    block: usize,
) {
    let tiles = Tiles::narrow::<V>(args.samples * args.steps);
    let column = block * matrix.vectors() * V::LANES;
    let mut at = Cursor { step: 0, sample: 0 };
    // SAFETY: the tiles are exactly the rows of the grid; the rest is the caller's duty.
    unsafe {
        for tile in 0..tiles.count() {
            panel.ahead = matrix.ahead(next, N / matrix.vectors(), tile, tiles.count());
            match tiles.rows(tile) {
                1 if N == 4 => self::tile::<V, W, 1, N, 2>(matrix, args, source, &panel, column, &mut at),
                1 if N == 3 => self::tile::<V, W, 1, N, 3>(matrix, args, source, &panel, column, &mut at),
                rows if N == 1 => {
                    for _ in 0..rows {
                        self::tile::<V, W, 1, N, 4>(matrix, args, source, &panel, column, &mut at);
                    }
                }
                2 if N == 4 => self::tile::<V, W, 2, N, 1>(matrix, args, source, &panel, column, &mut at),
                2 => self::tile::<V, W, 2, N, 2>(matrix, args, source, &panel, column, &mut at),
                3 if V::ROWS >= 3 => {
                    self::tile::<V, W, 3, N, 1>(matrix, args, source, &panel, column, &mut at)
                }
                4 if V::ROWS >= 4 => {
                    self::tile::<V, W, 4, N, 1>(matrix, args, source, &panel, column, &mut at)
                }
                5 if V::ROWS >= 5 => {
                    self::tile::<V, W, 5, N, 1>(matrix, args, source, &panel, column, &mut at)
                }
                6 if V::ROWS >= 6 => {
                    self::tile::<V, W, 6, N, 1>(matrix, args, source, &panel, column, &mut at)
                }
                _ => {}
            }
        }
    }
}

/// The next row.
struct Cursor {
    step: usize,
    sample: usize,
}

/// `R` rows times one panel, from the cursor on.
///
/// # Safety
/// - As [`rows`]; `R` rows are left.
#[inline(always)]
unsafe fn tile<V: Vector, W: Weights, const R: usize, const N: usize, const P: usize>(
    matrix: &Matrix,
    args: &Product,
    source: &W::Source,
    panel: &Panel<N>,
    column: usize,
    at: &mut Cursor,
) {
    // SAFETY: the caller's duty.
    unsafe {
        let mut from = [W::row(source, at.step, at.sample); R];
        let mut to = [args.output; R];
        for r in 0..R {
            from[r] = W::row(source, at.step, at.sample);
            to[r] = args
                .output
                .add(at.step * args.output_step_stride + at.sample * args.output_row_stride + column);
            at.sample += 1;
            if at.sample == args.samples {
                (at.sample, at.step) = (0, at.step + 1);
            }
        }
        let mut sums = [[V::splat(0.0); N]; R];
        for n in 0..N {
            let bias = V::load(matrix.bias().add(column + n * V::LANES));
            for r in 0..R {
                sums[r][n] = bias;
            }
        }
        W::accumulate::<V, R, N, P>(panel, matrix.depth(), &from, &mut sums);
        for r in 0..R {
            store_row(&sums[r], to[r], matrix.columns() - column);
        }
    }
}

/// Stores the vectors of a row, of which `columns` values are left.
///
/// # Safety
/// - The lesser of `columns` and the values of the vectors can be written at `to`.
#[inline(always)]
unsafe fn store_row<V: Vector, const N: usize>(sums: &[V; N], to: *mut f32, columns: usize) {
    // SAFETY: at most `columns` values are written.
    unsafe {
        for n in 0..N {
            let at = n * V::LANES;
            if at + V::LANES <= columns {
                sums[n].store(to.add(at));
            } else if at < columns {
                sums[n].store_first(to.add(at), columns - at);
            }
        }
    }
}
