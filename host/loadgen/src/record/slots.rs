//! One slot for each issued sample: when its latency starts, and the once-only record of its end.
//!
//! # Protocol of a slot
//! | `issued` | `completed` | state |
//! |---|---|---|
//! | 0 | 0 | not issued |
//! | instant + 1 (bit 63: log the response) | 0 | outstanding |
//! | the same | instant + 1 (bit 63: failed) | complete |
//! | the same | all ones | given up on |
//!
//! Only the issuing thread writes `issued`, once, before the sample leaves. `completed` leaves 0 by one
//! compare-exchange, so of any number of threads that complete a sample, or give up on it, one succeeds. Instants
//! are nanoseconds from the start of the phase.

use std::sync::atomic::Ordering;

use crate::{record::segments::Pair, time::sync::AtomicU64};

/// Bit 63: in `issued`, log the response; in `completed`, the sample failed.
const FLAG: u64 = 1 << 63;
const GIVEN_UP: u64 = u64::MAX;

/// The slot that a pair of words is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot<'a> {
    issued: &'a AtomicU64,
    completed: &'a AtomicU64,
}

/// Result of an attempt to complete a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Completion {
    /// The first completion, which counts.
    Accepted {
        /// True if the response must be logged.
        logged: bool,
    },
    /// The slot has no issued sample.
    NotIssued,
    /// The sample was already complete.
    Duplicate,
    /// The phase had abandoned the sample.
    GivenUp,
}

/// The two instants of a sample, as a display or a journal reads them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleRecord {
    /// From when the latency counts, in ns from the start of the phase: the scheduled instant in Server, the start in
    /// Offline, the issue in SingleStream and MultiStream; at fixed intervals the start of MultiStream's interval.
    pub scheduled_ns: u64,
    /// Latency in ns, plus [`FAILED_BIT`](Self::FAILED_BIT) if the sample failed; or
    /// [`NOT_COMPLETED`](Self::NOT_COMPLETED).
    pub latency_ns: u64,
}

impl SampleRecord {
    /// The latency of a sample that is not complete.
    pub const NOT_COMPLETED: u64 = u64::MAX;
    /// The place of a sample that was not issued (yet) although later ones were: only with several issuing threads.
    pub const NOT_ISSUED: Self = Self { scheduled_ns: u64::MAX, latency_ns: Self::NOT_COMPLETED };
    /// Set in the latency of a sample that completed as failed.
    pub const FAILED_BIT: u64 = FLAG;

    /// Returns the 16 bytes of the sample in a samples file: both numbers, little-endian.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        (u128::from(self.scheduled_ns) | u128::from(self.latency_ns) << 64).to_le_bytes()
    }

    /// Returns the sample that these 16 bytes of a samples file encode.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        let both = u128::from_le_bytes(bytes);
        Self { scheduled_ns: both as u64, latency_ns: (both >> 64) as u64 }
    }

    /// Returns the latency in ns of a completed sample, failed or not.
    #[must_use]
    pub fn completed_latency_ns(self) -> Option<u64> {
        (self.latency_ns != Self::NOT_COMPLETED).then_some(self.latency_ns & !Self::FAILED_BIT)
    }

    /// Returns the latency in ns of an answered sample: one that completed, and not as failed.
    #[must_use]
    pub fn answered_latency_ns(self) -> Option<u64> {
        self.completed_latency_ns().filter(|_| !self.is_failed())
    }

    /// Returns the instant of completion, in ns from the start of issuing, also of a failed sample.
    #[must_use]
    pub fn completed_ns(self) -> Option<u64> {
        self.completed_latency_ns().map(|latency_ns| self.scheduled_ns.saturating_add(latency_ns))
    }

    /// Returns whether the sample was issued.
    #[must_use]
    pub fn is_issued(self) -> bool {
        self != Self::NOT_ISSUED
    }

    /// Returns whether the sample completed as failed.
    #[must_use]
    pub fn is_failed(self) -> bool {
        self.latency_ns != Self::NOT_COMPLETED && self.latency_ns & Self::FAILED_BIT != 0
    }
}

/// The completed samples that are in a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counted {
    /// All samples, as LoadGen counts.
    Completed,
    /// All except failed samples, whose times are not latencies of answers. Figures of tokens leave out samples that
    /// lack tokens, too.
    Answered,
}

