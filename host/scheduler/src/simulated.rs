//! The scheduler in virtual time: the same batcher, driven by the events of a virtual clock.

use std::sync::{Arc, Weak};

use proctor_loadgen::{Clock, SystemUnderTest, VirtualClock};
use proctor_vocabulary::{CompletionSink, QueryPart, QuerySample};

use crate::batcher::{Batcher, Busy, FormedBatch};
use crate::config::{SchedulerConfig, SchedulerError};
use crate::instance::{BatchError, Instance, fail_samples, guard};
use crate::policy::BatchDone;
use crate::statistics::{FailureLog, Statistics};
use crate::sync::{Mutex, lock};

/// A scheduler whose instances answer with a service time instead of taking it.
///
/// Everything happens on the thread that waits on the clock, in the order of the clock's events, so the same seed
/// makes the same run. A batch goes to the idle instance with the lowest number; its samples are completed when its
/// service time has passed, and at the same instant, after that, the next batch starts.
pub struct SimulatedScheduler {
    name: String,
    shared: Arc<Shared>,
}

struct Shared {
    clock: Arc<VirtualClock>,
    sink: Arc<dyn CompletionSink>,
    state: Mutex<State>,
    instances: Vec<Mutex<Slot>>,
}

struct State {
    batcher: Batcher,
    idle: Vec<bool>,
    /// The earliest instant for which a tick is scheduled; `u64::MAX` if none is.
    tick_ns: u64,
    busy_ns: Vec<u64>,
    failures: FailureLog,
}

/// An instance and the batch that it runs.
struct Slot {
    instance: Box<dyn Instance>,
    batch: Vec<QuerySample>,
}

impl SimulatedScheduler {
    /// Makes a scheduler over these instances. `name` is the name of the SUT for reports.
    ///
    /// # Errors
    /// The errors of [`SchedulerConfig::validate`], and [`SchedulerError::InstanceCount`].
    pub fn new(
        name: impl Into<String>,
        config: &SchedulerConfig,
        instances: Vec<Box<dyn Instance>>,
        sink: Arc<dyn CompletionSink>,
        clock: Arc<VirtualClock>,
    ) -> Result<Self, SchedulerError> {
        let batcher = Batcher::new(config)?;
        config.check_instance_count(instances.len())?;
        let count = instances.len();
        let slot = |instance| Mutex::new(Slot { instance, batch: Vec::with_capacity(config.batch_size) });
        let state = State {
            batcher,
            idle: vec![true; count],
            tick_ns: u64::MAX,
            busy_ns: vec![0; count],
            failures: FailureLog::default(),
        };
        let instances = instances.into_iter().map(slot).collect();
        let shared = Shared { clock, sink, state: Mutex::new(state), instances };
        Ok(Self { name: name.into(), shared: Arc::new(shared) })
    }

    /// Returns what was counted so far.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let state = lock(&self.shared.state);
        Statistics::new(&state.batcher, state.busy_ns.clone(), state.failures.clone())
    }
}

impl SystemUnderTest for SimulatedScheduler {
    fn name(&self) -> &str {
        &self.name
    }

    fn issue(&self, samples: &[QuerySample]) {
        self.issue_part(QueryPart::whole(samples));
    }

    fn issue_part(&self, part: QueryPart<'_>) {
        let (now_ns, samples) = (self.shared.clock.now_ns(), part.samples);
        let taken = lock(&self.shared.state).batcher.arrive(now_ns, samples, part.is_followed());
        if let Err(Busy { rejected }) = taken {
            fail_samples(&samples[samples.len() - rejected..], &*self.shared.sink);
        }
        // All parts of a query come at one instant, so batches are formed of the whole.
        if !part.is_followed() {
            self.shared.start_batches();
        }
    }

    fn flush(&self) {
        lock(&self.shared.state).batcher.flush();
        self.shared.start_batches();
    }
}

impl Shared {
    /// Starts all batches that are to start now, and has itself called again when the next one may be.
    fn start_batches(self: &Arc<Self>) {
        let now_ns = self.clock.now_ns();
        while let Some((index, formed)) = self.take_batch(now_ns) {
            self.start(index, formed, now_ns);
        }
        let mut state = lock(&self.state);
        if let Some(deadline_ns) = state.batcher.next_deadline_ns(now_ns).filter(|&at| at < state.tick_ns) {
            state.tick_ns = deadline_ns;
            drop(state);
            self.schedule(deadline_ns, Self::tick);
        }
    }

    fn take_batch(&self, now_ns: u64) -> Option<(usize, FormedBatch)> {
        let mut state = lock(&self.state);
        let index = state.idle.iter().position(|&idle| idle)?;
        let formed = state.batcher.take_batch(now_ns, &mut lock(&self.instances[index]).batch)?;
        state.idle[index] = false;
        Some((index, formed))
    }

    fn start(self: &Arc<Self>, index: usize, formed: FormedBatch, now_ns: u64) {
        let mut slot = lock(&self.instances[index]);
        let Slot { instance, batch } = &mut *slot;
        let result = guard(|| instance.execute_virtual(batch, formed.busy_instances));
        drop(slot);
        let (service_ns, result) = match result {
            Ok(service_ns) => (service_ns, Ok(())),
            Err(error) => (0, Err(error)),
        };
        let end_ns = now_ns.saturating_add(service_ns);
        self.schedule(end_ns, move |shared| shared.finish(index, formed, now_ns, result));
    }

    fn finish(
        self: &Arc<Self>,
        index: usize,
        formed: FormedBatch,
        started_ns: u64,
        result: Result<(), BatchError>,
    ) {
        let mut slot = lock(&self.instances[index]);
        let Slot { instance, batch } = &mut *slot;
        let result = result.and_then(|()| {
            guard(|| {
                instance.complete(batch, &*self.sink);
                Ok(())
            })
        });
        let (samples, failed) = (batch.len(), result.is_err());
        if let Err(error) = result {
            lock(&self.state).failures.record(index, samples, error.message);
            fail_samples(batch, &*self.sink);
        }
        drop(slot);

        let FormedBatch { oldest_arrived_ns, busy_instances } = formed;
        let completed_ns = self.clock.now_ns();
        let mut state = lock(&self.state);
        state.idle[index] = true;
        state.busy_ns[index] += completed_ns - started_ns;
        state.batcher.instance_free(&BatchDone {
            samples,
            oldest_arrived_ns,
            started_ns,
            completed_ns,
            busy_instances,
            failed,
        });
        drop(state);
        self.start_batches();
    }

    fn tick(self: &Arc<Self>) {
        lock(&self.state).tick_ns = u64::MAX;
        self.start_batches();
    }

    /// Has the clock call `event`, unless the scheduler is gone by then.
    fn schedule(self: &Arc<Self>, at_ns: u64, event: impl FnOnce(&Arc<Self>) + Send + 'static) {
        let shared: Weak<Self> = Arc::downgrade(self);
        self.clock.schedule(at_ns, move || {
            if let Some(shared) = shared.upgrade() {
                event(&shared);
            }
        });
    }
}
