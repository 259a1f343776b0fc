//! Sequences over the tensors of a batch, without a copy and without an allocation.

use proctor_rnn_engine::{Sequences, SequencesMut};

use crate::model::{Batch, RunError};

/// Room for the addresses of one tensor of each sample; kept between batches.
#[derive(Debug, Default)]
pub struct Places {
    inputs: Vec<*const f32>,
    outputs: Vec<*mut f32>,
}

// SAFETY: the addresses are read only by the functions below, which write them first.
unsafe impl Send for Places {}

impl Places {
    /// Room for batches of this many samples.
    #[must_use]
    pub fn new(batch_size_max: usize) -> Self {
        Self { inputs: Vec::with_capacity(batch_size_max), outputs: Vec::with_capacity(batch_size_max) }
    }

    /// Input tensor `input` of each sample, `[time, width]`.
    ///
    /// # Errors
    /// [`RunError::SampleSize`] and [`RunError::Alignment`].
    pub fn input<'a>(
        &'a mut self,
        batch: &'a dyn Batch,
        input: usize,
        [time, width]: [usize; 2],
    ) -> Result<Sequences<'a>, RunError> {
        self.find_inputs(batch, input, time * width)?;
        // SAFETY: each address is that of a tensor of time * width values, by the check above, and the batch is
        // borrowed for 'a, during which it promises that the tensor stays there.
        Ok(unsafe { Sequences::from_starts(&self.inputs, width, time, width) })
    }

    /// Output tensor `output` of each sample, `[time, width]`.
    ///
    /// # Errors
    /// As [`Self::input`].
    pub fn output<'a>(
        &'a mut self,
        batch: &'a mut dyn Batch,
        output: usize,
        [time, width]: [usize; 2],
    ) -> Result<SequencesMut<'a>, RunError> {
        self.find_outputs(batch, output, time * width)?;
        // SAFETY: each address is that of a tensor of time * width values, by the check above; the batch promises that
        // its tensors stay where they are and are disjoint, and it is borrowed mutably for 'a.
        Ok(unsafe { SequencesMut::from_starts(&self.outputs, width, time, width) })
    }

    /// Input tensor `input` of each sample and output tensor `output` beside it, each with its `[time, width]`.
    ///
    /// # Errors
    /// As [`Self::input`].
    pub fn both<'a>(
        &'a mut self,
        batch: &'a mut dyn Batch,
        (input, [time, width]): (usize, [usize; 2]),
        (output, [output_time, output_width]): (usize, [usize; 2]),
    ) -> Result<(Sequences<'a>, SequencesMut<'a>), RunError> {
        self.find_inputs(batch, input, time * width)?;
        self.find_outputs(batch, output, output_time * output_width)?;
        // SAFETY: each address is that of a tensor of the given size, by the checks; the batch promises that its
        // tensors stay where they are and are disjoint, and it is borrowed mutably for 'a, so nothing else reaches
        // them.
        unsafe {
            Ok((
                Sequences::from_starts(&self.inputs, width, time, width),
                SequencesMut::from_starts(&self.outputs, output_width, output_time, output_width),
            ))
        }
    }

    fn find_outputs(
        &mut self,
        batch: &mut dyn Batch,
        output: usize,
        expected: usize,
    ) -> Result<(), RunError> {
        self.outputs.clear();
        for sample in 0..batch.sample_count() {
            let values = batch.output_f32(sample, output)?;
            if values.len() != expected {
                return Err(RunError::SampleSize {
                    sample,
                    tensor: "an output",
                    got: values.len(),
                    expected,
                });
            }
            self.outputs.push(values.as_mut_ptr());
        }
        Ok(())
    }

    fn find_inputs(&mut self, batch: &dyn Batch, input: usize, expected: usize) -> Result<(), RunError> {
        self.inputs.clear();
        for sample in 0..batch.sample_count() {
            let values = batch.input_f32(sample, input)?;
            if values.len() != expected {
                return Err(RunError::SampleSize { sample, tensor: "an input", got: values.len(), expected });
            }
            self.inputs.push(values.as_ptr());
        }
        Ok(())
    }
}

/// A batch in vectors of its own: for tests, and for callers that have no buffers of another kind.
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
    ///
    /// # Panics
    /// If there is no such sample or output.
    #[must_use]
    pub fn output(&self, sample: usize, output: usize) -> Vec<f32> {
        let (words, size_bytes) = &self.samples[sample].outputs[output];
        words[..size_bytes / 4].iter().map(|word| f32::from_bits(*word)).collect()
    }

    /// The written part of an output that holds i32.
    ///
    /// # Panics
    /// If there is no such sample or output.
    #[must_use]
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
