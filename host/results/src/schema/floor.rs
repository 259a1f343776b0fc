//! The floor of the harness.

use serde::{Deserialize, Serialize};

use super::or_default;

/// The floor of the harness in one scenario at one rate.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct FloorPart {
    /// Name of the scenario.
    #[serde(default, deserialize_with = "or_default")]
    pub scenario: String,
    /// Server: queries per second that arrived.
    pub queries_per_second: Option<f64>,
    /// Number of queries.
    #[serde(default)]
    pub query_count: u64,
    /// Number of samples of each.
    #[serde(default)]
    pub samples_per_query: u64,
    /// Median latency with the null plugin, in ns.
    pub latency_p50_ns: u64,
    /// Latency that 99 % of the queries keep with it, in ns.
    pub latency_p99_ns: u64,
    /// Server: median lateness of the issue, in ns.
    pub dispatch_error_p50_ns: Option<u64>,
    /// Server: lateness that 99 % of the queries keep, in ns.
    pub dispatch_error_p99_ns: Option<u64>,
    /// Method of the measurement.
    #[serde(default)]
    pub how: String,
    /// Latencies of the run under ten times the floor, by their names in `figures.query_latency`.
    #[serde(default)]
    pub marked: Vec<String>,
}
