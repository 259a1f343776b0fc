//! Tracks the shares of a phase's issuing threads, and the progress of each.
//!
//! Of N issuers, number k (from 0) issues the queries k, k + N, k + 2 N, ... Only Server has more than one, and its
//! queries have one sample each, so the same holds for its samples.
//!
//! # Protocol
//! Each issuer writes a count of its own, and adds a sample only after the sample's slot: a thread that reads a count
//! finds every sample that it counts issued. There is no order between issuers, so at any instant samples before the
//! last one issued may be missing, and the missing samples of an issuer that ended early stay missing.
//!
//! Source: LoadGen 6.0.17, `IssueQueriesInternal`.

use std::sync::atomic::Ordering;

use crate::{
    record::segments::PAIRS_PER_PAGE,
    time::sync::{Apart, AtomicU64},
};

/// One issuer's part of the shared work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    /// Number of the issuer, from 0.
    pub index: u64,
    /// Number of issuers.
    pub issuer_count: u64,
}

impl Share {
    /// The share of an only issuer.
    pub(crate) const WHOLE: Self = Self { index: 0, issuer_count: 1 };

    /// Returns the shares of `issuer_count` issuers.
    pub(crate) fn all(issuer_count: u64) -> impl Iterator<Item = Self> {
        (0..issuer_count).map(move |index| Self { index, issuer_count })
    }

    /// Returns the position at which the samples of several issuers keep data for this one, their number
    /// `sequence`: a page for each issuer in turn, so that no two of them write to one cache line.
    #[inline]
    pub(crate) fn position(issuer_count: u64, sequence: u64) -> u64 {
        if issuer_count == 1 {
            return sequence;
        }
        let (count, issuer) = (sequence / issuer_count, sequence % issuer_count);
        Self { index: issuer, issuer_count }.position_of(count)
    }

    /// Returns the position of its own sample number `count`, from 0.
    #[inline]
    pub(crate) fn position_of(self, count: u64) -> u64 {
        let (page, within) = (count / PAIRS_PER_PAGE, count % PAIRS_PER_PAGE);
        (page * self.issuer_count + self.index) * PAIRS_PER_PAGE + within
    }

    /// Returns the part of a limit on all of them together; the first issuers get one more if it does not divide
    /// evenly.
    pub(crate) fn of(self, total: u64) -> u64 {
        total / self.issuer_count + u64::from(self.index < total % self.issuer_count)
    }
}

/// Number of samples that each issuer has issued. The first has its count stored inline, as it is mostly the only one.
#[derive(Debug)]
pub(crate) struct IssuedCounts {
    first: Apart<AtomicU64>,
    others: Box<[Apart<AtomicU64>]>,
}

impl IssuedCounts {
    /// Creates a share that has issued nothing yet.
    pub(crate) fn new(issuer_count: u64) -> Self {
        let zero = || Apart(AtomicU64::new(0));
        Self { first: zero(), others: (1..issuer_count).map(|_| zero()).collect() }
    }

    /// Returns the count that this issuer alone writes.
    pub(crate) fn of(&self, share: Share) -> &AtomicU64 {
        debug_assert_eq!(share.issuer_count, self.issuer_count(), "shares are those of this phase");
        match share.index {
            0 => &self.first.0,
            index => &self.others[index as usize - 1].0,
        }
    }

    /// Returns the samples issued so far. [any thread]
    #[inline]
    pub(crate) fn total(&self) -> u64 {
        let first = self.first.0.load(Ordering::Acquire);
        if self.others.is_empty() {
            return first;
        }
        first + self.others.iter().map(|count| count.0.load(Ordering::Acquire)).sum::<u64>()
    }

    /// Returns the sequence number after the last sample issued so far, which not all before it need to be. [any
    /// thread]
    pub(crate) fn end(&self) -> u64 {
        let end = |share| match self.of(share).load(Ordering::Acquire) {
            0 => 0,
            count => share.index + (count - 1) * share.issuer_count + 1,
        };
        Share::all(self.issuer_count()).map(end).max().unwrap_or(0)
    }

