//! The figures of a performance run under the names that people and `result.json` use.

use proctor_config::MetricKind;
use proctor_loadgen::{EffectiveSettings, LatencyStatistics, PerformanceResult, ScenarioFigures};
use proctor_results::MetricPart;
use proctor_words::text;

/// The unit of a whole number of streams.
const STREAMS: &str = MetricKind::Streams.unit();

/// Returns the figure of this kind; its value is NaN if the run was too short for it, or did not measure it.
pub(crate) fn metric(
    kind: MetricKind,
    result: &PerformanceResult,
    settings: &EffectiveSettings,
) -> MetricPart {
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
    MetricPart {
        name: kind.title(settings.target_latency_percentile),
        value: value.unwrap_or(f64::NAN),
        unit: kind.unit().to_owned(),
    }
}

/// Returns whether a figure of this kind is computed from times or numbers of tokens in a token run.
pub(crate) fn is_of_tokens(kind: MetricKind) -> bool {
    matches!(kind, MetricKind::EarlyStoppingEstimate | MetricKind::CompletedTokens | MetricKind::Tokens)
}

/// Returns the kind shown next to this one: the measured percentile for its estimate, samples for tokens.
pub fn plain_kind(kind: MetricKind) -> Option<MetricKind> {
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
            // LoadGen has 0 if no sample was completed.
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

pub(crate) fn peak_metric(qps: f64) -> MetricPart {
    MetricPart { name: "peak rate".to_owned(), value: qps, unit: "queries/s".to_owned() }
}

/// Returns the latencies that users want to see: the query latencies.
pub fn query_latencies(result: &PerformanceResult) -> &LatencyStatistics {
    match &result.figures {
        ScenarioFigures::MultiStream { query_latencies } => query_latencies,
        _ => &result.sample_latencies,
    }
}

/// Returns the same metric without its value, for this reason.
pub(crate) fn withheld(metric: MetricPart, why: &str) -> MetricPart {
    MetricPart { name: format!("{}, withheld: {why}", metric.name), value: f64::NAN, ..metric }
}

/// Returns the value of a metric with its unit, for people.
pub fn shown(metric: &MetricPart) -> String {
    match metric.unit.as_str() {
        STREAMS if metric.value.is_finite() => text::counted(metric.value as u64, "stream"),
        unit => text::quantity(metric.value, unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_shown_with_its_unit() {
        let shown =
            |value, unit: &str| shown(&MetricPart { name: String::new(), value, unit: unit.to_owned() });
        assert_eq!(shown(1_500_000.0, "ns"), "1.500 ms");
        assert_eq!(shown(8.0, STREAMS), "8 streams");
        assert_eq!(shown(f64::NAN, STREAMS), "not known");
        assert_eq!(shown(f64::NAN, "samples/s"), "not known");
        assert_eq!(shown(f64::INFINITY, "samples/s"), "not known");
        assert_eq!(shown(12_345.6, "samples/s"), "12346 samples/s");
    }
}
