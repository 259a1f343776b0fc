//! Quantisation of activations, row by row, for int8 weights.

use proctor_rnn_layer::Precision;

use crate::args::Grid;
use crate::vector::Vector;

/// Largest magnitude of a quantised value.
pub(crate) const LEVELS: f32 = 127.0;

/// Returns the number of bytes of a quantised row of `depth` values: whole cache lines, so whole groups and whole
/// vectors.
pub(crate) fn row_bytes(depth: usize) -> usize {
    depth.next_multiple_of(64)
}

/// Returns the number of bytes of work space for `rows` quantised rows of `depth` values and their scales.
pub(crate) fn scratch_bytes(rows: usize, depth: usize) -> usize {
    rows * row_bytes(depth) + (rows * 4).next_multiple_of(64)
}

/// Returns the same for weights of any format: f32 and bf16 weights need no work space.
pub(crate) fn scratch_bytes_of(precision: Precision, rows: usize, depth: usize) -> usize {
    if precision == Precision::Int8 { scratch_bytes(rows, depth) } else { 0 }
}

/// Quantised rows in their work space.
#[derive(Clone, Copy)]
pub(crate) struct Quantised {
    values: *const u8,
    scales: *const f32,
    row_bytes: usize,
    samples: usize,
}

/// [`rows`], compiled for an instruction set.
pub(crate) type Quantise = unsafe fn(&Grid, usize, *mut u8) -> Quantised;

#[derive(Clone, Copy)]
pub(crate) struct Row {
    /// Values plus the zero point, padded with zeros to whole groups.
    pub(crate) values: *const u8,
    /// The value of one quantisation step.
    pub(crate) scale: *const f32,
}

impl Quantised {
    /// # Safety
    /// - There is such a row.
    #[inline(always)]
    pub(crate) unsafe fn row(&self, step: usize, sample: usize) -> Row {
        let index = step * self.samples + sample;
        // SAFETY: the caller promises that the grid had this row, and the work space has a row and a scale for each.
        unsafe { Row { values: self.values.add(index * self.row_bytes), scale: self.scales.add(index) } }
    }
}

/// Quantises every row of the grid to `round(x * 127 / max |x|)`. A row with a NaN or an infinity gets the scale NaN,
/// so that all its products are NaN.
///
/// # Safety
/// - The processor has the instructions of `V`.
/// - Every row of the grid has `depth` readable values.
/// - `scratch` is aligned for f32 and has [`scratch_bytes`] bytes.
#[inline(always)]
pub(crate) unsafe fn rows<V: Vector>(grid: &Grid, depth: usize, scratch: *mut u8) -> Quantised {
    let (count, row_bytes) = (grid.steps * grid.samples, row_bytes(depth));
    // SAFETY: `index` is below `count`. `scratch_bytes` counts `count` rows of `row_bytes` and then as many scales,
    // which are aligned as the work space is, behind whole cache lines. The caller promises the instructions of `V`,
    // and `depth` readable values of each row of the grid.
    unsafe {
        let scales = scratch.add(count * row_bytes).cast::<f32>();
        for step in 0..grid.steps {
            for sample in 0..grid.samples {
                let index = step * grid.samples + sample;
                *scales.add(index) = row::<V>(grid.row(step, sample), depth, scratch.add(index * row_bytes));
            }
        }
        Quantised { values: scratch, scales, row_bytes, samples: grid.samples }
    }
}

/// Quantises one row and returns its scale.
///
/// # Safety
/// - The processor has the instructions of `V`.
/// - `depth` values can be read at `from`, and [`row_bytes`] written at `to`.
#[inline(always)]
unsafe fn row<V: Vector>(from: *const f32, depth: usize, to: *mut u8) -> f32 {
    // SAFETY: `at < depth`, and no more is read than a vector or the `depth - at` values that the caller promises are
    // left. What is written ends at a multiple of `LANES`, a divisor of 64, and so within the `row_bytes` promised at
    // `to`. The caller promises the instructions of `V`, too.
    unsafe {
        let zero = V::splat(0.0);
        let (mut largest, mut probe) = (zero, zero);
        let mut at = 0;
        while at < depth {
            let value = V::load_first(from.add(at), (depth - at).min(V::LANES));
            largest = largest.at_least(value).at_least(zero.sub(value));
            // 0 for every finite value, NaN for the others.
            probe = value.fma(zero, probe);
            at += V::LANES;
        }
        let (largest, probe) = (fold::<V>(largest, f32::max), fold::<V>(probe, |a, b| a + b));
        // Below 1e-30 the inverse would overflow; such a row is as good as zero.
        let inverse = if largest > 1e-30 { V::splat(LEVELS / largest) } else { zero };
        at = 0;
        while at < depth {
            let value = V::load_first(from.add(at), (depth - at).min(V::LANES));
            value.mul(inverse).store_quantised(to.add(at));
            at += V::LANES;
        }
        largest / LEVELS + probe
    }
}

/// Folds the lanes of a vector.
#[inline(always)]
fn fold<V: Vector>(vector: V, function: fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [0.0; 16];
    // SAFETY: no vector has more than 16 lanes.
    unsafe { vector.store(lanes.as_mut_ptr()) };
    lanes[1..V::LANES].iter().fold(lanes[0], |a, b| function(a, *b))
}
