//! Third stop: an instance, which executes the batches that the host forms.

use std::{
    sync::Arc,
    thread::{self, ThreadId},
    time::Instant,
};

use proctor_plugin_api::{Batch, Instance, PluginError};

use crate::{service::Draw, shared::Shared, wait};

/// One co-located copy of the model. The host calls it from one thread and never twice at a time, so what it owns
/// needs no lock.
#[derive(Debug)]
pub struct MockInstance {
    shared: Arc<Shared>,
    next: Draw,
    /// The thread that has begun.
    thread: Option<ThreadId>,
}

impl MockInstance {
    pub(crate) fn new(shared: Arc<Shared>, instance_index: u32) -> Self {
        Self { shared, next: Draw::of_instance(instance_index), thread: None }
    }

    /// Refuses a thread that has not begun, if that is asked for.
    fn check_thread(&self) -> Result<(), PluginError> {
        if !self.shared.knows_threads || self.thread == Some(thread::current().id()) {
            return Ok(());
        }
        Err(PluginError::wrong_state("this thread has not begun"))
    }

    /// Writes every output of every sample. A real plugin would read `sample.input_f32(0)` and compute.
    fn answer(&self, batch: &mut Batch<'_>) {
        let answers = &self.shared.answers;
        for mut sample in batch.samples() {
            let index = sample.index();
            if !answers.knows(index) {
                // One bad sample need not fail the batch.
                sample.fail(&PluginError::failed(format!("there is no answer for sample {index}")));
                continue;
            }
            for output in 0..answers.output_count() {
                answers.write(index, output, sample.output_mut(output));
            }
        }
    }
}

impl Instance for MockInstance {
    fn execute(&mut self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        let (begin_ns, begin) = (self.shared.begin_ns(), Instant::now());
        self.check_thread()?;
        let draw = self.next.advance();
        let busy = self.shared.serve();
        let service_time = self.shared.service.time(draw, batch.sample_count(), busy.count);
        self.answer(batch);
        wait::until(begin, service_time, &self.shared.host);
        batch.set_stages(self.shared.stages_since(begin_ns).as_slice());
        Ok(())
    }

    /// A real plugin makes the context of its device current here.
    fn begin_thread(&mut self) -> Result<(), PluginError> {
        if self.shared.knows_threads {
            self.shared.begin_thread();
            self.thread = Some(thread::current().id());
        }
        Ok(())
    }

    fn end_thread(&mut self) -> Result<(), PluginError> {
        if self.shared.knows_threads {
            self.check_thread()?;
            self.shared.end_thread();
            self.thread = None;
        }
        Ok(())
    }

    /// Does all that `execute` does but for the time and the draw.
    fn warm_up(&mut self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        self.answer(batch);
        Ok(())
    }

    fn execute_virtual(&mut self, batch: &mut Batch<'_>, busy_instances: u32) -> Result<u64, PluginError> {
        let draw = self.next.advance();
        let service_time = self.shared.service.time(draw, batch.sample_count(), busy_instances);
        self.answer(batch);
        Ok(u64::try_from(service_time.as_nanos()).expect("a service time is capped far below 2^64 ns"))
    }
}
