//! The product of many rows with packed weights: the time-independent part of a layer, and dense layers.

use std::mem::MaybeUninit;

use super::shared::Products;
use super::sweep::Tiles;
use super::tile::{ROWS_MAX, TileRows, block_products};
use super::weights::Weights;
use crate::args::{Grid, Product};
use crate::matrix::Matrix;
use crate::panel::{ANYWHERE, Initial, Panel};
use crate::vector::Vector;

/// # Safety
/// - As [`crate::PackedCell::product`], for a matrix of format `W` packed for `V`.
/// - The processor has the instructions of `V`.
#[inline(always)]
pub(crate) unsafe fn product<V: Products<W>, W: Weights>(matrix: &Matrix, args: &Product) {
    let grid =
        Grid { rows: args.rows, samples: args.samples, steps: args.steps, step_stride: args.step_stride };
    if args.samples * args.steps == 0 {
        return;
    }
    // SAFETY: the caller promises the instructions of `V`, readable rows of the grid, and a work space for them: what
    // `prepare` demands. `block..block + width` lies within the blocks of the arguments, which the matrix has, so each
    // panel is of weights that are there; each arm names the layout in which its panel has them.
    unsafe {
        let source = W::prepare(&grid, matrix.depth, args.scratch, V::quantise);
        let mut block = args.blocks.start;
        while block < args.blocks.end {
            let (vectors, left) = (matrix.vectors, args.blocks.end - block);
            let width = if vectors == 1 && left >= 4 { 4 } else { 1 };
            let next = if block + width < args.blocks.end { Some(block + width) } else { None };
            match (vectors, width) {
                (4, _) => rows::<V, W, 4, 4>(matrix, args, &source, matrix.panel::<V, 4>(block), next, block),
                (3, _) => rows::<V, W, 3, 3>(matrix, args, &source, matrix.panel::<V, 3>(block), next, block),
                (_, 4) => {
                    let panel = matrix.blocks_panel::<V, 4>(block);
                    rows::<V, W, 4, ANYWHERE>(matrix, args, &source, panel, next, block);
                }
                _ => rows::<V, W, 1, 1>(matrix, args, &source, matrix.panel::<V, 1>(block), None, block),
            }
            block += width;
        }
    }
}

/// Multiplies all rows by one panel.
///
/// # Safety
/// - As [`product`]; the panel starts at `block`, in layout `L`.
#[inline(always)]
unsafe fn rows<V: Products<W>, W: Weights, const N: usize, const L: usize>(
    matrix: &Matrix,
    args: &Product,
    source: &W::Source,
    mut panel: Panel<N>,
    next: Option<usize>,
    block: usize,
) {
    let tiles = Tiles::narrow::<V>(args.samples * args.steps);
    let column = block * matrix.vectors * V::LANES;
    // The last columns of a dense layer may be fewer than its vectors have.
    let is_whole = column + N * V::LANES <= matrix.columns;
    let (mut step, mut sample) = (0, 0);
    // SAFETY: the tiles have as many rows as the grid, and `(step, sample)` goes through them in order, so that the
    // source has each row, and the caller has promised room for its columns of output. Where the panel has more columns
    // than the matrix, the sums go to `room` first, which has the rows of a tile, and only the columns that are there
    // are stored. The bias has all vectors of the panel.
    unsafe {
        let initial = Initial::successive::<V>(matrix.bias().add(column), 0);
        let mut room = MaybeUninit::<[[V; N]; ROWS_MAX]>::uninit();
        let room: *mut [V; N] = room.as_mut_ptr().cast();
        for tile in 0..tiles.count() {
            panel.ahead = matrix.ahead(next, N / matrix.vectors, tile, tiles.count());
            let count = tiles.rows(tile);
            let mut tile_rows = TileRows::<W, ROWS_MAX>::new(W::row(source, step, sample), args.output);
            let mut output = [args.output; ROWS_MAX];
            for r in 0..count {
                output[r] = args
                    .output
                    .add(step * args.output_step_stride + sample * args.output_row_stride + column);
                let to = if is_whole { output[r] } else { room.add(r).cast() };
                tile_rows.set(r, W::row(source, step, sample), to);
                sample += 1;
                if sample == args.samples {
                    (sample, step) = (0, step + 1);
                }
            }
            block_products::<V, W, ROWS_MAX, N, L>((matrix, block), &panel, &tile_rows, count, &initial);
            if !is_whole {
                for r in 0..count {
                    store_row(&*room.add(r), output[r], matrix.columns - column);
                }
            }
        }
    }
}

/// Stores the vectors of a row that has `columns` values left.
///
/// # Safety
/// - `to` is writable for the smaller of `columns` and the number of values in the vectors.
#[inline(always)]
unsafe fn store_row<V: Vector, const N: usize>(sums: &[V; N], to: *mut f32, columns: usize) {
    // SAFETY: whole vectors are stored while they end within `columns`, then the `columns - at` values that are left,
    // fewer than a vector: no more than the caller promises room for.
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
