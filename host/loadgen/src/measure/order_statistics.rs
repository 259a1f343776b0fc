//! Order statistics without an ordered copy.
//!
//! A few latencies are simply sorted. Among many, the wanted ones are found by reading all of them several times. Each
//! reading makes a histogram of the intervals that hold a wanted latency, and so narrows them by a factor of 65,536;
//! once an interval holds few enough latencies to be copied, they are sorted. So a hundred million latencies take three
//! readings and a few megabytes, where a sorted copy would take half as much memory as the record itself.

use std::{cell::RefCell, collections::BTreeMap};

use crate::measure::latencies::Latencies;

/// Limits of the memory for latencies.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Maximum number of latencies that may be copied and sorted.
    sorted_max: u64,
    /// A histogram has two to the power of this buckets.
    bucket_bits: u32,
}

/// Some MB for the eight positions that a result asks for.
const LIMITS: Limits = Limits { sorted_max: 1 << 18, bucket_bits: 16 };

/// A set of latencies in ns, which returns the one at a position of their ascending order.
pub(crate) struct Ordered<'a> {
    latencies: Latencies<'a>,
    /// Number of latencies.
    pub count: u64,
    /// Smallest latency, 0 if there are no latencies.
    pub min_ns: u64,
    /// Largest latency, 0 if there are no latencies.
    pub max_ns: u64,
    pub sum_ns: u128,
    limits: Limits,
    /// The answers so far, by position.
    found: RefCell<BTreeMap<u64, u64>>,
}

impl<'a> Ordered<'a> {
    pub(crate) fn new(latencies: impl Into<Latencies<'a>>) -> Self {
        Self::within(latencies.into(), LIMITS)
    }

    fn within(latencies: Latencies<'a>, limits: Limits) -> Self {
        let (mut count, mut min_ns, mut max_ns, mut sum_ns) = (0, u64::MAX, 0, 0);
        latencies.for_each(|latency_ns| {
            count += 1;
            min_ns = latency_ns.min(min_ns);
            max_ns = latency_ns.max(max_ns);
            sum_ns += u128::from(latency_ns);
        });
        let min_ns = if count == 0 { 0 } else { min_ns };
        Self { latencies, count, min_ns, max_ns, sum_ns, limits, found: RefCell::default() }
    }

    /// Returns the latency at `position` in ascending order, from 0; 0 behind the last.
    pub(crate) fn at(&self, position: u64) -> u64 {
        self.at_all([position])[0]
    }

    /// Returns the latencies at these positions; for many latencies faster than one at a time.
    pub(crate) fn at_all<const N: usize>(&self, positions: [u64; N]) -> [u64; N] {
        let mut found = self.found.borrow_mut();
        let is_wanted = |position: &u64| *position < self.count && !found.contains_key(position);
        let mut wanted: Vec<_> = positions.iter().copied().filter(is_wanted).collect();
        wanted.sort_unstable();
        wanted.dedup();
        if !wanted.is_empty() {
            self.select(wanted, &mut found);
        }
        positions.map(|position| found.get(&position).copied().unwrap_or(0))
    }

    /// Returns the n-th largest value, counting from 1; the smallest of fewer than n values, and 0 without any.
    pub(crate) fn nth_largest(&self, n: u64) -> u64 {
        self.at(self.count.saturating_sub(n))
    }

    pub(crate) fn over_count(&self, bound_ns: u64) -> u64 {
        let mut over_count = 0;
        if self.max_ns > bound_ns {
            self.latencies.for_each(|latency_ns| over_count += u64::from(latency_ns > bound_ns));
        }
        over_count
    }

    fn select(&self, wanted: Vec<u64>, found: &mut BTreeMap<u64, u64>) {
        // Number of bits that hold the distance of the largest from the smallest.
        let bits = u64::BITS - (self.max_ns - self.min_ns).leading_zeros();
        let whole = Interval { low_ns: self.min_ns, bits, before: 0, count: self.count, wanted };
        let mut intervals = vec![whole];
        while !intervals.is_empty() {
            let mut readings: Vec<_> =
                intervals.into_iter().map(|interval| Reading::new(interval, self.limits)).collect();
            self.read(&mut readings);
            intervals = readings.into_iter().flat_map(|reading| reading.finish(found)).collect();
        }
    }

    /// Passes each latency to its interval. They are in ascending order and apart from each other.
    fn read(&self, readings: &mut [Reading]) {
        self.latencies.for_each(|latency_ns| {
            let above = readings.partition_point(|reading| reading.interval.low_ns <= latency_ns);
            if let Some(reading) = above.checked_sub(1).map(|below| &mut readings[below]) {
                reading.take(latency_ns);
            }
        });
    }
}

/// Latencies from `low_ns` on that differ from it in the lowest `bits` bits at most.
struct Interval {
    low_ns: u64,
    bits: u32,
    /// Number of smaller latencies.
    before: u64,
    count: u64,
    /// Positions among all latencies.
    wanted: Vec<u64>,
}

