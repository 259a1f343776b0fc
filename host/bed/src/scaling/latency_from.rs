//! The instant from which a latency counts.

use serde::Serialize;

/// Instant from which the latency counts that is held against the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LatencyFrom {
    /// The start of the batch: it is service time.
    BatchStart,
    /// The arrival of the sample. Decisions are about service time, with half of the target.
    Arrival,
}

impl LatencyFrom {
    /// Service times that fit into a latency: one from the start of the batch; two from the arrival, as a sample may
    /// find all instances at work.
    pub(super) fn service_times(self) -> u64 {
        match self {
            Self::BatchStart => 1,
            Self::Arrival => 2,
        }
    }
}
