//! A batch as an instance sees it: inputs to read, outputs to write.

pub(super) mod submitted;

use std::{
    cell::{RefCell, UnsafeCell},
    ffi::c_void,
    marker::PhantomData,
    ptr, slice,
};

use proctor_vocabulary::{ResponseId, SampleIndex};

use super::{
    error::PluginError,
    raw::{elements, slice_of, structure, text},
    stage::Stage,
};
use crate::{abi, versioned::Elements};

/// A batch for one call of [`Instance::execute`](crate::Instance::execute).
#[derive(Debug)]
pub struct Batch<'a> {
    samples: Elements<'a, abi::ProctorBatchSample>,
    sizes: Sizes,
    /// Batch in which it reports its stages. Its fields of ABI 1.0 exist.
    raw: *mut abi::ProctorBatch,
}

/// One sample of a batch.
#[derive(Debug)]
pub struct BatchSample<'a> {
    /// Batch of the host. Its fields of ABI 1.0 exist.
    raw: *mut abi::ProctorBatchSample,
    sizes: Sizes,
    batch: PhantomData<&'a mut ()>,
}

/// Distances of the tensors and of the outputs of a sample, in bytes.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    tensor: usize,
    output: usize,
}

/// Room for the stages of a batch.
type Stages = [Stage; abi::PROCTOR_STAGE_COUNT_MAX];

thread_local! {
    /// The stages of the latest batch of this thread, for the host to read after the call.
    static STAGES: UnsafeCell<Stages> = const {
        UnsafeCell::new([Stage::new("", 0, 0); abi::PROCTOR_STAGE_COUNT_MAX])
    };
    /// Texts about failed samples of the latest batch of this thread, for the host to read after the call.
    static MESSAGES: RefCell<Vec<Box<str>>> = const { RefCell::new(Vec::new()) };
}

impl<'a> Batch<'a> {
    /// # Safety
    /// `raw` is null or points to a batch that is valid, and used by no other code, for `'a`.
    pub(super) unsafe fn read(raw: *mut abi::ProctorBatch) -> Result<Self, PluginError> {
        // SAFETY: `raw` is null or a batch of the host, which no other code uses for `'a`.
        let batch = unsafe { structure(raw) }?;
        if batch.sample_count == 0 {
            return Err(PluginError::invalid_argument("the batch has no samples"));
        }
        let samples = elements(batch.samples, batch.sample_count, batch.sample_stride)?;
        MESSAGES.with_borrow_mut(Vec::clear);
        let sizes = Sizes { tensor: batch.input_stride, output: batch.output_stride };
        Ok(Self { samples, sizes, raw })
    }

    /// Returns the number of samples; at least 1.
    #[must_use]
    pub fn sample_count(&self) -> usize {
        self.samples.len()
    }

    /// Returns the sample at a position of the batch.
    ///
    /// # Panics
    /// If `position` is not below [`sample_count`](Batch::sample_count).
    pub fn sample(&mut self, position: usize) -> BatchSample<'_> {
        self.at(position)
    }

    /// Returns all samples, each usable alongside the others.
    pub fn samples(&mut self) -> impl ExactSizeIterator<Item = BatchSample<'_>> {
        (0..self.sample_count()).map(|position| self.at(position))
    }

    /// Returns a sample, to read it or, with `&mut self`, to write it.
    fn at(&self, position: usize) -> BatchSample<'_> {
        BatchSample { raw: self.samples.pointer(position), sizes: self.sizes, batch: PhantomData }
    }

    /// Returns the bytes of input tensor `input` of the sample at `position`.
    ///
    /// # Panics
    /// If there is no such sample or input.
    #[must_use]
    pub fn input(&self, position: usize, input: usize) -> &[u8] {
        self.at(position).bytes(input)
    }

    /// Returns the same as `f32` values.
    ///
    /// # Panics
    /// If there is no such sample or input, or it is not made of `f32` values.
    #[must_use]
    pub fn input_f32(&self, position: usize, input: usize) -> &[f32] {
        as_f32(self.input(position, input))
    }

    /// Returns whether the stages of the batch have been said already.
    pub(super) fn has_stages(&self) -> bool {
        // SAFETY: a field of ABI 1.0 of a batch that this plugin alone uses during the call, as `read` checked.
        unsafe { (*self.raw).stage_count > 0 }
    }

    /// Sets the stages of the work on the batch: in order, none beginning before the previous one ended.
    ///
    /// # Panics
    /// If there are more than `PROCTOR_STAGE_COUNT_MAX`.
    pub fn set_stages(&mut self, stages: &[Stage]) {
        STAGES.with(|room| {
            let room = room.get().cast::<Stage>();
            assert!(stages.len() <= abi::PROCTOR_STAGE_COUNT_MAX, "{} stages of a batch", stages.len());
            // SAFETY: the room has as many elements, is of this thread alone, and no reference to it is ever made. The
            // host reads it before the next batch of this thread. The batch has these fields of ABI 1.0, as `read`
            // checked, and this plugin alone uses them during the call.
            unsafe {
                room.copy_from_nonoverlapping(stages.as_ptr(), stages.len());
                (*self.raw).stages = room.cast();
                (*self.raw).stage_count = stages.len();
                (*self.raw).stage_stride = size_of::<Stage>();
            }
        });
    }
}

