//! Batches, answers and texts as in a recording, read as the host would, from either side of the boundary.

use crate::{
    foreign::bytes_of,
    guard::checked::readable,
    record::{
        hash::hash_of,
        line::{Answer, Input},
    },
};
use proctor_plugin_api::{
    abi::{
        PROCTOR_MEMORY_DEVICE, PROCTOR_MESSAGE_LENGTH_MAX, ProctorBatch, ProctorBatchSample, ProctorError,
        ProctorMemoryRange, ProctorOutput, ProctorPreparedSample, ProctorResponse, ProctorSampleSet,
        ProctorString, ProctorTensor,
    },
    versioned::{Elements, Versioned},
};

/// Returns a text of the other side.
///
/// # Safety
/// `text.data` is null, or as many bytes can be read there.
pub(super) unsafe fn text(text: &ProctorString) -> String {
    // SAFETY: the caller's promise.
    readable(unsafe { bytes_of(text, PROCTOR_MESSAGE_LENGTH_MAX) })
}

/// Returns the message of a call that has returned, and the vendor's code.
///
/// # Safety
/// The host vouches for the room, in which the plugin has written.
pub(super) unsafe fn message(error: *const ProctorError) -> (String, i64) {
    // SAFETY: the caller's promise: the host's own structure, never null.
    let error = unsafe { &*error };
    let written = ProctorString { data: error.message, length: error.length.min(error.capacity) };
    // SAFETY: the room has `capacity` bytes.
    (unsafe { text(&written) }, error.vendor_code)
}

/// Returns the hash of several pieces of memory.
///
/// # Safety
/// Each piece can be read; it is not null unless it has no bytes.
unsafe fn hash(pieces: impl Iterator<Item = (*const u8, usize)>) -> String {
    let pieces = pieces.filter(|(_, size_bytes)| *size_bytes > 0);
    // SAFETY: the caller's promise.
    hash_of(pieces.map(|(first, size_bytes)| unsafe { std::slice::from_raw_parts(first, size_bytes) }))
}

/// A batch as it was passed: its answers are here even if the plugin overwrites the batch.
#[derive(Debug)]
pub(super) struct Handed(Vec<HandedSample>);

#[derive(Debug)]
struct HandedSample {
    id: u64,
    index: u64,
    sample: *const ProctorBatchSample,
    outputs: Vec<HandedOutput>,
}

#[derive(Debug)]
struct HandedOutput {
    output: *const ProctorOutput,
    data: *const u8,
    capacity_bytes: usize,
}

// SAFETY: what it points to is the plugin's, on whichever thread, until the batch is done, and only read then.
unsafe impl Send for Handed {}

impl Handed {
    /// Creates a batch before the call.
    ///
    /// # Safety
    /// The batch is one of this host's.
    pub(super) unsafe fn of(batch: &ProctorBatch) -> Self {
        let samples: Elements<'_, ProctorBatchSample> =
            elements(batch.samples, batch.sample_count, batch.sample_stride);
        let of_sample = |position| {
            // SAFETY: the caller's promise.
            let sample = unsafe { samples.get(position) };
            let outputs: Elements<'_, ProctorOutput> =
                elements(sample.outputs, sample.output_count, batch.output_stride);
            let of_output = |position| {
                // SAFETY: the caller's promise.
                let ProctorOutput { data, capacity_bytes, .. } = unsafe { outputs.get(position) };
                HandedOutput { output: outputs.pointer(position), data: data.cast(), capacity_bytes }
            };
            HandedSample {
                id: sample.id,
                index: sample.index,
                sample: samples.pointer(position),
                outputs: (0..outputs.len()).map(of_output).collect(),
            }
        };
        Self((0..samples.len()).map(of_sample).collect())
    }

    /// Returns the id and index of each sample.
    pub(super) fn samples(&self) -> Vec<(u64, u64)> {
        self.0.iter().map(|sample| (sample.id, sample.index)).collect()
    }

    /// Returns the answers, once the plugin has done the batch.
    ///
    /// # Safety
    /// The host has not taken the batch back, and the plugin vouches for what it has written.
    pub(super) unsafe fn answers(&self) -> Vec<Answer> {
        // SAFETY: the caller's promise.
        self.0.iter().map(|sample| unsafe { sample.answer() }).collect()
    }
}

