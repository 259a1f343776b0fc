//! Formats of weights: how rows are read, and how the products of a register tile are summed.

use super::quantise::{self, Quantise, Quantised};
use crate::args::Grid;
use crate::panel::Panel;
use crate::vector::{ROWS_OF_WIDE, Vector};

/// A format of weights: how rows are read and how a tile of products is summed.
pub(crate) trait Weights {
    /// The rows of an operand, after [`Self::prepare`].
    type Source: Copy;
    /// One row.
    type Row: Copy;

    /// Makes the rows ready: int8 has `quantise` write them into `scratch`.
    ///
    /// # Safety
    /// - The processor has the instructions of `quantise`.
    /// - Every row of the grid has `depth` readable values.
    /// - `scratch` is aligned for f32 and has [`quantise::scratch_bytes`] bytes; unused for f32 and bf16.
    unsafe fn prepare(grid: &Grid, depth: usize, scratch: *mut u8, quantise: Quantise) -> Self::Source;

    /// # Safety
    /// - The grid that the source was made of has such a row.
    unsafe fn row(source: &Self::Source, step: usize, sample: usize) -> Self::Row;

    /// Adds to `sums[r][n]` the product of row `r` with vector `n` of the panel. `P` partial sums of each, so that
    /// `R * N * P` additions are under way at once.
    ///
    /// # Safety
    /// - The processor has the instructions of `V`.
    /// - The panel has layout `L` and `depth` rows of weights in the format's groups, `4 * LANES` bytes each; each row
    ///   has `depth` values.
    unsafe fn accumulate<V: Vector, const R: usize, const N: usize, const P: usize, const L: usize>(
        panel: &Panel<N>,
        depth: usize,
        rows: &[Self::Row; R],
        sums: &mut [[V; N]; R],
    );
}

/// f32 weights: a group is one row of weights.
pub(crate) struct F32;

/// bf16 weights: a group is two rows, interleaved. Activations stay f32.
pub(crate) struct Bf16;

/// int8 weights: a group is four rows, interleaved. Activations are quantised row by row.
pub(crate) struct Int8;

/// The rows of a format that takes activations in f32.
macro_rules! rows_as_they_are {
    () => {
        type Source = Grid;
        type Row = *const f32;

        #[inline(always)]
        unsafe fn prepare(grid: &Grid, _depth: usize, _scratch: *mut u8, _quantise: Quantise) -> Grid {
            *grid
        }

        #[inline(always)]
        unsafe fn row(source: &Grid, step: usize, sample: usize) -> *const f32 {
            // SAFETY: the caller vouches for the row.
            unsafe { source.row(step, sample) }
        }
    };
}

impl Weights for F32 {
    rows_as_they_are!();

    #[inline(always)]
    unsafe fn accumulate<V: Vector, const R: usize, const N: usize, const P: usize, const L: usize>(
        panel: &Panel<N>,
        depth: usize,
        rows: &[*const f32; R],
        sums: &mut [[V; N]; R],
    ) {
        // SAFETY: the caller promises the instructions of `V`, and `depth` groups of the panel and values of each row;
        // `k`, and `k + p` below `k + P`, stay below that.
        unsafe {
            let mut parts = [[[V::splat(0.0); N]; R]; P];
            parts[0] = *sums;
            let mut k = 0;
            while k + P <= depth {
                for (p, part) in parts.iter_mut().enumerate() {
                    add_row::<V, R, N, L>(panel, k + p, rows, part);
                }
                k += P;
            }
            while k < depth {
                add_row::<V, R, N, L>(panel, k, rows, &mut parts[0]);
                k += 1;
            }
            *sums = fold(parts);
        }
    }
}

/// Adds row `k` of the weights times value `k` of each row.
///
/// # Safety
/// - As [`Weights::accumulate`], with `k` below the depth.
#[inline(always)]
unsafe fn add_row<V: Vector, const R: usize, const N: usize, const L: usize>(
    panel: &Panel<N>,
    k: usize,
    rows: &[*const f32; R],
    sums: &mut [[V; N]; R],
) {
    // SAFETY: `k` is below the depth, so the panel has its group and each row its value; the caller vouches for the
    // instructions of `V`.
    unsafe {
        panel.ahead.prefetch::<V>(k, const { lines_ahead(R, N) });
        if V::ROWS < ROWS_OF_WIDE {
            // With few registers the values of the rows stay, and one vector of weights at a time passes by.
            let mut values = [V::splat(0.0); R];
            for r in 0..R {
                values[r] = V::splat(*rows[r].add(k));
            }
            for n in 0..N {
                let weight = V::load(panel.group::<V, L>(n, k).cast());
                for r in 0..R {
                    sums[r][n] = values[r].fma(weight, sums[r][n]);
                }
            }
            return;
        }
        let mut weights = [V::splat(0.0); N];
        for n in 0..N {
            weights[n] = V::load(panel.group::<V, L>(n, k).cast());
        }
        for r in 0..R {
            let value = V::splat(*rows[r].add(k));
            for n in 0..N {
                sums[r][n] = value.fma(weights[n], sums[r][n]);
            }
        }
    }
}

impl Weights for Bf16 {
    rows_as_they_are!();

