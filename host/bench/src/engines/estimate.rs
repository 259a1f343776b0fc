//! Estimate of a median from a few noisy rounds.

use serde::Serialize;

use proctor_display::Spread;

/// Probability that the true median lies on one side of the interval.
const TAIL: f64 = 0.025;

/// A median, and an interval that contains the true median with a certainty of 95 %.
///
/// The interval lies between two of the values in their order, by the sign test: of n values, each is below the true
/// median with probability one half, for any distribution. Fewer than six values cannot be so certain; the interval is
/// then from the smallest to the largest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Estimate {
    pub(super) median: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// A system compared with another one, from the medians of the rounds that both have.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Paired {
    pub(super) rounds: usize,
    /// Additional time of a query, in ns.
    pub(super) added_ns: Estimate,
    /// Ratio of its time to the other's.
    pub(super) ratio: Estimate,
}

impl Estimate {
    /// Computes the estimate; all NaN without values.
    pub(super) fn of(values: &[f64]) -> Self {
        let median = Spread::of(values).median;
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let outside = outside(sorted.len());
        match &sorted[outside..sorted.len() - outside] {
            [low, .., high] => Self { median, low: *low, high: *high },
            // One value or none.
            _ => Self { median, low: median, high: median },
        }
    }
}

/// Returns the number of values on each side, of `count`, that lie outside the interval.
fn outside(count: usize) -> usize {
    // Of n tosses of a coin, the chance that k at most are heads: summed until it is no longer small enough.
    let mut exactly = 0.5_f64.powi(i32::try_from(count).unwrap_or(i32::MAX));
    let mut at_most = exactly;
    let mut heads = 0;
    while at_most <= TAIL && heads < count / 2 {
        exactly *= (count - heads) as f64 / (heads + 1) as f64;
        at_most += exactly;
        heads += 1;
    }
    heads.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_the_tables_of_the_sign_test() {
        // From the cumulative binomial distribution with p = 1/2: P(X <= k) <= 0.025 for the largest k.
        let expected = [(1, 0), (5, 0), (6, 0), (7, 0), (9, 1), (12, 2), (20, 5), (25, 7), (31, 9), (50, 17)];
        for (count, places) in expected {
            assert_eq!(outside(count), places, "of {count}");
        }
    }

    #[test]
    fn values_far_out_do_not_widen_it_when_there_are_enough() {
        let mut values: Vec<f64> = (0..31).map(f64::from).collect();
        values[30] = 1e9;
        let estimate = Estimate::of(&values);
        assert_eq!((estimate.median, estimate.low, estimate.high), (15.0, 9.0, 21.0));
        let few = Estimate::of(&[3.0, 1.0, 2.0]);
        assert_eq!((few.median, few.low, few.high), (2.0, 1.0, 3.0));
        assert!(Estimate::of(&[]).low.is_nan());
    }
}
