//! A batch of the host as the models see it.

use proctor_plugin_api::{Batch, Host, Response, Stage};

/// Maximum number of stages of a model's work on a batch.
const STAGES_MAX: usize = 8;

/// Lends the tensors of a batch to a model, and passes on its reports meanwhile.
#[derive(Debug)]
pub struct HostBatch<'a, 'b> {
    batch: &'a mut Batch<'b>,
    host: Host,
    /// Name and beginning of each stage.
    stages: [(&'static str, u64); STAGES_MAX],
    stage_count: usize,
}

impl<'a, 'b> HostBatch<'a, 'b> {
    /// Creates a batch of this host.
    pub fn new(host: Host, batch: &'a mut Batch<'b>) -> Self {
        Self { batch, host, stages: [("", 0); STAGES_MAX], stage_count: 0 }
    }

    /// Ends the last stage, and reports all stages to the host. Costs nothing for a model without stages.
    pub fn end_stages(&mut self) {
        if self.stage_count == 0 {
            return;
        }
        let mut stages = [Stage::new("", 0, 0); STAGES_MAX];
        let mut end_ns = self.host.now_ns();
        let begun = self.stages[..self.stage_count].iter().rev();
        for ((name, begin_ns), stage) in begun.zip(stages[..self.stage_count].iter_mut().rev()) {
            *stage = Stage::new(name, *begin_ns, end_ns);
            end_ns = *begin_ns;
        }
        self.batch.set_stages(&stages[..self.stage_count]);
    }
}

// SAFETY: the ABI says that each tensor of a batch is a buffer of its own, which the host keeps in place during the
// call.
unsafe impl proctor_rnn_models::Batch for HostBatch<'_, '_> {
    fn sample_count(&self) -> usize {
        self.batch.sample_count()
    }

    fn input(&self, sample: usize, input: usize) -> &[u8] {
        self.batch.input(sample, input)
    }

    fn output_mut(&mut self, sample: usize, output: usize) -> &mut [u8] {
        let mut sample = self.batch.sample(sample);
        let bytes = sample.output_mut(output);
        let (start, len) = (bytes.as_mut_ptr(), bytes.len());
        // SAFETY: the bytes are a buffer of the host, not part of `sample`; they are valid for the whole call, and this
        // borrow of the batch, which is exclusive, is the only way to them meanwhile.
        unsafe { std::slice::from_raw_parts_mut(start, len) }
    }

    fn set_output_size(&mut self, sample: usize, output: usize, size_bytes: usize, token_count: usize) {
        let mut sample = self.batch.sample(sample);
        sample.set_output_size(output, size_bytes);
        sample.set_token_count(u32::try_from(token_count).unwrap_or(u32::MAX));
    }

    fn first_token(&mut self, sample: usize) {
        let id = self.batch.sample(sample).id();
        self.host.first_token(&[Response::new(id, &[]).with_token_count(1)]);
    }

    fn begin_stage(&mut self, name: &'static str) {
        self.stages[self.stage_count] = (name, self.host.now_ns());
        self.stage_count += 1;
    }
}
