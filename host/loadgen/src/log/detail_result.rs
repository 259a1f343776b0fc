//! The part of the detail log about the result.

use super::detail::DetailLog;
use crate::{
    measure::statistics::{LatencyStatistics, REPORTED_QUANTILES},
    verdict::{
        findings::finding::Finding,
        results::{
            PerformanceResult, ScenarioFigures,
            recommendation::Recommendation,
            tokens::{TokenLatencies, TokenResult},
        },
    },
};

impl DetailLog {
    /// Appends the result of the performance phase, the rules that it breaks, and the number of errors so far.
    pub fn result(&mut self, time_ns: u64, result: &PerformanceResult, broken: &[&Finding]) {
        self.verdict(time_ns, result, broken);
        self.entry(time_ns, "result_query_count", result.issued_query_count);
        self.figures(time_ns, result);
        self.latencies(time_ns, &result.sample_latencies, "latency_ns");
        if let Some(tokens) = &result.tokens {
            self.tokens(time_ns, tokens);
        }
        match result.figures {
            ScenarioFigures::Server { inferred_tokens_per_second: Some(rate), .. } => {
                self.entry(time_ns, "result_inferred_completed_tokens_per_second", rate);
            }
            ScenarioFigures::Offline { inferred_tokens_per_second: Some(rate), .. } => {
                self.entry(time_ns, "result_inferred_tokens_per_second", rate);
            }
            _ => {}
        }
        self.result_round(time_ns, result);
        self.entry(time_ns, "num_errors", self.error_count());
    }

    fn verdict(&mut self, time_ns: u64, result: &PerformanceResult, broken: &[&Finding]) {
        self.entry(time_ns, "result_validity", validity(broken));
        if matches!(result.figures, ScenarioFigures::Server { .. }) || result.intervals.is_some() {
            self.entry(time_ns, "result_perf_constraints_met", result.perf_constraints_met);
        }
        self.entry(time_ns, "result_min_duration_met", result.min_duration_met);
        self.entry(time_ns, "result_min_queries_met", result.min_queries_met);
        let stops_early = result.rules.stops_early;
        if stops_early {
            self.entry(time_ns, "early_stopping_met", result.early_stopping.met);
        }
        if !broken.is_empty() {
            self.entry(time_ns, "result_invalid_reason", invalid_reason(result, broken));
        }
        if result.tokens.is_some() {
            let [ttft, tpot] = result.token_early_stopping_texts().map(one_line);
            self.entry(time_ns, "early_stopping_ttft_result", ttft);
            self.entry(time_ns, "early_stopping_tpot_result", tpot);
        } else if stops_early {
            self.entry(time_ns, "early_stopping_result", one_line(&result.early_stopping.text));
        }
    }

    fn figures(&mut self, time_ns: u64, result: &PerformanceResult) {
        match &result.figures {
            ScenarioFigures::SingleStream { qps_with_loadgen_overhead, qps_without_loadgen_overhead } => {
                self.entry(time_ns, "result_qps_with_loadgen_overhead", *qps_with_loadgen_overhead);
                self.entry(time_ns, "result_qps_without_loadgen_overhead", *qps_without_loadgen_overhead);
                let early = &result.early_stopping;
                if result.rules.stops_early {
                    self.entry(time_ns, "early_stopping_latency_ss", early.estimate_ns.unwrap_or(0));
                    self.entry(time_ns, "early_stopping_latency_ms", early.estimate_ns_p99.unwrap_or(0));
                }
            }
            ScenarioFigures::MultiStream { query_latencies } => {
                self.latencies(time_ns, query_latencies, "query_latency_ns");
                let estimate_ns = result.early_stopping.estimate_ns.unwrap_or(0);
                if result.rules.stops_early {
                    self.entry(time_ns, "early_stopping_latency_ms", estimate_ns);
                }
            }
            ScenarioFigures::Server {
                scheduled_samples_per_second,
                completed_samples_per_second,
                over_latency_count,
                ..
            } => {
                self.entry(time_ns, "result_overlatency_query_count", *over_latency_count);
                self.entry(time_ns, "result_scheduled_samples_per_sec", *scheduled_samples_per_second);
                self.entry(time_ns, "result_completed_samples_per_sec", *completed_samples_per_second);
            }
            ScenarioFigures::Offline { samples_per_second, .. } => {
                self.entry(time_ns, "result_samples_per_second", *samples_per_second);
            }
        }
    }

