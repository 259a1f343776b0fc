//! Calls that the issue loop keeps for the trace, in bounded memory and without another clock reading for most queries.
//!
//! At first every call is timed. When the room runs out, every second kept call is dropped, and from then on
//! half as many are timed, so that the remaining calls always lie evenly over the whole phase: in a run of a
//! million queries, some ten thousand were timed. In addition, a call is timed if it is later than the latest
//! ones that are kept, but at the earliest 32 queries after another one. The latest and the longest of all
//! timed calls are kept separately.

use std::{cmp::Reverse, collections::BinaryHeap};

/// Minimum number of queries between a timed call and the next one that is timed for being late. In a system
/// that falls behind, each call is later than the one before, and all of them would be timed.
const LATE_STRIDE: u64 = 32;
/// Maximum number of calls kept in the even selection.
const MAX_EVEN: usize = 1024;
/// Maximum number kept of the latest calls, and of the longest.
const MAX_OUTLIERS: usize = 256;

/// One issue call. Instants are in ns from the start of the phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct IssueSpan {
    /// Sequence number of its first sample.
    pub first_sequence: u64,
    /// Number of samples in the call, including merged queries.
    pub sample_count: u64,
    pub issued_ns: u64,
    pub returned_ns: u64,
}

/// The kept calls of one phase.
#[derive(Debug, Default)]
pub(crate) struct IssueTrace {
    /// The call of the query with this number (from 1) is timed; never reached if nothing is traced.
    next_even: u64,
    stride: u64,
    even: Vec<IssueSpan>,
    /// A call that is later than this is timed, but not before the query with the number below.
    late_ns: u64,
    next_late: u64,
    latest: Outliers,
    longest: Outliers,
}

/// The greatest of all values, with their calls.
type Outliers = BinaryHeap<Reverse<(u64, IssueSpan)>>;

impl IssueTrace {
    /// Allocates all memory that is ever needed.
    pub(crate) fn new() -> Self {
        Self {
            next_even: 1,
            stride: 1,
            even: Vec::with_capacity(MAX_EVEN),
            late_ns: 0,
            next_late: 1,
            latest: BinaryHeap::with_capacity(MAX_OUTLIERS + 1),
            longest: BinaryHeap::with_capacity(MAX_OUTLIERS + 1),
        }
    }

    /// Creates a trace that keeps nothing and times nothing.
    pub(crate) fn off() -> Self {
        Self { next_even: u64::MAX, next_late: u64::MAX, ..Self::default() }
    }

    /// Returns whether to time the call that issued the query with this number, from 1, so late.
    #[inline]
    pub(crate) fn wants(&self, query_count: u64, delay_ns: u64) -> bool {
        query_count >= self.next_even || delay_ns > self.late_ns && query_count >= self.next_late
    }

    /// Keeps a timed call, if it is worth it.
    #[cold]
    pub(crate) fn keep(&mut self, query_count: u64, delay_ns: u64, span: IssueSpan) {
        if query_count >= self.next_even {
            self.next_even = query_count + self.stride;
            self.even.push(span);
            if self.even.len() == MAX_EVEN {
                self.thin_out();
            }
        }
        self.next_late = query_count + LATE_STRIDE;
        if delay_ns > 0 {
            insert(&mut self.latest, delay_ns, span);
        }
        if self.latest.len() == MAX_OUTLIERS {
            self.late_ns = self.latest.peek().map_or(0, |Reverse((least_ns, _))| *least_ns);
        }
        insert(&mut self.longest, span.returned_ns - span.issued_ns, span);
    }

    fn thin_out(&mut self) {
        let mut number = 0;
        self.even.retain(|_| {
            number += 1;
            number % 2 == 1
        });
        self.stride *= 2;
    }

    /// Returns the calls that were kept, in the order of their issue.
    pub(crate) fn into_spans(self) -> Vec<IssueSpan> {
        let outliers = self.latest.into_iter().chain(self.longest).map(|Reverse((_, span))| span);
        let mut spans: Vec<_> = self.even.into_iter().chain(outliers).collect();
        spans.sort_unstable();
        spans.dedup();
        spans
    }
}

fn insert(outliers: &mut Outliers, value_ns: u64, span: IssueSpan) {
    if outliers.len() < MAX_OUTLIERS {
        outliers.push(Reverse((value_ns, span)));
    } else if outliers.peek().is_some_and(|Reverse((least_ns, _))| value_ns > *least_ns) {
        outliers.pop();
        outliers.push(Reverse((value_ns, span)));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A call of every query, one a microsecond, with these delays and durations; returns the kept ones by number,
    /// and how many were timed.
    fn trace(
        count: u64,
        delay_ns: impl Fn(u64) -> u64,
        takes_ns: impl Fn(u64) -> u64,
    ) -> (Vec<IssueSpan>, u64) {
        let mut trace = IssueTrace::new();
        let mut timed_count = 0;
        for number in 1..=count {
            if trace.wants(number, delay_ns(number)) {
                timed_count += 1;
                let issued_ns = number * 1000 + delay_ns(number);
                let returned_ns = issued_ns + takes_ns(number);
                let span = IssueSpan { first_sequence: number - 1, sample_count: 1, issued_ns, returned_ns };
                trace.keep(number, delay_ns(number), span);
            }
        }
        (trace.into_spans(), timed_count)
    }

    #[test]
    fn memory_is_bounded_and_the_selection_even() {
        let (spans, timed_count) = trace(10_000_000, |_| 0, |_| 100);
        assert!(spans.len() <= MAX_EVEN + 2 * MAX_OUTLIERS, "{}", spans.len());
        assert!(timed_count < 10_000, "{timed_count}");
        let last_half = spans.iter().filter(|span| span.first_sequence >= 5_000_000).count();
        assert!((200..=MAX_EVEN).contains(&last_half), "{last_half}");
    }

    #[test]
    fn a_short_run_is_kept_whole() {
        let (spans, timed_count) = trace(1000, |n| n % 7, |_| 100);
        assert_eq!((spans.len(), timed_count), (1000, 1000));
    }

    #[test]
    fn a_query_that_is_late_once_is_kept() {
        let (spans, _) = trace(1_000_000, |n| if n == 777_777 { 5_000_000 } else { n % 100 }, |_| 100);
        assert!(spans.iter().any(|span| span.first_sequence == 777_776));
    }

    #[test]
    fn a_system_that_falls_behind_is_not_timed_at_each_call() {
        let (spans, timed_count) = trace(1_000_000, |n| n * 10, |_| 100);
        assert!(timed_count <= 1_000_000 / 24, "{timed_count}");
        assert!(spans.last().unwrap().first_sequence > 990_000);
    }

    #[test]
    fn long_calls_among_the_timed_are_kept() {
        let (spans, _) = trace(100_000, |_| 0, |n| n);
        let longest = spans.iter().map(|span| span.returned_ns - span.issued_ns).max().unwrap();
        assert!(longest > 90_000, "{longest}");
    }

    #[test]
    fn what_is_off_wants_nothing() {
        let trace = IssueTrace::off();
        assert!(!trace.wants(1, 0) && !trace.wants(1 << 47, 1 << 60));
        assert!(trace.into_spans().is_empty());
    }
}
