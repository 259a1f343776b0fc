//! The expected load of a run.

/// Load of a run and its bounds, as far as they are known when the model is loaded. `None` if unknown.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Intent {
    /// Bound of the latency of a query, in ns.
    pub latency_bound_ns: Option<u64>,
    /// Bound of the time to the first token, in ns.
    pub first_token_bound_ns: Option<u64>,
    /// Bound of the time for each further token, in ns.
    pub per_token_bound_ns: Option<u64>,
    /// Mean rate of the queries that arrive whether or not others have completed, in queries per second.
    pub target_qps: Option<f64>,
    /// Number of samples in each query; for Offline, in the one query.
    pub samples_per_query: Option<u64>,
    /// Number of samples in most batches.
    pub expected_batch_size: Option<u32>,
}
