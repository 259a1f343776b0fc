//! Figures of a performance run.

use serde::{Deserialize, Serialize};

use super::{latency::LatencyPart, or_default, tokens::TokenPart};

/// Figures of a performance run.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct FiguresPart {
    /// Latencies of queries.
    pub query_latency: LatencyPart,
    /// Latencies of samples.
    pub sample_latency: LatencyPart,
    /// SingleStream: queries over the time until the last was issued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queries_per_second: Option<f64>,
    /// Server: samples over the time until the last was scheduled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduled_samples_per_second: Option<f64>,
    /// Server: samples over the time until the last was completed. Offline: over the time of the slowest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_samples_per_second: Option<f64>,
    /// Number of samples above the bound of Server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_latency_count: Option<u64>,
    /// True if the run was long enough.
    #[serde(default)]
    pub min_duration_met: bool,
    /// True if it had enough queries.
    #[serde(default)]
    pub min_queries_met: bool,
    /// True if the latency bound was met, on answers that are whole.
    #[serde(default)]
    pub latency_bound_met: bool,
    /// True if early stopping found enough queries.
    #[serde(default)]
    pub early_stopping_met: bool,
    /// Estimate of early stopping, in ns.
    pub early_stopping_estimate_ns: Option<u64>,
    /// SingleStream: the estimate of the 99th percentile, from which MultiStream is inferred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub early_stopping_estimate_ns_p99: Option<u64>,
    /// LoadGen's recommendations.
    #[serde(default, deserialize_with = "or_default")]
    pub recommendations: Vec<String>,
    /// Tokens of token runs, and of runs that infer them from samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenPart>,
    /// MultiStream at fixed intervals.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub intervals: Option<IntervalPart>,
}

/// The fixed intervals of MultiStream.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct IntervalPart {
    /// Number of samples in each query: the metric.
    pub stream_count: u64,
    /// Length of an interval in ns.
    pub interval_ns: u64,
    /// Number of intervals from the start to the last query; each had one or was skipped.
    pub interval_count: u64,
    /// Number of skipped intervals.
    pub skipped_interval_count: u64,
    /// Maximum number of skipped intervals in a row.
    pub longest_skip_count: u64,
    /// Number of queries that caused skipped intervals.
    pub skipping_query_count: u64,
    /// Number of these, and of queries that took longer than an interval.
    pub late_query_count: u64,
    /// Maximum number of late queries in a VALID run.
    pub allowed_late_query_count: u64,
}

/// A metric of a run.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct MetricPart {
    /// Name of the metric.
    pub name: String,
    /// Value of the metric. A run has NaN, and the file null, if it was too short for it.
    pub value: f64,
    /// Unit of the value.
    pub unit: String,
}
