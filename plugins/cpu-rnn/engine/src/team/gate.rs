//! The start of a parallel region and its end.
//!
//! # Protocol
//! The *state* word holds the number of the region in its upper bits and, in its lower 16, how many helpers sleep. Both
//! sides change it by read-modify-write only, so one of the two comes first:
//! - the start first: the helper's announcement reads the new number (acquire) and the helper does not sleep;
//! - the announcement first: the start reads that a helper sleeps and the caller unparks.
//!
//! Each helper has a word, alone on its cache line, that only this helper writes: the number of the region whose end it
//! has come to, panic or not. The caller waits for that.

use std::sync::atomic::Ordering;

use crate::sync::{Apart, AtomicU64, park, until};

const ONE_REGION: u64 = 1 << 16;

/// Opens and closes the regions of a team; see the module.
#[derive(Debug)]
pub(super) struct Gate {
    state: Apart<AtomicU64>,
    /// Last region whose end each helper has reached.
    ended: Box<[Apart<AtomicU64>]>,
}

/// A started region.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenRegion {
    pub(super) number: u64,
    /// Whether a helper sleeps, which the caller then has to unpark.
    pub(super) somebody_sleeps: bool,
}

impl Gate {
    pub(super) fn new(helpers: usize) -> Self {
        Self { state: Apart::default(), ended: (0..helpers).map(|_| Apart::default()).collect() }
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

    /// Announces that helper number `helper` has reached the end of a region. [the helper]
    pub(super) fn end(&self, helper: usize, region: u64) {
        self.ended[helper].0.store(region, Ordering::Release);
    }

    /// Waits until all helpers have reached the end of a region. [caller]
    pub(super) fn close(&self, region: u64) {
        for ended in &self.ended {
            until(&ended.0, |ended| ended == region);
        }
    }
}

/// Run by `RUSTFLAGS="--cfg loom" cargo test -p proctor-rnn-engine --release --lib loom`.
#[cfg(all(test, loom))]
mod loom_tests {
    use loom::thread;

    use super::*;
    use crate::sync::{leaked, model};

    /// A helper sees the work of all regions; the caller waits for each but the last by the gate. A lost wake-up is a
    /// deadlock in the last region, which loom reports.
    fn regions(count: u64, wait: fn(&Gate, u64) -> u64) {
        let gate = leaked(Gate::new(1));
        let work = leaked(AtomicU64::new(0));
        let helper = thread::spawn(move || {
            let mut seen = 0;
            for round in 1..=count {
                seen = wait(gate, seen);
                assert_eq!(seen, round, "region");
                assert_eq!(work.load(Ordering::Relaxed), round, "what the caller wrote before");
                gate.end(0, seen);
            }
        });
        for round in 1..=count {
            work.store(round, Ordering::Relaxed);
            let region = gate.open();
            if region.somebody_sleeps {
                helper.thread().unpark();
            }
            if round < count {
                gate.close(region.number);
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
}
