//! Batches: checked, and answered with zeros.

use proctor_plugin_api::{
    abi::*,
    versioned::{Elements, read},
};

use crate::{report::Report, request::Request, state::LoadedModel};

/// The way by which a batch comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// The host discards the outputs, and the ids are 0.
    WarmUp,
    /// Done when the call returns.
    Execute,
    /// Done when it is reported.
    Submit,
}

/// A batch that keeps its promises, with the outputs that have to be written.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Identity of a batch that was submitted.
    pub(crate) id: u64,
    outputs: Vec<Output>,
    /// Addresses of its output buffers, by which they are registered as in use.
    rooms: Vec<usize>,
}

#[derive(Debug)]
struct Output(*mut ProctorOutput);

// SAFETY: the host hands the outputs of a batch to the plugin, on whichever thread, until the batch is done.
unsafe impl Send for Output {}

impl Batch {
    /// Reads and checks a batch, and takes the buffers of its outputs. The result must be [given
    /// back](Self::give_back).
    ///
    /// # Safety
    /// The host vouches for the batch and all that it points to until it is done.
    pub(crate) unsafe fn take(
        batch: *mut ProctorBatch,
        way: Way,
        loaded: &mut LoadedModel,
        report: &mut Report,
    ) -> Self {
        let mut taken = Self::default();
        // SAFETY: the caller's promise.
        let Some(raw) = report.value(unsafe { read(batch.cast_const()) }) else { return taken };
        taken.id = raw.id;
        report.expect((way == Way::Submit) == (raw.id != 0), || {
            let submitted = if way == Way::Submit { "was" } else { "was not" };
            format!("ProctorBatch.id is {:#x} of a batch that {submitted} submitted", raw.id)
        });
        report.expect(raw.stages.is_null() && raw.stage_count == 0, || {
            format!("there are {} stages before the call", raw.stage_count)
        });
        let most = loaded.request.batch_size_max as usize;
        report.expect((1..=most).contains(&raw.sample_count), || {
            format!("the batch has {} samples, not from 1 to {most}", raw.sample_count)
        });
        let found = Elements::new(raw.samples.cast_const(), raw.sample_count, raw.sample_stride);
        let Some(samples) = report.value(found) else { return taken };
        for position in 0..samples.len() {
            // SAFETY: the caller's promise.
            let sample = unsafe { samples.get(position) };
            expect_fresh(&sample, report);
            match way {
                Way::WarmUp => report.expect(sample.id == 0, || {
                    format!("sample {} has the id {:#x}, not 0 as in a warm-up", sample.index, sample.id)
                }),
                _ => loaded.expect_new_id(sample.id, report),
            }
            match &loaded.prepared {
                None => report.expect(false, || "no samples are prepared".to_owned()),
                // SAFETY: the caller's promise.
                Some(prepared) => unsafe {
                    prepared.expect_inputs(&sample, raw.input_stride, &loaded.request, report);
                },
            }
            // SAFETY: the caller's promise.
            unsafe { taken.take_outputs(&sample, raw.output_stride, loaded, report) };
        }
        taken
    }

    /// # Safety
    /// As [`take`](Self::take).
    unsafe fn take_outputs(
        &mut self,
        sample: &ProctorBatchSample,
        stride: usize,
        loaded: &mut LoadedModel,
        report: &mut Report,
    ) {
        let index = sample.index;
        let request = &loaded.request;
        report.expect(sample.output_count == request.outputs.len(), || {
            format!("sample {index} has {} outputs instead of {}", sample.output_count, request.outputs.len())
        });
        let found = Elements::new(sample.outputs.cast_const(), sample.output_count, stride);
        let Some(outputs) = report.value(found) else { return };
        for position in 0..outputs.len().min(request.outputs.len()) {
            // SAFETY: the caller's promise.
            let output = unsafe { outputs.get(position) };
            expect_room(&output, position, index, request, report);
            let (begin, size_bytes) = (output.data.addr(), output.capacity_bytes);
            if size_bytes > 0 {
                let what = || format!("output \"{}\" of sample {index}", request.outputs[position].name);
                let meets_input =
                    loaded.prepared.as_ref().is_some_and(|prepared| prepared.inputs.meets(begin, size_bytes));
                report.expect(!meets_input, || format!("the room of {} meets an input", what()));
                if loaded.rooms.add(begin, size_bytes) {
                    self.rooms.push(begin);
                } else {
                    report.expect(false, || format!("the room of {} meets another one in use", what()));
                }
            }
            self.outputs.push(Output(outputs.pointer(position)));
        }
    }

    /// Answers with zeros.
    ///
    /// # Safety
    /// The host vouches for the batch, which is not done yet and has kept its promises.
    pub(crate) unsafe fn answer(&self) {
        for Output(output) in &self.outputs {
            // SAFETY: the host vouches for each output and for the bytes of its room, which nobody else uses until the
            // batch is done.
            unsafe {
                let ProctorOutput { data, capacity_bytes, .. } = **output;
                if !data.is_null() {
                    data.cast::<u8>().write_bytes(0, capacity_bytes);
                }
                (**output).size_bytes = capacity_bytes;
            }
        }
    }

    /// Gives the rooms of its outputs back.
    pub(crate) fn give_back(&self, loaded: &mut LoadedModel) {
        self.rooms.iter().for_each(|begin| loaded.rooms.remove(*begin));
    }
}

/// Checks the fields for the plugin's results before the call.
fn expect_fresh(sample: &ProctorBatchSample, report: &mut Report) {
    let index = sample.index;
    report.expect(sample.status == PROCTOR_STATUS_OK, || {
        format!("the status of sample {index} is {}, not OK", sample.status)
    });
    report.expect(sample.message.data.is_null(), || format!("the message of sample {index} is not null"));
    report.expect(sample.vendor_code == 0, || {
        format!("the vendor_code of sample {index} is {}, not 0", sample.vendor_code)
    });
}

/// Checks the room of an output before the call.
fn expect_room(output: &ProctorOutput, position: usize, index: u64, request: &Request, report: &mut Report) {
    let spec = &request.outputs[position];
    let what = || format!("output \"{}\" of sample {index}", spec.name);
    let ProctorOutput { data, capacity_bytes, size_bytes, lent, release, .. } = *output;
    report.expect(capacity_bytes == spec.size_bytes, || {
        format!("{} has room for {capacity_bytes} bytes instead of {}", what(), spec.size_bytes)
    });
    report.expect(!data.is_null() || capacity_bytes == 0, || format!("the room of {} is null", what()));
    report.expect(data.addr().is_multiple_of(PROCTOR_TENSOR_ALIGNMENT), || {
        format!("the room of {} at {data:p} is not aligned to {PROCTOR_TENSOR_ALIGNMENT}", what())
    });
    report.expect(size_bytes == 0, || format!("{} has {size_bytes} bytes before the call", what()));
    report.expect(lent.is_null() && release.is_none(), || format!("{} is lent before the call", what()));
}
