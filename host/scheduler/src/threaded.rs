//! The scheduler in real time: one thread for each instance.

mod dispatch;
mod singles;
mod slot;
mod worker;

use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use proctor_loadgen::{RealClock, SystemUnderTest};
use proctor_vocabulary::{CompletionSink, QueryPart, QuerySample};

use crate::batcher::{Batcher, Busy};
use crate::config::{SchedulerConfig, SchedulerError};
use crate::instance::{Instance, fail_samples};
use crate::knobs::{KnobError, KnobHandle, Turn};
use crate::observer::BatchObserver;
use crate::roster::Roster;
use crate::statistics::{FailureLog, Statistics};
use crate::sync::{Mutex, lock};
use dispatch::Dispatcher;
use singles::{Singles, SinglesCounts};
use slot::Slot;
use worker::Shared;

/// Maximum number of samples of a query that are taken into the queue under one lock: some microseconds of copying.
const SAMPLES_PER_LOCK: usize = 4096;

/// Maximum wait for the instances when a scheduler is dropped that was not shut down.
const DROP_LIMIT: Duration = Duration::from_secs(1);

/// A scheduler with one thread for each instance.
///
/// [`shutdown`](Self::shutdown) ends the threads; dropping the scheduler does the same, with a limit of a second.
pub struct ThreadedScheduler {
    name: String,
    shared: Arc<Shared>,
}

/// Activity of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InFlight {
    /// Number of the instance, from 0.
    pub instance: usize,
    /// The batch that it runs. Empty only in a [`ShutdownReport`], for an instance that does not close.
    pub samples: Vec<QuerySample>,
    /// Since when, in ns of the scheduler's clock.
    pub since_ns: u64,
}

/// Outcome of a scheduler's shutdown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[must_use]
pub struct ShutdownReport {
    /// Instances that did not return within the limit, and their work at that time. Their threads are left behind.
    pub hung: Vec<InFlight>,
    /// Number of samples that were still in the queue and were failed.
    pub samples_unstarted: usize,
}

impl ThreadedScheduler {
    /// Starts one thread for each instance. `name` is the name of the SUT for reports. `observer`, if there is one,
    /// receives each finished batch.
    ///
    /// # Errors
    /// Returns the errors of [`SchedulerConfig::validate`]; [`SchedulerError::InstanceCount`] and
    /// [`SchedulerError::Spawn`].
    pub fn start(
        name: impl Into<String>,
        config: &SchedulerConfig,
        instances: Vec<Box<dyn Instance>>,
        sink: Arc<dyn CompletionSink>,
        clock: Arc<RealClock>,
        observer: Option<Arc<dyn BatchObserver>>,
    ) -> Result<Self, SchedulerError> {
        let is_single = observer.is_none() && config.is_single()?;
        // The batcher stays empty then.
        let queue_capacity = if is_single { 1 } else { config.queue_capacity };
        let batcher = Batcher::new(&SchedulerConfig { queue_capacity, ..config.clone() })?;
        config.check_instance_count(instances.len())?;
        let singles =
            is_single.then(|| Singles::new(config.queue_capacity, instances.len(), Arc::clone(&clock)));
        let shared = Arc::new(Shared {
            dispatcher: Dispatcher::new(batcher, config.instances_max(), Arc::clone(&clock)),
            singles,
            slots: (0..config.instances_max()).map(|_| Slot::new()).collect(),
            batch_size_max: config.batch_size_max(),
            failures: Mutex::new(FailureLog::default()),
            sink,
            observer,
            clock,
        });
        // If a thread does not start, dropping this ends the threads before it.
        let scheduler = Self { name: name.into(), shared };
        let (entering, all_entered) = mpsc::channel();
        for (index, instance) in instances.into_iter().enumerate() {
            scheduler.shared.dispatcher.enter();
            let spawned = scheduler.shared.spawn(index, instance, Some(entering.clone()));
            spawned.map_err(|source| SchedulerError::Spawn { instance: index, source })?;
        }
        drop(entering);
        // An instance's first work on its thread, such as taking a device, belongs to no sample. Nothing is
        // ever sent: the wait is over when each thread has dropped its end.
        let _ = all_entered.recv();
        Ok(scheduler)
    }

    /// Takes samples that were due at `arrived_ns` of the scheduler's clock. Observers of batches receive
    /// that instant, so that an issuer that is late hides nothing.
    pub fn issue_arrived(&self, arrived_ns: u64, samples: &[QuerySample]) {
        self.enqueue(QueryPart::whole(samples), Some(arrived_ns));
    }

    fn enqueue(&self, part: QueryPart<'_>, arrived_ns: Option<u64>) {
        if let Some(singles) = &self.shared.singles {
            return self.issue_singles(singles, part.samples);
        }
        let mut rest = part.samples;
        while !rest.is_empty() {
            let (head, tail) = rest.split_at(rest.len().min(SAMPLES_PER_LOCK));
            let more_coming = !tail.is_empty() || part.is_followed();
            if let Err(Busy { rejected }) = self.shared.dispatcher.arrive(head, more_coming, arrived_ns) {
                fail_samples(&head[head.len() - rejected..], &*self.shared.sink);
            }
            rest = tail;
        }
    }

