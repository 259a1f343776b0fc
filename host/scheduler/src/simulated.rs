//! The scheduler in virtual time: the same batcher, driven by the events of a virtual clock.

use std::sync::{Arc, Weak};

use proctor_loadgen::{Clock, SystemUnderTest, VirtualClock};
use proctor_vocabulary::{CompletionSink, QueryPart, QuerySample};

use crate::batcher::{Batch, Batcher, Busy};
use crate::config::{SchedulerConfig, SchedulerError};
use crate::instance::{BatchError, FailureCount, Instance, fail_samples, guard};
use crate::knobs::{KnobError, KnobHandle, Turn};
use crate::observer::{self, BatchDone, BatchObserver};
use crate::roster::Roster;
use crate::statistics::{FailureLog, Statistics};
use crate::sync::{Mutex, lock};

/// A scheduler whose instances answer with a service time instead of taking it.
///
/// Everything happens on the thread that waits on the clock, in the order of the clock's events, so the same
/// seed makes the same run. A batch goes to the idle instance with the lowest number; its samples are
/// completed when its service time has passed, and at the same instant, after that and after the observer's
/// call, the next batch starts. Sink and observer may issue samples and turn the knobs while they are called.
pub struct SimulatedScheduler {
    name: String,
    shared: Arc<Shared>,
}

struct Shared {
    clock: Arc<VirtualClock>,
    sink: Arc<dyn CompletionSink>,
    observer: Option<Arc<dyn BatchObserver>>,
    state: Mutex<State>,
    /// Slots by number. Empty if there is no instance, and while it is called: no lock is held then.
    slots: Vec<Mutex<Option<Slot>>>,
    batch_size_max: usize,
}

struct State {
    batcher: Batcher,
    roster: Roster,
    /// Whether the instance of each number exists and runs no batch.
    idle: Vec<bool>,
    /// Earliest instant for which a tick is scheduled; `u64::MAX` for none.
    tick_ns: u64,
    busy_ns: Vec<u64>,
    failures: FailureLog,
}

/// An instance and the batch that it runs.
struct Slot {
    instance: Box<dyn Instance>,
    batch: Batch,
}

impl SimulatedScheduler {
    /// Creates a scheduler over these instances. `name` is the name of the SUT for reports. `observer`, if
    /// any, receives each finished batch.
    ///
    /// # Errors
    /// Returns the errors of [`SchedulerConfig::validate`], and [`SchedulerError::InstanceCount`].
    pub fn new(
        name: impl Into<String>,
        config: &SchedulerConfig,
        instances: Vec<Box<dyn Instance>>,
        sink: Arc<dyn CompletionSink>,
        clock: Arc<VirtualClock>,
        observer: Option<Arc<dyn BatchObserver>>,
    ) -> Result<Self, SchedulerError> {
        let batcher = Batcher::new(config)?;
        config.check_instance_count(instances.len())?;
        let (count, count_max) = (instances.len(), config.instances_max());
        let state = State {
            batcher,
            roster: Roster::new(count, count_max),
            idle: (0..count_max).map(|number| number < count).collect(),
            tick_ns: u64::MAX,
            busy_ns: vec![0; count],
            failures: FailureLog::default(),
        };
        let shared = Shared {
            clock,
            sink,
            observer,
            state: Mutex::new(state),
            slots: (0..count_max).map(|_| Mutex::new(None)).collect(),
            batch_size_max: config.batch_size_max(),
        };
        for (number, instance) in instances.into_iter().enumerate() {
            shared.put(number, instance);
        }
        Ok(Self { name: name.into(), shared: Arc::new(shared) })
    }

    /// Returns the knobs for batch size and instances.
    #[must_use]
    pub fn knobs(&self) -> KnobHandle {
        KnobHandle::of(&self.shared)
    }

    /// Returns the counts so far.
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
    /// Starts all due batches, and schedules the next call for when another one may be due.
    fn start_batches(self: &Arc<Self>) {
        let now_ns = self.clock.now_ns();
        while let Some((index, busy_instances)) = self.take_batch(now_ns) {
            self.start(index, busy_instances, now_ns);
        }
        let mut state = lock(&self.state);
        if let Some(deadline_ns) = state.batcher.next_deadline_ns(now_ns).filter(|&at| at < state.tick_ns) {
            state.tick_ns = deadline_ns;
            drop(state);
            self.schedule(deadline_ns, Self::tick);
        }
    }

    fn take_batch(&self, now_ns: u64) -> Option<(usize, u32)> {
        let mut state = lock(&self.state);
        let index = state.idle.iter().position(|&idle| idle)?;
        let busy_instances =
            state.batcher.take_batch(now_ns, &mut lock(&self.slots[index]).as_mut()?.batch)?;
        state.idle[index] = false;
        Some((index, busy_instances))
    }

