//! The scheduler on real threads. No test here depends on how fast anything is.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use crate::support::{PATIENCE, Recorder, failure, instance, samples};
use proctor_loadgen::{RealClock, SystemUnderTest};
use proctor_scheduler::{BatchError, FailureLog, Instance, KnobError, SchedulerConfig, ThreadedScheduler};
use proctor_vocabulary::{CompletionSink, QuerySample, QuerySampleResponse, SampleStatus};

fn config(policy: &str, batch_size: usize, instances: usize) -> SchedulerConfig {
    SchedulerConfig {
        policy: policy.into(),
        batch_size,
        instances,
        scaling: None,
        batch_timeout_us: 200,
        queue_capacity: 1 << 16,
    }
}

fn start(config: &SchedulerConfig, instances: Vec<Box<dyn Instance>>) -> (ThreadedScheduler, Arc<Recorder>) {
    let recorder = Arc::new(Recorder::default());
    let sink = Arc::clone(&recorder) as Arc<dyn CompletionSink>;
    let clock = Arc::new(RealClock::new());
    (ThreadedScheduler::start("test", config, instances, sink, clock, None).unwrap(), recorder)
}

fn null_instances(count: usize) -> Vec<Box<dyn Instance>> {
    (0..count).map(|_| instance(|_, _| Ok(0))).collect()
}

/// Issues queries of all sizes as fast as it can, and checks that each sample comes back once.
fn stress(config: &SchedulerConfig) {
    let (scheduler, recorder) = start(config, null_instances(config.instances));
    let mut next = 1;
    for query in 0..2000_u64 {
        let size = 1 + query % 13;
        scheduler.issue(&samples(next..next + size));
        next += size;
    }
    scheduler.flush();
    recorder.wait_for(usize::try_from(next - 1).unwrap());
    assert!(scheduler.shutdown(PATIENCE).hung.is_empty());
    recorder.assert_once_each(1..next);
    assert!(recorder.failed_ids().is_empty());
    if config.instances == 1 {
        assert!(recorder.ids().is_sorted(), "one instance completes in order of arrival");
    }
    let statistics = scheduler.statistics();
    let histogram = &statistics.batch_size_histogram;
    assert_eq!(histogram.len(), config.batch_size + 1);
    assert_eq!(histogram.iter().sum::<u64>(), statistics.batches);
    assert_eq!((0..).zip(histogram).map(|(size, count): (u64, _)| size * count).sum::<u64>(), next - 1);
}

#[test]
fn every_sample_comes_back_once_whatever_the_policy() {
    for policy in ["fixed", "size-or-timeout"] {
        for (batch_size, instances) in [(1, 1), (1, 4), (8, 1), (8, 4), (32, 7)] {
            stress(&config(policy, batch_size, instances));
        }
    }
}

#[test]
fn one_query_at_a_time_never_stalls() {
    // As in SingleStream: the next query only after the last one is complete, and no flush. With fixed
    // batches of 4 the rule for idle instances lets each go; with size-or-timeout the timeout does.
    for policy in ["fixed", "size-or-timeout"] {
        let (scheduler, recorder) = start(&config(policy, 4, 3), null_instances(3));
        for id in 1..300 {
            scheduler.issue(&samples(id..id + 1));
            recorder.wait_for(usize::try_from(id).unwrap());
        }
        assert_eq!(recorder.ids(), (1..300).collect::<Vec<_>>());
    }
}

#[test]
fn a_query_of_many_chunks_goes_in_full_batches() {
    let (scheduler, recorder) = start(&config("fixed", 7, 2), null_instances(2));
    scheduler.issue(&samples(1..20_001));
    recorder.wait_for(20_000);
    recorder.assert_once_each(1..20_001);
    assert!(scheduler.shutdown(PATIENCE).hung.is_empty());
    let histogram = scheduler.statistics().batch_size_histogram;
    assert_eq!(histogram[7], 20_000 / 7);
    assert_eq!(histogram[20_000 % 7], 1);
}

