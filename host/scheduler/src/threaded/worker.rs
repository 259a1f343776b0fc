//! The thread of one instance.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};

use proctor_loadgen::{Clock, RealClock};
use proctor_vocabulary::{CompletionSink, QuerySample};

use super::InFlight;
use super::dispatch::Dispatcher;
use crate::batcher::{Batch, FormedBatch};
use crate::instance::{BatchError, Instance, fail_samples, guard};
use crate::observer::{self, BatchDone, BatchObserver};
use crate::statistics::FailureLog;
use crate::sync::{Mutex, lock};

/// State that the scheduler and its threads share.
pub(super) struct Shared {
    pub(super) dispatcher: Dispatcher,
    /// One for each number that an instance may have.
    pub(super) slots: Vec<Slot>,
    pub(super) batch_size_max: usize,
    pub(super) failures: Mutex<FailureLog>,
    pub(super) sink: Arc<dyn CompletionSink>,
    pub(super) observer: Option<Arc<dyn BatchObserver>>,
    pub(super) clock: Arc<RealClock>,
}

/// State that one thread shows of itself. When it has ended the next instance of this number has it.
pub(super) struct Slot {
    current: Mutex<Current>,
    pub(super) busy_ns: AtomicU64,
    /// The instance is dropped and the thread ends, or there is none.
    pub(super) left: AtomicBool,
}

/// A copy of the batch that runs, empty if none does. It has its own lock, held only to copy, so that a watchdog can
/// look at it while the instance hangs.
struct Current {
    samples: Vec<QuerySample>,
    since_ns: u64,
}

impl Slot {
    /// A slot that nobody has yet.
    pub(super) fn new() -> Self {
        Self {
            current: Mutex::new(Current { samples: Vec::new(), since_ns: 0 }),
            busy_ns: AtomicU64::new(0),
            left: AtomicBool::new(true),
        }
    }

    /// An instance is about to have it.
    pub(super) fn take(&self, batch_size_max: usize) {
        lock(&self.current).samples.reserve_exact(batch_size_max);
        self.left.store(false, Ordering::Relaxed);
    }

    pub(super) fn in_flight(&self, instance: usize) -> InFlight {
        let current = lock(&self.current);
        InFlight { instance, samples: current.samples.clone(), since_ns: current.since_ns }
    }

    fn show(&self, samples: &[QuerySample], since_ns: u64) {
        let mut current = lock(&self.current);
        current.samples.clear();
        current.samples.extend_from_slice(samples);
        current.since_ns = since_ns;
    }
}

/// Runs batches until the scheduler stops or the instance is retired, then drops it. `entering` is dropped before the
/// first batch.
pub(super) fn run(
    shared: &Shared,
    index: usize,
    mut instance: Box<dyn Instance>,
    entering: Option<mpsc::Sender<()>>,
) {
    let _leave = Leave { shared, index };
    let mut batch = Batch::with_room(shared.batch_size_max, shared.observer.is_some());
    let entered = guard(|| {
        instance.enter_thread();
        Ok(())
    });
    if let Err(error) = entered {
        tracing::warn!(instance = index, %error, "an instance failed to enter its thread");
    }
    shared.dispatcher.count_in(index);
    drop(entering);
    let mut was_busy = false;
    while let Some(formed) = shared.dispatcher.next_batch(index, was_busy, &mut batch) {
        shared.run_batch(index, &mut *instance, &batch, formed);
        was_busy = true;
    }
    let closed = guard(|| {
        instance.leave_thread();
        drop(instance);
        Ok(())
    });
    if let Err(error) = closed {
        tracing::warn!(instance = index, %error, "an instance failed to close");
    }
}

/// Tells that a thread has left, also if it does so by a panic.
struct Leave<'a> {
    shared: &'a Shared,
    index: usize,
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        // Release: pairs with the acquire in `shutdown`.
        self.shared.slots[self.index].left.store(true, Ordering::Release);
        self.shared.dispatcher.leave(self.index);
    }
}