impl<'a> BatchSample<'a> {
    /// Returns the identity of the issued sample, for [`Host::first_token`](crate::Host::first_token).
    #[must_use]
    pub fn id(&self) -> ResponseId {
        // SAFETY: a field of ABI 1.0 of a sample that the host keeps for the call.
        ResponseId(unsafe { (*self.raw).id })
    }

    /// Returns the position in the query sample library.
    #[must_use]
    pub fn index(&self) -> SampleIndex {
        // SAFETY: a field of ABI 1.0 of a sample that the host keeps for the call.
        SampleIndex(unsafe { (*self.raw).index })
    }

    /// Returns the bytes of an input tensor.
    ///
    /// # Panics
    /// If there is no such input.
    #[must_use]
    pub fn input(&self, input: usize) -> &[u8] {
        self.bytes(input)
    }

    /// Returns the same as `f32` values.
    ///
    /// # Panics
    /// If there is no such input, or it is not made of `f32` values.
    #[must_use]
    pub fn input_f32(&self, input: usize) -> &[f32] {
        as_f32(self.bytes(input))
    }

    /// Returns the extent of each dimension of an input tensor of this sample; the request's, unless the
    /// model takes samples whose shapes differ.
    ///
    /// # Panics
    /// If there is no such input.
    #[must_use]
    pub fn input_shape(&self, input: usize) -> &[u64] {
        let tensor = self.tensor(input);
        // SAFETY: the ABI says that `shape` points to `rank` extents that stay valid during the call.
        unsafe { slice_of(tensor.shape, tensor.rank as usize) }.unwrap_or_default()
    }

    /// Returns the number of output tensors.
    #[must_use]
    pub fn output_count(&self) -> usize {
        // SAFETY: a field of ABI 1.0 of a sample that the host keeps for the call.
        unsafe { (*self.raw).output_count }
    }

    /// Returns the whole room of an output tensor, all of which counts as written.
    ///
    /// # Panics
    /// If there is no such output.
    pub fn output_mut(&mut self, output: usize) -> &mut [u8] {
        let output = self.own_output(output);
        // SAFETY: fields of ABI 1.0 of an output that this plugin alone uses during the call. The ABI says that `data`
        // has room for `capacity_bytes`; it is not null because `own_output` checked it.
        unsafe {
            let capacity_bytes = (*output).capacity_bytes;
            (*output).size_bytes = capacity_bytes;
            slice::from_raw_parts_mut((*output).data.cast(), capacity_bytes)
        }
    }

    /// Returns the same as `f32` values.
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

    /// Sets the number of bytes written to an output, if it is less than the whole room.
    ///
    /// # Panics
    /// If there is no such output or it has less room.
    pub fn set_output_size(&mut self, output: usize, size_bytes: usize) {
        let output = self.own_output(output);
        // SAFETY: fields of ABI 1.0 of an output that this plugin alone uses during the call.
        unsafe {
            assert!(size_bytes <= (*output).capacity_bytes, "an output cannot be larger than its room");
            (*output).size_bytes = size_bytes;
        }
    }

