//! Sequences over the tensors of a batch, without a copy and without an allocation, and checks of sizes.

use proctor_rnn_engine::{Sequences, SequencesMut};

use crate::model::{Batch, RunError};

/// Addresses of one tensor of each sample; kept between batches.
#[derive(Debug, Default)]
pub struct TensorPointers {
    inputs: Vec<*const f32>,
    outputs: Vec<*mut f32>,
}

// SAFETY: the addresses are read only by the functions below, which write them first.
unsafe impl Send for TensorPointers {}

impl TensorPointers {
    /// Returns room for batches of this many samples.
    #[must_use]
    pub fn new(batch_size_max: usize) -> Self {
        Self { inputs: Vec::with_capacity(batch_size_max), outputs: Vec::with_capacity(batch_size_max) }
    }

    /// Returns input tensor `input` of each sample, `[time, width]`.
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

    /// Returns output tensor `output` of each sample, `[time, width]`.
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

    /// Returns input tensor `input` of each sample together with output tensor `output`, each with its `[time, width]`.
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
            let values = batch.output_values(sample, output)?;
            check_size(sample, "an output", values.len(), expected)?;
            self.outputs.push(values.as_mut_ptr());
        }
        Ok(())
    }

    fn find_inputs(&mut self, batch: &dyn Batch, input: usize, expected: usize) -> Result<(), RunError> {
        self.inputs.clear();
        for sample in 0..batch.sample_count() {
            let values = batch.input_values(sample, input)?;
            check_size(sample, "an input", values.len(), expected)?;
            self.inputs.push(values.as_ptr());
        }
        Ok(())
    }
}

/// Refuses a tensor of another size.
pub(crate) fn check_size(
    sample: usize,
    tensor: &'static str,
    got: usize,
    expected: usize,
) -> Result<(), RunError> {
    if got == expected { Ok(()) } else { Err(RunError::SampleSize { sample, tensor, got, expected }) }
}

/// Refuses a batch of more samples than there is memory for.
pub(crate) fn check_batch(batch: &dyn Batch, batch_size_max: usize) -> Result<usize, RunError> {
    let batch_size = batch.sample_count();
    if batch_size > batch_size_max {
        return Err(RunError::BatchSize { batch_size, batch_size_max });
    }
    Ok(batch_size)
}