    fn issuer_count(&self) -> u64 {
        self.others.len() as u64 + 1
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counts(issued: &[u64]) -> IssuedCounts {
        let counts = IssuedCounts::new(issued.len() as u64);
        for (share, count) in Share::all(counts.issuer_count()).zip(issued) {
            counts.of(share).store(*count, Ordering::Relaxed);
        }
        counts
    }

    #[test]
    fn an_end_is_behind_the_last_sample_of_any_issuer() {
        for (issued, total, end) in [
            (&[0][..], 0, 0),
            (&[5], 5, 5),
            (&[0, 0, 0], 0, 0),
            (&[0, 0, 1], 1, 3),
            (&[2, 2, 1], 5, 5),
            // 0, 3, 6, 9 and 1 and 2, 5.
            (&[4, 1, 2], 7, 10),
        ] {
            let counts = counts(issued);
            assert_eq!((counts.total(), counts.end()), (total, end), "{issued:?}");
        }
    }

    #[test]
    fn issuers_keep_their_samples_apart() {
        for issuer_count in [1, 2, 3, 64] {
            let end = 4 * issuer_count * PAIRS_PER_PAGE;
            let positions: Vec<_> =
                (0..end).map(|sequence| Share::position(issuer_count, sequence)).collect();
            for share in Share::all(issuer_count) {
                let own = positions.iter().skip(share.index as usize).step_by(issuer_count as usize);
                for (count, position) in (0..).zip(own) {
                    assert_eq!(*position, share.position_of(count));
                    assert_eq!(position / PAIRS_PER_PAGE % issuer_count, share.index);
                }
            }
            let mut sorted = positions;
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..end), "{issuer_count} issuers leave a gap");
        }
    }

    proptest! {
        #[test]
        fn shares_make_up_the_whole(total in 0_u64..1_000_000, issuer_count in 1_u64..40) {
            let parts: Vec<_> = Share::all(issuer_count).map(|share| share.of(total)).collect();
            prop_assert_eq!(parts.iter().sum::<u64>(), total);
            prop_assert!(parts.is_sorted_by(|a, b| a >= b) && parts[0] - parts[parts.len() - 1] <= 1);
            // Issuers that keep to their parts leave no gap.
            prop_assert_eq!(counts(&parts).end(), total);
        }
    }
}

/// Run by `RUSTFLAGS="--cfg loom" cargo test -p proctor-loadgen --release --lib loom`.
#[cfg(all(test, loom))]
mod loom_tests {
    use loom::{sync::Arc, thread};

    use super::*;
    use crate::record::{segments::Pair, slots::Slot};

    type Shared = Arc<(IssuedCounts, [Pair; 4])>;

    /// Two issuers issue two samples each by `issue`, while this thread looks whether what a count counts is issued.
    fn two_issuers(issue: fn(&AtomicU64, u64, Slot<'_>)) {
        let slots = [(); 4].map(|()| [0; 2].map(AtomicU64::new));
        let shared: Shared = Arc::new((IssuedCounts::new(2), slots));
        let issuers: Vec<_> = Share::all(2)
            .map(|share| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    let (counts, slots) = &*shared;
                    for count in 1..=share.of(slots.len() as u64) {
                        let sequence = share.index + (count - 1) * 2;
                        issue(counts.of(share), count, Slot::from(&slots[sequence as usize]));
                    }
                })
            })
            .collect();
        let (counts, slots) = &*shared;
        for share in Share::all(2) {
            for number in 0..counts.of(share).load(Ordering::Acquire) {
                let slot = Slot::from(&slots[(share.index + number * 2) as usize]);
                assert!(slot.read().is_some(), "a counted sample is not issued");
            }
        }
        for issuer in issuers {
            issuer.join().unwrap();
        }
        assert_eq!((counts.total(), counts.end()), (4, 4));
    }

    #[test]
    fn loom_what_two_issuers_count_is_issued() {
        loom::model(|| {
            two_issuers(|count, issued, slot| {
                slot.issue(1, false);
                count.store(issued, Ordering::Release);
            });
        });
    }

    /// The twin that counts first. It must fail, or the model above proves nothing.
    #[test]
    #[should_panic(expected = "a counted sample is not issued")]
    fn loom_finds_a_sample_counted_before_it_is_issued() {
        loom::model(|| {
            two_issuers(|count, issued, slot| {
                count.store(issued, Ordering::Release);
                slot.issue(1, false);
            });
        });
    }
}
