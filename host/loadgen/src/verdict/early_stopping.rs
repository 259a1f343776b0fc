//! Early stopping: how many queries make a percentile believable.
//!
//! A run claims that a share `p` of its queries is under a latency. It has shown so with confidence 0.99 when so few
//! queries over the latency would have been improbable (below 0.01) if the share were really smaller.
//!
//! Source: LoadGen 6.0.17, `early_stopping.cc`; MLPerf Inference rules, appendix on early stopping.

/// 1 - confidence, computed as LoadGen computes it. The rules fix the confidence: it is not a knob.
const IMPROBABLE: f64 = 1.0 - 0.99;
/// Terms of the series below this cannot change the sum any more, as LoadGen sees it.
const SMALLEST_TERM: f64 = 1.0 / (1_u64 << 33) as f64;

/// Returns H(t): the fewest queries under the latency that make up for `over_latency_count` queries over it.
///
/// `quantile` is in `(0, 1)`. LoadGen's search starts from cached neighbours; this one from the expected share, with
/// the same result, because the odds fall as the count grows.
#[must_use]
pub fn min_under_latency_queries(over_latency_count: u64, quantile: f64) -> u64 {
    // At the expected share the odds are about one half, far from improbable.
    let expected = over_latency_count as f64 * quantile / (1.0 - quantile);
    let mut too_few = expected as u64;
    let mut step = 1 + expected.sqrt() as u64;
    let mut enough = too_few.saturating_add(step);
    while enough < u64::MAX && odds(enough, over_latency_count, quantile) >= IMPROBABLE {
        too_few = enough;
        step = step.saturating_mul(2);
        enough = enough.saturating_add(step);
    }
    while enough - too_few > 1 {
        let middle = too_few + (enough - too_few) / 2;
        if odds(middle, over_latency_count, quantile) < IMPROBABLE {
            enough = middle;
        } else {
            too_few = middle;
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

/// The probability of at most `over` misses among `under + over` queries, each of which misses with `1 - quantile`:
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
    libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b)
}

#[cfg(test)]
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
