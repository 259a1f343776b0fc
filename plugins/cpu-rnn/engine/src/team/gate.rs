//! How the threads of a team meet: the start of a parallel region, the barrier within it, its end.
//!
//! # Protocol
//! The *state* word holds the number of the region in its upper bits and, in its lower 16, how many helpers sleep. Both
//! sides change it by read-modify-write only, so one of the two comes first:
//! - the start first: the helper's announcement reads the new number (acquire) and the helper does not sleep;
//! - the announcement first: the start reads that a helper sleeps and the caller unparks.
//!
//! Each thread has two words, alone on their cache lines, that only this thread writes while a region runs. *Reached*
//! counts the barriers that the thread has come to. A barrier is: write the own count (release), wait until every other
//! has come as far (acquire). All threads of a region go on from the highest count of any of them: whatever barriers
//! each came to in the regions before, none is ahead. A thread that panics sets its count to [`POISON`]: no thread
//! waits for it, each one that meets it panics too, and the caller resets the counts behind the region. *Ended* is the
//! number of the region whose end a helper has come to, panic or not: the caller waits for that.

use std::sync::atomic::Ordering;

use crate::sync::{Apart, AtomicU64, park, spin};

/// The count of a thread that has panicked.
pub(super) const POISON: u64 = u64::MAX;

const ONE_REGION: u64 = 1 << 16;

/// The words through which the threads of a team meet; see the module.
#[derive(Debug)]
pub(super) struct Gate {
    state: Apart<AtomicU64>,
    threads: Box<[Apart<Words>]>,
}

#[derive(Debug, Default)]
struct Words {
    reached: AtomicU64,
    ended: AtomicU64,
}

/// A region that has been started.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenRegion {
    pub(super) number: u64,
    /// Whether a helper sleeps, which the caller then has to unpark.
    pub(super) somebody_sleeps: bool,
}

impl Gate {
    pub(super) fn new(threads: usize) -> Self {
        Self { state: Apart::default(), threads: (0..threads).map(|_| Apart::default()).collect() }
    }

    pub(super) fn threads(&self) -> usize {
        self.threads.len()
    }

    /// Starts a region. [caller]
    pub(super) fn open(&self) -> OpenRegion {
        // AcqRel: releases the work to the helpers; ordered after the announcement of each helper that sleeps.
        let before = self.state.0.fetch_add(ONE_REGION, Ordering::AcqRel);
        OpenRegion { number: before / ONE_REGION + 1, somebody_sleeps: !before.is_multiple_of(ONE_REGION) }
    }

    /// Waits for the region after number `seen` and returns its number. Sleeps once `patient` says no. [helper]
    pub(super) fn wait_open(&self, seen: u64, mut patient: impl FnMut(u32) -> bool) -> u64 {
        let mut turn = 0;
        loop {
            let region = self.state.0.load(Ordering::Acquire) / ONE_REGION;
            if region != seen {
                return region;
            }
            if !patient(turn) {
                return self.sleep_until_open(seen);
            }
            turn = turn.saturating_add(1);
        }
    }

    fn sleep_until_open(&self, seen: u64) -> u64 {
        let mut region = self.state.0.fetch_add(1, Ordering::AcqRel) / ONE_REGION;
        while region == seen {
            park();
            region = self.state.0.load(Ordering::Acquire) / ONE_REGION;
        }
        self.state.0.fetch_sub(1, Ordering::AcqRel);
        region
    }

    /// Most barriers that any thread has come to so far, from which the next region counts. [caller, outside a region]
    pub(super) fn reached(&self) -> u64 {
        let counts = self.threads.iter().map(|words| words.0.reached.load(Ordering::Relaxed));
        counts.max().unwrap_or(0)
    }

    /// Announces that the thread has come to barrier number `round`. [the thread]
    #[inline]
    pub(super) fn arrive(&self, thread: usize, round: u64) {
        self.threads[thread].0.reached.store(round, Ordering::Release);
    }

    /// Waits until every other of the first `among` threads has come to barrier number `round`. Returns whether one of
    /// them has panicked. [the thread]
    #[inline]
    pub(super) fn wait(&self, thread: usize, among: usize, round: u64) -> bool {
        let mut poisoned = false;
        for (other, words) in self.threads[..among].iter().enumerate() {
            if other != thread {
                poisoned |= until(&words.0.reached, |reached| reached >= round) == POISON;
            }
        }
        poisoned
    }

    /// Whether a thread has panicked in this region. [the thread]
    pub(super) fn is_poisoned(&self) -> bool {
        self.threads.iter().any(|words| words.0.reached.load(Ordering::Relaxed) == POISON)
    }

    /// Announces that a helper has come to the end of a region. [the helper]
    pub(super) fn end(&self, thread: usize, region: u64) {
        self.threads[thread].0.ended.store(region, Ordering::Release);
    }

    /// Waits until all helpers have come to the end of a region. Returns whether a thread has panicked in it; then
    /// makes the counts equal again. [caller]
    pub(super) fn close(&self, region: u64) -> bool {
        for words in &self.threads[1..] {
            until(&words.0.ended, |ended| ended == region);
        }
        let poisoned = self.is_poisoned();
        if poisoned {
            self.threads.iter().for_each(|words| words.0.reached.store(0, Ordering::Relaxed));
        }
        poisoned
    }
}

/// Waits for a word of another thread. Acquire: reads from the store that releases it, so what the other wrote before
/// is visible.
#[inline]
fn until(word: &AtomicU64, is_due: impl Fn(u64) -> bool) -> u64 {
    let mut turn = 0;
    loop {
        let value = word.load(Ordering::Acquire);
        if is_due(value) {
            return value;
        }
        spin(turn);
        turn = turn.saturating_add(1);
    }
}

