//! The figure that a result reports.

use std::fmt;

/// The figure of a scenario that a round reports as its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// The measured percentile of the query latency.
    Percentile,
    /// The early-stopping estimate of that percentile, which is never below it.
    EarlyStoppingEstimate,
    /// Samples of each query at fixed intervals.
    Streams,
    /// Server: samples over the time until the last was scheduled.
    ScheduledSamples,
    /// Server: samples over the time until the last was completed.
    CompletedSamples,
    /// Offline: samples over the time of the slowest.
    Samples,
    /// Server: output tokens over the time until the last sample was completed.
    CompletedTokens,
    /// Offline: output tokens over the time of the slowest.
    Tokens,
    /// Server: completed samples per second times a factor.
    InferredCompletedTokens,
    /// Offline: samples per second times a factor.
    InferredTokens,
}

impl MetricKind {
    /// All kinds.
    pub const ALL: &'static [Self] = &[
        Self::Percentile,
        Self::EarlyStoppingEstimate,
        Self::Streams,
        Self::ScheduledSamples,
        Self::CompletedSamples,
        Self::Samples,
        Self::CompletedTokens,
        Self::Tokens,
        Self::InferredCompletedTokens,
        Self::InferredTokens,
    ];

    /// Its name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Percentile => "percentile",
            Self::EarlyStoppingEstimate => "early-stopping-estimate",
            Self::Streams => "streams",
            Self::ScheduledSamples => "scheduled-samples",
            Self::CompletedSamples => "completed-samples",
            Self::Samples => "samples",
            Self::CompletedTokens => "completed-tokens",
            Self::Tokens => "tokens",
            Self::InferredCompletedTokens => "inferred-completed-tokens",
            Self::InferredTokens => "inferred-tokens",
        }
    }
}

impl fmt::Display for MetricKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
