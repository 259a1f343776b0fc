//! Computes how many queries make a percentile credible under the rules before early stopping.
//!
//! A query meets its latency bound or not, as a voter is for or against: the size of a poll with a given confidence and
//! margin of error.
//!
//! Source: MLPerf Inference Benchmark, section 4.6, equations 1 and 2; MLPerf Inference rules v0.7, appendix on the
//! number of queries. Both print `tail * (tail - 1)` where `tail * (1 - tail)` is meant, and computed.

/// The rules fix the confidence: it is not a knob.
const CONFIDENCE: f64 = 0.99;

/// The counts are rounded up to a multiple of this, for nice numbers.
const ROUNDING: u64 = 1 << 13;

/// Computes equation 1: the margin of error for a share `tail` of queries that meet the bound, a twentieth of the rest.
#[must_use]
pub fn tail_margin(tail: f64) -> f64 {
    (1.0 - tail) / 20.0
}

/// Computes equation 2: the number of queries for a share `tail` in `(0, 1)` that meet the bound, with this confidence
/// in `(0, 1)` and this margin of error, rounded to the nearest whole one as the tables are.
#[must_use]
pub fn required_query_count(tail: f64, confidence: f64, margin: f64) -> u64 {
    let deviations = inverse_normal((1.0 - confidence) / 2.0);
    (deviations.powi(2) * tail * (1.0 - tail) / margin.powi(2)).round() as u64
}

/// Returns the minimum number of queries of a run whose share `tail` of queries has to meet the bound: both
/// equations with a confidence of 99 %, rounded up to a multiple of 2^13.
#[must_use]
pub fn statistical_query_count(tail: f64) -> u64 {
    required_query_count(tail, CONFIDENCE, tail_margin(tail)).next_multiple_of(ROUNDING)
}

/// Returns the x below which a standard normal variate falls with this probability, from 0 to a half; correct to some
/// 1e-15.
fn inverse_normal(probability: f64) -> f64 {
    let below = |x: f64| 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2);
    // A bisection takes a fixed number of steps and no care; nothing here is in a hurry. Beyond -39 a double is 0.
    let (mut low, mut high) = (-39.0, 0.0);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if below(middle) < probability { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Every row of table 4 of the paper, with the row of 97 % that the rules add, and what table 5 uses of them.
    #[test]
    fn counts_are_those_of_the_tables() {
        for (tail, margin, count, rounded, multiple) in [
            (0.90, 0.005, 23_886, 24_576, 3),
            (0.95, 0.0025, 50_425, 57_344, 7),
            (0.97, 0.0015, 85_811, 90_112, 11),
            (0.99, 0.0005, 262_742, 270_336, 33),
        ] {
            assert!((tail_margin(tail) - margin).abs() < 1e-15, "{tail}");
            assert_eq!(required_query_count(tail, 0.99, tail_margin(tail)), count, "{tail}");
            assert_eq!(statistical_query_count(tail), rounded, "{tail}");
            assert_eq!(rounded, multiple << 13);
        }
    }

    /// The worked example of the rules: NormsInv(0.005) is -2.58, and 3,600 times its square 23,886.
    #[test]
    fn the_normal_quantile_is_that_of_the_rules() {
        assert!((inverse_normal(0.005) + 2.575_829_303_548_901).abs() < 1e-12);
        assert_eq!(required_query_count(0.9, 0.99, 0.005), 23_886);
        assert!(inverse_normal(0.5).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn a_sharper_tail_needs_at_least_as_many_queries(tail in 0.5..0.998) {
            prop_assert!(statistical_query_count(tail) <= statistical_query_count(tail + 0.001));
            prop_assert!(statistical_query_count(tail) >= required_query_count(tail, CONFIDENCE, tail_margin(tail)));
        }
    }
}
