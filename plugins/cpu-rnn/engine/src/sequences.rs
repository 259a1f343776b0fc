//! Where the rows of a batch of sequences lie.

use std::marker::PhantomData;

/// Where each sample begins. Only the last form takes memory.
#[derive(Debug, Clone)]
enum Starts<'a, P> {
    /// One after the other: address of the first, number of values from one to the next, and number of samples.
    Even(P, usize, usize),
    /// Each at a place of its own.
    Listed(&'a [P]),
    /// The same, kept here.
    Owned(Vec<P>),
}

impl<P> Starts<'_, P> {
    fn len(&self) -> usize {
        match self {
            Self::Even(_, _, count) => *count,
            Self::Listed(starts) => starts.len(),
            Self::Owned(starts) => starts.len(),
        }
    }
}

/// A batch of sequences to be read: row `(step, sample)` has `width` values from `samples[sample] + step *
/// step_stride`.
///
/// So a time-major tensor and one tensor for each sample are read without a copy.
#[derive(Debug, Clone)]
pub struct Sequences<'a> {
    samples: Starts<'a, *const f32>,
    step_stride: usize,
    time: usize,
    width: usize,
    lifetime: PhantomData<&'a [f32]>,
}

/// The same to be written. Values of a row beyond `width` columns from its start are left alone.
#[derive(Debug)]
pub struct SequencesMut<'a> {
    samples: Starts<'a, *mut f32>,
    step_stride: usize,
    time: usize,
    width: usize,
    lifetime: PhantomData<&'a mut [f32]>,
}

impl<'a> Sequences<'a> {
    /// A contiguous tensor `[time, batch, width]`.
    ///
    /// # Panics
    /// If the tensor has another size.
    #[must_use]
    pub fn time_major(tensor: &'a [f32], time: usize, batch: usize, width: usize) -> Self {
        assert_eq!(tensor.len(), time * batch * width, "size of a tensor [{time}, {batch}, {width}]");
        let samples = Starts::Even(tensor.as_ptr(), width, batch);
        Self { samples, step_stride: batch * width, time, width, lifetime: PhantomData }
    }

    /// A contiguous tensor `[batch, time, width]`.
    ///
    /// # Panics
    /// If the tensor has another size.
    #[must_use]
    pub fn sample_major(tensor: &'a [f32], time: usize, batch: usize, width: usize) -> Self {
        assert_eq!(tensor.len(), time * batch * width, "size of a tensor [{batch}, {time}, {width}]");
        let samples = Starts::Even(tensor.as_ptr(), time * width, batch);
        Self { samples, step_stride: width, time, width, lifetime: PhantomData }
    }

    /// One contiguous tensor `[time, width]` for each sample.
    ///
    /// # Panics
    /// If a tensor has another size.
    #[must_use]
    pub fn batch_major(tensors: &[&'a [f32]], time: usize, width: usize) -> Self {
        let start = |tensor: &&'a [f32]| {
            assert_eq!(tensor.len(), time * width, "size of a tensor [{time}, {width}]");
            tensor.as_ptr()
        };
        let samples = Starts::Owned(tensors.iter().map(start).collect());
        Self { samples, step_stride: width, time, width, lifetime: PhantomData }
    }

    /// One sequence from each of the given addresses. Allocates nothing.
    ///
    /// # Safety
    /// For each start and each step below `time`, the `width` values from `start + step * step_stride` are initialised
    /// and aligned, and nothing writes them during `'a`.
    #[must_use]
    pub unsafe fn from_starts(
        starts: &'a [*const f32],
        step_stride: usize,
        time: usize,
        width: usize,
    ) -> Self {
        Self { samples: Starts::Listed(starts), step_stride, time, width, lifetime: PhantomData }
    }

    /// Number of steps.
    #[must_use]
    pub fn time(&self) -> usize {
        self.time
    }

    /// Number of sequences.
    #[must_use]
    pub fn batch(&self) -> usize {
        self.samples.len()
    }

