//! The path of single samples, step by step on one thread.

use proctor_loadgen::VirtualClock;
use proctor_vocabulary::{ResponseId, SampleIndex};

use super::*;
use crate::sync::counted;

type Timeless = Singles<VirtualClock>;

fn sample(id: u64) -> QuerySample {
    QuerySample { id: ResponseId(id), index: SampleIndex(id) }
}

fn sleepers(singles: &Timeless) -> u32 {
    singles.asleep.iter().map(|word| word.0.load(Relaxed).count_ones()).sum()
}

/// Singles with all instances asleep.
fn all_asleep(count: usize) -> Timeless {
    let singles = Singles::new(1000, count, Arc::default());
    for instance in 0..count {
        singles.enter(instance);
        let (word, bit) = singles.place(instance);
        word.fetch_or(bit, SeqCst);
    }
    singles
}

/// Exchanges, writes and wakes of 500 samples that arrive one by one at this many instances. Where they sleep each
/// sample wakes one, which falls asleep again; otherwise one of them is about to look.
fn costs(instances: usize, is_asleep: bool) -> [u64; 3] {
    let singles =
        if is_asleep { all_asleep(instances) } else { Singles::new(1000, instances, Arc::default()) };
    counted::take();
    for id in 1..=500 {
        singles.arrive(&[sample(id)]);
        let woken = (0..instances).find(|instance| {
            let (word, bit) = singles.place(*instance);
            word.load(Relaxed) & bit == 0
        });
        let woken = woken.expect("a sample wakes one of them");
        singles.next(woken).expect("it waits");
        if is_asleep {
            let (word, bit) = singles.place(woken);
            Timeless::announce_sleep(word, bit);
        }
    }
    counted::take()
}

#[test]
fn a_sample_costs_the_same_with_1_8_and_64_instances() {
    for instances in [1, 8, 64] {
        assert_eq!(costs(instances, false), [2 * 500, 2 * 500, 0], "awake, {instances} instances");
        assert_eq!(costs(instances, true), [4 * 500, 2 * 500, 500], "asleep, {instances} instances");
    }
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
