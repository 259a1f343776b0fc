//! Judges queries that had the system, or one of its servers, for themselves: if these are over a bound too
//! often, the wait in a queue is not the problem.
//!
//! The minimum number of servers of a system shows when one query overtakes others: it was served in parallel
//! with them. If none does, it may have one. A query that finds fewer others than servers does not wait.

use std::{cmp::Reverse, collections::BinaryHeap};

/// Fewer queries over a bound than this may be chance, such as a first query that is always slow.
const OVER_COUNT_MIN: usize = 3;
/// Number of standard deviations by which a share over a bound must exceed the allowed one.
const DEVIATIONS: f64 = 3.0;

/// Latencies of queries that did not wait for others, in ns, sorted ascending.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Alone {
    /// Queries that found the system empty. The first always does.
    pub(super) lone_ns: Vec<u64>,
    /// Queries that found a server free, including those.
    pub(super) unqueued_ns: Vec<u64>,
}

impl Alone {
    /// Takes scheduled instants and times to the completion in the order of issue, and the requested latencies in the
    /// same order; all in ns.
    pub(super) fn new(samples: &[(u64, u64)], latencies_ns: impl Iterator<Item = u64>) -> Self {
        let (present, server_count) = (concurrency(samples), servers(samples));
        let all: Vec<_> = present.into_iter().zip(latencies_ns).collect();
        let up_to = |most: u64| {
            let mut found: Vec<_> = all.iter().filter(|it| it.0 <= most).map(|it| it.1).collect();
            found.sort_unstable();
            found
        };
        Self { lone_ns: up_to(1), unqueued_ns: up_to(server_count) }
    }
}

/// Returns whether more of these latencies are over the bound than a quantile allows, beyond chance.
pub(super) fn are_over_too_often(latencies_ns: &[u64], bound_ns: u64, quantile: f64) -> bool {
    let over_count = latencies_ns.iter().filter(|latency_ns| **latency_ns > bound_ns).count();
    let allowed = (1.0 - quantile) * latencies_ns.len() as f64;
    over_count >= OVER_COUNT_MIN && over_count as f64 > allowed + DEVIATIONS * (allowed * quantile).sqrt()
}

/// Returns the number of queries in the system when each arrived, itself included.
pub(super) fn concurrency(samples: &[(u64, u64)]) -> Vec<u64> {
    let mut ends_ns = BinaryHeap::new();
    let count = |&(arrival_ns, latency_ns): &(u64, u64)| {
        while ends_ns.peek().is_some_and(|Reverse(end_ns)| *end_ns <= arrival_ns) {
            ends_ns.pop();
        }
        ends_ns.push(Reverse(arrival_ns + latency_ns));
        ends_ns.len() as u64
    };
    samples.iter().map(count).collect()
}

/// Returns the number of servers that there are at least: one more than a query overtakes at most.
fn servers(samples: &[(u64, u64)]) -> u64 {
    let ends_ns: Vec<_> = samples.iter().map(|(arrival_ns, latency_ns)| arrival_ns + latency_ns).collect();
    let mut ordered_ns = ends_ns.clone();
    ordered_ns.sort_unstable();
    // A Fenwick tree over the ends in order: how many of the queries so far end up to there.
    let mut tree = vec![0_u64; ordered_ns.len() + 1];
    let mut most_overtaken = 0;
    for (before, end_ns) in (0..).zip(ends_ns) {
        let place = ordered_ns.partition_point(|other_ns| *other_ns <= end_ns);
        let (mut at, mut not_later) = (place, 0);
        while at > 0 {
            not_later += tree[at];
            at &= at - 1;
        }
        most_overtaken = most_overtaken.max(before - not_later);
        let mut at = place;
        while at < tree.len() {
            tree[at] += 1;
            at += at & at.wrapping_neg();
        }
    }
    most_overtaken + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_in_the_system_until_they_end() {
        assert_eq!(concurrency(&[(0, 10), (5, 100), (10, 1), (11, 5), (200, 1)]), [1, 2, 2, 2, 1]);
    }

    #[test]
    fn who_overtakes_is_served_beside_those_that_it_overtakes() {
        assert_eq!(servers(&[]), 1);
        // One after the other, and two that end together.
        assert_eq!(servers(&[(0, 10), (1, 19), (2, 18)]), 1);
        // The third overtakes both others, the last one only one.
        assert_eq!(servers(&[(0, 10), (1, 19), (2, 3), (3, 10)]), 3);
    }

    #[test]
    fn who_finds_a_server_free_does_not_wait() {
        let samples = [(0, 10), (1, 5), (2, 20), (30, 7)];
        let alone = Alone::new(&samples, [1, 2, 3, 4].into_iter());
        assert_eq!(alone, Alone { lone_ns: vec![1, 4], unqueued_ns: vec![1, 2, 4] });
    }

    #[test]
    fn a_few_slow_queries_may_be_chance() {
        let over = |count: usize, of: usize| {
            let latencies_ns: Vec<_> = (0..of).map(|n| if n < count { 11 } else { 10 }).collect();
            are_over_too_often(&latencies_ns, 10, 0.99)
        };
        assert!(!over(1, 1) && !over(2, 2) && over(3, 3));
        assert!(over(3, 32) && !over(1, 32));
        // 1 % of 10,000 is allowed, with a deviation of 10.
        assert!(!over(100, 10_000) && !over(129, 10_000) && over(131, 10_000));
    }
}