impl HandedSample {
    /// # Safety
    /// Same as [`Handed::answers`].
    unsafe fn answer(&self) -> Answer {
        // SAFETY: the sample is the host's, which has not taken it back.
        let sample = unsafe { &*self.sample };
        // SAFETY: and so are its outputs.
        let written: Vec<&ProctorOutput> =
            self.outputs.iter().map(|place| unsafe { &*place.output }).collect();
        let places = || self.outputs.iter().zip(&written);
        // Of more than was asked for the bytes are not looked at.
        let is_possible = places().all(|(place, output)| output.size_bytes <= place.capacity_bytes);
        let piece = |(place, output): (&HandedOutput, &&ProctorOutput)| {
            (if output.lent.is_null() { place.data } else { output.lent.cast() }, output.size_bytes)
        };
        Answer {
            id: self.id,
            status: sample.status,
            size_bytes: written
                .iter()
                .fold(0, |sum: u64, output| sum.saturating_add(output.size_bytes as u64)),
            // SAFETY: the plugin vouches for as many bytes of what it lends; of the host's own there are as many.
            hash: is_possible.then(|| unsafe { hash(places().map(piece)) }),
            token_count: sample.token_count,
            // SAFETY: the plugin vouches for its message.
            message: unsafe { text(&sample.message) },
        }
    }
}

/// Returns an answer that the plugin passes; skips the bytes beyond `most_bytes`.
///
/// # Safety
/// The plugin vouches for the response.
pub(super) unsafe fn answer_of(response: &ProctorResponse, most_bytes: usize) -> Answer {
    let ProctorResponse { data, size_bytes, .. } = *response;
    let is_possible = size_bytes <= most_bytes && (size_bytes == 0 || !data.is_null());
    Answer {
        id: response.id,
        status: response.status,
        size_bytes: size_bytes as u64,
        // SAFETY: the plugin vouches for as many bytes as an answer may have.
        hash: is_possible.then(|| unsafe { hash([(data.cast(), size_bytes)].into_iter()) }),
        token_count: response.token_count,
        // SAFETY: the plugin vouches for its message.
        message: unsafe { text(&response.message) },
    }
}

/// Returns the samples that are prepared.
///
/// # Safety
/// The set is one of this host's.
pub(super) unsafe fn inputs_of(set: &ProctorSampleSet) -> Vec<Input> {
    let ranges: Elements<'_, ProctorMemoryRange> = elements(set.ranges, set.range_count, set.range_stride);
    // SAFETY: the caller's promise.
    let ranges: Vec<_> =
        unsafe { ranges.iter() }.filter(|range| range.kind == PROCTOR_MEMORY_DEVICE).collect();
    let is_far = |tensor: &ProctorTensor| {
        let address = tensor.data.addr();
        ranges.iter().any(|range| {
            (range.data.addr()..range.data.addr().saturating_add(range.size_bytes)).contains(&address)
        })
    };
    let samples: Elements<'_, ProctorPreparedSample> =
        elements(set.samples, set.sample_count, set.sample_stride);
    let input = |sample: ProctorPreparedSample| {
        let tensors: Elements<'_, ProctorTensor> =
            elements(sample.inputs, sample.input_count, set.input_stride);
        // SAFETY: the caller's promise.
        let tensors: Vec<ProctorTensor> = unsafe { tensors.iter() }.collect();
        let pieces = tensors.iter().map(|tensor| (tensor.data.cast(), tensor.size_bytes));
        Input {
            index: sample.index,
            size_bytes: tensors.iter().map(|tensor| tensor.size_bytes as u64).sum(),
            // SAFETY: the tensors are the host's own, and lie in memory that it reads.
            hash: (!tensors.iter().any(is_far)).then(|| unsafe { hash(pieces) }),
        }
    };
    // SAFETY: the caller's promise.
    unsafe { samples.iter() }.map(input).collect()
}

/// Returns an array of this host's own, which cannot be wrong.
pub(super) fn elements<'a, T: Versioned>(first: *const T, count: usize, stride: usize) -> Elements<'a, T> {
    Elements::new(first, count, stride).expect("this host's arrays are as they should be")
}
