//! Knobs on real threads. No test here depends on how fast anything is.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use super::{Dropped, Loop, Observer, Real, config, takes_ns};
use crate::support::{PATIENCE, instance, samples};
use proctor_loadgen::SystemUnderTest;
use proctor_scheduler::{BatchError, Instance, KnobError};
use proctor_vocabulary::{CompletionSink, QuerySample, QuerySampleResponse, SampleStatus};

#[test]
fn a_completion_may_issue_on_threads() {
    let load = Loop::new(4, 2000);
    let real = Real::with_sink(
        &config("fixed", 2, 2),
        vec![takes_ns(0), takes_ns(0)],
        Observer::idle(),
        Arc::clone(&load) as _,
        Arc::clone(&load.recorder),
    );
    let system = Arc::downgrade(&real.scheduler);
    load.system.set(system).unwrap();
    real.scheduler.issue(&samples(1..4));
    real.recorder.wait_for(2000);
    assert!(real.scheduler.shutdown(PATIENCE).hung.is_empty());
    real.recorder.assert_once_each(1..2001);
}

#[test]
fn the_observer_hears_when_samples_were_due_and_never_of_an_arrival_to_come() {
    let real = Real::new(&config("size-or-timeout", 1, 1), vec![takes_ns(0)], Observer::idle());
    real.scheduler.issue_arrived(5, &samples(1..2));
    real.scheduler.issue_arrived(u64::MAX, &samples(2..3));
    real.scheduler.issue(&samples(3..4));
    real.recorder.wait_for(3);
    // The observer hears of a batch after its samples are complete.
    assert!(real.scheduler.shutdown(PATIENCE).hung.is_empty());
    let arrived_ns: Vec<_> = real.observer.heard().into_iter().flat_map(|heard| heard.arrived_ns).collect();
    let [due, ahead, now] = arrived_ns[..] else { panic!("{arrived_ns:?}") };
    assert!(due == 5 && due < ahead && ahead <= now && now < u64::MAX, "{arrived_ns:?}");
}

#[test]
fn an_instance_that_is_retired_finishes_its_batch_on_its_thread() {
    let (start, started) = mpsc::channel();
    let (release, held) = mpsc::channel();
    let (tell, told) = mpsc::channel();
    let held = instance(move |_: &[QuerySample], _| {
        start.send(()).unwrap();
        held.recv().unwrap();
        Ok(0)
    });
    let real = Real::new(&config("fixed", 1, 1), vec![Box::new(Dropped(held, tell))], Observer::idle());
    let knobs = real.scheduler.knobs();
    real.scheduler.issue(&samples(1..2));
    started.recv_timeout(PATIENCE).unwrap();
    assert_eq!(knobs.add_instance(takes_ns(0)).unwrap(), 1);
    // The new one takes samples that come while the first one is held: it has entered its thread.
    real.scheduler.issue(&samples(2..3));
    real.recorder.wait_for(1);
    knobs.retire_instance(0).unwrap();
    assert_eq!(knobs.instances().unwrap(), [1]);
    let mut in_flight = real.scheduler.in_flight().into_iter();
    assert!(in_flight.any(|it| (it.instance, it.samples) == (0, samples(1..2))), "it is still there");
    assert!(told.try_recv().is_err());

    release.send(()).unwrap();
    told.recv_timeout(PATIENCE).unwrap();
    real.recorder.wait_for(2);
    real.scheduler.issue(&samples(3..10));
    real.recorder.wait_for(9);
    assert!(real.scheduler.shutdown(PATIENCE).hung.is_empty());
    real.recorder.assert_once_each(1..10);
    assert_eq!(real.scheduler.statistics().busy_ns.len(), 2);
    assert!(matches!(knobs.add_instance(takes_ns(0)), Err(KnobError::Ended)));
}

#[test]
fn nobody_waits_for_an_instance_that_starts_and_it_takes_no_batch_before() {
    struct Entering {
        enter: mpsc::Receiver<()>,
        entered: Arc<AtomicUsize>,
    }
    impl Instance for Entering {
        fn enter_thread(&mut self) {
            self.enter.recv().unwrap();
            self.entered.fetch_add(1, Ordering::SeqCst);
        }

        fn execute(&mut self, _: &[QuerySample]) -> Result<(), BatchError> {
            assert_eq!(self.entered.load(Ordering::SeqCst), 1);
            Ok(())
        }

        fn execute_virtual(&mut self, _: &[QuerySample], _: u32) -> Result<u64, BatchError> {
            Ok(0)
        }

        fn complete(&mut self, batch: &[QuerySample], sink: &dyn CompletionSink) {
            for &QuerySample { id, .. } in batch {
                let status = SampleStatus::OK;
                sink.complete(&[QuerySampleResponse { id, status, data: &[], token_count: 0 }]);
            }
        }
    }
    let real = Real::new(&config("fixed", 1, 1), vec![takes_ns(0)], Observer::idle());
    let (knobs, entered) = (real.scheduler.knobs(), Arc::new(AtomicUsize::new(0)));
    let (let_enter, enter) = mpsc::channel();
    knobs.add_instance(Box::new(Entering { enter, entered: Arc::clone(&entered) })).unwrap();
    real.scheduler.issue(&samples(1..50));
    real.recorder.wait_for(49);
    assert!(matches!(knobs.retire_instance(0), Err(KnobError::Last { .. })), "the other one is not ready");
    assert!(real.observer.heard().iter().all(|heard| heard.instance == 0));
    let_enter.send(()).unwrap();
    // Once it is ready the first one may go, and the samples are its own.
    while knobs.retire_instance(0).is_err() {
        std::thread::yield_now();
    }
    real.scheduler.issue(&samples(50..60));
    real.recorder.wait_for(59);
    assert!(real.scheduler.shutdown(PATIENCE).hung.is_empty());
    real.recorder.assert_once_each(1..60);
}