#[test]
fn a_test_begins_when_each_instance_has_entered_its_thread() {
    struct Entering(Arc<AtomicUsize>);
    impl Instance for Entering {
        fn enter_thread(&mut self) {
            // Long enough for a start that does not wait to return first.
            thread::sleep(Duration::from_millis(50));
            self.0.fetch_add(1, Ordering::SeqCst);
        }

        fn execute(&mut self, _: &[QuerySample]) -> Result<(), BatchError> {
            Ok(())
        }

        fn execute_virtual(&mut self, _: &[QuerySample], _: u32) -> Result<u64, BatchError> {
            Ok(0)
        }

        fn complete(&mut self, _: &[QuerySample], _: &dyn CompletionSink) {}
    }
    let entered = Arc::new(AtomicUsize::new(0));
    let instances = (0..3).map(|_| Box::new(Entering(Arc::clone(&entered))) as Box<dyn Instance>).collect();
    let _scheduler = start(&config("fixed", 1, 3), instances);
    assert_eq!(entered.load(Ordering::SeqCst), 3);
}

/// Instances that hold sample 1 until released; the one that gets it says so.
struct Holding {
    started: mpsc::Receiver<()>,
    release: mpsc::Sender<()>,
    instances: Vec<Box<dyn Instance>>,
}

fn holding_sample_1(count: usize) -> Holding {
    let (release, held) = mpsc::channel();
    let (start, started) = mpsc::channel();
    let held = Arc::new(Mutex::new(held));
    let make = |_| {
        let (held, start) = (Arc::clone(&held), start.clone());
        instance(move |batch: &[QuerySample], _| {
            if batch[0].id.0 == 1 {
                start.send(()).unwrap();
                held.lock().unwrap().recv().unwrap();
            }
            Ok(0)
        })
    };
    let instances = (0..count).map(make).collect();
    Holding { started, release, instances }
}

#[test]
fn a_flush_sends_what_waits_beside_a_busy_instance() {
    let Holding { started, release, instances } = holding_sample_1(2);
    let (scheduler, recorder) = start(&config("fixed", 4, 2), instances);
    scheduler.issue(&samples(1..2));
    started.recv_timeout(PATIENCE).unwrap();
    scheduler.issue(&samples(2..4));
    assert_eq!(scheduler.statistics().batches, 1);
    scheduler.flush();
    recorder.wait_for(2);
    assert_eq!(recorder.ids(), [2, 3]);
    release.send(()).unwrap();
    recorder.wait_for(3);
}

#[test]
fn a_hanging_instance_can_be_named_and_is_left_behind() {
    let Holding { started, release, instances } = holding_sample_1(2);
    let (scheduler, recorder) = start(&config("fixed", 1, 2), instances);
    scheduler.issue(&samples(1..2));
    started.recv_timeout(PATIENCE).unwrap();
    scheduler.issue(&samples(2..10));
    recorder.wait_for(8);

    let hung = scheduler.in_flight().into_iter().find(|it| it.samples == samples(1..2)).unwrap();
    let report = scheduler.shutdown(Duration::from_millis(10));
    // On a slow machine the other one may not have left yet, either.
    assert!(report.hung.contains(&hung), "{report:?}");
    assert_eq!(report.samples_unstarted, 0);

    // It comes back after all: nothing breaks, and the next shutdown finds none.
    release.send(()).unwrap();
    recorder.wait_for(9);
    assert!(scheduler.shutdown(PATIENCE).hung.is_empty());
    recorder.assert_once_each(1..10);
}

#[test]
fn samples_that_were_not_started_fail_at_shutdown() {
    let Holding { started, release, instances } = holding_sample_1(1);
    let (scheduler, recorder) = start(&config("fixed", 1, 1), instances);
    scheduler.issue(&samples(1..4));
    started.recv_timeout(PATIENCE).unwrap();
    let report = scheduler.shutdown(Duration::ZERO);
    assert_eq!((report.hung.len(), report.samples_unstarted), (1, 2));
    assert_eq!(recorder.failed_ids(), [2, 3]);
    scheduler.issue(&samples(4..5));
    assert_eq!(recorder.failed_ids(), [2, 3, 4], "a scheduler that has stopped takes nothing");
    release.send(()).unwrap();
}

#[test]
fn a_failing_instance_fails_its_batches_only() {
    let fails_evens = |batch: &[QuerySample], _| {
        if batch[0].id.0.is_multiple_of(2) { Err(failure("out of memory")) } else { Ok(0) }
    };
    let (scheduler, recorder) = start(&config("fixed", 1, 1), vec![instance(fails_evens)]);
    scheduler.issue(&samples(1..41));
    recorder.wait_for(40);
    recorder.assert_once_each(1..41);
    assert_eq!(recorder.failed_ids(), (1..21).map(|n| 2 * n).collect::<Vec<_>>());

    let statistics = scheduler.statistics();
    assert_eq!((statistics.failures.batches, statistics.failures.samples), (20, 20));
    assert_eq!(statistics.failures.first.len(), FailureLog::KEPT);
    assert_eq!(
        statistics.problems().iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["20 samples of 20 batches failed; the first on instance 0: out of memory"]
    );
}

