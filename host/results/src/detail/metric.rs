//! The metric of a test, from its detail log.

use proctor_config::{MetricKind, round_rules};
use proctor_loadgen::Rules;
use proctor_vocabulary::Scenario;
use serde_json::Value;

use super::latency_keys::LatencyKeys;
use crate::{detail::DetailLog, schema::figures::MetricPart};

impl DetailLog {
    /// Returns the figure that a result of the round reports; `None` if the round is not known here, or the log does
    /// not have the figure. A log of LoadGen itself names no round, and is read by the default.
    ///
    /// The log does not say which benchmark was run. So tokens per second of Server and Offline go before
    /// samples per second if the log has them, though the benchmark may be listed by samples. In token runs
    /// of SingleStream the early-stopping estimate refers to the time to the first token, and the measured
    /// percentile of the query is the figure.
    ///
    /// Early versions of LoadGen have neither estimates nor a rate of completed samples: there the percentile and the
    /// rate of scheduled samples are the figures.
    #[must_use]
    pub fn metric(&self) -> Option<MetricPart> {
        let scenario = self.known_scenario()?;
        let rules = self.rules()?;
        let usual = if scenario == Scenario::SingleStream { 0.9 } else { 0.99 };
        let target = self.value("effective_target_latency_percentile").and_then(Value::as_f64);
        let percentile = target.unwrap_or(usual);
        let kinds = match round_rules(rules).metric[&scenario] {
            MetricKind::CompletedSamples => {
                let mut kinds = vec![
                    MetricKind::InferredCompletedTokens,
                    MetricKind::CompletedTokens,
                    MetricKind::CompletedSamples,
                ];
                // A log that was cut off may have lost the completed samples, which come next.
                kinds.extend(self.query_latency().map(|_| MetricKind::ScheduledSamples));
                kinds
            }
            MetricKind::Samples if rules.has_tokens => {
                vec![MetricKind::InferredTokens, MetricKind::Tokens, MetricKind::Samples]
            }
            MetricKind::EarlyStoppingEstimate if !self.estimates_first_tokens() => {
                vec![MetricKind::EarlyStoppingEstimate, MetricKind::Percentile]
            }
            MetricKind::EarlyStoppingEstimate => vec![MetricKind::Percentile],
            kind => vec![kind],
        };
        let figure = |kind| Some((kind, self.value(&key(kind, scenario, percentile))?.as_f64()?));
        match kinds.into_iter().find_map(figure)? {
            // LoadGen has 0 if there were too few queries.
            (MetricKind::EarlyStoppingEstimate, 0.0) => None,
            (kind, value) => {
                Some(MetricPart { name: kind.title(percentile), value, unit: kind.unit().to_owned() })
            }
        }
    }

    /// Returns a figure of this kind; `None` if the log does not have it, or too few queries for an estimate.
    #[must_use]
    pub fn figure(&self, kind: MetricKind) -> Option<f64> {
        let scenario = self.known_scenario()?;
        let usual = if scenario == Scenario::SingleStream { 0.9 } else { 0.99 };
        let target = self.value("effective_target_latency_percentile").and_then(Value::as_f64);
        let value = self.value(&key(kind, scenario, target.unwrap_or(usual)))?.as_f64()?;
        Some(value).filter(|value| kind != MetricKind::EarlyStoppingEstimate || *value != 0.0)
    }

    /// Returns the round that the log names, or else the default; `None` if it is not known here.
    fn rules(&self) -> Option<Rules> {
        match self.value("effective_rules") {
            Some(name) => name.as_str()?.parse().ok(),
            None => Some(Rules::default()),
        }
    }
}