    /// Lends the bytes of an output to the host, which returns them by dropping them, instead of copying
    /// them. Anything lent or written for this output before is dropped.
    ///
    /// # Panics
    /// If there is no such output.
    pub fn lend_output(&mut self, output: usize, bytes: Vec<u8>) {
        let output = self.own_output(output);
        let lent = Box::new(bytes);
        // SAFETY: fields of ABI 1.0 of an output that this plugin alone uses during the call.
        unsafe {
            (*output).size_bytes = lent.len();
            (*output).lent = lent.as_ptr().cast();
            (*output).release = Some(drop_lent);
            (*output).context = Box::into_raw(lent).cast();
        }
    }

    /// Reports that this sample failed and why, while others of the batch may be fine.
    pub fn fail(&mut self, error: &PluginError) {
        let message: Box<str> = error.message.as_str().into();
        // SAFETY: fields of ABI 1.0 of a sample that this plugin alone uses during the call. The text lives until the
        // next batch of this thread, which is as long as the ABI asks.
        unsafe {
            (*self.raw).status = error.failure_status();
            (*self.raw).message = text(&message);
            (*self.raw).vendor_code = error.vendor_code;
        }
        MESSAGES.with_borrow_mut(|messages| messages.push(message));
    }

    /// Sets the number of output tokens.
    pub fn set_token_count(&mut self, token_count: u32) {
        // SAFETY: a field of ABI 1.0 of a sample that this plugin alone uses during the call.
        unsafe { (*self.raw).token_count = token_count };
    }

    /// Returns an output that is not lent, with its room. It has its fields of ABI 1.0, and may lack later ones.
    fn own_output(&mut self, output: usize) -> *mut abi::ProctorOutput {
        // SAFETY: fields of ABI 1.0 of a sample that this plugin alone uses during the call.
        let (first, count) = unsafe { ((*self.raw).outputs, (*self.raw).output_count) };
        assert!(output < count, "output {output} of {count}");
        let outputs = elements::<abi::ProctorOutput>(first, count, self.sizes.output)
            .expect("the host says where the outputs are");
        let output = outputs.pointer(output);
        // SAFETY: the ABI says that the callee may write the outputs during the call; these are fields of ABI 1.0.
        // `lend_output` set `release` for this pointer, and the host has not seen either.
        unsafe {
            assert!(!(*output).data.is_null(), "the host gave an output without room");
            if let Some(release) = (*output).release.take() {
                release((*output).context);
            }
            (*output).lent = ptr::null();
            (*output).context = ptr::null_mut();
        }
        output
    }

    fn tensor(&self, input: usize) -> abi::ProctorTensor {
        // SAFETY: fields of ABI 1.0 of a sample that the host keeps for the call.
        let (first, count) = unsafe { ((*self.raw).inputs, (*self.raw).input_count) };
        assert!(input < count, "input {input} of {count}");
        let tensors = elements::<abi::ProctorTensor>(first, count, self.sizes.tensor)
            .expect("the host says where the inputs are");
        // SAFETY: the ABI says that `inputs` points to `input_count` tensors that stay valid during the call.
        unsafe { tensors.get(input) }
    }

    fn bytes(&self, input: usize) -> &'a [u8] {
        let tensor = self.tensor(input);
        // SAFETY: the ABI says that the bytes of an input stay valid during the call, which `'a` does not outlast.
        unsafe { slice_of(tensor.data.cast(), tensor.size_bytes) }.unwrap_or_default()
    }
}

/// # Safety
/// `context` comes from [`BatchSample::lend_output`] and is handed in once.
unsafe extern "C" fn drop_lent(context: *mut c_void) {
    // SAFETY: `context` is the address that `lend_output` got from `Box::into_raw`, and comes back once.
    drop(unsafe { Box::from_raw(context.cast::<Vec<u8>>()) });
}

