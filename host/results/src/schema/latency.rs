//! The spread of latencies.

use proctor_loadgen::LatencyStatistics;
use serde::{Deserialize, Serialize};

/// A distribution of times. Percentiles are whole measured values, not interpolated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[expect(missing_docs, reason = "each is what it says, in ns but for the count")]
pub struct LatencyPart {
    pub count: u64,
    pub min_ns: u64,
    pub mean_ns: u64,
    pub max_ns: u64,
    pub p50_ns: u64,
    pub p90_ns: u64,
    pub p95_ns: u64,
    pub p97_ns: u64,
    pub p99_ns: u64,
    pub p99_9_ns: u64,
}

impl From<&LatencyStatistics> for LatencyPart {
    fn from(statistics: &LatencyStatistics) -> Self {
        let [p50_ns, p90_ns, p95_ns, p97_ns, p99_ns, p99_9_ns] = statistics.percentiles_ns;
        let LatencyStatistics { count, min_ns, max_ns, mean_ns, .. } = *statistics;
        Self { count, min_ns, mean_ns, max_ns, p50_ns, p90_ns, p95_ns, p97_ns, p99_ns, p99_9_ns }
    }
}
