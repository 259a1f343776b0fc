//! A batch as an instance sees it: inputs to read, outputs to write.

use std::{ffi::c_void, slice};

use proctor_vocabulary::{ResponseId, SampleIndex, SampleStatus};

use super::{error::PluginError, raw::check_size};
use crate::abi;

/// A batch for one call of [`Instance::execute`](crate::Instance::execute).
#[derive(Debug)]
pub struct Batch<'a> {
    samples: &'a mut [abi::ProctorBatchSample],
    stamps: &'a mut abi::ProctorStamps,
}

/// One sample of a batch.
#[derive(Debug)]
pub struct BatchSample<'a> {
    raw: &'a mut abi::ProctorBatchSample,
}

impl<'a> Batch<'a> {
    /// # Safety
    /// `raw` is null or points to a batch that is valid, and used by no other code, for `'a`.
    pub(super) unsafe fn read(raw: *mut abi::ProctorBatch) -> Result<Self, PluginError> {
        // SAFETY: `raw` is null or a batch of the host, which no other code uses for `'a`.
        let raw = unsafe { raw.as_mut() }.ok_or_else(|| PluginError::invalid_argument("batch is null"))?;
        check_size("ProctorBatch", raw.size, size_of::<abi::ProctorBatch>())?;
        if raw.samples.is_null() || raw.sample_count == 0 {
            return Err(PluginError::invalid_argument("the batch has no samples"));
        }
        // SAFETY: the ABI says that `samples` points to `sample_count` samples that the callee may write.
        let samples = unsafe { slice::from_raw_parts_mut(raw.samples, raw.sample_count) };
        Ok(Self { samples, stamps: &mut raw.stamps })
    }

    /// Number of samples; at least 1.
    #[must_use]
    pub fn sample_count(&self) -> usize {
        self.samples.len()
    }

    /// The sample at a position of the batch.
    ///
    /// # Panics
    /// If `position` is not below [`sample_count`](Batch::sample_count).
    pub fn sample(&mut self, position: usize) -> BatchSample<'_> {
        BatchSample { raw: &mut self.samples[position] }
    }

    /// All samples, each usable beside the others.
    pub fn samples(&mut self) -> impl ExactSizeIterator<Item = BatchSample<'_>> {
        self.samples.iter_mut().map(|raw| BatchSample { raw })
    }

    /// The bytes of input tensor `input` of the sample at `position`.
    ///
    /// # Panics
    /// If there is no such sample or input.
    #[must_use]
    pub fn input(&self, position: usize, input: usize) -> &[u8] {
        input_of(&self.samples[position], input)
    }

    /// The same as `f32` values.
    ///
    /// # Panics
    /// If there is no such sample or input, or it is not made of `f32` values.
    #[must_use]
    pub fn input_f32(&self, position: usize, input: usize) -> &[f32] {
        as_f32(self.input(position, input))
    }

    /// Says when the batch moved and computed, in the time of [`Host::now_ns`](crate::Host::now_ns).
    pub fn set_stamps(&mut self, stamps: abi::ProctorStamps) {
        *self.stamps = stamps;
    }
}

