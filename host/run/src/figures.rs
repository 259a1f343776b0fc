//! The figures of a performance run under the names that people and `result.json` use.

use proctor_config::MetricKind;
use proctor_loadgen::{EffectiveSettings, LatencyStatistics, PerformanceResult, ScenarioFigures};
use serde::Serialize;

use crate::text;

/// The unit of a whole number of streams.
const STREAMS: &str = MetricKind::Streams.unit();

/// The one number of a scenario.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Metric {
    pub(crate) name: String,
    /// Null if the run was too short for it.
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
}

/// The figure of this kind; its value is NaN where the run was too short for it, or did not measure it.
pub(crate) fn metric(kind: MetricKind, result: &PerformanceResult, settings: &EffectiveSettings) -> Metric {
    let value = match kind {
        MetricKind::Percentile => Some(query_latencies(result).target_ns as f64),
        MetricKind::EarlyStoppingEstimate => result.early_stopping.estimate_ns.map(|ns| ns as f64),
        MetricKind::Streams => result.intervals.as_ref().map(|intervals| intervals.stream_count as f64),
        MetricKind::ScheduledSamples => rates(result).scheduled_samples,
        MetricKind::CompletedSamples | MetricKind::Samples => rates(result).completed_samples,
        MetricKind::CompletedTokens | MetricKind::Tokens => {
            result.tokens.as_ref().map(|tokens| tokens.completed_tokens_per_second)
        }
        MetricKind::InferredCompletedTokens | MetricKind::InferredTokens => rates(result).inferred_tokens,
    };
    Metric {
        name: kind.title(settings.target_latency_percentile),
        value: value.unwrap_or(f64::NAN),
        unit: kind.unit(),
    }
}

/// Tells if a figure of this kind is computed from times or numbers of tokens in a token run.
pub(crate) fn is_of_tokens(kind: MetricKind) -> bool {
    matches!(kind, MetricKind::EarlyStoppingEstimate | MetricKind::CompletedTokens | MetricKind::Tokens)
}

/// The figure that stands beside one of this kind: the measured percentile beside its estimate, samples beside tokens.
pub(crate) fn plain_kind(kind: MetricKind) -> Option<MetricKind> {
    match kind {
        MetricKind::EarlyStoppingEstimate => Some(MetricKind::Percentile),
        MetricKind::CompletedTokens | MetricKind::InferredCompletedTokens => {
            Some(MetricKind::CompletedSamples)
        }
        MetricKind::Tokens | MetricKind::InferredTokens => Some(MetricKind::Samples),
        MetricKind::Percentile
        | MetricKind::Streams
        | MetricKind::ScheduledSamples
        | MetricKind::CompletedSamples
        | MetricKind::Samples => None,
    }
}

/// Rates per second that a scenario has.
#[derive(Default)]
struct Rates {
    scheduled_samples: Option<f64>,
    completed_samples: Option<f64>,
    inferred_tokens: Option<f64>,
}

fn rates(result: &PerformanceResult) -> Rates {
    match result.figures {
        ScenarioFigures::SingleStream { .. } | ScenarioFigures::MultiStream { .. } => Rates::default(),
        ScenarioFigures::Server {
            scheduled_samples_per_second,
            completed_samples_per_second,
            inferred_tokens_per_second,
            ..
        } => Rates {
            scheduled_samples: Some(scheduled_samples_per_second),
            // LoadGen has 0 where no sample was completed.
            completed_samples: Some(completed_samples_per_second).filter(|rate| *rate > 0.0),
            inferred_tokens: inferred_tokens_per_second,
        },
        ScenarioFigures::Offline { samples_per_second, inferred_tokens_per_second } => Rates {
            scheduled_samples: None,
            completed_samples: Some(samples_per_second),
            inferred_tokens: inferred_tokens_per_second,
        },
    }
}

pub(crate) fn peak_metric(qps: f64) -> Metric {
    Metric { name: "peak rate".to_owned(), value: qps, unit: "queries/s" }
}

/// The latencies that people want to see: those of queries.
pub fn query_latencies(result: &PerformanceResult) -> &LatencyStatistics {
    match &result.figures {
        ScenarioFigures::MultiStream { query_latencies } => query_latencies,
        _ => &result.sample_latencies,
    }
}

impl Metric {
    /// The same without its value, for this reason.
    pub(crate) fn withheld(self, why: &str) -> Self {
        Self { name: format!("{}, withheld: {why}", self.name), value: f64::NAN, ..self }
    }

    /// The value with its unit, for people.
    pub(crate) fn shown(&self) -> String {
        match self.unit {
            STREAMS if self.value.is_finite() => text::counted(self.value as u64, "stream"),
            unit => text::quantity(self.value, unit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_shown_with_its_unit() {
        let metric = |value, unit| Metric { name: String::new(), value, unit };
        assert_eq!(metric(1_500_000.0, "ns").shown(), "1.500 ms");
        assert_eq!(metric(8.0, STREAMS).shown(), "8 streams");
        assert_eq!(metric(f64::NAN, STREAMS).shown(), "not known");
        assert_eq!(metric(f64::NAN, "samples/s").shown(), "not known");
        assert_eq!(metric(f64::INFINITY, "samples/s").shown(), "not known");
        assert_eq!(metric(12_345.6, "samples/s").shown(), "12346 samples/s");
    }
}
