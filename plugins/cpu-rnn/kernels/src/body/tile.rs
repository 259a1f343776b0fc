//! Register tiles: some rows times `N` vectors of weights.

use std::mem::MaybeUninit;

use super::shared::Products;
use super::weights::Weights;
use crate::matrix::{Dense, Matrix};
use crate::panel::{Ahead, Initial, Panel};
use crate::vector::Vector;

/// Maximum number of rows of a tile, for any vector.
pub(crate) const ROWS_MAX: usize = 10;

/// Evaluates `$call` with `$rows`, a number of rows or of vectors of units, as the constant `$constant`: for 1 to the
/// `ROWS` of `$vector`. Does nothing for zero rows.
macro_rules! with_rows {
    ($vector:ty, $rows:expr, $constant:ident => $call:expr) => {
        crate::body::tile::with_rows!(@arms $vector, $rows, $constant, $call, 1 2 3 4 5 6)
    };
    (@arms $vector:ty, $rows:expr, $constant:ident, $call:expr, $($count:literal)*) => {{
        const {
            assert!(
                <$vector as crate::vector::Vector>::ROWS <= [$($count),*].len(),
                "a tile of this vector may have more rows than there are arms"
            );
        }
        match $rows {
            $($count if const { $count <= <$vector as crate::vector::Vector>::ROWS } => {
                const $constant: usize = $count;
                $call
            })*
            _ => {}
        }
    }};
}
pub(crate) use with_rows;

/// At most `M` rows of a tile: where they are read, and where their sums are written.
pub(crate) struct TileRows<W: Weights, const M: usize> {
    from: [W::Row; M],
    to: [*mut f32; M],
}

impl<W: Weights, const M: usize> TileRows<W, M> {
    /// Returns room for rows like `from`, all written to `to` until they are set.
    #[inline(always)]
    pub(crate) fn new(from: W::Row, to: *mut f32) -> Self {
        Self { from: [from; M], to: [to; M] }
    }

    /// Creates a source of `count` successive rows, from `row` on, written `stride` values apart.
    ///
    /// # Safety
    /// - The source has these rows, at least one; `count` is at most `M`.
    #[inline(always)]
    pub(crate) unsafe fn successive(
        source: &W::Source,
        row: usize,
        count: usize,
        to: *mut f32,
        stride: usize,
    ) -> Self {
        // SAFETY: the caller promises that the source has the rows from `row` to `row + count`, at least one.
        unsafe {
            let mut rows = Self::new(W::row(source, 0, row), to);
            for r in 1..count {
                rows.set(r, W::row(source, 0, row + r), to.wrapping_add(r * stride));
            }
            rows
        }
    }

    /// Sets a row below `M`.
    #[inline(always)]
    pub(crate) fn set(&mut self, row: usize, from: W::Row, to: *mut f32) {
        self.from[row] = from;
        self.to[row] = to;
    }
}

/// Computes a tile of `count` rows, a number that [`Tiles`](super::sweep::Tiles) gives.
///
/// # Safety
/// - As [`tile`], for the rows that are set.
#[inline(always)]
pub(crate) unsafe fn products<V, W, const M: usize, const N: usize, const L: usize>(
    panel: &Panel<N>,
    depth: usize,
    rows: &TileRows<W, M>,
    count: usize,
    initial: &Initial<N>,
) where
    V: Products<W>,
    W: Weights,
{
    let (from, to) = (rows.from.as_ptr(), rows.to.as_ptr());
    // SAFETY: each cast is to an array of at most `M` rows, all of which are set: of `count`, or of one. For these rows
    // the caller promises what `tile` demands; by themselves they start from `initial` moved on by their strides.
    unsafe {
        if const { M == 1 } {
            V::tile::<1, N, L>(panel, depth, &*from.cast(), initial, &*to.cast());
        } else {
            with_rows!(V, count, R => V::tile::<R, N, L>(panel, depth, &*from.cast(), initial, &*to.cast()));
        }
    }
}