/// Returns the key of a figure. The percentile is a fraction.
fn key(kind: MetricKind, scenario: Scenario, percentile: f64) -> String {
    let key = match kind {
        MetricKind::Percentile => {
            return LatencyKeys::of(Some(scenario)).percentile(&format!("{:.2}", percentile * 100.0));
        }
        MetricKind::EarlyStoppingEstimate if scenario == Scenario::SingleStream => {
            "early_stopping_latency_ss"
        }
        MetricKind::EarlyStoppingEstimate => "early_stopping_latency_ms",
        MetricKind::Streams => "result_samples_per_query",
        MetricKind::ScheduledSamples => "result_scheduled_samples_per_sec",
        MetricKind::CompletedSamples => "result_completed_samples_per_sec",
        MetricKind::Samples => "result_samples_per_second",
        MetricKind::CompletedTokens => "result_completed_tokens_per_second",
        MetricKind::Tokens => "result_tokens_per_second",
        MetricKind::InferredCompletedTokens => "result_inferred_completed_tokens_per_second",
        MetricKind::InferredTokens => "result_inferred_tokens_per_second",
    };
    key.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detail::tests::read;

    /// The metric of a log with these entries.
    fn metric(values: &[(&str, &str)]) -> Option<MetricPart> {
        read(values).unwrap().metric()
    }

    #[test]
    fn a_latency_has_the_name_of_the_percentile_that_was_asked_for() {
        let named = |scenario: &str, percentile: f64, key: &str| {
            metric(&[
                ("effective_scenario", &format!("\"{scenario}\"")),
                ("effective_target_latency_percentile", &percentile.to_string()),
                (key, "700"),
            ])
            .map(|metric| metric.name)
        };
        for (scenario, percentile, key, name) in [
            ("SingleStream", 0.9, "early_stopping_latency_ss", "early-stopping estimate of the 90th"),
            ("SingleStream", 0.97, "early_stopping_latency_ss", "early-stopping estimate of the 97th"),
            ("MultiStream", 0.999, "early_stopping_latency_ms", "early-stopping estimate of the 99.9th"),
            ("SingleStream", 0.95, "result_95.00_percentile_latency_ns", "95th"),
            ("MultiStream", 0.99, "result_99.00_percentile_per_query_latency_ns", "99th"),
        ] {
            let expected = Some(format!("{name} percentile of the query latency"));
            assert_eq!(named(scenario, percentile, key), expected);
        }
        // The figure of another tail is not shown in its place.
        assert_eq!(named("MultiStream", 0.95, "result_99.00_percentile_per_query_latency_ns"), None);
        // Nor is the figure of samples.
        assert_eq!(named("MultiStream", 0.99, "result_99.00_percentile_latency_ns"), None);
    }

    #[test]
    fn an_estimate_of_first_tokens_is_no_latency_of_the_query() {
        let of = |scenario: &str, first_token: &str| {
            let metric = metric(&[
                ("effective_scenario", &format!("\"{scenario}\"")),
                ("effective_target_latency_percentile", "0.9"),
                ("early_stopping_latency_ss", "700"),
                ("early_stopping_latency_ms", "900"),
                ("result_90.00_percentile_latency_ns", "10200"),
                (first_token, "650"),
            ]);
            metric.map(|metric| (metric.name, metric.value))
        };
        let percentile = "90th percentile of the query latency".to_owned();
        let estimate = format!("early-stopping estimate of the {percentile}");
        let mean = "result_first_token_mean_latency_ns";
        assert_eq!(of("SingleStream", mean), Some((percentile, 10_200.0)));
        assert_eq!(of("SingleStream", "other"), Some((estimate.clone(), 700.0)));
        // MultiStream judges its queries in token runs, too.
        assert_eq!(of("MultiStream", mean), Some((estimate, 900.0)));
    }

    #[test]
    fn tokens_go_before_samples() {
        for (scenario, tokens, samples) in [
            ("\"Server\"", "result_completed_tokens_per_second", "result_completed_samples_per_sec"),
            ("\"Offline\"", "result_tokens_per_second", "result_samples_per_second"),
        ] {
            let of = |values: &[(&str, &str)]| metric(values).map(|it| (it.value, it.unit));
            let scenario = ("effective_scenario", scenario);
            assert_eq!(of(&[scenario, (samples, "7.5")]), Some((7.5, "samples/s".to_owned())));
            let both = [scenario, (samples, "7.5"), (tokens, "3428.04")];
            assert_eq!(of(&both), Some((3428.04, "tokens/s".to_owned())));
        }
    }

    #[test]
    fn the_metric_is_that_of_the_round_that_the_log_names() {
        let of = |rules: &str, scenario: &str| {
            let mut values = vec![
                ("effective_scenario", scenario),
                ("effective_target_latency_percentile", "0.9"),
                ("result_scheduled_samples_per_sec", "311.398"),
                ("result_completed_samples_per_sec", "311.256"),
                ("result_samples_per_second", "40"),
                ("result_inferred_tokens_per_second", "80"),
                ("result_samples_per_query", "8"),
                ("early_stopping_latency_ss", "11"),
                ("early_stopping_latency_ms", "12"),
                ("result_90.00_percentile_latency_ns", "9"),
                ("result_90.00_percentile_per_query_latency_ns", "10"),
            ];
            if !rules.is_empty() {
                values.push(("effective_rules", rules));
            }
            metric(&values).map(|metric| (metric.value, metric.unit))
        };
        let named = |value: f64, unit: &str| Some((value, unit.to_owned()));
        for rules in ["\"v0.5\"", "\"v0.7\""] {
            assert_eq!(of(rules, "\"SingleStream\""), named(9.0, "ns"), "{rules}");
            assert_eq!(of(rules, "\"MultiStream\""), named(8.0, "streams"), "{rules}");
            assert_eq!(of(rules, "\"Server\""), named(311.398, "samples/s"), "{rules}");
            assert_eq!(of(rules, "\"Offline\""), named(40.0, "samples/s"), "{rules}");
        }
        // Logs of LoadGen name no round.
        for rules in ["", "\"v6.1\""] {
            assert_eq!(of(rules, "\"SingleStream\""), named(11.0, "ns"), "{rules}");
            assert_eq!(of(rules, "\"MultiStream\""), named(12.0, "ns"), "{rules}");
            assert_eq!(of(rules, "\"Server\""), named(311.256, "samples/s"), "{rules}");
            assert_eq!(of(rules, "\"Offline\""), named(80.0, "tokens/s"), "{rules}");
        }
        assert_eq!(of("\"v9.9\"", "\"Server\""), None);
    }

    #[test]
    fn the_rate_of_scheduled_samples_is_the_metric_of_a_log_without_the_other() {
        let names = ["min", "mean", "max", "50.00_percentile", "90.00_percentile", "95.00_percentile"];
        let names = names.into_iter().chain(["97.00_percentile", "99.00_percentile", "99.90_percentile"]);
        let latencies: Vec<_> = names.map(|name| format!("result_{name}_latency_ns")).collect();
        let mut values = vec![
            ("effective_scenario", "\"Server\""),
            ("generated_samples_per_query", "1"),
            ("result_query_count", "600"),
            ("result_scheduled_samples_per_sec", "2000.6"),
        ];
        // It was cut off.
        assert_eq!(metric(&values), None);
        values.extend(latencies.iter().map(|key| (key.as_str(), "5")));
        let expected = ("rate of scheduled samples".to_owned(), 2000.6);
        assert_eq!(metric(&values).map(|metric| (metric.name, metric.value)), Some(expected));
    }
}
