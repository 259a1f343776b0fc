//! The verdict of early stopping and its text.

use proctor_loadgen_settings::EffectiveSettings;
use proctor_vocabulary::Scenario;

use crate::{
    measure::order_statistics::Ordered,
    verdict::early_stopping::{min_under_latency_queries, over_latency_allowance},
};

/// Percentile at which a SingleStream run is also judged, and from which MultiStream results are inferred.
const MULTI_STREAM_QUANTILE: f64 = 0.99;

/// Result of early stopping: whether there are enough queries to trust the percentile, and its trusted upper value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EarlyStopping {
    /// True if enough were seen. Always true in Offline, and in rounds that state a number of queries.
    pub met: bool,
    /// LoadGen's explanation, of several lines; empty in Offline and in rounds without early stopping.
    pub text: String,
    /// SingleStream and MultiStream: the conservative estimate of the target percentile, in ns, if there are enough
    /// queries. In token runs of SingleStream it is about the time to the first token, not about the query.
    pub estimate_ns: Option<u64>,
    /// SingleStream: the same of the 99th percentile.
    pub estimate_ns_p99: Option<u64>,
}

impl EarlyStopping {
    /// Judges `query_count` issued queries with these latencies, some of them over the bound.
    pub(super) fn new(
        settings: &EffectiveSettings,
        query_count: u64,
        latencies: &Ordered<'_>,
        over_latency_count: u64,
    ) -> Self {
        let quantile = settings.target_latency_percentile;
        if !settings.request.rules.stops_early {
            return Self { met: true, ..Self::default() };
        }
        match settings.request.scenario {
            Scenario::SingleStream => Self::single_stream(query_count, latencies, quantile),
            Scenario::MultiStream => Self::estimated(query_count, latencies, quantile),
            Scenario::Server => Self::bounded(query_count, over_latency_count, quantile),
            Scenario::Offline => Self { met: true, ..Self::default() },
        }
    }

    /// Estimates for SingleStream. LoadGen tries the 99th percentile only if there are enough queries for the target
    /// percentile.
    fn single_stream(query_count: u64, latencies: &Ordered<'_>, quantile: f64) -> Self {
        let mut result = Self::estimated(query_count, latencies, quantile);
        if !result.met {
            return result;
        }
        result.estimate_ns_p99 =
            over_latency_allowance(query_count, MULTI_STREAM_QUANTILE).map(|t| latencies.nth_largest(t));
        result.text.push_str(&match result.estimate_ns_p99 {
            Some(estimate_ns) => format!("\n * Early stopping 99.0th percentile estimate: {estimate_ns}"),
            None => format!(
                "\n * Not enough queries processed for 99.0th percentile\n early stopping estimate (would need to process at\n least {} total queries).",
                fewest_queries(MULTI_STREAM_QUANTILE)
            ),
        });
        result
    }

    fn estimated(query_count: u64, latencies: &Ordered<'_>, quantile: f64) -> Self {
        let fewest = fewest_queries(quantile);
        let Some(t) = over_latency_allowance(query_count, quantile) else {
            let text = format!(
                " * Only processed {query_count} queries.\n * Need to process at least {fewest} queries for early stopping."
            );
            return Self { text, ..Self::default() };
        };
        let estimate_ns = latencies.nth_largest(t);
        let text = format!(
            " * Processed at least {fewest} queries ({query_count}).\n * Would discard {} highest latency queries.\n * Early stopping {:.1}th percentile estimate: {estimate_ns}",
            t - 1,
            quantile * 100.0
        );
        Self { met: true, text, estimate_ns: Some(estimate_ns), estimate_ns_p99: None }
    }

    fn bounded(query_count: u64, over_latency_count: u64, quantile: f64) -> Self {
        let needed =
            min_under_latency_queries(over_latency_count, quantile).saturating_add(over_latency_count);
        let met = query_count >= needed;
        let text = if met {
            " * Run successful.".to_owned()
        } else {
            format!(
                " * Run unsuccessful.\n * Processed {query_count} queries.\n * Would need to run at least {} more queries,\n with the run being successful if every additional\n query were under latency.",
                needed - query_count
            )
        };
        Self { met, text, ..Self::default() }
    }
}

/// Returns the minimum number of queries at which one may be over the latency.
fn fewest_queries(quantile: f64) -> u64 {
    min_under_latency_queries(1, quantile) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_99th_percentile_is_estimated_only_beside_the_target() {
        let all_ns: Vec<u64> = (1..=700).collect();
        let latencies = Ordered::new(&all_ns[..]);
        let enough = EarlyStopping::single_stream(700, &latencies, 0.9);
        assert_eq!((enough.met, enough.estimate_ns_p99), (true, Some(700)));
        // 700 queries are enough for 99 %, and too few for 99.9 %.
        let too_few = EarlyStopping::single_stream(700, &latencies, 0.999);
        assert_eq!((too_few.met, too_few.estimate_ns, too_few.estimate_ns_p99), (false, None, None));
        assert_eq!(
            too_few.text,
            " * Only processed 700 queries.\n * Need to process at least 6636 queries for early stopping."
        );
    }
}
