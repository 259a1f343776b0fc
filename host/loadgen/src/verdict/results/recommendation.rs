//! Describes changes that make the next run VALID, in LoadGen's words.

use std::fmt;

use proctor_vocabulary::Scenario;

use super::PerformanceResult;

/// Advice for one rule that was not met. Displays as LoadGen's sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recommendation {
    /// The latency bound was not met.
    ReduceTargetQps,
    /// MultiStream at fixed intervals: the system did not keep up with the intervals.
    ReduceSamplesPerQuery,
    /// The bound of the time to the first token was not met.
    ReduceTargetQpsForTtft,
    /// The bound of the time per output token was not met.
    ReduceTargetQpsForTpot,
    /// SingleStream, MultiStream: the run was too short.
    DecreaseExpectedLatency,
    /// Server: the run was too short.
    IncreaseTargetQps,
    /// Offline: the run was too short.
    IncreaseExpectedQps,
    /// The run had too few queries or samples.
    ExitedEarly,
}

impl Recommendation {
    /// Returns the recommendations in LoadGen's order: latency, duration, queries.
    pub(super) fn of(result: &PerformanceResult, scenario: Scenario) -> Vec<Self> {
        let for_duration = match scenario {
            Scenario::SingleStream | Scenario::MultiStream => Self::DecreaseExpectedLatency,
            Scenario::Server => Self::IncreaseTargetQps,
            Scenario::Offline => Self::IncreaseExpectedQps,
        };
        let for_latency = match scenario {
            Scenario::MultiStream => Self::ReduceSamplesPerQuery,
            _ => Self::ReduceTargetQps,
        };
        let (latency_met, ttft_met, tpot_met) = match result.token_latencies() {
            Some(token_latencies) => (true, token_latencies.ttft_met, token_latencies.tpot_met),
            None => (result.perf_constraints_met, true, true),
        };
        [
            (latency_met, for_latency),
            (ttft_met, Self::ReduceTargetQpsForTtft),
            (tpot_met, Self::ReduceTargetQpsForTpot),
            (result.min_duration_met, for_duration),
            (result.min_queries_met, Self::ExitedEarly),
        ]
        .into_iter()
        .filter_map(|(met, recommendation)| (!met).then_some(recommendation))
        .collect()
    }
}

impl fmt::Display for Recommendation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReduceTargetQps => "Reduce target QPS to improve latency.",
            Self::ReduceSamplesPerQuery => "Reduce samples per query to improve latency.",
            // The spelling is LoadGen's.
            Self::ReduceTargetQpsForTtft => "TTFT constrain not met: Reduce target QPS to improve latency.",
            Self::ReduceTargetQpsForTpot => "TPOT constrain not met: Reduce target QPS to improve latency.",
            Self::DecreaseExpectedLatency => {
                "Decrease the expected latency so the loadgen pre-generates more queries."
            }
            Self::IncreaseTargetQps => "Increase the target QPS so the loadgen pre-generates more queries.",
            Self::IncreaseExpectedQps => {
                "Increase expected QPS so the loadgen pre-generates a larger (coalesced) query."
            }
            Self::ExitedEarly => "The test exited early, before enough queries were issued.",
        })
    }
}
