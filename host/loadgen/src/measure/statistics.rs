//! Computes figures from latencies, as LoadGen rounds and indexes them.

use crate::{measure::order_statistics::Ordered, record::histogram::Histogram};

/// The quantiles that every report states, as fractions.
pub const REPORTED_QUANTILES: [f64; 6] = [0.50, 0.90, 0.95, 0.97, 0.99, 0.999];

/// The spread of a set of latencies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LatencyStatistics {
    /// Number of latencies.
    pub count: u64,
    /// The shortest, in ns.
    pub min_ns: u64,
    /// The longest, in ns.
    pub max_ns: u64,
    /// The mean in ns, cut to whole ones.
    pub mean_ns: u64,
    /// Latencies at [`REPORTED_QUANTILES`], in ns.
    pub percentiles_ns: [u64; 6],
    /// Latency at the target quantile of the test, in ns.
    pub target_ns: u64,
}

impl LatencyStatistics {
    /// Describes latencies. All figures are 0 if there are no latencies.
    pub(crate) fn of(latencies: &Ordered<'_>, target_quantile: f64) -> Self {
        let mean = latencies.sum_ns / u128::from(latencies.count).max(1);
        let rank = |quantile| percentile_rank(latencies.count, quantile);
        let [p50, p90, p95, p97, p99, p99_9] = REPORTED_QUANTILES.map(rank);
        let target = rank(target_quantile);
        let [percentiles_ns @ .., target_ns] = latencies.at_all([p50, p90, p95, p97, p99, p99_9, target]);
        Self {
            count: latencies.count,
            min_ns: latencies.min_ns,
            max_ns: latencies.max_ns,
            mean_ns: u64::try_from(mean).expect("a mean is at most the largest of the latencies"),
            percentiles_ns,
            target_ns,
        }
    }

    /// Describes times of which only a histogram is left; percentiles and the shortest are rounded up by at most 3.2 %.
    pub(crate) fn counted(times: &Histogram, target_quantile: f64) -> Self {
        let at = |quantile| times.at(percentile_rank(times.count(), quantile));
        Self {
            count: times.count(),
            min_ns: times.at(0),
            max_ns: times.max_ns(),
            mean_ns: times.mean_ns(),
            percentiles_ns: REPORTED_QUANTILES.map(at),
            target_ns: at(target_quantile),
        }
    }
}

/// Returns the latency below which a share `quantile` of the latencies falls, 0 if there are none.
///
/// `sorted_ns` is sorted ascending, `quantile` is in `[0, 1)`. The result is the element at [`percentile_rank`].
#[must_use]
pub fn percentile(sorted_ns: &[u64], quantile: f64) -> u64 {
    sorted_ns.get(percentile_rank(sorted_ns.len() as u64, quantile) as usize).copied().unwrap_or(0)
}

/// Returns the rank of a percentile among `count` latencies in ascending order, from 0: `floor(count * quantile)`,
/// without interpolation.
///
/// Source: LoadGen 6.0.17, `results.cc`.
#[must_use]
pub fn percentile_rank(count: u64, quantile: f64) -> u64 {
    ((count as f64 * quantile) as u64).min(count.saturating_sub(1))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn figures_of_a_hundred_numbers() {
        let sorted: Vec<u64> = (1..=100).collect();
        let statistics = LatencyStatistics::of(&Ordered::new(&sorted[..]), 0.25);
        assert_eq!((statistics.min_ns, statistics.max_ns, statistics.mean_ns), (1, 100, 50));
        assert_eq!(statistics.percentiles_ns, [51, 91, 96, 98, 100, 100]);
        assert_eq!(statistics.target_ns, 26);
    }

    #[test]
    fn a_histogram_tells_the_same_of_small_numbers() {
        let sorted: Vec<u64> = (1..=30).collect();
        let mut counted = Histogram::default();
        sorted.iter().for_each(|time| counted.add(*time));
        let exact = LatencyStatistics::of(&Ordered::new(&sorted[..]), 0.25);
        assert_eq!(LatencyStatistics::counted(&counted, 0.25), exact);
    }

    proptest! {
        #[test]
        fn the_percentile_leaves_the_share_below_it(
            mut latencies in proptest::collection::vec(0_u64..1000, 1..300),
            quantile in 0.0..0.9999,
        ) {
            latencies.sort_unstable();
            let found = percentile(&latencies, quantile);
            let share = latencies.len() as f64 * quantile;
            let below = latencies.iter().filter(|latency| **latency < found).count();
            let up_to = latencies.iter().filter(|latency| **latency <= found).count();
            prop_assert!(below as f64 <= share);
            prop_assert!(up_to as f64 > share);
        }
    }
}
