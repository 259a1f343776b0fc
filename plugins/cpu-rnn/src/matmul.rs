//! The matrix product: the one place that calls the `gemm` crate, and the crate's only unsafe code.

use std::num::NonZeroUsize;

use gemm::Parallelism;

/// How many threads one matrix product may use.
///
/// With one thread the product runs on the calling thread. With more, it is split over the process-wide rayon pool;
/// products too small to gain from that stay on the calling thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threads(pub NonZeroUsize);

impl Threads {
    /// Everything on the calling thread.
    pub const SINGLE: Self = Self(NonZeroUsize::MIN);

    fn parallelism(self) -> Parallelism {
        match self.0.get() {
            1 => Parallelism::None,
            count => Parallelism::Rayon(count),
        }
    }
}

/// A weight matrix, stored as `[input, output]`, row-major.
///
/// PyTorch stores `[output, input]`. Transposed, the outputs of one input lie side by side, which is how the product
/// reads them: it then needs no copy of the weights in a layout of its own (see the crate's limits for the exception).
#[derive(Debug, Clone)]
pub struct Weight {
    input_count: usize,
    output_count: usize,
    values: Vec<f32>,
}

impl Weight {
    /// Takes a matrix `[output, input]`, row-major, as PyTorch stores it.
    ///
    /// # Panics
    /// If `rows` does not hold `output_count * input_count` values, or either count is 0.
    #[must_use]
    pub fn from_pytorch(rows: &[f32], output_count: usize, input_count: usize) -> Self {
        assert!(output_count > 0 && input_count > 0, "a weight matrix has no zero dimension");
        assert_eq!(rows.len(), output_count * input_count, "size of a weight matrix");
        let column = |input: usize| rows.iter().skip(input).step_by(input_count).copied();
        Self { input_count, output_count, values: (0..input_count).flat_map(column).collect() }
    }

    /// Number of inputs.
    #[must_use]
    pub fn input_count(&self) -> usize {
        self.input_count
    }

    /// Number of outputs.
    #[must_use]
    pub fn output_count(&self) -> usize {
        self.output_count
    }
}

/// Adds `left · weight` to `sum`.
///
/// `left` is `[row, input]`, contiguous. `sum` is `[row, output]` with `sum_stride` elements from one row to the next;
/// elements between the rows are left alone. Accumulates in f32.
///
/// [any thread] With [`Threads::SINGLE`] it does not block.
///
/// # Panics
/// If a slice is too short for `row_count` rows, or the rows of `sum` overlap.
pub fn multiply_add(
    left: &[f32],
    weight: &Weight,
    sum: &mut [f32],
    sum_stride: usize,
    row_count: usize,
    threads: Threads,
) {
    let (m, k, n) = (row_count, weight.input_count, weight.output_count);
    if m == 0 {
        return;
    }
    assert!(left.len() >= m * k, "left operand is too short");
    assert!(sum_stride >= n, "rows of the sum overlap");
    assert!(sum.len() >= (m - 1) * sum_stride + n, "sum is too short");
    let stride = |count: usize| isize::try_from(count).expect("a slice is no longer than isize::MAX");

    // SAFETY: with the strides given, the call reads elements [0, m * k) of `left` and [0, k * n) of the weight (its
    // constructor keeps the length), and reads and writes elements up to (m - 1) * sum_stride + n of `sum`. The
    // asserts above hold for all three. `sum` is borrowed exclusively, so it overlaps neither operand, and its rows
    // do not overlap each other, so threads that write different elements do not meet.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            sum.as_mut_ptr(),
            1,
            stride(sum_stride),
            true,
            left.as_ptr(),
            1,
            stride(k),
            weight.values.as_ptr(),
            1,
            stride(n),
            1.0,
            1.0,
            false,
            false,
            false,
            threads.parallelism(),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // [output, input] = [3, 2].
    const ROWS: [f32; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

    #[test]
    fn adds_to_what_is_there_and_leaves_the_gaps_between_rows_alone() {
        let weight = Weight::from_pytorch(&ROWS, 3, 2);
        let mut sum = [100.0, 100.0, 100.0, -1.0, 0.0, 0.0, 0.0, -1.0];
        multiply_add(&[1.0, 0.0, 0.5, 2.0], &weight, &mut sum, 4, 2, Threads::SINGLE);
        assert_eq!(sum, [101.0, 103.0, 105.0, -1.0, 4.5, 9.5, 14.5, -1.0]);
    }

    #[test]
    fn several_threads_give_the_same_sums() {
        let (rows, inputs, outputs) = (150, 130, 170);
        let cycle = |count: usize| (0..count).map(|i| (i % 13) as f32 - 6.0).collect::<Vec<_>>();
        let weight = Weight::from_pytorch(&cycle(outputs * inputs), outputs, inputs);
        let left = cycle(rows * inputs);
        let run = |threads| {
            let mut sum = vec![0.0; rows * outputs];
            multiply_add(&left, &weight, &mut sum, outputs, rows, threads);
            sum
        };
        // Small integers: every order of summation is exact.
        assert_eq!(run(Threads::SINGLE), run(Threads(NonZeroUsize::new(2).unwrap())));
    }

    #[test]
    #[should_panic(expected = "sum is too short")]
    fn a_short_destination_is_refused() {
        let weight = Weight::from_pytorch(&ROWS, 3, 2);
        multiply_add(&[1.0; 4], &weight, &mut [0.0; 5], 3, 2, Threads::SINGLE);
    }
}
