//! A dense layer, `y = W x + b`, on one thread or split over a team, and products of matrices that are not constant.

use std::ops::Range;

use gemm_common::Parallelism;
use gemm_f32::gemm::f32::get_gemm_fn;
use proctor_rnn_engine::Team;
use proctor_rnn_kernels::{Isa, PackedLinear, Product, Rows};
use proctor_rnn_layer::Precision;

/// Multiply-adds that one thread does in about 20 us: a smaller product is not worth waking the others.
const PART_MIN: usize = 1 << 19;

/// Number of blocks that kernels take at once; shares of threads are cut between such groups.
const GROUP: usize = 4;

/// A linear map with a bias, its f32 weights packed for this processor.
#[derive(Debug)]
pub struct Dense {
    packed: PackedLinear,
}

impl Dense {
    /// Takes a weight `[output, input]`, row-major, and a bias `[output]`, empty for none.
    ///
    /// # Panics
    /// If the weight is not whole rows of `input` values, the bias has another size, or there are no inputs or outputs.
    #[must_use]
    pub fn new(weight: &[f32], bias: &[f32], input: usize) -> Self {
        Self { packed: PackedLinear::new(Isa::best(), Precision::F32, weight, bias, input) }
    }

    /// Returns the same from a weight `[input, output]`.
    ///
    /// # Panics
    /// As [`Self::new`].
    #[must_use]
    pub fn from_columns(weight: &[f32], bias: &[f32], input: usize) -> Self {
        assert!(input > 0, "a dense layer has inputs");
        assert_eq!(weight.len() % input, 0, "weights of a dense layer of {input} inputs");
        let output = weight.len() / input;
        let column = |index: usize| weight.iter().skip(index).step_by(output).copied();
        Self::new(&(0..output).flat_map(column).collect::<Vec<_>>(), bias, input)
    }

    /// Returns the number of inputs.
    #[must_use]
    pub fn input(&self) -> usize {
        self.packed.inputs()
    }

    /// Returns the number of outputs.
    #[must_use]
    pub fn output(&self) -> usize {
        self.packed.outputs()
    }

    /// Maps each row of `x`, `[row, input]`, to a row of `y`, `[row, output]`, both contiguous, on the calling thread.
    /// Allocates nothing.
    ///
    /// # Panics
    /// If `x` and `y` are not the same number of whole rows.
    pub fn run(&self, x: &[f32], y: &mut [f32]) {
        let rows = self.rows(x, y);
        self.product(0..self.packed.blocks(), rows, x, &Target(y.as_mut_ptr()));
    }

    /// Does the same on a team, if it is worth it: each thread owns columns and their weights.
    ///
    /// # Panics
    /// As [`Self::run`].
    pub fn run_on(&self, team: &mut Team, x: &[f32], y: &mut [f32]) {
        let rows = self.rows(x, y);
        let groups = self.packed.blocks().div_ceil(GROUP);
        let parts = (rows * self.input() * self.output() / PART_MIN).clamp(1, team.threads().min(groups));
        if parts == 1 {
            return self.run(x, y);
        }
        let to = Target(y.as_mut_ptr());
        let edge = |part: usize| (part * groups / parts * GROUP).min(self.packed.blocks());
        team.run(|member| {
            let part = member.index();
            if part < parts {
                self.product(edge(part)..edge(part + 1), rows, x, &to);
            }
        });
    }

    /// Returns the number of rows, which both tensors must have.
    fn rows(&self, x: &[f32], y: &[f32]) -> usize {
        let (input, output) = (self.input(), self.output());
        let rows = x.len() / input;
        assert_eq!(x.len(), rows * input, "rows of {input} inputs");
        assert_eq!(y.len(), rows * output, "rows of {output} outputs for {rows} rows of inputs");
        rows
    }

    /// Computes some blocks of columns of all rows.
    fn product(&self, blocks: Range<usize>, rows: usize, x: &[f32], to: &Target) {
        debug_assert_eq!(self.packed.scratch_bytes(rows), 0, "f32 weights need no work space");
        let args = Product {
            blocks,
            rows: Rows { bases: &x.as_ptr(), offset: 0 },
            samples: 1,
            steps: rows,
            step_stride: self.input().cast_signed(),
            output: to.0,
            output_step_stride: self.output(),
            output_row_stride: 0,
            scratch: std::ptr::NonNull::dangling().as_ptr(),
        };
        // SAFETY: the blocks lie within the packed ones. One sample whose steps are the rows of `x`, which is `rows`
        // rows of inputs; the target is `rows` rows of outputs, by `Self::rows`, borrowed mutably by `run` or `run_on`
        // until all threads have ended, and each thread has blocks of its own, so no two write one column. f32 weights
        // use no scratch.
        unsafe { self.packed.product(&args) }
    }
}

