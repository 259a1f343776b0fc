//! The load that a run is about to bring.

/// The load that a run will bring and the bounds that it sets, as far as they are known when the model is loaded.
/// `None` where there is nothing to say.
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
    /// Samples in each query; of Offline, in the one query.
    pub samples_per_query: Option<u64>,
    /// Samples in most batches.
    pub expected_batch_size: Option<u32>,
}