fn as_f32(bytes: &[u8]) -> &[f32] {
    // SAFETY: every bit pattern is an f32; `align_to` itself sees to the alignment.
    let (before, values, after) = unsafe { bytes.align_to::<f32>() };
    assert!(before.is_empty() && after.is_empty(), "the input is not made of f32 values");
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Room of 16 bytes for one output of one sample.
    struct Room {
        data: Box<[u64; 2]>,
        output: abi::ProctorOutput,
        sample: abi::ProctorBatchSample,
    }

    /// Does something to a sample, and returns the output that the host would see and its room.
    fn after(act: impl FnOnce(&mut BatchSample<'_>)) -> Room {
        let mut data = Box::new([u64::MAX; 2]);
        let mut room = Room {
            output: abi::ProctorOutput {
                data: data.as_mut_ptr().cast(),
                capacity_bytes: 16,
                size_bytes: 0,
                lent: ptr::null(),
                release: None,
                context: ptr::null_mut(),
            },
            data,
            sample: abi::ProctorBatchSample {
                id: 7,
                index: 3,
                inputs: ptr::null(),
                input_count: 0,
                outputs: ptr::null_mut(),
                output_count: 1,
                status: abi::PROCTOR_STATUS_OK,
                token_count: 0,
                message: abi::ProctorString { data: ptr::null(), length: 0 },
                vendor_code: 0,
            },
        };
        room.sample.outputs = &raw mut room.output;
        let mut batch = abi::ProctorBatch {
            size: size_of::<abi::ProctorBatch>(),
            samples: &raw mut room.sample,
            sample_count: 1,
            sample_stride: size_of::<abi::ProctorBatchSample>(),
            input_stride: size_of::<abi::ProctorTensor>(),
            output_stride: size_of::<abi::ProctorOutput>(),
            stages: ptr::null(),
            stage_count: 0,
            stage_stride: 0,
            id: 0,
        };
        // SAFETY: the batch and all that it points to live to the end of this function.
        let mut batch = unsafe { Batch::read(&raw mut batch) }.unwrap();
        act(&mut batch.sample(0));
        room
    }

    /// Returns the bytes that the host reads of an output: its room's, or the lent ones, which it then gives back.
    fn read_back(room: &Room) -> Vec<u8> {
        let output = &room.output;
        let from = if output.lent.is_null() { room.data.as_ptr().cast() } else { output.lent.cast() };
        // SAFETY: the plugin vouches for `size_bytes` bytes at `lent`; the room has 16.
        let bytes = unsafe { slice::from_raw_parts::<u8>(from, output.size_bytes) }.to_vec();
        if let Some(release) = output.release {
            // SAFETY: once, with the pointer that came with the function.
            unsafe { release(output.context) };
        }
        bytes
    }

    #[test]
    fn the_host_reads_what_was_lent_last() {
        let room = after(|sample| {
            sample.lend_output(0, vec![1, 2, 3]);
            sample.lend_output(0, vec![4; 5]);
        });
        assert_eq!(read_back(&room), [4; 5]);
    }

    #[test]
    fn a_loan_ends_where_the_room_is_used_after_all() {
        let room = after(|sample| {
            sample.lend_output(0, vec![1]);
            sample.output_mut(0).fill(9);
        });
        assert!(room.output.lent.is_null() && room.output.release.is_none());
        assert_eq!(read_back(&room), [9; 16]);
        let room = after(|sample| {
            sample.lend_output(0, vec![1]);
            sample.set_output_size(0, 12);
        });
        assert_eq!(read_back(&room), [255; 12]);
    }

    #[test]
    fn a_failed_sample_says_why() {
        let error = PluginError::device_lost("the device fell off the bus").with_vendor_code(-79);
        let room = after(|sample| sample.fail(&error));
        assert_eq!((room.sample.status, room.sample.vendor_code), (abi::PROCTOR_STATUS_DEVICE_LOST, -79));
        let message = room.sample.message;
        // SAFETY: the text lives until the next batch of this thread.
        let bytes = unsafe { slice::from_raw_parts(message.data, message.length) };
        assert_eq!(bytes, b"the device fell off the bus");
        let error = PluginError { status: abi::PROCTOR_STATUS_OK, ..error };
        assert_eq!(after(|sample| sample.fail(&error)).sample.status, abi::PROCTOR_STATUS_FAILED);
    }
}
