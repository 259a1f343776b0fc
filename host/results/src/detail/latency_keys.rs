//! Keys of latencies in a detail log.

use proctor_vocabulary::Scenario;

/// Keys of the latencies of queries. LoadGen has them for MultiStream, next to the latencies of its samples; in the
/// other scenarios, sample latencies serve for queries, too.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LatencyKeys {
    query: &'static str,
    per_query: &'static str,
}

impl LatencyKeys {
    pub(crate) fn of(scenario: Option<Scenario>) -> Self {
        match scenario {
            Some(Scenario::MultiStream) => Self { query: "query_", per_query: "per_query_" },
            _ => Self { query: "", per_query: "" },
        }
    }

    /// Returns the key of `min`, `max` or `mean`.
    pub(crate) fn figure(self, name: &str) -> String {
        format!("result_{name}_{}latency_ns", self.query)
    }

    /// Returns the key of a percentile, which is given in percent with two decimals.
    pub(crate) fn percentile(self, percent: &str) -> String {
        format!("result_{percent}_percentile_{}latency_ns", self.per_query)
    }
}
