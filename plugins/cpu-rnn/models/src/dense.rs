//! A dense layer, `y = W x + b`, and products of matrices that are not constant.

use gemm::Parallelism;
use proctor_rnn_kernels::{Isa, PackedLinear, Precision, Product, Rows};

/// A linear map with a bias, its weights packed for this processor. Runs on the calling thread.
#[derive(Debug)]
pub struct Dense {
    packed: PackedLinear,
}

impl Dense {
    /// Takes a weight `[output, input]`, row-major, and a bias `[output]`, empty for none.
    ///
    /// # Panics
    /// If a slice has another size, or `input` or `output` is 0.
    #[must_use]
    pub fn new(weight: &[f32], bias: &[f32], input: usize, output: usize) -> Self {
        assert!(input > 0 && output > 0, "a dense layer has inputs and outputs");
        assert_eq!(weight.len(), output * input, "size of the weight [{output}, {input}]");
        Self { packed: PackedLinear::new(Isa::best(), Precision::F32, weight, bias, input) }
    }

    /// The same from a weight `[input, output]`.
    ///
    /// # Panics
    /// As [`Self::new`].
    #[must_use]
    pub fn from_columns(weight: &[f32], bias: &[f32], input: usize, output: usize) -> Self {
        let column = |index: usize| weight.iter().skip(index).step_by(output).copied();
        Self::new(&(0..output).flat_map(column).collect::<Vec<_>>(), bias, input, output)
    }

    /// Number of inputs.
    #[must_use]
    pub fn input(&self) -> usize {
        self.packed.inputs()
    }

    /// Number of outputs.
    #[must_use]
    pub fn output(&self) -> usize {
        self.packed.outputs()
    }

    /// Maps each row of `x`, `[row, input]`, to a row of `y`, `[row, output]`, both contiguous. Allocates nothing.
    ///
    /// # Panics
    /// If `x` and `y` are not the same number of whole rows.
    pub fn run(&self, x: &[f32], y: &mut [f32]) {
        let (input, output) = (self.input(), self.output());
        let rows = x.len() / input;
        assert_eq!(x.len(), rows * input, "rows of {input} inputs");
        assert_eq!(y.len(), rows * output, "rows of {output} outputs for {rows} rows of inputs");
        debug_assert_eq!(self.packed.scratch_bytes(rows), 0, "f32 weights need no work space");
        let args = Product {
            blocks: 0..self.packed.blocks(),
            rows: Rows { bases: &x.as_ptr(), offset: 0 },
            samples: 1,
            steps: rows,
            step_stride: input.cast_signed(),
            output: y.as_mut_ptr(),
            output_step_stride: output,
            output_row_stride: 0,
            scratch: std::ptr::NonNull::dangling().as_ptr(),
        };
        // SAFETY: all blocks of the weights; `x` and `y` have `rows` contiguous rows of the sizes of the weights, checked
        // above, read and written as the steps of one sample; `y` is borrowed mutably; f32 weights use no scratch.
        unsafe { self.packed.product(&args) }
    }
}

/// Adds `factor · a · b` to `y`, contiguous `[m, n]`. `a` is `[m, k]`, `b` `[k, n]`, each with its row and column stride.
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

    // SAFETY: the last elements that the strides lead to lie within `a` and `b`, by the asserts, and so do all others;
    // of `y` the call reads and writes elements [0, m * n). `y` is borrowed exclusively, so it overlaps neither operand.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            y.as_mut_ptr(),
            1,
            stride(n),
            true,
            a.as_ptr(),
            stride(a_strides[1]),
            stride(a_strides[0]),
            b.as_ptr(),
            stride(b_strides[1]),
            stride(b_strides[0]),
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
        let dense = Dense::new(&[1.0, 2.0, 3.0, 4.0], &[0.5, -0.5], 2, 2);
        let mut y = [f32::NAN; 4];
        dense.run(&[1.0, 1.0, 0.0, 2.0], &mut y);
        assert_eq!(y, [3.5, 6.5, 4.5, 7.5]);
    }

    #[test]
    fn both_layouts_of_the_weight_are_one_map() {
        let rows = Dense::new(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[], 2, 3);
        let columns = Dense::from_columns(&[1.0, 3.0, 5.0, 2.0, 4.0, 6.0], &[], 2, 3);
        let (mut a, mut b) = ([0.0; 3], [0.0; 3]);
        rows.run(&[1.0, 10.0], &mut a);
        columns.run(&[1.0, 10.0], &mut b);
        assert_eq!((a, a), (b, [21.0, 43.0, 65.0]));
    }

    #[test]
    #[should_panic(expected = "rows of")]
    fn a_short_input_is_refused() {
        Dense::new(&[1.0; 6], &[], 2, 3).run(&[1.0; 3], &mut [0.0; 6]);
    }
}
