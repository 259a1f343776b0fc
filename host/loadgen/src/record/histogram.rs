//! Keeps times in a histogram of fixed size; its percentiles are rounded up by at most 3.2 %.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Buckets of the same width in each power of two, so that a bucket is at most 1/32 of its times.
const BUCKETS_PER_OCTAVE: usize = 1 << BUCKET_BITS;
const BUCKET_BITS: u32 = 5;
/// The last bucket has all times from about 2^40 ns, 18 minutes.
const OCTAVE_COUNT: usize = 40 - BUCKET_BITS as usize;
const BUCKET_COUNT: usize = (OCTAVE_COUNT + 1) * BUCKETS_PER_OCTAVE;

/// Counts times in 9 KiB that are allocated before the first; adding one allocates nothing.
///
/// Below 32 ns each time has its own bucket; from there on 32 buckets share an octave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: Box<[u64; BUCKET_COUNT]>,
    count: u64,
    sum_ns: u128,
    max_ns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: Box::new([0; BUCKET_COUNT]), count: 0, sum_ns: 0, max_ns: 0 }
    }
}

impl Histogram {
    /// Adds one time.
    pub fn add(&mut self, time_ns: u64) {
        self.counts[bucket(time_ns)] += 1;
        self.count += 1;
        self.sum_ns += u128::from(time_ns);
        self.max_ns = self.max_ns.max(time_ns);
    }

    /// Adds the counts of another one.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&*other.counts).for_each(|(count, more)| *count += more);
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Returns the number of times.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the longest time, exactly; 0 if there are no times.
    pub(crate) fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// Returns the mean of the times, exact except for rounding down; 0 if there are no times.
    pub(crate) fn mean_ns(&self) -> u64 {
        let mean_ns = self.sum_ns / u128::from(self.count.max(1));
        u64::try_from(mean_ns).expect("a mean is not above the maximum")
    }

    /// Returns the time at a position of all in ascending order: the upper end of its bucket, or the maximum if that is
    /// less; 0 behind the last.
    #[must_use]
    pub fn at(&self, position: u64) -> u64 {
        let mut passed = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            passed += count;
            if passed > position {
                return upper_end_ns(bucket).min(self.max_ns);
            }
        }
        0
    }
}

/// The same, for any number of threads at a time.
#[derive(Debug)]
pub(crate) struct SharedHistogram {
    counts: Box<[AtomicU64; BUCKET_COUNT]>,
    sum_ns: AtomicU64,
    max_ns: AtomicU64,
}

impl Default for SharedHistogram {
    fn default() -> Self {
        let counts = Box::new([const { AtomicU64::new(0) }; BUCKET_COUNT]);
        Self { counts, sum_ns: AtomicU64::new(0), max_ns: AtomicU64::new(0) }
    }
}

impl SharedHistogram {
    /// Counts one time. [any thread, wait-free]
    pub(crate) fn add(&self, time_ns: u64) {
        self.counts[bucket(time_ns)].fetch_add(1, Relaxed);
        self.sum_ns.fetch_add(time_ns, Relaxed);
        if time_ns > self.max_ns.load(Relaxed) {
            self.max_ns.fetch_max(time_ns, Relaxed);
        }
    }

    /// Returns the times so far; one that is being added at this very moment may be there in part.
    pub(crate) fn read(&self) -> Histogram {
        let mut read = Histogram::default();
        read.counts.iter_mut().zip(&*self.counts).for_each(|(count, shared)| *count = shared.load(Relaxed));
        read.count = read.counts.iter().sum();
        (read.sum_ns, read.max_ns) = (self.sum_ns.load(Relaxed).into(), self.max_ns.load(Relaxed));
        read
    }
}

fn bucket(time_ns: u64) -> usize {
    // The number of times that halving leaves 32 to 63, so that the rest is a bucket of the octave.
    let octave = (time_ns | BUCKETS_PER_OCTAVE as u64).ilog2() - BUCKET_BITS;
    let place = octave as usize * BUCKETS_PER_OCTAVE + (time_ns >> octave) as usize;
    place.min(BUCKET_COUNT - 1)
}

/// Returns the longest time of a bucket; the last one ends with the maximum only.
fn upper_end_ns(bucket: usize) -> u64 {
    if bucket == BUCKET_COUNT - 1 {
        return u64::MAX;
    }
    let octave = (bucket / BUCKETS_PER_OCTAVE).saturating_sub(1);
    let start = (bucket - octave * BUCKETS_PER_OCTAVE) as u64;
    ((start + 1) << octave) - 1
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn buckets_follow_each_other_without_gap() {
        let mut next_ns = 0;
        for number in 0..BUCKET_COUNT - 1 {
            assert_eq!(bucket(next_ns), number);
            assert_eq!(bucket(upper_end_ns(number)), number);
            next_ns = upper_end_ns(number) + 1;
        }
        assert!(next_ns < 1 << 40);
        assert_eq!(bucket(u64::MAX), BUCKET_COUNT - 1);
    }

    #[test]
    fn merged_and_shared_times_are_told_as_if_counted_together() {
        let mut all = Histogram::default();
        let mut parts = [Histogram::default(), Histogram::default()];
        let shared = SharedHistogram::default();
        for time_ns in (0..100).map(|it| it * it * 37) {
            all.add(time_ns);
            shared.add(time_ns);
            parts[usize::from(time_ns % 3 == 0)].add(time_ns);
        }
        let [mut merged, other] = parts;
        merged.merge(&other);
        assert_eq!(merged, all);
        assert_eq!(shared.read(), all);
    }

    proptest! {
        #[test]
        fn percentiles_are_off_by_one_bucket_at_most(
            times in proptest::collection::vec(prop_oneof![0_u64..100, 0_u64..1_000_000, 0_u64..1 << 39], 1..400),
        ) {
            let mut histogram = Histogram::default();
            times.iter().for_each(|time| histogram.add(*time));
            let mut sorted = times;
            sorted.sort_unstable();
            for position in [0, sorted.len() / 2, sorted.len() * 99 / 100] {
                let (told, exact) = (histogram.at(position as u64), sorted[position]);
                prop_assert!(told >= exact && told - exact <= exact / 32, "{} for {}", told, exact);
            }
            prop_assert_eq!(histogram.max_ns(), *sorted.last().unwrap());
            prop_assert_eq!(histogram.mean_ns(), sorted.iter().sum::<u64>() / sorted.len() as u64);
            prop_assert_eq!((histogram.count(), histogram.at(histogram.count())), (sorted.len() as u64, 0));
        }
    }
}