/// Computes a wide tile of 8 or 10 rows.
///
/// # Safety
/// - As [`tile`], for the rows that are set; `count` is 8 or 10.
#[inline(always)]
pub(crate) unsafe fn wide_products<V: Products<W>, W: Weights>(
    panel: &Panel<2>,
    depth: usize,
    rows: &TileRows<W, ROWS_MAX>,
    count: usize,
    initial: &Initial<2>,
) {
    let (from, to) = (rows.from.as_ptr(), rows.to.as_ptr());
    // SAFETY: each cast is to an array of `count` rows, at most `ROWS_MAX`, all of which are set. For these rows the
    // caller promises what `tile` demands.
    unsafe {
        match count {
            8 => V::tile::<8, 2, 4>(panel, depth, &*from.cast(), initial, &*to.cast()),
            _ => V::tile::<10, 2, 4>(panel, depth, &*from.cast(), initial, &*to.cast()),
        }
    }
}

/// Computes a tile of `count` rows with the panel of a block, in the layout of its columns.
///
/// # Safety
/// - As [`products`]; the panel belongs to the block, or to several from it on.
#[inline(always)]
pub(crate) unsafe fn block_products<V, W, const M: usize, const N: usize, const L: usize>(
    (matrix, block): (&Matrix, usize),
    panel: &Panel<N>,
    rows: &TileRows<W, M>,
    count: usize,
    initial: &Initial<N>,
) where
    V: Products<W>,
    W: Weights,
{
    // SAFETY: the caller promises the panel and the rows.
    unsafe {
        if matrix.dense(block).is_some() {
            let (from, to) = (rows.from.as_ptr(), rows.to.as_ptr());
            V::dense::<N>((matrix, block), panel.ahead, (from, to), count, initial);
        } else {
            products::<V, W, M, N, L>(panel, matrix.depth, rows, count, initial);
        }
    }
}

/// Maximum number of vectors of a block whose columns lie side by side: one fewer than an LSTM has gates.
const DENSE_MAX: usize = 3;

/// Computes a tile of `count` rows with a block whose columns lie side by side, and spreads their sums to a vector for
/// each of `N` gates.
///
/// # Safety
/// - As [`tile`], for `count` rows: a number that [`Tiles`](super::sweep::Tiles) gives for narrow tiles.
/// - The block is [dense](Matrix::dense).
#[inline(always)]
pub(crate) unsafe fn dense<V: Products<W>, W: Weights, const N: usize>(
    (matrix, block): (&Matrix, usize),
    ahead: Ahead,
    (from, to): (*const W::Row, *const *mut f32),
    count: usize,
    initial: &Initial<N>,
) {
    let Some(dense) = matrix.dense(block) else { return };
    let mut room = MaybeUninit::<[[V; DENSE_MAX]; ROWS_MAX]>::uninit();
    let sums: *mut f32 = room.as_mut_ptr().cast();
    let block = (matrix, block);
    // SAFETY: the block's vectors are fewer than an LSTM has gates, and `room` has them for the rows of a tile. Their
    // sums are there before they are spread. The caller promises the rest.
    unsafe {
        match dense.vectors {
            1 => dense_sums::<V, W, 1>(block, ahead, from, count, sums),
            2 => dense_sums::<V, W, 2>(block, ahead, from, count, sums),
            _ => dense_sums::<V, W, DENSE_MAX>(block, ahead, from, count, sums),
        }
        spread::<V, N>(dense, sums, to, count, initial);
    }
}

/// Writes the sums of a block of `N` vectors whose columns lie side by side to `sums`, row after row.
///
/// # Safety
/// - As [`dense`], for a block of `N` vectors; `sums` has room for these of `count` rows.
#[inline(always)]
unsafe fn dense_sums<V: Products<W>, W: Weights, const N: usize>(
    (matrix, block): (&Matrix, usize),
    ahead: Ahead,
    from: *const W::Row,
    count: usize,
    sums: *mut f32,
) {
    /// Zeros for the longest vectors.
    static ZEROS: [f32; 16 * DENSE_MAX] = [0.0; 16 * DENSE_MAX];
    let mut panel = matrix.dense_panel::<V, N>(block);
    panel.ahead = ahead;
    let initial = Initial::successive::<V>(ZEROS.as_ptr(), 0);
    // SAFETY: the caller promises `count` rows, at least one, and room for their sums. The panel is that of the block,
    // whose `N` vectors lie side by side; every row starts from `N` vectors of zeros.
    unsafe {
        let mut rows = TileRows::<W, ROWS_MAX>::new(*from, sums);
        for r in 1..count {
            rows.set(r, *from.add(r), sums.add(r * N * V::LANES));
        }
        products::<V, W, ROWS_MAX, N, N>(&panel, matrix.depth, &rows, count, &initial);
    }
}