impl BatchSample<'_> {
    /// Identity of the issued sample, for [`Host::first_token`](crate::Host::first_token).
    #[must_use]
    pub fn id(&self) -> ResponseId {
        ResponseId(self.raw.id)
    }

    /// Position in the query sample library.
    #[must_use]
    pub fn index(&self) -> SampleIndex {
        SampleIndex(self.raw.index)
    }

    /// The bytes of an input tensor.
    ///
    /// # Panics
    /// If there is no such input.
    #[must_use]
    pub fn input(&self, input: usize) -> &[u8] {
        input_of(self.raw, input)
    }

    /// The same as `f32` values.
    ///
    /// # Panics
    /// If there is no such input, or it is not made of `f32` values.
    #[must_use]
    pub fn input_f32(&self, input: usize) -> &[f32] {
        as_f32(self.input(input))
    }

    /// Number of output tensors.
    #[must_use]
    pub fn output_count(&self) -> usize {
        self.raw.output_count
    }

    /// The whole room of an output tensor, all of which counts as written.
    ///
    /// # Panics
    /// If there is no such output.
    pub fn output_mut(&mut self, output: usize) -> &mut [u8] {
        let output = self.raw_output(output);
        output.size_bytes = output.capacity_bytes;
        // SAFETY: the ABI says that `data` has room for `capacity_bytes`, which the plugin alone uses during the
        // call; it is not null because `raw_output` checked it.
        unsafe { slice::from_raw_parts_mut(output.data.cast(), output.capacity_bytes) }
    }

    /// The same as `f32` values.
    ///
    /// # Panics
    /// If there is no such output, or its room is not made of `f32` values.
    pub fn output_f32_mut(&mut self, output: usize) -> &mut [f32] {
        let bytes = self.output_mut(output);
        // SAFETY: every bit pattern is an f32; `align_to_mut` itself sees to the alignment.
        let (before, values, after) = unsafe { bytes.align_to_mut::<f32>() };
        assert!(before.is_empty() && after.is_empty(), "the output is not made of f32 values");
        values
    }

    /// Says that fewer bytes than the whole room of an output were written.
    ///
    /// # Panics
    /// If there is no such output or it has less room.
    pub fn set_output_size(&mut self, output: usize, size_bytes: usize) {
        let output = self.raw_output(output);
        assert!(size_bytes <= output.capacity_bytes, "an output cannot be larger than its room");
        output.size_bytes = size_bytes;
    }

    /// Lends the bytes of an output to the host, which gives them back by dropping them, instead of copying them.
    ///
    /// # Panics
    /// If there is no such output.
    pub fn lend_output(&mut self, output: usize, bytes: Vec<u8>) {
        let lent = Box::new(bytes);
        let output = self.raw_output(output);
        output.size_bytes = lent.len();
        output.lent = lent.as_ptr().cast();
        output.release = Some(drop_lent);
        output.private_data = Box::into_raw(lent).cast();
    }

    /// Says that this sample failed, while others of the batch may be fine.
    pub fn fail(&mut self, status: SampleStatus) {
        self.raw.status = status.0;
    }

    /// Says how many output tokens there are.
    pub fn set_token_count(&mut self, token_count: u32) {
        self.raw.token_count = token_count;
    }

    fn raw_output(&mut self, output: usize) -> &mut abi::ProctorOutput {
        assert!(output < self.raw.output_count, "output {output} of {}", self.raw.output_count);
        // SAFETY: the ABI says that `outputs` points to `output_count` outputs that the callee may write.
        let output = unsafe { &mut *self.raw.outputs.add(output) };
        assert!(!output.data.is_null(), "the host gave an output without room");
        output
    }
}

/// # Safety
/// `private_data` comes from [`BatchSample::lend_output`] and is handed in once.
unsafe extern "C" fn drop_lent(private_data: *mut c_void) {
    // SAFETY: `private_data` is the address that `lend_output` got from `Box::into_raw`, and comes back once.
    drop(unsafe { Box::from_raw(private_data.cast::<Vec<u8>>()) });
}

fn input_of(sample: &abi::ProctorBatchSample, input: usize) -> &[u8] {
    assert!(input < sample.input_count, "input {input} of {}", sample.input_count);
    // SAFETY: the ABI says that `inputs` points to `input_count` tensors whose bytes stay valid during the call.
    unsafe {
        let tensor = &*sample.inputs.add(input);
        if tensor.size_bytes == 0 {
            &[]
        } else {
            slice::from_raw_parts(tensor.data.cast(), tensor.size_bytes)
        }
    }
}

fn as_f32(bytes: &[u8]) -> &[f32] {
    // SAFETY: every bit pattern is an f32; `align_to` itself sees to the alignment.
    let (before, values, after) = unsafe { bytes.align_to::<f32>() };
    assert!(before.is_empty() && after.is_empty(), "the input is not made of f32 values");
    values
}
