//! A batch for tests and examples.
#![allow(dead_code, reason = "each user needs a part of it")]

use proctor_rnn_models::Batch;

/// A batch in vectors of its own.
#[derive(Debug, Clone, Default)]
pub struct OwnedBatch {
    samples: Vec<OwnedSample>,
}

#[derive(Debug, Clone)]
struct OwnedSample {
    /// Each tensor in units of 4 bytes, so that its values are aligned.
    inputs: Vec<Vec<u32>>,
    outputs: Vec<(Vec<u32>, usize)>,
}

impl OwnedBatch {
    /// Adds a sample: its input tensors in little-endian words of 4 bytes, and the number of words of each output.
    pub fn push(&mut self, inputs: Vec<Vec<u32>>, output_words: &[usize]) {
        let outputs = output_words.iter().map(|words| (vec![0; *words], 4 * words)).collect();
        self.samples.push(OwnedSample { inputs, outputs });
    }

    /// Adds a sample whose tensors all hold f32.
    pub fn push_f32(&mut self, inputs: &[&[f32]], output_lens: &[usize]) {
        let words = |values: &&[f32]| values.iter().map(|value| value.to_bits()).collect();
        self.push(inputs.iter().map(words).collect(), output_lens);
    }

    /// The written part of an output that holds f32.
    pub fn output(&self, sample: usize, output: usize) -> Vec<f32> {
        let (words, size_bytes) = &self.samples[sample].outputs[output];
        words[..size_bytes / 4].iter().map(|word| f32::from_bits(*word)).collect()
    }

    /// The written part of an output that holds i32.
    pub fn output_integers(&self, sample: usize, output: usize) -> Vec<i32> {
        let (words, size_bytes) = &self.samples[sample].outputs[output];
        words[..size_bytes / 4].iter().map(|word| word.cast_signed()).collect()
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
        let (words, size_bytes) = &mut self.samples[sample].outputs[output];
        *size_bytes = 4 * words.len();
        zerocopy::IntoBytes::as_mut_bytes(words.as_mut_slice())
    }

    fn set_output_size(&mut self, sample: usize, output: usize, size_bytes: usize) {
        let (words, size) = &mut self.samples[sample].outputs[output];
        assert!(size_bytes <= 4 * words.len(), "an output cannot be larger than its room");
        *size = size_bytes;
    }
}