    fn tokens(&mut self, time_ns: u64, tokens: &TokenResult) {
        let Some(latencies) = &tokens.latencies else {
            return self.entry(time_ns, "result_tokens_per_second", tokens.completed_tokens_per_second);
        };
        let TokenLatencies { first_token, per_output_token, .. } = latencies;
        self.entry(time_ns, "result_first_token_min_latency_ns", first_token.min_ns);
        self.entry(time_ns, "result_first_token_max_latency_ns", first_token.max_ns);
        self.entry(time_ns, "result_first_token_mean_latency_ns", first_token.mean_ns);
        self.percentiles(time_ns, first_token, "first_token_", "latency_ns");
        let rate = latencies.tokens_per_second_with_loadgen_overhead;
        self.entry(time_ns, "result_token_throughput_with_loadgen_overhead", rate);
        // LoadGen's readers expect it per nanosecond.
        let rate = latencies.tokens_per_ns_without_loadgen_overhead;
        self.entry(time_ns, "result_token_throughput", rate);
        self.percentiles(time_ns, per_output_token, "time_per_output_token_", "ns");
        self.entry(time_ns, "result_time_to_output_token_min", per_output_token.min_ns);
        self.entry(time_ns, "result_time_to_output_token_max", per_output_token.max_ns);
        self.entry(time_ns, "result_time_to_output_token_mean", per_output_token.mean_ns);
        self.entry(time_ns, "result_completed_tokens_per_second", tokens.completed_tokens_per_second);
    }

    /// Appends minimum, maximum, mean and percentiles. `what` is `latency_ns`, or `query_latency_ns`, whose percentiles
    /// LoadGen calls `per_query_latency_ns`.
    fn latencies(&mut self, time_ns: u64, latencies: &LatencyStatistics, what: &str) {
        self.entry(time_ns, format!("result_min_{what}"), latencies.min_ns);
        self.entry(time_ns, format!("result_max_{what}"), latencies.max_ns);
        self.entry(time_ns, format!("result_mean_{what}"), latencies.mean_ns);
        let per = if what == "query_latency_ns" { "per_" } else { "" };
        self.percentiles(time_ns, latencies, "", &format!("{per}{what}"));
    }

    fn percentiles(&mut self, time_ns: u64, latencies: &LatencyStatistics, of: &str, what: &str) {
        for (quantile, latency_ns) in REPORTED_QUANTILES.iter().zip(latencies.percentiles_ns) {
            let key = format!("result_{of}{:.2}_percentile_{what}", quantile * 100.0);
            self.entry(time_ns, key, latency_ns);
        }
    }
}

/// Returns LoadGen's recommendations on one line, each but the last possible one with a space behind it, empty if only
/// early stopping failed; then objections for which LoadGen has no rule.
fn invalid_reason(result: &PerformanceResult, broken: &[&Finding]) -> String {
    let mut reason = String::new();
    for recommendation in &result.recommendations {
        if *recommendation == Recommendation::ReduceTargetQpsForTpot && !reason.is_empty() {
            // LoadGen makes one text of both bounds, with the list's bullet inside.
            reason.push_str(" * ");
        }
        let space = if *recommendation == Recommendation::ExitedEarly { "" } else { " " };
        reason.push_str(&format!("{recommendation}{space}"));
    }
    let objections: Vec<_> = objections(result, broken).collect();
    if !reason.is_empty() && !objections.is_empty() && !reason.ends_with(' ') {
        reason.push(' ');
    }
    reason + &objections.join("; ")
}

/// Returns the verdict's word.
pub(super) fn validity(broken: &[&Finding]) -> &'static str {
    if broken.is_empty() { "VALID" } else { "INVALID" }
}

/// Returns the objections to the result beyond its figures. The figures already show that the first rate of a search
/// misses its bound, and LoadGen's summary says no more.
pub(super) fn objections(result: &PerformanceResult, broken: &[&Finding]) -> impl Iterator<Item = String> {
    let is_said = |it: &Finding| it.is_base_not_met() && !result.perf_constraints_met;
    let objections = broken.iter().filter(move |it| !it.rule.is_about_figures() && !is_said(it));
    objections.map(|finding| finding.what())
}

fn one_line(text: &str) -> String {
    text.replace('\n', " ")
}
