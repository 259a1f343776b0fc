//! Arrays of a batch that a plugin sees, filled for each batch, and the plugin's results.

use std::{mem, ptr, sync::Arc};

use proctor_plugin_api::{
    abi::{PROCTOR_STATUS_OK, ProctorBatch, ProctorBatchSample, ProctorOutput, ProctorTensor},
    vocabulary::{CompletionSink, QuerySample, QuerySampleResponse, SampleIndex, SampleStatus, TensorSpec},
};

use crate::{
    error::{PluginHostError, known_status},
    guard::activity::Activity,
    objects::{demand::ModelDemand, handle::NO_TEXT, output::OutputBuffer},
    services::{context::HostContext, faults::PluginFault},
};

/// Room for one batch at a time, made beforehand.
pub(super) struct Work {
    samples: Vec<ProctorBatchSample>,
    outputs: Vec<ProctorOutput>,
    buffer: OutputBuffer,
    /// The batch that was filled in last and not yet completed.
    batch: Vec<QuerySample>,
    /// Outcome of each of its samples, and its number of tokens.
    results: Vec<(SampleStatus, u32)>,
    /// Empty between calls; kept for its capacity.
    responses: Vec<QuerySampleResponse<'static>>,
}

// SAFETY: the pointers in the arrays are written before each batch is handed over and read only after it is handed
// back, by the one who has `&mut Work` then.
unsafe impl Send for Work {}

impl Work {
    /// Allocates room for the batches of a model.
    ///
    /// # Errors
    /// Returns a sentence if no machine has that much memory.
    pub(super) fn new(demand: &ModelDemand) -> Result<Self, String> {
        let batch_size_max = usize::try_from(demand.batch_size_max).unwrap_or(usize::MAX);
        let buffer = OutputBuffer::new(&demand.outputs, demand.last_output_varies, batch_size_max);
        let too_much =
            || format!("the outputs of {batch_size_max} samples are more than the memory can hold");
        Ok(Self {
            buffer: buffer.ok_or_else(too_much)?,
            samples: Vec::with_capacity(batch_size_max),
            outputs: Vec::with_capacity(batch_size_max * demand.outputs.len()),
            batch: Vec::with_capacity(batch_size_max),
            results: Vec::with_capacity(batch_size_max),
            responses: Vec::with_capacity(batch_size_max),
        })
    }

    /// Fills the arrays, and the rooms for outputs if they are to be marked. Requests the places of the
    /// samples in their order.
    ///
    /// # Errors
    /// Returns a sentence about a batch that cannot be.
    pub(super) fn fill(
        &mut self,
        demand: &ModelDemand,
        are_marked: bool,
        batch: &[QuerySample],
        mut inputs_of: impl FnMut(SampleIndex) -> Option<*const ProctorTensor>,
    ) -> Result<(), String> {
        self.batch.clear();
        self.results.clear();
        let output_count = demand.outputs.len();
        if batch.is_empty() {
            return Err("the batch has no samples".into());
        }
        if batch.len() > self.samples.capacity() {
            let most = demand.batch_size_max;
            return Err(format!("a batch of {} samples is larger than {most}", batch.len()));
        }
        self.samples.clear();
        self.outputs.clear();
        for sample in 0..batch.len() {
            self.outputs.extend((0..output_count).map(|output| self.buffer.fresh(sample, output)));
            if are_marked {
                (0..output_count).for_each(|output| self.buffer.mark(sample, output));
            }
        }
        // From here to the end of the call `outputs` is touched through this pointer only.
        let outputs = self.outputs.as_mut_ptr();
        for (position, sample) in batch.iter().enumerate() {
            let inputs = inputs_of(sample.index)
                .ok_or_else(|| format!("sample {} is not among the prepared ones", sample.index))?;
            self.samples.push(ProctorBatchSample {
                id: sample.id.0,
                index: sample.index.0,
                inputs,
                input_count: demand.inputs.len(),
                outputs: outputs.wrapping_add(position * output_count),
                output_count,
                status: PROCTOR_STATUS_OK,
                token_count: 0,
                message: NO_TEXT,
                vendor_code: 0,
            });
        }
        self.batch.extend_from_slice(batch);
        Ok(())
    }

    /// Returns the batch that was filled in, as the plugin sees it.
    pub(super) fn raw(&mut self, id: u64) -> ProctorBatch {
        ProctorBatch {
            size: size_of::<ProctorBatch>(),
            samples: self.samples.as_mut_ptr(),
            sample_count: self.batch.len(),
            sample_stride: size_of::<ProctorBatchSample>(),
            input_stride: size_of::<ProctorTensor>(),
            output_stride: size_of::<ProctorOutput>(),
            stages: ptr::null(),
            stage_count: 0,
            stage_stride: 0,
            id,
        }
    }

    /// Adopts the plugin's results for the batch, once. Of its outputs it takes only successful ones (`is_ok`), and no
    /// faults of theirs unless they are judged.
    ///
    /// # Safety
    /// The plugin vouches for what it wrote to the arrays.
    pub(super) unsafe fn settle(
        &mut self,
        specs: &[TensorSpec],
        host: &HostContext,
        activity: &'static Activity,
        is_ok: bool,
        is_judged: bool,
    ) {
        for (position, sample) in self.batch.iter().enumerate() {
            let raw = &self.samples[position];
            let mut status =
                if is_ok { SampleStatus(known_status(raw.status)) } else { SampleStatus::FAILED };
            let written = &self.outputs[position * specs.len()..][..specs.len()];
            let wrong = |output: usize, got: usize| {
                if !is_judged {
                    return;
                }
                host.faults.record(|| {
                    let error = PluginHostError::OutputSize {
                        plugin: host.plugin.to_owned(),
                        tensor: specs[output].name.clone(),
                        sample: sample.index.0,
                        expected: specs[output].size_bytes(),
                        got,
                    };
                    PluginFault::Call(Arc::new(error))
                });
            };
            if !status.is_ok() {
                // SAFETY: the caller's promise for the message.
                unsafe { host.failures.note(sample.id, raw.status, &raw.message, raw.vendor_code) };
            }
            // SAFETY: the caller's promise for the outputs, and that each batch is settled once.
            let is_whole = unsafe { self.buffer.settle(position, written, status.is_ok(), activity, wrong) };
            if status.is_ok() && !is_whole {
                status = SampleStatus::FAILED;
            }
            self.results.push((status, raw.token_count));
        }
    }

    /// Returns whether this is the batch that was settled and not yet completed.
    pub(super) fn is(&self, batch: &[QuerySample]) -> bool {
        !batch.is_empty() && self.batch == batch
    }

    /// Forgets the batch that it was filled for.
    pub(super) fn forget(&mut self) {
        self.batch.clear();
    }

    /// Hands the responses of the batch to the sink, all in one call. Does not allocate.
    pub(super) fn complete(&mut self, sink: &dyn CompletionSink) {
        let mut responses: Vec<QuerySampleResponse<'_>> = mem::take(&mut self.responses);
        let results = self.batch.iter().zip(&self.results).enumerate();
        responses.extend(results.map(|(position, (sample, &(status, token_count)))| {
            let data = if status.is_ok() { self.buffer.response(position) } else { &[] };
            QuerySampleResponse { id: sample.id, status, data, token_count }
        }));
        sink.complete(&responses);
        responses.clear();
        // SAFETY: the vector is empty, so nothing in it has the shorter lifetime; a lifetime does not change a layout.
        self.responses = unsafe {
            mem::transmute::<Vec<QuerySampleResponse<'_>>, Vec<QuerySampleResponse<'static>>>(responses)
        };
        self.batch.clear();
    }
}