    fn start(self: &Arc<Self>, index: usize, busy_instances: u32, now_ns: u64) {
        let result = self.with_slot(index, |Slot { instance, batch }| {
            guard(|| instance.execute_virtual(batch.samples(), busy_instances))
        });
        let (service_ns, result) = match result {
            Ok(service_ns) => (service_ns, Ok(())),
            Err(error) => (0, Err(error)),
        };
        let end_ns = now_ns.saturating_add(service_ns);
        self.schedule(end_ns, move |shared| shared.finish(index, now_ns, result));
    }

    fn finish(self: &Arc<Self>, index: usize, started_ns: u64, result: Result<(), BatchError>) {
        self.with_slot(index, |slot| self.complete(index, slot, started_ns, result));
        let mut state = lock(&self.state);
        state.batcher.instance_free();
        let is_retired = state.roster.is_retired(index);
        state.idle[index] = !is_retired;
        drop(state);
        if is_retired {
            self.remove(index);
        }
        self.start_batches();
    }

    /// Completes the samples of a batch, one way or the other, and informs the observer.
    fn complete(&self, index: usize, slot: &mut Slot, started_ns: u64, result: Result<(), BatchError>) {
        let Slot { instance, batch } = slot;
        let count = FailureCount::new(&*self.sink);
        let result = result.and_then(|()| {
            guard(|| {
                instance.complete(batch.samples(), &count);
                Ok(())
            })
        });
        let (samples, failed) = (batch.samples().len(), result.is_err());
        let completed_ns = self.clock.now_ns();
        let mut state = lock(&self.state);
        state.busy_ns[index] += completed_ns - started_ns;
        if let Err(error) = result {
            state.failures.record(index, samples, error.message);
        }
        drop(state);
        if failed {
            fail_samples(batch.samples(), &*self.sink);
        }
        if let Some(observer) = &self.observer {
            let failed_samples = if failed { samples } else { count.failed() };
            let done = BatchDone { samples, started_ns, completed_ns, failed, failed_samples };
            observer::tell(&**observer, index, &done, batch.arrived_ns());
        }
    }

    /// Calls the instance of this number, without a lock.
    fn with_slot<T>(&self, index: usize, call: impl FnOnce(&mut Slot) -> T) -> T {
        let mut slot = lock(&self.slots[index]).take().expect("an instance stays until its batch is over");
        let result = call(&mut slot);
        *lock(&self.slots[index]) = Some(slot);
        result
    }

    fn put(&self, index: usize, instance: Box<dyn Instance>) {
        let batch = Batch::with_capacity(self.batch_size_max, self.observer.is_some());
        *lock(&self.slots[index]) = Some(Slot { instance, batch });
    }

    /// Drops an instance that was retired and runs no batch.
    fn remove(&self, index: usize) {
        let mut state = lock(&self.state);
        state.idle[index] = false;
        state.batcher.remove_instance();
        state.roster.leave(index);
        drop(state);
        let slot = lock(&self.slots[index]).take();
        let dropped = guard(|| {
            drop(slot);
            Ok(())
        });
        if let Err(error) = dropped {
            tracing::warn!(instance = index, %error, "an instance failed to close");
        }
    }

    fn tick(self: &Arc<Self>) {
        lock(&self.state).tick_ns = u64::MAX;
        self.start_batches();
    }

    /// Schedules `event` on the clock; it does nothing if the scheduler is gone by then.
    fn schedule(self: &Arc<Self>, at_ns: u64, event: impl FnOnce(&Arc<Self>) + Send + 'static) {
        let shared: Weak<Self> = Arc::downgrade(self);
        self.clock.schedule(at_ns, move || {
            if let Some(shared) = shared.upgrade() {
                event(&shared);
            }
        });
    }
}

impl Turn for Shared {
    fn set_batch_size(self: Arc<Self>, batch_size: usize) -> usize {
        let batch_size = lock(&self.state).batcher.set_batch_size(batch_size);
        // What waits may be a full batch now.
        self.start_batches();
        batch_size
    }

    fn add_instance(self: Arc<Self>, instance: Box<dyn Instance>) -> Result<usize, KnobError> {
        let mut state = lock(&self.state);
        let number = state.roster.add()?;
        state.roster.enter(number);
        let given = state.roster.given();
        state.busy_ns.resize(given, 0);
        drop(state);
        self.put(number, instance);
        let mut state = lock(&self.state);
        state.idle[number] = true;
        state.batcher.add_instance();
        drop(state);
        self.start_batches();
        Ok(number)
    }

    fn retire(self: Arc<Self>, instance: Option<usize>) -> Result<usize, KnobError> {
        let mut state = lock(&self.state);
        let number = state.roster.retire(instance)?;
        let is_idle = state.idle[number];
        drop(state);
        if is_idle {
            self.remove(number);
        }
        Ok(number)
    }

    fn instances(&self) -> Vec<usize> {
        lock(&self.state).roster.staying().to_vec()
    }
}
