//! Early stopping: how many queries make a percentile believable.
//!
//! A run claims that a share `p` of its queries is under a latency. It has shown so with confidence 0.99 when so few
//! queries over the latency would have been improbable (below 0.01) if the share were really smaller.
//!
//! Source: LoadGen 6.0.17, `early_stopping.cc`; MLPerf Inference rules, appendix on early stopping.

/// 1 - confidence, computed as LoadGen computes it. The rules fix the confidence: it is not a knob.
const IMPROBABLE: f64 = 1.0 - 0.99;
/// Terms of the series below this can no longer change the sum, as LoadGen sees it.
const SMALLEST_TERM: f64 = 1.0 / (1_u64 << 33) as f64;
/// The series of Stirling's formula behind its leading term, in odd powers of `1 / x`, from the constant on.
///
/// Source: fdlibm, `e_lgamma_r.c`, the coefficients for 8 <= x < 2^58; glibc has the same.
const STIRLING: [f64; 7] = [
    4.189_385_332_046_727e-1,
    8.333_333_333_333_297e-2,
    -2.777_777_777_287_755_4e-3,
    7.936_505_586_430_196e-4,
    -5.951_875_574_503_4e-4,
    8.363_399_189_962_821e-4,
    -1.630_929_340_965_752_7e-3,
];

/// Returns H(t): the fewest queries under the latency that make up for `over_latency_count` queries over it.
///
/// `quantile` is in `(0, 1)`. At quantiles of 0.9999 and above the odds of neighbouring counts differ by less than they
/// are rounded, so the end of a search for the first improbable one depends on where it has looked. This is LoadGen's
/// search, between the bounds that it has before it has searched for any other count.
///
/// Source: LoadGen 6.0.17, `MinPassingQueriesFinder`.
#[must_use]
pub fn min_under_latency_queries(over_latency_count: u64, quantile: f64) -> u64 {
    let over = over_latency_count as f64;
    let without_any_over = (IMPROBABLE.ln() / quantile.ln()).ceil();
    let mut low = (over * quantile / (1.0 - quantile) + without_any_over) as u64;
    let mut enough = (over * without_any_over + without_any_over + 1.0) as u64;
    while low < enough {
        let middle = low + (enough - low) / 2;
        if odds(middle, over_latency_count, quantile) < IMPROBABLE {
            enough = middle;
        } else {
            low = middle + 1;
        }
    }
    enough
}

/// Returns the largest t of at least 1 with H(t) + t at most `query_count`, or `None` if there are too few queries.
///
/// The t-th largest latency of the run is then the estimate of its percentile.
#[must_use]
pub fn over_latency_allowance(query_count: u64, quantile: f64) -> Option<u64> {
    let fits = |t: u64| min_under_latency_queries(t, quantile).saturating_add(t) <= query_count;
    if !fits(1) {
        return None;
    }
    // H(t) is at least the expected share, so that t beyond `1 - quantile` of the queries cannot fit.
    let mut allowed = 1;
    let mut too_many = (query_count as f64 * (1.0 - quantile)) as u64 + 2;
    while too_many - allowed > 1 {
        let middle = allowed + (too_many - allowed) / 2;
        if fits(middle) {
            allowed = middle;
        } else {
            too_many = middle;
        }
    }
    Some(allowed)
}

/// Returns the probability of at most `over` misses among `under + over` queries that each miss with `1 - quantile`:
/// the regularised incomplete beta function I_quantile(under, over + 1), as a power times a hypergeometric series.
fn odds(under: u64, over: u64, quantile: f64) -> f64 {
    let (h, t) = (under as f64, over as f64);
    let power = h * quantile.ln() + t * (1.0 - quantile).ln() - ln_beta(h, t + 1.0);
    let ratio = quantile / (quantile - 1.0);
    let (mut term, mut sum) = (1.0_f64, 1.0);
    let mut i = 0.0;
    while term.abs() > SMALLEST_TERM {
        term *= (i - t) * ratio / (h + 1.0 + i);
        sum += term;
        i += 1.0;
    }
    power.exp() / h * sum
}

fn ln_beta(a: f64, b: f64) -> f64 {
    ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b)
}

/// Returns the logarithm of (x - 1)! for a whole x from 1 on.
///
/// The counts that early stopping states follow from its last bits, so it is computed as the C library does that
/// LoadGen is linked with: by Stirling's formula from 8 on, and below 8 by the product.
///
/// Source: fdlibm, `e_lgamma_r.c`, which glibc follows.
fn ln_gamma(x: f64) -> f64 {
    if x < 8.0 {
        let factorial: f64 = (2..x as u32).map(f64::from).product();
        return factorial.ln();
    }
    let inverse = 1.0 / x;
    let squared = inverse * inverse;
    let [constant, odd @ ..] = STIRLING;
    let series = odd.iter().rev().fold(0.0, |sum, coefficient| coefficient + squared * sum);
    (x - 0.5) * (x.ln() - 1.0) + (constant + inverse * series)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn no_miss_needs_the_counts_that_the_rules_state() {
        for (quantile, queries) in [(0.9, 44), (0.97, 152), (0.99, 459), (0.999, 4603)] {
            assert_eq!(min_under_latency_queries(0, quantile), queries);
        }
        for (quantile, queries) in [(0.9, 64), (0.97, 219), (0.99, 662), (0.999, 6636)] {
            assert_eq!(min_under_latency_queries(1, quantile) + 1, queries);
            assert_eq!(over_latency_allowance(queries, quantile), Some(1));
            assert_eq!(over_latency_allowance(queries - 1, quantile), None);
        }
    }

    /// Quantile, queries over the latency, H(t).
    const ROWS: [(f64, u64, u64); 7] = [
        (0.999_99, 1597, 169_244_728),
        (0.999_998, 1597, 846_230_211),
        (0.999_999, 2209, 2_320_829_267),
        (0.999_999, 1970, 2_075_746_668),
        (0.999_999, 2150, 2_260_359_556),
        (0.999_999, 2101, 2_210_123_545),
        (0.999_998, 1280, 682_863_735),
    ];

    /// Compares with counts that the official program wrote, where the odds cannot distinguish neighbouring counts.
    #[test]
    fn extreme_percentiles_need_the_counts_that_loadgen_states() {
        for (quantile, over, under) in ROWS {
            assert_eq!(min_under_latency_queries(over, quantile), under, "{quantile} with {over} over");
        }
    }

    proptest! {
        #[test]
        fn more_misses_need_more_queries(t in 0_u64..5000, quantile in 0.5..0.999) {
            prop_assert!(min_under_latency_queries(t, quantile) < min_under_latency_queries(t + 1, quantile));
        }

        #[test]
        fn the_allowance_is_the_largest_that_fits(queries in 1_u64..100_000, quantile in 0.5..0.999) {
            let needed = |t| min_under_latency_queries(t, quantile) + t;
            match over_latency_allowance(queries, quantile) {
                Some(t) => prop_assert!(needed(t) <= queries && needed(t + 1) > queries),
                None => prop_assert!(needed(1) > queries),
            }
        }
    }
}