impl Shared {
    /// Runs one batch to its end, completes each of its samples, one way or the other, and tells the observer.
    fn run_batch(&self, index: usize, instance: &mut dyn Instance, taken: &Batch, formed: FormedBatch) {
        let (slot, batch) = (&self.slots[index], taken.samples());
        let started_ns = self.clock.now_ns();
        slot.show(batch, started_ns);
        let result = self.execute_and_complete(instance, batch);
        let failed = result.is_err();
        if let Err(error) = result {
            lock(&self.failures).record(index, batch.len(), error.message);
            // If it was the completion that panicked, some samples are completed twice now, and are counted so. The
            // run is INVALID already; without this it would also wait for samples that never come.
            fail_samples(batch, &*self.sink);
        }
        let completed_ns = self.clock.now_ns();
        slot.show(&[], completed_ns);
        slot.busy_ns.fetch_add(completed_ns - started_ns, Ordering::Relaxed);
        if let Some(observer) = &self.observer {
            let done = BatchDone {
                samples: batch.len(),
                oldest_arrived_ns: formed.oldest_arrived_ns,
                started_ns,
                completed_ns,
                busy_instances: formed.busy_instances,
                failed,
            };
            observer::tell(&**observer, index, &done, taken.arrived_ns());
        }
    }

    fn execute_and_complete(
        &self,
        instance: &mut dyn Instance,
        batch: &[QuerySample],
    ) -> Result<(), BatchError> {
        guard(|| {
            instance.execute(batch)?;
            instance.complete(batch, &*self.sink);
            Ok(())
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use proctor_vocabulary::{QuerySampleResponse, ResponseId, SampleIndex, SampleStatus};

    use super::*;
    use crate::batcher::Batcher;
    use crate::config::SchedulerConfig;

    #[derive(Default)]
    struct Counted(AtomicUsize);

    impl CompletionSink for Counted {
        fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
            self.0.fetch_add(responses.len(), Ordering::Relaxed);
        }

        fn first_token(&self, _: &[QuerySampleResponse<'_>]) {}
    }

    struct AtOnce;

    impl Instance for AtOnce {
        fn execute(&mut self, _: &[QuerySample]) -> Result<(), BatchError> {
            Ok(())
        }

        fn execute_virtual(&mut self, _: &[QuerySample], _: u32) -> Result<u64, BatchError> {
            Ok(0)
        }

        fn complete(&mut self, batch: &[QuerySample], sink: &dyn CompletionSink) {
            for sample in batch {
                let status = SampleStatus::OK;
                sink.complete(&[QuerySampleResponse { id: sample.id, status, data: &[], token_count: 0 }]);
            }
        }
    }

    /// Adds up what it hears.
    #[derive(Default)]
    struct Heard(AtomicUsize);

    impl BatchObserver for Heard {
        fn batch_done(&self, _: usize, done: &BatchDone, arrived_ns: &[u64]) {
            assert_eq!((done.samples, done.oldest_arrived_ns), (arrived_ns.len(), arrived_ns[0]));
            self.0.fetch_add(arrived_ns.len(), Ordering::Relaxed);
        }
    }

    #[test]
    fn from_its_arrival_to_its_completion_a_batch_allocates_nothing() {
        for policy in ["fixed", "size-or-timeout"] {
            let config =
                SchedulerConfig { policy: policy.to_owned(), batch_size: 8, ..SchedulerConfig::default() };
            let (clock, sink) = (Arc::new(RealClock::new()), Arc::new(Counted::default()));
            let heard = Arc::new(Heard::default());
            let shared = Shared {
                dispatcher: Dispatcher::new(Batcher::new(&config).unwrap(), 1, Arc::clone(&clock)),
                slots: vec![Slot::new()],
                batch_size_max: config.batch_size,
                failures: Mutex::default(),
                sink: Arc::clone(&sink) as _,
                observer: Some(Arc::clone(&heard) as _),
                clock,
            };
            shared.slots[0].take(config.batch_size);
            let sample = |id| QuerySample { id: ResponseId(id), index: SampleIndex(id) };
            let samples: Vec<_> = (1..=5).map(sample).collect();
            let mut batch = Batch::with_room(config.batch_size, true);
            let counted = allocation_counter::measure(|| {
                for round in 0..1000 {
                    shared.dispatcher.arrive(&samples, false).unwrap();
                    shared.dispatcher.flush();
                    let formed = shared.dispatcher.next_batch(0, round > 0, &mut batch).unwrap();
                    shared.run_batch(0, &mut AtOnce, &batch, formed);
                }
            });
            assert_eq!(sink.0.load(Ordering::Relaxed), 5000, "{policy}");
            assert_eq!(heard.0.load(Ordering::Relaxed), 5000, "{policy}");
            assert_eq!(counted.count_total, 0, "{policy}");
        }
    }
}