/// Adds the sums of each gate's units to the vector from which the gate starts.
///
/// # Safety
/// - `sums` has `count` rows of the block's vectors; `initial` and `to` are as [`dense`] says.
#[inline(always)]
unsafe fn spread<V: Vector, const N: usize>(
    dense: Dense,
    sums: *const f32,
    to: *const *mut f32,
    count: usize,
    initial: &Initial<N>,
) {
    // SAFETY: the caller promises `count` rows: of sums, in which gate `n` has `units` values behind those of the gates
    // before it, and of `N` vectors to start from and to be written.
    unsafe {
        for r in 0..count {
            let row = sums.add(r * dense.vectors * V::LANES);
            for n in 0..N {
                let start = V::load(initial.at[n].add(r * initial.strides[n]));
                let sum = V::load_first(row.add(n * dense.units), dense.units);
                start.add(sum).store((*to.add(r)).add(n * V::LANES));
            }
        }
    }
}

/// Copies the starting values of `count` rows, if there is nothing to add.
///
/// # Safety
/// - The processor has the instructions of `V`; `initial` and `to` have `count` rows.
#[inline(always)]
pub(crate) unsafe fn copy<V: Vector, const N: usize>(initial: &Initial<N>, count: usize, to: *mut [V; N]) {
    // SAFETY: the caller promises the instructions of `V`, and `count` rows of `N` vectors in `initial` and `to`.
    unsafe {
        for r in 0..count {
            for n in 0..N {
                (*to.add(r))[n] = V::load(initial.at[n].add(r * initial.strides[n]));
            }
        }
    }
}

/// Adds the products of `R` rows with `N` vectors of weights to their starting values.
///
/// # Safety
/// - The processor has the instructions of `V`.
/// - The panel has layout `L` and `depth` rows of weights in the format's groups, `4 * LANES` bytes each; each row has
///   `depth` values.
/// - `initial` has `R` rows; at each place of `to`, `N` vectors can be written.
#[inline(always)]
pub(crate) unsafe fn tile<V: Vector, W: Weights, const R: usize, const N: usize, const L: usize>(
    panel: &Panel<N>,
    depth: usize,
    rows: &[W::Row; R],
    initial: &Initial<N>,
    to: &[*mut f32; R],
) {
    // SAFETY: the caller promises the instructions of `V`, `R` rows of `N` vectors to start from, and room for `N`
    // vectors at each of the `R` places of `to`. Of panel and rows it promises what `accumulate` demands.
    unsafe {
        let mut sums = [[V::splat(0.0); N]; R];
        for r in 0..R {
            for n in 0..N {
                sums[r][n] = V::load(initial.at[n].add(r * initial.strides[n]));
            }
        }
        match const { partial_sums(R, N) } {
            4 => W::accumulate::<V, R, N, 4, L>(panel, depth, rows, &mut sums),
            3 => W::accumulate::<V, R, N, 3, L>(panel, depth, rows, &mut sums),
            2 => W::accumulate::<V, R, N, 2, L>(panel, depth, rows, &mut sums),
            _ => W::accumulate::<V, R, N, 1, L>(panel, depth, rows, &mut sums),
        }
        for r in 0..R {
            for n in 0..N {
                sums[r][n].store(to[r].add(n * V::LANES));
            }
        }
    }
}

/// Returns the number of partial sums for each sum of a tile, so that there are enough additions under way to hide
/// their latency.
const fn partial_sums(rows: usize, vectors: usize) -> usize {
    match (rows, vectors) {
        (1, 1 | 2) | (2, 1) => 4,
        (1, 3) | (3, 1) => 3,
        (1, 4) | (2, 2 | 3) | (4.., 1) => 2,
        _ => 1,
    }
}