impl Counted {
    /// Returns the latency of a sample that is in it, in ns.
    #[inline]
    pub(crate) fn latency_ns(self, sample: SampleRecord) -> Option<u64> {
        match self {
            Self::Completed => sample.completed_latency_ns(),
            Self::Answered => sample.answered_latency_ns(),
        }
    }
}

impl<'a> From<&'a Pair> for Slot<'a> {
    #[inline]
    fn from([issued, completed]: &'a Pair) -> Self {
        Self { issued, completed }
    }
}

impl Slot<'_> {
    /// Makes the sample outstanding. [issuing thread, once]
    #[inline]
    pub(crate) fn issue(self, scheduled_ns: u64, logged: bool) {
        debug_assert!(scheduled_ns < FLAG - 1, "an instant has 63 bits");
        let flag = if logged { FLAG } else { 0 };
        // Release: a thread that sees the sample issued sees the issuing thread's earlier writes.
        self.issued.store((scheduled_ns + 1) | flag, Ordering::Release);
    }

    /// Completes the sample unless it is complete. [any thread, wait-free]
    #[inline]
    pub(crate) fn complete(self, at_ns: u64, failed: bool) -> Completion {
        debug_assert!(at_ns < FLAG - 1, "an instant has 63 bits");
        let issued = self.issued.load(Ordering::Acquire);
        if issued == 0 {
            return Completion::NotIssued;
        }
        let completed = (at_ns + 1) | if failed { FLAG } else { 0 };
        match self.completed.compare_exchange(0, completed, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Completion::Accepted { logged: issued & FLAG != 0 },
            Err(GIVEN_UP) => Completion::GivenUp,
            Err(_) => Completion::Duplicate,
        }
    }

    /// Moves the instant of a completion to a later one. [when no thread completes it]
    pub(crate) fn complete_later(self, by_ns: u64) {
        let completed = self.completed.load(Ordering::Acquire);
        if completed != 0 && completed != GIVEN_UP {
            self.completed.store(completed + by_ns, Ordering::Release);
        }
    }

    /// Closes the sample if it is still outstanding, and returns whether it was.
    pub(crate) fn give_up(self) -> bool {
        let closed = self.completed.compare_exchange(0, GIVEN_UP, Ordering::AcqRel, Ordering::Acquire);
        closed.is_ok()
    }

    /// Returns whether the response of the sample, which is issued, must be logged.
    pub(crate) fn is_logged(self) -> bool {
        self.issued.load(Ordering::Acquire) & FLAG != 0
    }

    /// Returns the record so far, or `None` if the sample is not issued.
    pub(crate) fn read(self) -> Option<SampleRecord> {
        let issued = self.issued.load(Ordering::Acquire);
        if issued == 0 {
            return None;
        }
        let scheduled_ns = (issued & !FLAG) - 1;
        let latency_ns = match self.completed.load(Ordering::Acquire) {
            0 | GIVEN_UP => SampleRecord::NOT_COMPLETED,
            // A completion before the scheduled instant can only be a guessed id; its latency is 0.
            completed => {
                ((completed & !FLAG) - 1).saturating_sub(scheduled_ns)
                    | (completed & SampleRecord::FAILED_BIT)
            }
        };
        Some(SampleRecord { scheduled_ns, latency_ns })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn pair() -> Pair {
        [0; 2].map(AtomicU64::new)
    }

    #[test]
    fn a_record_is_two_little_endian_numbers() {
        let record = SampleRecord { scheduled_ns: 0x0102, latency_ns: SampleRecord::FAILED_BIT | 3 };
        let bytes = [2, 1, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0x80];
        assert_eq!(record.to_bytes(), bytes);
        assert_eq!(SampleRecord::from_bytes(bytes), record);
    }

    #[test]
    fn a_sample_completes_once() {
        let pair = pair();
        let slot = Slot::from(&pair);
        assert_eq!(slot.complete(5, false), Completion::NotIssued);
        assert_eq!(slot.read(), None);
        slot.issue(10, true);
        assert_eq!(
            slot.read(),
            Some(SampleRecord { scheduled_ns: 10, latency_ns: SampleRecord::NOT_COMPLETED })
        );
        assert_eq!(slot.complete(25, false), Completion::Accepted { logged: true });
        assert_eq!(slot.complete(99, true), Completion::Duplicate);
        assert!(!slot.give_up());
        assert_eq!(slot.read(), Some(SampleRecord { scheduled_ns: 10, latency_ns: 15 }));
    }

    #[test]
    fn failed_and_given_up_samples_are_told_apart() {
        let pairs = [pair(), pair()];
        let [failed, missing] = pairs.each_ref().map(Slot::from);
        failed.issue(0, false);
        assert_eq!(failed.complete(0, true), Completion::Accepted { logged: false });
        let record = failed.read().unwrap();
        assert_eq!(record.latency_ns, SampleRecord::FAILED_BIT);
        assert_eq!((record.completed_latency_ns(), record.answered_latency_ns()), (Some(0), None));

        missing.issue(0, false);
        assert!(missing.give_up());
        assert_eq!(missing.complete(3, false), Completion::GivenUp);
        let record = missing.read().unwrap();
        assert_eq!((record.completed_latency_ns(), record.answered_latency_ns()), (None, None));
    }
}

