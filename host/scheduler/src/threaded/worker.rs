//! The thread of one instance.

use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};

use proctor_loadgen::{Clock, RealClock};
use proctor_vocabulary::{CompletionSink, QuerySample};

use super::dispatch::Dispatcher;
use super::singles::Singles;
use super::slot::Slot;
use crate::batcher::Batch;
use crate::instance::{BatchError, FailureCount, Instance, fail_samples, guard};
use crate::observer::{self, BatchDone, BatchObserver};
use crate::statistics::FailureLog;
use crate::sync::{Mutex, lock};

/// State that the scheduler and its threads share.
pub(super) struct Shared {
    pub(super) dispatcher: Dispatcher,
    /// The path of batches of one that nothing holds back; nothing passes the dispatcher's batcher then.
    pub(super) singles: Option<Singles>,
    /// One for each number that an instance may have.
    pub(super) slots: Vec<Slot>,
    pub(super) batch_size_max: usize,
    pub(super) failures: Mutex<FailureLog>,
    pub(super) sink: Arc<dyn CompletionSink>,
    pub(super) observer: Option<Arc<dyn BatchObserver>>,
    pub(super) clock: Arc<RealClock>,
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
    let mut batch = Batch::with_capacity(shared.batch_size_max, shared.observer.is_some());
    let entered = guard(|| {
        instance.enter_thread();
        Ok(())
    });
    if let Err(error) = entered {
        tracing::warn!(instance = index, %error, "an instance failed to enter its thread");
    }
    shared.dispatcher.count_in(index);
    if let Some(singles) = &shared.singles {
        singles.enter(index);
    }
    drop(entering);
    match &shared.singles {
        Some(singles) => {
            while let Some(sample) = singles.next(index) {
                shared.run_batch(index, &mut *instance, &[sample]);
            }
        }
        None => {
            let mut was_busy = false;
            while shared.dispatcher.next_batch(index, was_busy, &mut batch) {
                shared.run_formed(index, &mut *instance, &batch);
                was_busy = true;
            }
        }
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

/// Reports that a thread has left, even by a panic.
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

/// Report on a batch on its instance.
struct Ran {
    started_ns: u64,
    completed_ns: u64,
    failed: bool,
    failed_samples: usize,
}

impl Shared {
    /// Runs one batch of the batcher, and informs the observer.
    fn run_formed(&self, index: usize, instance: &mut dyn Instance, batch: &Batch) {
        let Ran { started_ns, completed_ns, failed, failed_samples } =
            self.run_batch(index, instance, batch.samples());
        if let Some(observer) = &self.observer {
            let samples = batch.samples().len();
            let done = BatchDone { samples, started_ns, completed_ns, failed, failed_samples };
            observer::tell(&**observer, index, &done, batch.arrived_ns());
        }
    }

    /// Runs one batch to its end, and completes each of its samples, one way or the other.
    fn run_batch(&self, index: usize, instance: &mut dyn Instance, batch: &[QuerySample]) -> Ran {
        let slot = &self.slots[index];
        let started_ns = self.clock.now_ns();
        slot.show(batch, started_ns);
        let count = FailureCount::new(&*self.sink);
        // Without an observer it is not needed.
        let sink: &dyn CompletionSink = if self.observer.is_some() { &count } else { &*self.sink };
        let result = execute_and_complete(instance, batch, sink);
        let failed = result.is_err();
        let failed_samples = if failed { batch.len() } else { count.failed() };
        if let Err(error) = result {
            lock(&self.failures).record(index, batch.len(), error.message);
            // If it was the completion that panicked, some samples are completed twice now, and are counted so. The
            // run is INVALID already; without this it would also wait for samples that never come.
            fail_samples(batch, &*self.sink);
        }
        let completed_ns = self.clock.now_ns();
        slot.clear(completed_ns);
        Ran { started_ns, completed_ns, failed, failed_samples }
    }
}

fn execute_and_complete(
    instance: &mut dyn Instance,
    batch: &[QuerySample],
    sink: &dyn CompletionSink,
) -> Result<(), BatchError> {
    guard(|| {
        instance.execute(batch)?;
        instance.complete(batch, sink);
        Ok(())
    })
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

    /// Sums up its reports.
    #[derive(Default)]
    struct Heard(AtomicUsize);

    impl BatchObserver for Heard {
        fn batch_done(&self, _: usize, done: &BatchDone, arrived_ns: &[u64]) {
            assert_eq!(done.samples, arrived_ns.len());
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
                singles: None,
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
            let mut batch = Batch::with_capacity(config.batch_size, true);
            let counted = allocation_counter::measure(|| {
                for round in 0..1000 {
                    shared.dispatcher.arrive(&samples, false, None).unwrap();
                    shared.dispatcher.flush();
                    assert!(shared.dispatcher.next_batch(0, round > 0, &mut batch));
                    shared.run_formed(0, &mut AtOnce, &batch);
                }
            });
            assert_eq!(sink.0.load(Ordering::Relaxed), 5000, "{policy}");
            assert_eq!(heard.0.load(Ordering::Relaxed), 5000, "{policy}");
            assert_eq!(counted.count_total, 0, "{policy}");
        }
    }

    #[test]
    fn from_its_arrival_to_its_completion_a_single_sample_allocates_nothing() {
        let (clock, sink) = (Arc::new(RealClock::new()), Arc::new(Counted::default()));
        let shared = Shared {
            dispatcher: Dispatcher::new(
                Batcher::new(&SchedulerConfig::default()).unwrap(),
                1,
                Arc::clone(&clock),
            ),
            singles: Some(Singles::new(8, 1, Arc::clone(&clock))),
            slots: vec![Slot::new()],
            batch_size_max: 1,
            failures: Mutex::default(),
            sink: Arc::clone(&sink) as _,
            observer: None,
            clock,
        };
        shared.slots[0].take(1);
        let singles = shared.singles.as_ref().unwrap();
        singles.enter(0);
        let counted = allocation_counter::measure(|| {
            for id in 1..=1000 {
                let sample = QuerySample { id: ResponseId(id), index: SampleIndex(id) };
                assert_eq!(singles.arrive(&[sample]), 1);
                let sample = singles.next(0).unwrap();
                shared.run_batch(0, &mut AtOnce, &[sample]);
            }
        });
        assert_eq!((sink.0.load(Ordering::Relaxed), counted.count_total), (1000, 0));
    }
}
