//! Lateness of the issued queries: a histogram of fixed size, and its summary.

/// How much later than scheduled queries were issued. Only Server, and MultiStream at fixed intervals, have a
/// schedule; 0 otherwise.
///
/// The maximum and the mean are exact. A percentile is the delay at position `floor(count * quantile)` of all, in
/// ascending order, rounded up by at most 3.2 %.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IssueDelay {
    /// The longest delay in ns.
    pub max_ns: u64,
    /// The mean delay in ns, rounded down.
    pub mean_ns: u64,
    /// The median in ns.
    pub p50_ns: u64,
    /// The 99th percentile in ns.
    pub p99_ns: u64,
    /// The 99.9th percentile in ns.
    pub p99_9_ns: u64,
}

/// Buckets of the same width in each power of two, so that a bucket is at most 1/32 of its delays.
const BUCKETS_PER_OCTAVE: usize = 1 << BUCKET_BITS;
const BUCKET_BITS: u32 = 5;
/// The last bucket has all delays from about 2^40 ns, 18 minutes.
const OCTAVE_COUNT: usize = 40 - BUCKET_BITS as usize;
const BUCKET_COUNT: usize = (OCTAVE_COUNT + 1) * BUCKETS_PER_OCTAVE;

/// Counts delays in 9 KiB that are there before the first; adding one allocates nothing.
///
/// Below 32 ns each delay has a bucket of its own; from there on 32 buckets share an octave.
#[derive(Debug)]
pub(crate) struct DelayHistogram {
    counts: Box<[u64; BUCKET_COUNT]>,
    count: u64,
    sum_ns: u128,
    max_ns: u64,
}

impl DelayHistogram {
    pub(crate) fn new() -> Self {
        Self { counts: Box::new([0; BUCKET_COUNT]), count: 0, sum_ns: 0, max_ns: 0 }
    }

    /// Counts one delay.
    pub(crate) fn add(&mut self, delay_ns: u64) {
        self.counts[bucket(delay_ns)] += 1;
        self.count += 1;
        self.sum_ns += u128::from(delay_ns);
        self.max_ns = self.max_ns.max(delay_ns);
    }

    /// Counts the delays of another one, too.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&*other.counts).for_each(|(count, more)| *count += more);
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Summary of the delays so far.
    pub(crate) fn summary(&self) -> IssueDelay {
        let mean_ns = self.sum_ns / u128::from(self.count.max(1));
        IssueDelay {
            max_ns: self.max_ns,
            mean_ns: u64::try_from(mean_ns).expect("a mean is not above the maximum"),
            p50_ns: self.at(self.count / 2),
            p99_ns: self.at(permille(self.count, 990)),
            p99_9_ns: self.at(permille(self.count, 999)),
        }
    }

    /// The delay at a position of all in ascending order: the upper end of its bucket, or the maximum if that is less.
    fn at(&self, position: u64) -> u64 {
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

/// `floor(count * permille / 1000)`, which is below `count`.
fn permille(count: u64, permille: u64) -> u64 {
    let position = u128::from(count) * u128::from(permille) / 1000;
    u64::try_from(position).expect("it is below a count of 64 bits")
}

fn bucket(delay_ns: u64) -> usize {
    // The number of times that halving leaves 32 to 63, so that the rest is a bucket of the octave.
    let octave = (delay_ns | BUCKETS_PER_OCTAVE as u64).ilog2() - BUCKET_BITS;
    let place = octave as usize * BUCKETS_PER_OCTAVE + (delay_ns >> octave) as usize;
    place.min(BUCKET_COUNT - 1)
}

/// The longest delay of a bucket; the last one ends with the maximum only.
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
    fn without_delays_all_is_zero() {
        assert_eq!(DelayHistogram::new().summary(), IssueDelay::default());
    }

    #[test]
    fn merged_delays_are_told_as_if_counted_together() {
        let mut all = DelayHistogram::new();
        let mut parts = [DelayHistogram::new(), DelayHistogram::new()];
        for delay_ns in (0..100).map(|it| it * it * 37) {
            all.add(delay_ns);
            parts[usize::from(delay_ns % 3 == 0)].add(delay_ns);
        }
        let [mut merged, other] = parts;
        merged.merge(&other);
        assert_eq!(merged.summary(), all.summary());
    }

    proptest! {
        #[test]
        fn percentiles_are_off_by_one_bucket_at_most(
            delays in proptest::collection::vec(prop_oneof![0_u64..100, 0_u64..1_000_000, 0_u64..1 << 39], 1..400),
        ) {
            let mut histogram = DelayHistogram::new();
            delays.iter().for_each(|delay| histogram.add(*delay));
            let mut sorted = delays;
            sorted.sort_unstable();
            let told = histogram.summary();
            for (told, position) in [
                (told.p50_ns, sorted.len() / 2),
                (told.p99_ns, sorted.len() * 99 / 100),
                (told.p99_9_ns, sorted.len() * 999 / 1000),
            ] {
                let exact = sorted[position];
                prop_assert!(told >= exact && told - exact <= exact / 32, "{} for {}", told, exact);
            }
            prop_assert_eq!(told.max_ns, *sorted.last().unwrap());
            prop_assert_eq!(told.mean_ns, sorted.iter().sum::<u64>() / sorted.len() as u64);
        }
    }
}
