//! A batch for tests.
#![allow(dead_code, reason = "each suite needs a part of it")]

use proctor_rnn_models::Batch;

/// A batch in vectors of its own.
#[derive(Debug, Clone, Default)]
pub struct OwnedBatch {
    samples: Vec<OwnedSample>,
    /// The samples whose first token was reported, in that order.
    pub first_tokens: Vec<usize>,
    /// The stages that have begun.
    pub stages: Vec<&'static str>,
}

#[derive(Debug, Clone)]
struct OwnedSample {
    /// Each tensor in units of 4 bytes, so that its values are aligned.
    inputs: Vec<Vec<u32>>,
    outputs: Vec<OwnedOutput>,
}

#[derive(Debug, Clone)]
struct OwnedOutput {
    /// In units of 8 bytes; the last one may be partly used.
    room: Vec<u64>,
    room_bytes: usize,
    size_bytes: usize,
}

impl OwnedBatch {
    /// Adds a sample: its input tensors in little-endian words of 4 bytes, and the number of words of each output.
    pub fn push(&mut self, inputs: Vec<Vec<u32>>, output_words: &[usize]) {
        let output = |words: &usize| OwnedOutput {
            room: vec![0; words.div_ceil(2)],
            room_bytes: 4 * words,
            size_bytes: 4 * words,
        };
        let outputs = output_words.iter().map(output).collect();
        self.samples.push(OwnedSample { inputs, outputs });
        // Of several calls, too, so that none of them allocates.
        self.first_tokens.reserve(64);
        self.stages.reserve(64);
    }

    /// Adds a sample whose tensors all hold f32.
    pub fn push_f32(&mut self, inputs: &[&[f32]], output_lens: &[usize]) {
        let words = |values: &&[f32]| values.iter().map(|value| value.to_bits()).collect();
        self.push(inputs.iter().map(words).collect(), output_lens);
    }

    /// The written part of an output.
    pub fn output_bytes(&self, sample: usize, output: usize) -> &[u8] {
        let OwnedOutput { room, size_bytes, .. } = &self.samples[sample].outputs[output];
        &zerocopy::IntoBytes::as_bytes(room.as_slice())[..*size_bytes]
    }

    /// The written part of an output that holds f32.
    pub fn output(&self, sample: usize, output: usize) -> Vec<f32> {
        let values = self.output_bytes(sample, output).as_chunks().0;
        values.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect()
    }

    /// The written part of an output that holds i32.
    pub fn output_integers(&self, sample: usize, output: usize) -> Vec<i32> {
        let values = self.output_bytes(sample, output).as_chunks().0;
        values.iter().map(|bytes| i32::from_ne_bytes(*bytes)).collect()
    }
}

// SAFETY: each tensor is a vector of its own, whose values stay in place while the batch is borrowed.
unsafe impl Batch for OwnedBatch {
    fn sample_count(&self) -> usize {
        self.samples.len()
    }

    fn input(&self, sample: usize, input: usize) -> &[u8] {
        zerocopy::IntoBytes::as_bytes(self.samples[sample].inputs[input].as_slice())
    }

    fn output_mut(&mut self, sample: usize, output: usize) -> &mut [u8] {
        let OwnedOutput { room, room_bytes, size_bytes } = &mut self.samples[sample].outputs[output];
        *size_bytes = *room_bytes;
        &mut zerocopy::IntoBytes::as_mut_bytes(room.as_mut_slice())[..*room_bytes]
    }

    fn set_output_size(&mut self, sample: usize, output: usize, size_bytes: usize, _token_count: usize) {
        let output = &mut self.samples[sample].outputs[output];
        assert!(size_bytes <= output.room_bytes, "an output cannot be larger than its room");
        output.size_bytes = size_bytes;
    }

    fn first_token(&mut self, sample: usize) {
        self.first_tokens.push(sample);
    }

    fn begin_stage(&mut self, name: &'static str) {
        self.stages.push(name);
    }
}
