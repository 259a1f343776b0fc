//! A batch of the host as the models see it.

use proctor_plugin_api::Batch;

/// Lends the tensors of a batch to a model.
#[derive(Debug)]
pub struct HostBatch<'a, 'b>(pub &'a mut Batch<'b>);

// SAFETY: the ABI says that each tensor of a batch is a buffer of its own, which the host keeps in place during the
// call.
unsafe impl proctor_rnn_models::Batch for HostBatch<'_, '_> {
    fn sample_count(&self) -> usize {
        self.0.sample_count()
    }

    fn input(&self, sample: usize, input: usize) -> &[u8] {
        self.0.input(sample, input)
    }

    fn output_mut(&mut self, sample: usize, output: usize) -> &mut [u8] {
        let mut sample = self.0.sample(sample);
        let bytes = sample.output_mut(output);
        let (start, len) = (bytes.as_mut_ptr(), bytes.len());
        // SAFETY: the bytes are a buffer of the host, not part of `sample`; they are valid for the whole call, and this
        // borrow of the batch, which is exclusive, is the only way to them meanwhile.
        unsafe { std::slice::from_raw_parts_mut(start, len) }
    }

    fn set_output_size(&mut self, sample: usize, output: usize, size_bytes: usize, token_count: usize) {
        let mut sample = self.0.sample(sample);
        sample.set_output_size(output, size_bytes);
        sample.set_token_count(u32::try_from(token_count).unwrap_or(u32::MAX));
    }
}