/// Destination of a product. Shared by threads that write different columns.
struct Target(*mut f32);

// SAFETY: see `Dense::product`: threads write through it where no other reads or writes.
unsafe impl Sync for Target {}

/// Adds `factor · a · b` to `y`, contiguous `[m, n]`. `a` is `[m, k]`, `b` `[k, n]`, each with its row and column
/// stride.
pub(crate) fn multiply_add(
    [m, n, k]: [usize; 3],
    factor: f32,
    (a, a_strides): (&[f32], [usize; 2]),
    (b, b_strides): (&[f32], [usize; 2]),
    y: &mut [f32],
) {
    if m == 0 || n == 0 || k == 0 {
        return;
    }
    let last = |rows: usize, columns: usize, [row, column]: [usize; 2]| {
        (rows - 1).checked_mul(row)?.checked_add((columns - 1).checked_mul(column)?)
    };
    assert!(last(m, k, a_strides).is_some_and(|last| last < a.len()), "left operand [{m}, {k}]");
    assert!(last(k, n, b_strides).is_some_and(|last| last < b.len()), "right operand [{k}, {n}]");
    assert_eq!(y.len(), m * n, "result [{m}, {n}]");
    let stride = |count: usize| isize::try_from(count).expect("a slice is no longer than isize::MAX");

    // The kernels want a result whose columns are contiguous. Those of the transposed one are: yT += factor · bT · aT.
    // SAFETY: the last elements that the strides lead to lie within `a` and `b`, by the asserts, and so do all others;
    // of `y` the call reads and writes elements [0, m * n). `y` is borrowed exclusively, so it overlaps neither
    // operand.
    unsafe {
        get_gemm_fn()(
            n,
            m,
            k,
            y.as_mut_ptr(),
            stride(n),
            1,
            true,
            b.as_ptr(),
            stride(b_strides[0]),
            stride(b_strides[1]),
            a.as_ptr(),
            stride(a_strides[0]),
            stride(a_strides[1]),
            1.0,
            factor,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_each_row_and_overwrites_what_was_there() {
        let dense = Dense::new(&[1.0, 2.0, 3.0, 4.0], &[0.5, -0.5], 2);
        let mut y = [f32::NAN; 4];
        dense.run(&[1.0, 1.0, 0.0, 2.0], &mut y);
        assert_eq!(y, [3.5, 6.5, 4.5, 7.5]);
    }

    #[test]
    fn both_layouts_of_the_weight_are_one_map() {
        let rows = Dense::new(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[], 2);
        let columns = Dense::from_columns(&[1.0, 3.0, 5.0, 2.0, 4.0, 6.0], &[], 2);
        let (mut a, mut b) = ([0.0; 3], [0.0; 3]);
        rows.run(&[1.0, 10.0], &mut a);
        columns.run(&[1.0, 10.0], &mut b);
        assert_eq!((a, a), (b, [21.0, 43.0, 65.0]));
    }

    #[test]
    #[should_panic(expected = "rows of")]
    fn a_short_input_is_refused() {
        Dense::new(&[1.0; 6], &[], 2).run(&[1.0; 3], &mut [0.0; 6]);
    }

    #[test]
    fn a_team_of_any_size_computes_the_same() {
        // Enough for four threads, with a last block of a few columns.
        let (rows, input, output) = (32, 128, 16 * 40 + 3);
        assert!(rows * input * output / PART_MIN >= 4);
        let values =
            |count: usize| (0..count).map(|i| (i * 7919 % 1013) as f32 / 1013.0 - 0.5).collect::<Vec<_>>();
        let dense = Dense::new(&values(output * input), &values(output), input);
        let x = values(rows * input);
        let mut expected = vec![f32::NAN; rows * output];
        dense.run(&x, &mut expected);
        for threads in 1..=5 {
            let mut y = vec![f32::NAN; rows * output];
            dense.run_on(&mut Team::new(threads), &x, &mut y);
            assert_eq!(y, expected, "{threads} threads");
        }
    }
}
