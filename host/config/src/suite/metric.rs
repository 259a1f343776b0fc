//! The figure that a result reports.

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

proctor_vocabulary::named_values!(MetricKind {
    Percentile => "percentile",
    EarlyStoppingEstimate => "early-stopping-estimate",
    Streams => "streams",
    ScheduledSamples => "scheduled-samples",
    CompletedSamples => "completed-samples",
    Samples => "samples",
    CompletedTokens => "completed-tokens",
    Tokens => "tokens",
    InferredCompletedTokens => "inferred-completed-tokens",
    InferredTokens => "inferred-tokens",
});

impl MetricKind {
    /// Returns its display name. `percentile` is the latency percentile, as a fraction.
    #[must_use]
    pub fn title(self, percentile: f64) -> String {
        let of_latency = || format!("{} percentile of the query latency", ordinal(percentile * 100.0));
        match self {
            Self::Percentile => of_latency(),
            Self::EarlyStoppingEstimate => format!("early-stopping estimate of the {}", of_latency()),
            Self::Streams => "samples of each query".to_owned(),
            Self::ScheduledSamples => "rate of scheduled samples".to_owned(),
            Self::CompletedSamples => "throughput of completed samples".to_owned(),
            Self::Samples => "throughput".to_owned(),
            Self::CompletedTokens | Self::Tokens => "throughput of output tokens".to_owned(),
            Self::InferredCompletedTokens | Self::InferredTokens => {
                "throughput of tokens, inferred from samples".to_owned()
            }
        }
    }

    /// Returns the unit of its value.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Percentile | Self::EarlyStoppingEstimate => "ns",
            Self::Streams => "streams",
            Self::ScheduledSamples | Self::CompletedSamples | Self::Samples => "samples/s",
            Self::CompletedTokens | Self::Tokens | Self::InferredCompletedTokens | Self::InferredTokens => {
                "tokens/s"
            }
        }
    }
}

/// `90th`, `99.9th`; percentiles that end in 1, 2 or 3 are rare enough to be written alike, as LoadGen does.
fn ordinal(percentile: f64) -> String {
    // Multiplying a fraction by 100 leaves dust at the end.
    let rounded = (percentile * 1e6).round() / 1e6;
    format!("{rounded}th")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_named_without_dust() {
        assert_eq!(ordinal(0.999 * 100.0), "99.9th");
        assert_eq!(ordinal(0.57 * 100.0), "57th");
    }
}
