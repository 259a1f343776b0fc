use loom::thread;
use proctor_loadgen::VirtualClock;
use proctor_vocabulary::{ResponseId, SampleIndex};

use super::*;

type Timeless = Singles<VirtualClock>;
type Next = fn(&Timeless, usize) -> Option<QuerySample>;

fn sample(id: u64) -> QuerySample {
    QuerySample { id: ResponseId(id), index: SampleIndex(id) }
}

/// Leaked, because a deadlock unwinds through threads that still hold it.
fn singles() -> &'static Timeless {
    Box::leak(Box::new(Singles::new(2, 2, Arc::default())))
}

fn model(preemptions: usize, test: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(test);
}

/// Two samples arrive, and two instances take one each in the given way and no other, as if they hung. A lost wake-up
/// would be a deadlock, which loom reports.
fn two_instances_take_a_sample_each(next: Next) {
    let singles = singles();
    for instance in 0..2 {
        thread::spawn(move || {
            singles.enter(instance);
            assert!(next(singles, instance).is_some());
        });
    }
    assert_eq!(singles.arrive(&[sample(1), sample(2)]), 2);
}

#[test]
fn loom_no_single_sample_waits_while_an_instance_sleeps() {
    model(3, || two_instances_take_a_sample_each(Singles::next));
}

/// The twin that sleeps without another look at the ring. It must fail, or the model above proves nothing.
#[test]
#[should_panic(expected = "deadlock")]
fn loom_finds_the_single_sample_that_arrived_before_a_sleep() {
    model(3, || {
        two_instances_take_a_sample_each(|singles, instance| {
            loop {
                if let Some(sample) = singles.ring.pop() {
                    singles.pass_on();
                    return Some(sample);
                }
                let (word, bit) = singles.place(instance);
                word.fetch_or(bit, SeqCst);
                while word.load(Acquire) & bit != 0 {
                    thread::park();
                }
            }
        });
    });
}

/// The twin that takes a sample and does not pass the wake-up on: the push relied on the spinner. It must fail, or the
/// model above proves nothing.
#[test]
#[should_panic(expected = "deadlock")]
fn loom_finds_the_single_sample_that_a_spinner_left_behind() {
    model(3, || {
        two_instances_take_a_sample_each(|singles, instance| {
            loop {
                if let Some(sample) = singles.ring.pop() {
                    return Some(sample);
                }
                if !singles.spin(instance) {
                    singles.sleep(instance);
                }
            }
        });
    });
}

/// A sample arrives while the queue is stopped; its arrival checks in the given way whether it was.
fn a_sample_that_arrives_at_the_end_is_not_lost(is_stopped: fn(&Timeless) -> bool) {
    let singles = singles();
    let arriving = thread::spawn(move || {
        let refused = 1 - singles.arrive(&[sample(1)]);
        let drained = if is_stopped(singles) { std::iter::from_fn(|| singles.drain()).count() } else { 0 };
        refused + drained
    });
    singles.stop();
    let drained = std::iter::from_fn(|| singles.drain()).count();
    assert!(drained + arriving.join().unwrap() == 1, "a sample is lost");
}

#[test]
fn loom_a_single_sample_that_arrives_at_the_end_is_failed() {
    model(3, || a_sample_that_arrives_at_the_end_is_not_lost(Singles::is_stopped));
}

/// The twin that looks only before it pushes. It must fail, or the model above proves nothing.
#[test]
#[should_panic(expected = "a sample is lost")]
fn loom_finds_the_single_sample_that_arrived_after_the_end() {
    model(3, || a_sample_that_arrives_at_the_end_is_not_lost(|_| false));
}

/// One of two instances is retired before a sample arrives, and leaves in the given way. It may have been about to take
/// the sample; otherwise the other one has to.
fn a_retired_instance_leaves_its_sample(next: Next) {
    let singles = singles();
    for instance in 0..2 {
        thread::spawn(move || {
            singles.enter(instance);
            if next(singles, instance).is_some() {
                singles.stop();
            }
        });
    }
    singles.retire(1);
    assert_eq!(singles.arrive(&[sample(1)]), 1);
}

#[test]
fn loom_a_retired_instance_leaves_its_single_sample_to_the_other() {
    model(3, || a_retired_instance_leaves_its_sample(Singles::next));
}

/// The twin that leaves without passing the wake-up on. It must fail, or the model above proves nothing.
#[test]
#[should_panic(expected = "deadlock")]
fn loom_finds_the_single_sample_of_a_retired_instance() {
    model(3, || {
        a_retired_instance_leaves_its_sample(|singles, instance| {
            loop {
                if singles.must_leave(instance) {
                    return None;
                }
                if let Some(sample) = singles.ring.pop() {
                    singles.pass_on();
                    return Some(sample);
                }
                if !singles.spin(instance) {
                    singles.sleep(instance);
                }
            }
        });
    });
}
