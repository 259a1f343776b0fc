//! Where a batch is executed.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use proctor_onnx_file::{Fit, divide};
use proctor_plugin_api::{Batch, Host, Instance, PluginError, Stage};
use tract_onnx::prelude::multithread::{Executor, multithread_tract_scope};

use crate::{plans::Plan, slot::Slot};

/// State that the instances of a model share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub host: Host,
    /// How samples and the model's tensors correspond.
    pub fit: Fit,
    /// The largest batch first.
    pub plans: Vec<Plan>,
    /// Bytes of samples that were copied since the start. A figure only: it orders nothing.
    pub input_bytes_copied: AtomicU64,
}

/// One co-located copy of a model: a state and buffers for each plan, and threads of its own.
#[derive(Debug)]
pub struct TractInstance {
    shared: Arc<Shared>,
    executor: Executor,
    /// The largest batch first.
    slots: Vec<Slot>,
}

impl TractInstance {
    pub(crate) fn new(shared: Arc<Shared>, executor: Executor) -> Result<Self, PluginError> {
        let slots = shared.plans.iter().map(|plan| Slot::new(plan, &shared.fit)).collect::<Result<_, _>>();
        let slots =
            slots.map_err(|error| PluginError::failed(format!("cannot make an instance: {error:#}")))?;
        Ok(Self { shared, executor, slots })
    }

    /// The slots that have something to do.
    fn used(&mut self) -> impl Iterator<Item = &mut Slot> {
        self.slots.iter_mut().filter(|slot| !slot.samples.is_empty())
    }

    fn gather(&mut self, batch: &Batch<'_>) -> Result<(), PluginError> {
        let shared = Arc::clone(&self.shared);
        let copied = self
            .used()
            .try_fold(0, |sum, slot| Ok::<_, PluginError>(sum + slot.gather(&shared.fit, batch)?))?;
        shared.input_bytes_copied.fetch_add(copied, Ordering::Relaxed);
        Ok(())
    }

    fn run(&mut self) -> Result<(), PluginError> {
        let executor = self.executor.clone();
        let ran = multithread_tract_scope(executor, || self.used().try_for_each(Slot::run));
        if ran.is_err() {
            self.slots.iter_mut().for_each(Slot::discard);
        }
        ran
    }

    fn scatter(&mut self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        let shared = Arc::clone(&self.shared);
        self.used().try_for_each(|slot| slot.scatter(&shared.fit, batch))
    }
}

impl Instance for TractInstance {
    fn execute(&mut self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        let host = self.shared.host;
        let slots = self.slots.iter_mut().map(|slot| (slot.batch_size, &mut slot.samples));
        divide(batch.sample_count(), slots)
            .map_err(|error| PluginError::invalid_argument(error.to_string()))?;
        let copy_in_ns = host.now_ns();
        self.gather(batch)?;
        let compute_ns = host.now_ns();
        self.run()?;
        let copy_out_ns = host.now_ns();
        self.scatter(batch)?;
        batch.set_stages(&[
            Stage::new(Stage::COPY_IN, copy_in_ns, compute_ns),
            Stage::new(Stage::COMPUTE, compute_ns, copy_out_ns),
            Stage::new(Stage::COPY_OUT, copy_out_ns, host.now_ns()),
        ]);
        Ok(())
    }

    /// Runs the batch, and then each plan that it did not need: a batch of the timed part may.
    fn warm_up(&mut self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        self.execute(batch)?;
        let sample_count = batch.sample_count();
        for slot in &mut self.slots {
            slot.samples = if slot.samples.is_empty() { 0..slot.batch_size.min(sample_count) } else { 0..0 };
        }
        self.gather(batch)?;
        self.run()?;
        self.slots.iter_mut().for_each(Slot::discard);
        Ok(())
    }
}