/// Run by `RUSTFLAGS="--cfg loom" cargo test -p proctor-rnn-engine --release --lib loom`.
#[cfg(all(test, loom))]
mod loom_tests {
    use loom::thread;

    use super::*;

    /// Leaked, because a deadlock unwinds through threads that still hold it, where loom's own `Arc` panics again.
    fn gate(threads: usize) -> &'static Gate {
        Box::leak(Box::new(Gate::new(threads)))
    }

    fn word() -> &'static AtomicU64 {
        Box::leak(Box::new(AtomicU64::new(0)))
    }

    fn model(test: impl Fn() + Sync + Send + 'static) {
        bounded_model(3, test);
    }

    /// With more threads there are so many executions that fewer preemptions have to do.
    fn bounded_model(preemptions: usize, test: impl Fn() + Sync + Send + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(preemptions);
        builder.check(test);
    }

    /// A helper sees the work of all regions, of which the caller waits for all but the last by the gate. A lost
    /// wake-up is a deadlock in the last, which loom reports.
    fn regions(count: u64, wait: fn(&Gate, u64) -> u64) {
        let gate = gate(2);
        let work = word();
        let helper = thread::spawn(move || {
            let mut seen = 0;
            for round in 1..=count {
                seen = wait(gate, seen);
                assert_eq!(seen, round, "region");
                assert_eq!(work.load(Ordering::Relaxed), round, "what the caller wrote before");
                gate.end(1, seen);
            }
        });
        for round in 1..=count {
            work.store(round, Ordering::Relaxed);
            let region = gate.open();
            if region.somebody_sleeps {
                helper.thread().unpark();
            }
            if round < count {
                assert!(!gate.close(region.number));
            }
        }
        helper.join().unwrap();
    }

    #[test]
    fn loom_a_region_wakes_a_helper_and_shows_its_work() {
        for count in 1..=2 {
            model(move || regions(count, |gate, seen| gate.wait_open(seen, |_| false)));
        }
    }

    /// The twin that looks before it announces its sleep. It must fail, or the model above proves nothing.
    #[test]
    #[should_panic(expected = "deadlock")]
    fn loom_finds_the_wake_up_lost_by_a_late_announcement() {
        model(|| {
            regions(1, |gate, seen| {
                let mut region = gate.state.0.load(Ordering::Acquire) / ONE_REGION;
                if region == seen {
                    gate.state.0.fetch_add(1, Ordering::AcqRel);
                    park();
                    region = gate.state.0.fetch_sub(1, Ordering::AcqRel) / ONE_REGION;
                }
                region
            });
        });
    }

    /// Threads write, meet by the given arrival, and each reads what all wrote.
    fn meet(threads: usize, arrive: fn(&Gate, usize)) {
        meet_and_look(threads, threads, arrive);
    }

    /// The same, where only the first `looking` threads wait and read.
    fn meet_and_look(threads: usize, looking: usize, arrive: fn(&Gate, usize)) {
        let gate = gate(threads);
        let written: &'static [AtomicU64] =
            Box::leak((0..threads).map(|_| AtomicU64::new(0)).collect::<Vec<_>>().into_boxed_slice());
        let run = move |thread: usize| {
            written[thread].store(1, Ordering::Relaxed);
            arrive(gate, thread);
            if thread >= looking {
                return;
            }
            gate.wait(thread, threads, 1);
            let seen: u64 = written.iter().map(|word| word.load(Ordering::Relaxed)).sum();
            assert!(seen == threads as u64, "a write is not seen");
        };
        let helpers: Vec<_> = (1..threads).map(|thread| thread::spawn(move || run(thread))).collect();
        run(0);
        helpers.into_iter().for_each(|helper| helper.join().unwrap());
    }

    fn arrive(gate: &Gate, thread: usize) {
        gate.arrive(thread, 1);
    }

    /// The twin in which the last thread arrives without releasing.
    fn arrive_without_release(gate: &Gate, thread: usize) {
        let is_last = thread + 1 == gate.threads.len();
        let order = if is_last { Ordering::Relaxed } else { Ordering::Release };
        gate.threads[thread].0.reached.store(1, order);
    }

    #[test]
    fn loom_whoever_passes_the_barrier_sees_what_was_written_before_it() {
        model(|| meet(2, arrive));
    }

    #[test]
    fn loom_three_threads_meet() {
        bounded_model(2, || meet(3, arrive));
    }

    /// Four that all wait have too many executions: 95 s with one preemption.
    #[test]
    fn loom_two_of_four_threads_that_meet_see_all() {
        bounded_model(1, || meet_and_look(4, 2, arrive));
    }

    /// The twins must fail, or the models above prove nothing.
    #[test]
    #[should_panic(expected = "a write is not seen")]
    fn loom_finds_an_arrival_that_does_not_release() {
        model(|| meet(2, arrive_without_release));
    }

    #[test]
    #[should_panic(expected = "a write is not seen")]
    fn loom_finds_one_of_three_arrivals_that_does_not_release() {
        bounded_model(2, || meet(3, arrive_without_release));
    }

    #[test]
    #[should_panic(expected = "a write is not seen")]
    fn loom_finds_one_of_four_arrivals_that_does_not_release() {
        bounded_model(1, || meet_and_look(4, 2, arrive_without_release));
    }

    #[test]
    fn loom_nobody_waits_for_a_thread_that_panicked() {
        model(|| {
            let gate = gate(2);
            let helper = thread::spawn(move || gate.arrive(1, POISON));
            assert!(gate.wait(0, 2, 1));
            assert!(gate.wait(0, 2, 2));
            helper.join().unwrap();
        });
    }
}