    /// Number of values of a row.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// The row of a step and a sample.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn row(&self, step: usize, sample: usize) -> &'a [f32] {
        assert!(step < self.time && sample < self.samples.len(), "row ({step}, {sample})");
        // SAFETY: each row of a step below `time` lies within a tensor that is borrowed for 'a: the constructors
        // checked it, or the caller of `from_starts` vouched for it.
        unsafe {
            std::slice::from_raw_parts(self.sample_ptr(sample).add(step * self.step_stride), self.width)
        }
    }

    /// First value of a sample's first row; [`Self::step_stride`] values from row to row.
    #[must_use]
    pub fn sample_ptr(&self, sample: usize) -> *const f32 {
        match &self.samples {
            Starts::Even(first, stride, count) => {
                assert!(sample < *count, "sample {sample} of {count}");
                first.wrapping_add(sample * stride)
            }
            Starts::Listed(starts) => starts[sample],
            Starts::Owned(starts) => starts[sample],
        }
    }

    /// Number of values from a row to the row of the next step.
    #[must_use]
    pub fn step_stride(&self) -> usize {
        self.step_stride
    }
}

impl<'a> SequencesMut<'a> {
    /// A contiguous tensor `[time, batch, width]`.
    ///
    /// # Panics
    /// If the tensor has another size.
    #[must_use]
    pub fn time_major(tensor: &'a mut [f32], time: usize, batch: usize, width: usize) -> Self {
        assert_eq!(tensor.len(), time * batch * width, "size of a tensor [{time}, {batch}, {width}]");
        let samples = Starts::Even(tensor.as_mut_ptr(), width, batch);
        Self { samples, step_stride: batch * width, time, width, lifetime: PhantomData }
    }

    /// A contiguous tensor `[batch, time, width]`.
    ///
    /// # Panics
    /// If the tensor has another size.
    #[must_use]
    pub fn sample_major(tensor: &'a mut [f32], time: usize, batch: usize, width: usize) -> Self {
        assert_eq!(tensor.len(), time * batch * width, "size of a tensor [{batch}, {time}, {width}]");
        let samples = Starts::Even(tensor.as_mut_ptr(), time * width, batch);
        Self { samples, step_stride: width, time, width, lifetime: PhantomData }
    }

    /// One contiguous tensor `[time, width]` for each sample.
    ///
    /// # Panics
    /// If a tensor has another size.
    #[must_use]
    pub fn batch_major(tensors: impl IntoIterator<Item = &'a mut [f32]>, time: usize, width: usize) -> Self {
        let start = |tensor: &'a mut [f32]| {
            assert_eq!(tensor.len(), time * width, "size of a tensor [{time}, {width}]");
            tensor.as_mut_ptr()
        };
        let samples = Starts::Owned(tensors.into_iter().map(start).collect());
        Self { samples, step_stride: width, time, width, lifetime: PhantomData }
    }

    /// One sequence from each of the given addresses. Allocates nothing.
    ///
    /// # Safety
    /// For each start and each step below `time`, the `width` values from `start + step * step_stride` are initialised
    /// and aligned, and nothing else reads or writes them during `'a`. No two rows overlap.
    #[must_use]
    pub unsafe fn from_starts(starts: &'a [*mut f32], step_stride: usize, time: usize, width: usize) -> Self {
        Self { samples: Starts::Listed(starts), step_stride, time, width, lifetime: PhantomData }
    }

    /// Number of steps.
    #[must_use]
    pub fn time(&self) -> usize {
        self.time
    }

    /// Number of sequences.
    #[must_use]
    pub fn batch(&self) -> usize {
        self.samples.len()
    }

    /// Number of values of a row.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// The row of a step and a sample.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&mut self, step: usize, sample: usize) -> &mut [f32] {
        assert!(step < self.time && sample < self.samples.len(), "row ({step}, {sample})");
        // SAFETY: each row of a step below `time` lies within a tensor that is borrowed mutably for 'a: the
        // constructors checked it, or the caller of `from_starts` vouched for it. The row is borrowed from self
        // mutably, so there is no second one.
        unsafe {
            std::slice::from_raw_parts_mut(self.sample_ptr(sample).add(step * self.step_stride), self.width)
        }
    }

    /// First value of a sample's first row; [`Self::step_stride`] values from row to row.
    #[must_use]
    pub fn sample_ptr(&self, sample: usize) -> *mut f32 {
        match &self.samples {
            Starts::Even(first, stride, count) => {
                assert!(sample < *count, "sample {sample} of {count}");
                first.wrapping_add(sample * stride)
            }
            Starts::Listed(starts) => starts[sample],
            Starts::Owned(starts) => starts[sample],
        }
    }

    /// Number of values from a row to the row of the next step.
    #[must_use]
    pub fn step_stride(&self) -> usize {
        self.step_stride
    }
}