/// Run by `RUSTFLAGS="--cfg loom" cargo test -p proctor-loadgen --release --lib loom`.
#[cfg(all(test, loom))]
mod loom_tests {
    use loom::{sync::Arc, thread};

    use super::*;

    fn pair() -> Pair {
        [0; 2].map(AtomicU64::new)
    }

    /// Two threads complete one sample while the issuing thread gives up on it. Returns how many of them succeeded.
    fn race(complete: fn(Slot<'_>, u64) -> bool) -> usize {
        let pair = Arc::new(pair());
        Slot::from(&*pair).issue(1, false);
        let completers: Vec<_> = [2, 3]
            .map(|at_ns| {
                let pair = Arc::clone(&pair);
                thread::spawn(move || complete(Slot::from(&*pair), at_ns))
            })
            .into();
        let given_up = Slot::from(&*pair).give_up();
        let accepted = completers.into_iter().map(|thread| thread.join().unwrap()).filter(|won| *won).count();
        accepted + usize::from(given_up)
    }

    #[test]
    fn loom_exactly_one_of_three_threads_closes_a_slot() {
        loom::model(|| {
            assert_eq!(
                race(|slot, at_ns| matches!(slot.complete(at_ns, false), Completion::Accepted { .. })),
                1
            );
        });
    }

    /// The twin that checks and then stores. It must fail, or the model above proves nothing.
    #[test]
    #[should_panic(expected = "closed more than once")]
    fn loom_finds_the_race_of_a_check_followed_by_a_store() {
        loom::model(|| {
            let closed = race(|slot, at_ns| {
                let outstanding = slot.completed.load(Ordering::Acquire) == 0;
                if outstanding {
                    slot.completed.store(at_ns + 1, Ordering::Release);
                }
                outstanding
            });
            assert!(closed == 1, "closed more than once");
        });
    }

    /// A thread completes a sample as soon as it is issued, in the given way, and returns what it sees of a write
    /// before the issue; 7 is all of it.
    fn seen_by_a_completer(issue: fn(&Pair)) -> u64 {
        let shared = Arc::new((pair(), AtomicU64::new(0)));
        let completer = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || match Slot::from(&shared.0).complete(9, false) {
                Completion::Accepted { .. } => shared.1.load(Ordering::Relaxed),
                _ => 7,
            })
        };
        shared.1.store(7, Ordering::Relaxed);
        issue(&shared.0);
        completer.join().unwrap()
    }

    /// Writes of the issuing thread before the issue are visible to a thread that finds the sample issued.
    #[test]
    fn loom_a_completer_sees_what_was_written_before_the_issue() {
        loom::model(|| assert_eq!(seen_by_a_completer(|pair| Slot::from(pair).issue(1, false)), 7));
    }

    /// The twin that issues without releasing. It must fail, or the model above proves nothing.
    #[test]
    #[should_panic(expected = "the write is not seen")]
    fn loom_finds_an_issue_that_does_not_release() {
        loom::model(|| {
            let seen = seen_by_a_completer(|[issued, _]| issued.store(2, Ordering::Relaxed));
            assert!(seen == 7, "the write is not seen");
        });
    }
}