/// An interval while all latencies are read.
struct Reading {
    interval: Interval,
    kept: Kept,
    /// Number of bits of its distance from the lowest that a bucket leaves open.
    open_bits: u32,
}

enum Kept {
    /// All values.
    List(Vec<u64>),
    /// Numbers of latencies by their upper bits.
    Buckets(Vec<u64>),
}

impl Reading {
    fn new(interval: Interval, limits: Limits) -> Self {
        let kept = if interval.count <= limits.sorted_max {
            Kept::List(Vec::with_capacity(interval.count as usize))
        } else {
            Kept::Buckets(vec![0; 1 << limits.bucket_bits.min(interval.bits)])
        };
        let open_bits = interval.bits.saturating_sub(limits.bucket_bits);
        Self { interval, kept, open_bits }
    }

    #[inline]
    fn take(&mut self, latency_ns: u64) {
        let distance_ns = latency_ns - self.interval.low_ns;
        if u64::BITS - distance_ns.leading_zeros() > self.interval.bits {
            return;
        }
        match &mut self.kept {
            Kept::List(list) => list.push(latency_ns),
            Kept::Buckets(counts) => counts[(distance_ns >> self.open_bits) as usize] += 1,
        }
    }

    /// Records the values found, and returns the narrower intervals that contain the rest.
    fn finish(self, found: &mut BTreeMap<u64, u64>) -> Vec<Interval> {
        let Interval { low_ns, before, wanted, .. } = self.interval;
        match self.kept {
            Kept::List(mut list) => {
                list.sort_unstable();
                found.extend(
                    wanted.into_iter().map(|position| (position, list[(position - before) as usize])),
                );
                Vec::new()
            }
            Kept::Buckets(counts) => {
                let bits = self.open_bits;
                let mut narrower = Vec::new();
                let (mut before, mut wanted) = (before, wanted.into_iter().peekable());
                for (bucket, count) in (0_u64..).zip(counts) {
                    let low_ns = low_ns + (bucket << bits);
                    let here: Vec<_> =
                        std::iter::from_fn(|| wanted.next_if(|position| *position < before + count))
                            .collect();
                    match bits {
                        0 => found.extend(here.into_iter().map(|position| (position, low_ns))),
                        _ if here.is_empty() => {}
                        _ => narrower.push(Interval { low_ns, bits, before, count, wanted: here }),
                    }
                    before += count;
                }
                narrower
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_has_no_order() {
        let none = Ordered::new(&[][..]);
        assert_eq!((none.count, none.min_ns, none.max_ns, none.sum_ns), (0, 0, 0, 0));
        assert_eq!((none.at(0), none.nth_largest(1), none.over_count(0)), (0, 0, 0));
    }

    #[test]
    fn the_whole_range_of_a_latency_can_be_told_apart() {
        let list = [u64::MAX >> 1, 0, (u64::MAX >> 1) - 1, 1];
        for sorted_max in [0, 2, 10] {
            let ordered = Ordered::within(Latencies::List(&list), Limits { sorted_max, ..LIMITS });
            let all = [0, 1, (u64::MAX >> 1) - 1, u64::MAX >> 1, 0];
            assert_eq!(ordered.at_all([0, 1, 2, 3, 4]), all, "{sorted_max}");
        }
    }

    proptest! {
        /// However few may be copied, down to none.
        #[test]
        fn positions_are_those_of_the_sorted_list(
            list in proptest::collection::vec(
                prop_oneof![0_u64..20, 1_000_000_u64..1_000_900, 0_u64..1 << 40],
                1..300,
            ),
            sorted_max in 0_u64..40,
            bucket_bits in 1_u32..12,
            positions: [u16; 5],
            bound_ns in prop_oneof![0_u64..20, 0_u64..1 << 40],
        ) {
            let mut sorted = list.clone();
            sorted.sort_unstable();
            let ordered = Ordered::within(Latencies::List(&list), Limits { sorted_max, bucket_bits });
            let positions = positions.map(|position| u64::from(position) % (sorted.len() as u64 + 1));
            let expected = positions.map(|position| sorted.get(position as usize).copied().unwrap_or(0));
            prop_assert_eq!(ordered.at_all(positions), expected);
            prop_assert_eq!(positions.map(|position| ordered.at(position)), expected);
            prop_assert_eq!(ordered.nth_largest(1), sorted[sorted.len() - 1]);
            prop_assert_eq!(ordered.nth_largest(1000), sorted[0]);
            prop_assert_eq!(ordered.over_count(bound_ns), sorted.iter().filter(|it| **it > bound_ns).count() as u64);
            prop_assert_eq!((ordered.min_ns, ordered.max_ns), (sorted[0], sorted[sorted.len() - 1]));
            prop_assert_eq!(ordered.sum_ns, sorted.iter().copied().map(u128::from).sum::<u128>());
        }
    }
}
