//! The path of single samples, step by step on one thread.

use proctor_loadgen::VirtualClock;
use proctor_vocabulary::{ResponseId, SampleIndex};

use super::*;

type Timeless = Singles<VirtualClock>;

fn sample(id: u64) -> QuerySample {
    QuerySample { id: ResponseId(id), index: SampleIndex(id) }
}

fn sleepers(singles: &Timeless) -> u32 {
    singles.asleep.iter().map(|word| word.0.load(Relaxed).count_ones()).sum()
}

/// Singles of which each instance sleeps.
fn all_asleep(count: usize) -> Timeless {
    let singles = Singles::new(1000, count, Arc::default());
    for instance in 0..count {
        singles.enter(instance);
        let (word, bit) = singles.place(instance);
        word.fetch_or(bit, SeqCst);
    }
    singles
}

#[test]
fn a_push_wakes_one_of_those_that_sleep_and_none_if_somebody_spins() {
    let singles = all_asleep(70);
    assert_eq!(singles.arrive(&[sample(1)]), 1);
    assert_eq!(sleepers(&singles), 69);
    singles.spinner.0.store(1, Relaxed);
    singles.arrive(&[sample(2)]);
    assert_eq!(sleepers(&singles), 69, "the spinner looks");
    // Somebody pops 1 while it spins, and then another one when it does not: there is another sample.
    singles.next(0).unwrap();
    assert_eq!(sleepers(&singles), 69);
    singles.spinner.0.store(NOBODY, Relaxed);
    singles.arrive(&[sample(3)]);
    assert_eq!(sleepers(&singles), 68);
    singles.next(0).unwrap();
    assert_eq!(sleepers(&singles), 67, "who pops passes the wake-up on");
    singles.next(0).unwrap();
    assert_eq!(sleepers(&singles), 67);
}

#[test]
fn a_spinner_that_is_silent_is_not_waited_for() {
    let singles = all_asleep(2);
    let wake = proctor_loadgen::Wake::new();
    singles.spinner.0.store(1, Relaxed);
    singles.clock.wait_until(SILENT_NS, &wake);
    singles.arrive(&[sample(1)]);
    assert_eq!(sleepers(&singles), 2);
    singles.clock.wait_until(SILENT_NS + 2, &wake);
    singles.arrive(&[sample(2)]);
    assert_eq!(sleepers(&singles), 1);
}

#[test]
fn the_depth_that_is_kept_is_the_greatest() {
    let singles = all_asleep(1);
    singles.arrive(&[sample(1), sample(2), sample(3)]);
    for _ in 0..3 {
        singles.next(0).unwrap();
    }
    singles.arrive(&[sample(4), sample(5)]);
    assert_eq!(singles.counts().depth_max, 3);
    singles.arrive(&[sample(6), sample(7)]);
    assert_eq!(singles.counts().depth_max, 4);
}

#[test]
fn what_waits_at_the_end_is_drained_and_not_counted_as_started() {
    let singles = all_asleep(1);
    singles.arrive(&[sample(1), sample(2), sample(3)]);
    singles.next(0).unwrap();
    singles.stop();
    assert!(singles.is_stopped());
    assert_eq!(std::iter::from_fn(|| singles.drain()).count(), 2);
    assert_eq!(singles.arrive(&[sample(4)]), 0);
    assert_eq!(singles.next(0), None);
    let SinglesCounts { started, issued, rejected, .. } = singles.counts();
    assert_eq!((started, issued, rejected), (1, 3, 0));
}
