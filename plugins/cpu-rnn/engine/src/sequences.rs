//! Where the rows of a batch of sequences lie.

use std::{marker::PhantomData, ops::Deref};

/// A batch of sequences, to be read by `P = *const f32` or written by `P = *mut f32`: row `(step, sample)` has `width`
/// values from `sample_ptr(sample) + step * step_stride`.
///
/// So a time-major tensor and one tensor for each sample are used without a copy. Values beyond the `width` columns of
/// a row are left alone.
#[derive(Debug)]
pub struct SequencesBy<'a, P> {
    samples: Starts<'a, P>,
    step_stride: usize,
    time: usize,
    width: usize,
    lifetime: PhantomData<&'a mut [f32]>,
}

/// A batch of sequences to be read.
pub type Sequences<'a> = SequencesBy<'a, *const f32>;

/// A batch of sequences to be written.
pub type SequencesMut<'a> = SequencesBy<'a, *mut f32>;

/// Begin of each sample.
#[derive(Debug)]
enum Starts<'a, P> {
    /// One after the other: address of the first, number of values from one to the next, and number of samples.
    Even(P, usize, usize),
    /// Each at its own place.
    Listed(&'a [P]),
}

/// A pointer to values, with its borrow.
pub trait Pointer: Copy {
    /// The borrow.
    type Tensor<'a>: Deref<Target = [f32]>;

    /// Returns the first value of a tensor.
    fn first(tensor: Self::Tensor<'_>) -> Self;

    /// Returns the value `count` places further.
    #[must_use]
    fn after(self, count: usize) -> Self;
}

impl Pointer for *const f32 {
    type Tensor<'a> = &'a [f32];

    fn first(tensor: &[f32]) -> Self {
        tensor.as_ptr()
    }

    fn after(self, count: usize) -> Self {
        self.wrapping_add(count)
    }
}

impl Pointer for *mut f32 {
    type Tensor<'a> = &'a mut [f32];

    fn first(tensor: &mut [f32]) -> Self {
        tensor.as_mut_ptr()
    }

    fn after(self, count: usize) -> Self {
        self.wrapping_add(count)
    }
}

impl<'a, P: Pointer> SequencesBy<'a, P> {
    /// Creates a contiguous tensor `[time, batch, width]`.
    ///
    /// # Panics
    /// If the tensor has another size.
    #[must_use]
    pub fn time_major(tensor: P::Tensor<'a>, time: usize, batch: usize, width: usize) -> Self {
        let step_stride = outer_stride(tensor.len(), [time, batch, width]);
        let samples = Starts::Even(P::first(tensor), width, batch);
        Self { samples, step_stride, time, width, lifetime: PhantomData }
    }

    /// Creates a contiguous tensor `[batch, time, width]`.
    ///
    /// # Panics
    /// If the tensor has another size.
    #[must_use]
    pub fn sample_major(tensor: P::Tensor<'a>, time: usize, batch: usize, width: usize) -> Self {
        let sample_stride = outer_stride(tensor.len(), [batch, time, width]);
        let samples = Starts::Even(P::first(tensor), sample_stride, batch);
        Self { samples, step_stride: width, time, width, lifetime: PhantomData }
    }

    /// Returns one sequence from each of the given addresses.
    ///
    /// # Safety
    /// For each start and each step below `time`, the `width` values from `start + step * step_stride` are initialised
    /// and aligned. During `'a` nothing writes them; if they are to be written, nothing else reads them either, and no
    /// two rows overlap.
    #[must_use]
    pub unsafe fn from_starts(starts: &'a [P], step_stride: usize, time: usize, width: usize) -> Self {
        Self { samples: Starts::Listed(starts), step_stride, time, width, lifetime: PhantomData }
    }

    /// Returns the number of steps.
    #[must_use]
    pub fn time(&self) -> usize {
        self.time
    }

    /// Returns the number of sequences.
    #[must_use]
    pub fn batch(&self) -> usize {
        match &self.samples {
            Starts::Even(_, _, count) => *count,
            Starts::Listed(starts) => starts.len(),
        }
    }

    /// Returns the number of values of a row.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the first value of a sample's first row; [`Self::step_stride`] values from row to row.
    #[must_use]
    pub fn sample_ptr(&self, sample: usize) -> P {
        match &self.samples {
            Starts::Even(first, stride, count) => {
                assert!(sample < *count, "sample {sample} of {count}");
                first.after(sample * stride)
            }
            Starts::Listed(starts) => starts[sample],
        }
    }

    /// Returns the number of values from a row to the row of the next step.
    #[must_use]
    pub fn step_stride(&self) -> usize {
        self.step_stride
    }

    fn row_ptr(&self, step: usize, sample: usize) -> P {
        assert!(step < self.time && sample < self.batch(), "row ({step}, {sample})");
        self.sample_ptr(sample).after(step * self.step_stride)
    }
}

/// Returns the number of values of one element along the first dimension of a contiguous tensor of `len` values.
///
/// # Panics
/// If the shape has another size, or one that no tensor has.
fn outer_stride(len: usize, shape: [usize; 3]) -> usize {
    let [outer, inner, width] = shape;
    // Checked: a product that wraps around would fit a tensor that is far too small.
    let stride = inner.checked_mul(width);
    let size = stride.and_then(|stride| stride.checked_mul(outer));
    assert_eq!(Some(len), size, "size of a tensor {shape:?}");
    stride.unwrap_or_default()
}

impl<'a> Sequences<'a> {
    /// Returns the row of a step and a sample.
    ///
    /// # Panics
    /// If the row does not exist.
    #[must_use]
    pub fn row(&self, step: usize, sample: usize) -> &'a [f32] {
        // SAFETY: each row of a step below `time` lies within a tensor that is borrowed for 'a: the constructors
        // checked it, or the caller of `from_starts` vouched for it.
        unsafe { std::slice::from_raw_parts(self.row_ptr(step, sample), self.width) }
    }
}

impl SequencesMut<'_> {
    /// Returns the row of a step and a sample, to be written.
    ///
    /// # Panics
    /// If the row does not exist.
    pub fn row(&mut self, step: usize, sample: usize) -> &mut [f32] {
        // SAFETY: each row of a step below `time` lies within a tensor that is borrowed mutably for the lifetime of
        // the sequences: the constructors checked it, or the caller of `from_starts` vouched for it. The row is
        // borrowed from self mutably, so there is no second one.
        unsafe { std::slice::from_raw_parts_mut(self.row_ptr(step, sample), self.width) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_in_either_order() {
        let tensor: Vec<_> = (0_u8..12).map(f32::from).collect();
        let [first, second] =
            [Sequences::time_major(&tensor, 3, 2, 2), Sequences::sample_major(&tensor, 3, 2, 2)];
        assert_eq!((first.row(2, 1), second.row(2, 1)), (&[10.0, 11.0][..], &[10.0, 11.0][..]));
        assert_eq!((first.row(1, 0), second.row(1, 0)), (&[4.0, 5.0][..], &[2.0, 3.0][..]));
    }

    /// The product of each of these shapes is 0 in arithmetic that wraps around.
    #[test]
    fn a_shape_that_no_tensor_has_is_refused() {
        let half = 1 << (usize::BITS / 2);
        for [time, batch, width] in [[half, half, 1], [half, 1, half], [1, half, half]] {
            for make in [Sequences::time_major, Sequences::sample_major] {
                let made = std::panic::catch_unwind(|| make(&[], time, batch, width).batch());
                let message = made.unwrap_err().downcast::<String>().unwrap();
                assert!(message.contains("size of a tensor ["), "{message}");
            }
        }
    }
}