    fn issue_singles(&self, singles: &Singles, samples: &[QuerySample]) {
        let taken = singles.arrive(samples);
        fail_samples(&samples[taken..], &*self.shared.sink);
        if singles.is_stopped() {
            while let Some(sample) = singles.drain() {
                fail_samples(&[sample], &*self.shared.sink);
            }
        }
    }

    /// Returns the knobs for batch size and instances.
    #[must_use]
    pub fn knobs(&self) -> KnobHandle {
        KnobHandle::of(&self.shared)
    }

    /// Returns the batches that run at this moment, by instance. [any thread; never waits for an instance]
    #[must_use]
    pub fn in_flight(&self) -> Vec<InFlight> {
        let slots = self.shared.slots.iter().enumerate();
        slots.map(|(index, slot)| slot.in_flight(index)).filter(|it| !it.samples.is_empty()).collect()
    }

    /// Returns the counts so far. Complete after [`shutdown`](Self::shutdown): while an instance runs, its
    /// last batch may not be counted in `busy_ns` yet.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let slots = &self.shared.slots[..self.shared.dispatcher.with_roster(Roster::given)];
        let busy_ns = slots.iter().map(|slot| slot.busy_ns.load(Ordering::Relaxed)).collect();
        let failures = lock(&self.shared.failures).clone();
        let of_batcher =
            self.shared.dispatcher.with_batcher(|batcher| Statistics::new(batcher, busy_ns, failures));
        let Some(singles) = &self.shared.singles else { return of_batcher };
        let SinglesCounts { started, issued, rejected, depth_max, capacity } = singles.counts();
        Statistics {
            batches: started,
            batch_size_histogram: vec![0, started],
            samples_issued: issued,
            samples_rejected: rejected,
            queue_depth_max: depth_max,
            queue_capacity: capacity,
            ..of_batcher
        }
    }

    /// Ends all instances: no further batch starts, samples that still wait are failed, and the instances are dropped
    /// on their threads when their batch is over. Waits for that up to `limit`, then leaves hanging instances behind.
    ///
    /// A second call only waits again and reports which instances hang now.
    pub fn shutdown(&self, limit: Duration) -> ShutdownReport {
        let mut unstarted = self.shared.dispatcher.stop();
        if let Some(singles) = &self.shared.singles {
            singles.stop();
            unstarted.extend(std::iter::from_fn(|| singles.drain()));
        }
        fail_samples(&unstarted, &*self.shared.sink);
        self.shared.dispatcher.wait_until_all_left(limit);

        let slots = self.shared.slots.iter().enumerate();
        // Acquire: pairs with the release at the end of the worker, so that its counts are seen.
        let hung = slots.filter(|(_, slot)| !slot.left.load(Ordering::Acquire));
        let hung = hung.map(|(index, slot)| slot.in_flight(index)).collect();
        ShutdownReport { hung, samples_unstarted: unstarted.len() }
    }
}

impl Shared {
    /// Starts the thread of an instance, which the dispatcher has counted. It drops `entering` when the instance has
    /// entered it.
    fn spawn(
        self: &Arc<Self>,
        index: usize,
        instance: Box<dyn Instance>,
        entering: Option<mpsc::Sender<()>>,
    ) -> io::Result<()> {
        let shared = Arc::clone(self);
        let thread = thread::Builder::new().name(format!("instance-{index}"));
        self.slots[index].take(self.batch_size_max);
        // The handle is dropped: a thread that has run foreign code is never joined, because code left to run
        // at the end of the thread could hang, too. The dispatcher counts the returned threads instead.
        let spawned = thread.spawn(move || worker::run(&shared, index, instance, entering));
        spawned.map(|_| ()).inspect_err(|_| {
            self.slots[index].left.store(true, Ordering::Release);
            self.dispatcher.leave(index);
        })
    }
}

impl Turn for Shared {
    fn set_batch_size(self: Arc<Self>, batch_size: usize) -> usize {
        self.dispatcher.set_batch_size(batch_size)
    }

    fn add_instance(self: Arc<Self>, instance: Box<dyn Instance>) -> Result<usize, KnobError> {
        if self.singles.is_some() {
            // A seat there is given once. A caller that wants more instances states bounds, and has the batcher then.
            return Err(KnobError::Full { instances_max: self.slots.len() });
        }
        let number = self.dispatcher.add_instance()?;
        self.spawn(number, instance, None).map_err(KnobError::Spawn)?;
        Ok(number)
    }

    fn retire(self: Arc<Self>, instance: Option<usize>) -> Result<usize, KnobError> {
        let number = self.dispatcher.retire(instance)?;
        if let Some(singles) = &self.singles {
            singles.retire(number);
        }
        Ok(number)
    }

    fn instances(&self) -> Vec<usize> {
        self.dispatcher.with_roster(|roster| roster.staying().to_vec())
    }
}

impl Drop for ThreadedScheduler {
    fn drop(&mut self) {
        if !self.shared.dispatcher.is_stopping() {
            // No caller is left to learn which instances hang.
            let _ = self.shutdown(DROP_LIMIT);
        }
    }
}

impl SystemUnderTest for ThreadedScheduler {
    fn name(&self) -> &str {
        &self.name
    }

    fn issue(&self, samples: &[QuerySample]) {
        self.issue_part(QueryPart::whole(samples));
    }

    fn issue_part(&self, part: QueryPart<'_>) {
        self.enqueue(part, None);
    }

    fn flush(&self) {
        self.shared.dispatcher.flush();
    }
}