#[test]
fn a_panicking_instance_fails_its_batch_and_goes_on() {
    let panics_once = |batch: &[QuerySample], _| {
        assert_ne!(batch[0].id.0, 1, "the first batch is unlucky");
        Ok(0)
    };
    let (scheduler, recorder) = start(&config("fixed", 2, 1), vec![instance(panics_once)]);
    scheduler.issue(&samples(1..7));
    recorder.wait_for(6);
    recorder.assert_once_each(1..7);
    assert_eq!(recorder.failed_ids(), [1, 2]);
    let message = &scheduler.statistics().failures.first[0].message;
    assert!(message.starts_with("panicked: ") && message.contains("the first batch is unlucky"), "{message}");
}

/// Completes only the first sample of a batch, then panics; panics again when it is dropped.
struct PanicsLate;

impl Instance for PanicsLate {
    fn execute(&mut self, _: &[QuerySample]) -> Result<(), BatchError> {
        Ok(())
    }

    fn execute_virtual(&mut self, _: &[QuerySample], _: u32) -> Result<u64, BatchError> {
        Ok(0)
    }

    fn complete(&mut self, batch: &[QuerySample], sink: &dyn CompletionSink) {
        let (id, status) = (batch[0].id, SampleStatus::OK);
        sink.complete(&[QuerySampleResponse { id, status, data: &[], token_count: 0 }]);
        panic!("half way");
    }
}

impl Drop for PanicsLate {
    fn drop(&mut self) {
        panic!("not even this");
    }
}

#[test]
fn a_panic_during_completion_or_close_leaves_no_sample_open() {
    let (scheduler, recorder) = start(&config("fixed", 2, 1), vec![Box::new(PanicsLate)]);
    scheduler.issue(&samples(1..3));
    recorder.wait_for(3);
    assert_eq!(recorder.ids(), [1, 1, 2]);
    assert_eq!(recorder.failed_ids(), [1, 2]);
    assert!(scheduler.shutdown(PATIENCE).hung.is_empty());
    assert_eq!(scheduler.statistics().failures.first[0].message, "panicked: half way");
}

#[test]
fn a_full_queue_fails_what_does_not_fit() {
    let Holding { started, release, instances } = holding_sample_1(1);
    let config = SchedulerConfig { queue_capacity: 3, ..config("fixed", 1, 1) };
    let (scheduler, recorder) = start(&config, instances);
    scheduler.issue(&samples(1..2));
    started.recv_timeout(PATIENCE).unwrap();
    scheduler.issue(&samples(2..7));
    assert_eq!(recorder.failed_ids(), [5, 6]);
    release.send(()).unwrap();
    recorder.wait_for(6);
    recorder.assert_once_each(1..7);
    assert_eq!(scheduler.statistics().samples_rejected, 2);
    assert_eq!(scheduler.statistics().queue_depth_max, 3);
}

#[test]
fn without_bounds_an_instance_that_was_retired_has_no_successor() {
    let (scheduler, recorder) = start(&config("fixed", 1, 2), null_instances(2));
    let knobs = scheduler.knobs();
    knobs.retire_instance(1).unwrap();
    assert!(matches!(knobs.add_instance(instance(|_, _| Ok(0))), Err(KnobError::Full { instances_max: 2 })));
    assert!(matches!(knobs.retire_instance(0), Err(KnobError::Last { instance: 0 })));
    scheduler.issue(&samples(1..1001));
    recorder.wait_for(1000);
    assert!(scheduler.shutdown(PATIENCE).hung.is_empty());
    recorder.assert_once_each(1..1001);
}

#[test]
fn the_number_of_instances_must_match() {
    let sink = Arc::new(Recorder::default());
    let clock = Arc::new(RealClock::new());
    let config = config("fixed", 1, 3);
    let result = ThreadedScheduler::start("test", &config, null_instances(2), sink, clock, None);
    let Err(error) = result else { panic!("two instances for three") };
    assert_eq!(error.to_string(), "scheduler setting instances = 3, but 2 instances were created");
}
