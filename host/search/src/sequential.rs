//! The sequential test of one share against its limit.
//!
//! Wald's sequential probability ratio test: after each query the likelihood of the observations is compared under
//! two shares of misses, `limit / 1.25` and `limit * 1.25`. Once one of them is so much likelier than the other that
//! an error has the wanted probability (19 times for one in twenty), the test says so; between the two shares either
//! answer is as good, since the rates that they belong to hardly differ. No test with these errors needs fewer
//! queries on average. The logarithm of the ratio is divided by the dispersion of the misses, as is usual for counts
//! that scatter more than independent ones (quasi-likelihood: Wedderburn 1974).
//!
//! Source: A. Wald, *Sequential Tests of Statistical Hypotheses*, Annals of Mathematical Statistics 16 (1945).

use serde::{Deserialize, Serialize};

use crate::blocks::Blocks;

/// Side of its limits on which a load is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// All constraints hold.
    Under,
    /// One of the constraints is broken.
    Over,
}

/// Factor by which the two shares that the test distinguishes lie below and above the limit. Where queues are
/// about to overflow, the share of misses grows like the tenth to thirtieth power of the rate, so that they
/// lie 1 to 2 % of the rate to both sides.
pub const INDIFFERENCE: f64 = 1.25;

/// Tests a share of misses against its limit, one query after another.
#[derive(Debug, Clone, PartialEq)]
pub struct SequentialTest {
    limit: f64,
    threshold: f64,
    /// Addition of a miss, and of a hit, to the logarithm of the ratio.
    miss_step: f64,
    hit_step: f64,
    blocks: Blocks,
}

impl SequentialTest {
    /// Creates a test against `limit`, a share in `[0, 1)`, that may be wrong with this probability, in `(0, 0.5)`.
    /// Against 0 a single miss decides.
    #[must_use]
    pub fn new(limit: f64, error_probability: f64) -> Self {
        let (lower, upper) = (limit / INDIFFERENCE, (limit * INDIFFERENCE).min((1.0 + limit) / 2.0));
        let (miss_step, hit_step) = match limit {
            0.0 => (f64::INFINITY, 0.0),
            _ => ((upper / lower).ln(), ((1.0 - upper) / (1.0 - lower)).ln()),
        };
        let threshold = ((1.0 - error_probability) / error_probability).ln();
        Self { limit, threshold, miss_step, hit_step, blocks: Blocks::default() }
    }

    /// Takes the next query.
    pub fn push(&mut self, is_miss: bool) {
        self.blocks.push(is_miss);
    }

    /// Returns the limit.
    #[must_use]
    pub fn limit(&self) -> f64 {
        self.limit
    }

    /// Returns the counts so far.
    #[must_use]
    pub fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// Returns the logarithm of how much likelier the higher share is: positive speaks for [`Side::Over`].
    #[must_use]
    pub fn log_ratio(&self) -> f64 {
        let (seen, missed) = (self.blocks.seen(), self.blocks.missed());
        if self.limit == 0.0 {
            return if missed > 0 { f64::INFINITY } else { 0.0 };
        }
        let sum = missed as f64 * self.miss_step + (seen - missed) as f64 * self.hit_step;
        sum / self.blocks.dispersion()
    }

    /// Returns the side, once the test has decided. A limit of 0 is kept until it is broken.
    #[must_use]
    pub fn decision(&self) -> Option<Side> {
        if self.limit == 0.0 {
            return Some(if self.blocks.missed() > 0 { Side::Over } else { Side::Under });
        }
        let log_ratio = self.log_ratio();
        match self.blocks.is_telling() {
            true if log_ratio >= self.threshold => Some(Side::Over),
            true if log_ratio <= -self.threshold => Some(Side::Under),
            _ => None,
        }
    }
}

/// Returns the probability that a side is right from the log likelihood ratio, with equal priors.
#[must_use]
pub fn confidence(log_ratio: f64) -> f64 {
    1.0 / (1.0 + (-log_ratio.abs()).exp())
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng, rngs::StdRng};

    use super::*;

    /// Runs a test on rows of `row` equal outcomes, and returns its decision and the number of outcomes.
    fn run(seed: u64, limit: f64, share: f64, row: usize) -> (Option<Side>, u64) {
        let mut random = StdRng::seed_from_u64(seed);
        let mut test = SequentialTest::new(limit, 0.05);
        while test.blocks().seen() < 400_000 {
            let is_miss = random.random_bool(share);
            (0..row).for_each(|_| test.push(is_miss));
            if test.blocks().seen().is_multiple_of(64)
                && let Some(side) = test.decision()
            {
                return (Some(side), test.blocks().seen());
            }
        }
        (None, test.blocks().seen())
    }

    #[test]
    fn it_is_seldom_wrong_with_independent_and_with_clustered_misses() {
        for (row, share, right) in [
            (1, 0.01 / INDIFFERENCE, Side::Under),
            (1, 0.01 * INDIFFERENCE, Side::Over),
            (8, 0.01 / INDIFFERENCE, Side::Under),
            (8, 0.01 * INDIFFERENCE, Side::Over),
        ] {
            let wrong = (0..200).filter(|seed| run(*seed, 0.01, share, row).0 != Some(right)).count();
            // 5 % of 200 are 10; three standard errors more are 20.
            assert!(wrong <= 20, "{wrong} of 200 with share {share} in rows of {row}");
        }
    }

    #[test]
    fn what_is_clear_is_decided_early() {
        let (side, count) = run(1, 0.01, 0.0, 1);
        assert!(side == Some(Side::Under) && count < 3000, "{count}");
        let (side, count) = run(1, 0.01, 0.3, 1);
        assert!(side == Some(Side::Over) && count <= 300, "{count}");
    }

    #[test]
    fn a_limit_of_zero_is_kept_until_it_is_broken() {
        let mut test = SequentialTest::new(0.0, 0.05);
        assert_eq!(test.decision(), Some(Side::Under));
        (0..5).for_each(|_| test.push(false));
        assert_eq!((test.decision(), test.log_ratio()), (Some(Side::Under), 0.0));
        test.push(true);
        assert_eq!(test.decision(), Some(Side::Over));
        assert_eq!(confidence(test.log_ratio()), 1.0);
    }

    #[test]
    fn a_limit_near_one_is_no_trouble() {
        assert_eq!(run(1, 0.9, 0.2, 1).0, Some(Side::Under));
        assert_eq!(run(1, 0.9, 0.99, 1).0, Some(Side::Over));
    }
}
