//! Third stop: an instance, which executes the batches that the host forms.

mod in_flight;

use std::{
    sync::Arc,
    thread::{self, ThreadId},
    time::Instant,
};

use proctor_plugin_api::{Batch, Instance, PluginError, SubmittedBatch};

use crate::{service::Draw, shared::Shared};
use in_flight::InFlight;

/// One co-located copy of the model. The host calls it from one thread and never twice at a time, so what it owns
/// needs no lock.
#[derive(Debug)]
pub struct MockInstance {
    shared: Arc<Shared>,
    next: Draw,
    /// Number of batches that it still executes well; `None` for all.
    good_batches: Option<u64>,
    /// The threads that have begun.
    threads: Vec<ThreadId>,
    /// Server of batches in flight, if it takes several.
    in_flight: Option<InFlight>,
}

impl MockInstance {
    pub(crate) fn new(shared: Arc<Shared>, instance_index: u32) -> Result<Self, PluginError> {
        shared.add_instance()?;
        let next = Draw::of_instance(instance_index);
        let in_flight = match shared.in_flight {
            0 => None,
            count => Some(InFlight::start(&shared, count).inspect_err(|_| shared.remove_instance())?),
        };
        let fails = instance_index.checked_add(1) == Some(shared.fail_instance);
        let good_batches = fails.then_some(shared.fail_after);
        Ok(Self { shared, next, good_batches, threads: Vec::new(), in_flight })
    }

    /// Fails once the good batches are spent.
    fn check_health(&mut self) -> Result<(), PluginError> {
        let Some(left) = &mut self.good_batches else { return Ok(()) };
        *left = left.checked_sub(1).ok_or_else(|| PluginError::device_lost("this is fail_instance"))?;
        Ok(())
    }

    /// Refuses a thread that has not begun, if the options ask for it.
    fn check_thread(&self) -> Result<(), PluginError> {
        if !self.shared.knows_threads || self.threads.contains(&thread::current().id()) {
            return Ok(());
        }
        Err(PluginError::wrong_state("this thread has not begun"))
    }
}

impl Drop for MockInstance {
    fn drop(&mut self) {
        self.shared.remove_instance();
    }
}

impl Instance for MockInstance {
    fn execute(&mut self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        let (begin_ns, begin) = (self.shared.begin_ns(), Instant::now());
        self.check_thread()?;
        self.check_health()?;
        let draw = self.next.advance();
        let busy = self.shared.serve();
        let service_time = self.shared.service.time(draw, batch.sample_count(), busy.count);
        self.shared.answer(batch);
        self.shared.take(service_time, begin, batch.samples().map(|sample| sample.id()));
        batch.set_stages(self.shared.stages_since(begin_ns).as_slice());
        Ok(())
    }

    /// Does nothing; a real plugin makes the context of its device current here.
    fn begin_thread(&mut self) -> Result<(), PluginError> {
        if self.shared.knows_threads {
            self.shared.begin_thread();
            self.threads.push(thread::current().id());
        }
        Ok(())
    }

    fn end_thread(&mut self) -> Result<(), PluginError> {
        if self.shared.knows_threads {
            self.check_thread()?;
            self.shared.end_thread();
            self.threads.retain(|thread| *thread != thread::current().id());
        }
        Ok(())
    }

    fn in_flight_max(&self) -> u32 {
        self.shared.in_flight
    }

    /// Hands the batch to a thread, which serves it and reports it as done.
    fn submit(&mut self, batch: SubmittedBatch) -> Result<(), PluginError> {
        self.check_thread()?;
        self.check_health()?;
        let draw = self.next.advance();
        let in_flight = self.in_flight.as_ref();
        in_flight.ok_or_else(|| PluginError::wrong_state("in_flight is 0"))?.push(batch, draw)
    }

    /// Does the work of `execute` without its duration and its random draw.
    fn warm_up(&mut self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        self.shared.answer(batch);
        Ok(())
    }

    fn execute_virtual(&mut self, batch: &mut Batch<'_>, busy_instances: u32) -> Result<u64, PluginError> {
        self.check_health()?;
        let draw = self.next.advance();
        let service_time = self.shared.service.time(draw, batch.sample_count(), busy_instances);
        self.shared.answer(batch);
        Ok(u64::try_from(service_time.as_nanos()).expect("a service time is capped far below 2^64 ns"))
    }
}