    #[inline(always)]
    unsafe fn accumulate<V: Vector, const R: usize, const N: usize, const P: usize, const L: usize>(
        panel: &Panel<N>,
        depth: usize,
        rows: &[*const f32; R],
        sums: &mut [[V; N]; R],
    ) {
        // SAFETY: the caller promises the instructions of `V`, and `depth` rows of weights and values of each row.
        // These are `pairs` whole groups, and with an odd depth one more, of which the first row alone counts.
        unsafe {
            let mut parts = [[[V::splat(0.0); N]; R]; P];
            parts[0] = *sums;
            let pairs = depth / 2;
            for pair in 0..pairs {
                panel.ahead.prefetch::<V>(pair, const { lines_ahead(R, N) });
                let mut weights = [[V::splat(0.0); N]; 2];
                for n in 0..N {
                    let both = V::load_bf16_pairs(panel.group::<V, L>(n, pair));
                    (weights[0][n], weights[1][n]) = both;
                }
                for (half, weights) in weights.iter().enumerate() {
                    for r in 0..R {
                        let value = V::splat(*rows[r].add(2 * pair + half));
                        for n in 0..N {
                            let sum = &mut parts[half % P][r][n];
                            *sum = value.fma(weights[n], *sum);
                        }
                    }
                }
            }
            if depth % 2 == 1 {
                for r in 0..R {
                    let value = V::splat(*rows[r].add(depth - 1));
                    for n in 0..N {
                        let (weight, _) = V::load_bf16_pairs(panel.group::<V, L>(n, pairs));
                        parts[0][r][n] = value.fma(weight, parts[0][r][n]);
                    }
                }
            }
            *sums = fold(parts);
        }
    }
}

impl Weights for Int8 {
    type Source = Quantised;
    type Row = quantise::Row;

    #[inline(always)]
    unsafe fn prepare(grid: &Grid, depth: usize, scratch: *mut u8, quantise: Quantise) -> Quantised {
        // SAFETY: the caller promises what `quantise` demands: its instructions, readable rows, and a work space for
        // them.
        unsafe { quantise(grid, depth, scratch) }
    }

    #[inline(always)]
    unsafe fn row(source: &Quantised, step: usize, sample: usize) -> quantise::Row {
        // SAFETY: the caller vouches for the row.
        unsafe { source.row(step, sample) }
    }

    #[inline(always)]
    unsafe fn accumulate<V: Vector, const R: usize, const N: usize, const P: usize, const L: usize>(
        panel: &Panel<N>,
        depth: usize,
        rows: &[quantise::Row; R],
        sums: &mut [[V; N]; R],
    ) {
        // SAFETY: the caller promises the instructions of `V`, and `depth` rows of weights and values of each row.
        // These are `groups` groups, to which both are padded, and `group` stays below. int8 panels have a correction
        // and a scale for each lane of their `N` vectors, and quantised rows a scale.
        unsafe {
            let mut parts = [[[V::no_sums(); N]; R]; P];
            for r in 0..R {
                for n in 0..N {
                    parts[0][r][n] = V::load_sums(panel.corrections.add(n * V::LANES));
                }
            }
            let groups = depth.div_ceil(4);
            let mut group = 0;
            while group + P <= groups {
                for (p, part) in parts.iter_mut().enumerate() {
                    add_group::<V, R, N, L>(panel, group + p, rows, part);
                }
                group += P;
            }
            while group < groups {
                add_group::<V, R, N, L>(panel, group, rows, &mut parts[0]);
                group += 1;
            }
            for r in 0..R {
                let row_scale = V::splat(*rows[r].scale);
                for n in 0..N {
                    let mut whole = parts[0][r][n];
                    for part in &parts[1..] {
                        whole = V::add_sums(whole, part[r][n]);
                    }
                    let scale = row_scale.mul(V::load(panel.scales.add(n * V::LANES)));
                    sums[r][n] = V::sums_to_f32(whole).fma(scale, sums[r][n]);
                }
            }
        }
    }
}

/// Adds one group of four rows of weights.
///
/// # Safety
/// - As [`Weights::accumulate`], with a group that is there.
#[inline(always)]
unsafe fn add_group<V: Vector, const R: usize, const N: usize, const L: usize>(
    panel: &Panel<N>,
    group: usize,
    rows: &[quantise::Row; R],
    sums: &mut [[V::Sums; N]; R],
) {
    // SAFETY: the panel has the group, and rows are padded to whole groups, so four values are there; the caller
    // vouches for the instructions of `V`.
    unsafe {
        panel.ahead.prefetch::<V>(group, const { lines_ahead(R, N) });
        for r in 0..R {
            for n in 0..N {
                let weights = panel.group::<V, L>(n, group);
                sums[r][n] = V::dot(sums[r][n], weights, rows[r].values.add(4 * group));
            }
        }
    }
}

/// Returns the number of requests for cache lines that a tile makes ahead with each group: at most one for each of its
/// vectors, which fill no more than a line each, since a request is a load and competes with those of the rows. (A
/// dense block has fewer vectors than a whole one that comes next, and asks for a part of its lines only.) One or two
/// rows wait for their weights anyway. With three or four, more than two requests delay the weights that are needed
/// now, and the processor fetches the neighbours of a line by itself. Measured with 1024 units, where each group has
/// its own lines; where several tiles share a group some requests are for the same line.
const fn lines_ahead(rows: usize, vectors: usize) -> usize {
    let most = match rows {
        0..=2 => 0,
        3 | 4 => 2,
        _ => 4,
    };
    if most < vectors { most } else { vectors }
}

/// Sums the partial results.
#[inline(always)]
fn fold<V: Vector, const R: usize, const N: usize, const P: usize>(parts: [[[V; N]; R]; P]) -> [[V; N]; R] {
    let mut whole = parts[0];
    for part in &parts[1..] {
        for r in 0..R {
            for n in 0..N {
                whole[r][n] = whole[r][n].add(part[r][n]);
            }
        }
    }
    whole
}
