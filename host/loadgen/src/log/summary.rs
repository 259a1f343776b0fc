//! `mlperf_log_summary.txt`: the verdict and the figures, for people and for submission tools.

use std::io::{self, Write};

use proctor_loadgen_settings::EffectiveSettings;

use super::{
    arrivals,
    detail_result::{objections, validity},
    round,
};
use crate::{
    format::{f2, g6},
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

const RULE: &str = "================================================";

/// The data that the summary is written from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Summary<'a> {
    /// The name that the SUT gives itself.
    pub sut_name: &'a str,
    /// The settings of the test.
    pub settings: &'a EffectiveSettings,
    /// The result of the performance phase; `None` after an accuracy run, whose summary is two lines.
    pub result: Option<&'a PerformanceResult>,
    /// Broken rules that make the result INVALID.
    pub broken: &'a [&'a Finding],
    /// Number of warnings in the detail log.
    pub warning_count: u64,
    /// Number of errors in the detail log.
    pub error_count: u64,
}

impl Summary<'_> {
    /// Writes the summary.
    ///
    /// Source: LoadGen 6.0.17, `PerformanceSummary::LogSummary`.
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        if let Some(result) = self.result {
            write!(out, "{RULE}\nMLPerf Results Summary\n{RULE}\n")?;
            self.headline(result, out)?;
            self.verdict(result, out)?;
            write!(out, "\n{RULE}\nAdditional Stats\n{RULE}\n")?;
            statistics(result, out)?;
            round::summary(result, out)?;
            write!(out, "\n{RULE}\nTest Parameters Used\n{RULE}\n")?;
            self.parameters(out)?;
        }
        match self.warning_count {
            0 => write!(out, "\nNo warnings encountered during test.\n")?,
            1 => write!(out, "\n1 warning encountered. See detailed log.\n")?,
            count => write!(out, "\n{count} warnings encountered. See detailed log.\n")?,
        }
        match self.error_count {
            0 => write!(out, "\nNo errors encountered during test.\n"),
            1 => write!(out, "\n1 ERROR encountered. See detailed log.\n"),
            count => write!(out, "\n{count} ERRORS encountered. See detailed log.\n"),
        }
    }

    fn headline(&self, result: &PerformanceResult, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "SUT name : {}", self.sut_name)?;
        writeln!(out, "Scenario : {}", self.settings.request.scenario)?;
        writeln!(out, "Mode     : {}", self.settings.request.mode)?;
        let percentile = self.settings.target_latency_percentile * 100.0;
        match &result.figures {
            ScenarioFigures::SingleStream { .. } => {
                let latency_ns = result.sample_latencies.target_ns;
                writeln!(out, "{percentile:.1}th percentile latency (ns) : {latency_ns}")?;
            }
            ScenarioFigures::MultiStream { query_latencies } => {
                let latency_ns = query_latencies.target_ns;
                writeln!(out, "{percentile:.1}th percentile latency (ns) : {latency_ns}")?;
            }
            ScenarioFigures::Server { completed_samples_per_second, .. } => {
                writeln!(out, "Completed samples per second    : {}", f2(*completed_samples_per_second))?;
            }
            ScenarioFigures::Offline { samples_per_second, .. } => {
                writeln!(out, "Samples per second: {}", g6(*samples_per_second))?;
            }
        }
        if let Some(tokens) = &result.tokens {
            self.token_headline(result, tokens, out)?;
        }
        match result.figures {
            ScenarioFigures::Server { inferred_tokens_per_second: Some(rate), .. } => {
                writeln!(out, "Completed tokens per second (inferred): {}", f2(rate))
            }
            ScenarioFigures::Offline { inferred_tokens_per_second: Some(rate), .. } => {
                writeln!(out, "Tokens per second (inferred): {}", g6(rate))
            }
            _ => Ok(()),
        }
    }

    fn token_headline(
        &self,
        result: &PerformanceResult,
        tokens: &TokenResult,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let rate = tokens.completed_tokens_per_second;
        match (&result.figures, &tokens.latencies) {
            (ScenarioFigures::Server { .. }, _) => {
                writeln!(out, "Completed tokens per second: {}", f2(rate))
            }
            (_, Some(TokenLatencies { first_token, .. })) => {
                let percentile = self.settings.target_latency_percentile * 100.0;
                let latency_ns = first_token.target_ns;
                writeln!(out, "{percentile:.1}th first token percentile latency (ns) : {latency_ns}")
            }
            (_, None) => writeln!(out, "Tokens per second: {}", g6(rate)),
        }
    }

    fn verdict(&self, result: &PerformanceResult, out: &mut impl Write) -> io::Result<()> {
        let answer = |met: bool| if met { "Yes" } else { "NO" };
        writeln!(out, "Result is : {}", validity(self.broken))?;
        if matches!(result.figures, ScenarioFigures::Server { .. }) || result.intervals.is_some() {
            writeln!(out, "  Performance constraints satisfied : {}", answer(result.perf_constraints_met))?;
        }
        writeln!(out, "  Min duration satisfied : {}", answer(result.min_duration_met))?;
        writeln!(out, "  Min queries satisfied : {}", answer(result.min_queries_met))?;
        if result.rules.stops_early {
            writeln!(out, "  Early stopping satisfied: {}", answer(result.early_stopping.met))?;
        }
        if !self.broken.is_empty() {
            writeln!(out, "Recommendations:")?;
            for recommendation in &result.recommendations {
                writeln!(out, " * {recommendation}")?;
                if *recommendation == Recommendation::ExitedEarly {
                    writeln!(out, "   See the detailed log for why this may have occurred.")?;
                }
            }
            // LoadGen has no such rule. It goes where users look for errors.
            for objection in objections(result, self.broken) {
                writeln!(out, " * {objection}")?;
            }
        }
        match (&result.figures, &result.tokens) {
            (ScenarioFigures::Offline { .. }, _) => Ok(()),
            _ if !result.rules.stops_early => Ok(()),
            (_, None) => write!(out, "Early Stopping Result:\n{}\n", result.early_stopping.text),
            (_, Some(_)) => {
                let [ttft, tpot] = result.token_early_stopping_texts();
                write!(out, "TTFT Early Stopping Result:\n{ttft}\nTPOT Early Stopping Result:\n{tpot}\n")
            }
        }
    }

    fn parameters(&self, out: &mut impl Write) -> io::Result<()> {
        let settings = self.settings;
        writeln!(out, "samples_per_query : {}", settings.samples_per_query)?;
        writeln!(out, "target_qps : {}", g6(settings.target_qps))?;
        if settings.request.use_token_latencies {
            writeln!(out, "ttft_latency (ns): {}", settings.request.server_ttft_latency)?;
            writeln!(out, "tpot_latency (ns): {}", settings.request.server_tpot_latency)?;
        } else {
            writeln!(out, "target_latency (ns): {}", settings.target_latency_ns)?;
        }
        writeln!(out, "max_async_queries : {}", settings.max_async_queries)?;
        writeln!(out, "min_duration (ms): {}", settings.request.min_duration_ms)?;
        writeln!(out, "max_duration (ms): {}", settings.request.max_duration_ms)?;
        writeln!(out, "min_query_count : {}", settings.min_query_count)?;
        writeln!(out, "max_query_count : {}", settings.request.max_query_count)?;
        writeln!(out, "qsl_rng_seed : {}", settings.request.qsl_rng_seed)?;
        writeln!(out, "sample_index_rng_seed : {}", settings.request.sample_index_rng_seed)?;
        writeln!(out, "schedule_rng_seed : {}", settings.request.schedule_rng_seed)?;
        writeln!(out, "accuracy_log_rng_seed : {}", settings.request.accuracy_log_rng_seed)?;
        writeln!(out, "accuracy_log_probability : {}", g6(settings.request.accuracy_log_probability))?;
        writeln!(out, "accuracy_log_sampling_target : {}", settings.request.accuracy_log_sampling_target)?;
        writeln!(out, "print_timestamps : {}", u8::from(settings.request.print_timestamps))?;
        writeln!(out, "performance_issue_unique : {}", u8::from(settings.request.performance_issue_unique))?;
        writeln!(out, "performance_issue_same : {}", u8::from(settings.request.performance_issue_same))?;
        writeln!(out, "performance_issue_same_index : {}", settings.request.performance_issue_same_index)?;
        writeln!(out, "performance_sample_count : {}", settings.performance_sample_count)?;
        writeln!(out, "accuracy_sample_count : {}", settings.accuracy_sample_count)?;
        if settings.request.sample_concatenate_permutation {
            // The space at the end of the first line is LoadGen's.
            writeln!(out, "WARNING: sample_concatenate_permutation was set to true. ")?;
            writeln!(out, "Generated samples per query might be different as the one in the setting.")?;
            writeln!(out, "Check the generated_samples_per_query line in the detailed log for the real")?;
            writeln!(out, "samples_per_query value")?;
        }
        arrivals::summary(&settings.request, out)
    }
}

fn statistics(result: &PerformanceResult, out: &mut impl Write) -> io::Result<()> {
    let latencies = match &result.figures {
        ScenarioFigures::SingleStream { qps_with_loadgen_overhead, qps_without_loadgen_overhead } => {
            writeln!(out, "QPS w/ loadgen overhead         : {}", f2(*qps_with_loadgen_overhead))?;
            write!(out, "QPS w/o loadgen overhead        : {}\n\n", f2(*qps_without_loadgen_overhead))?;
            &result.sample_latencies
        }
        ScenarioFigures::MultiStream { query_latencies } => {
            writeln!(out, "Per-query latency:  ")?;
            query_latencies
        }
        ScenarioFigures::Server { scheduled_samples_per_second, .. } => {
            writeln!(out, "Scheduled samples per second : {}", f2(*scheduled_samples_per_second))?;
            &result.sample_latencies
        }
        ScenarioFigures::Offline { .. } => &result.sample_latencies,
    };
    block(latencies, "latency", "latency", out)?;
    result.tokens.as_ref().map_or(Ok(()), |tokens| token_statistics(result, tokens, out))
}

fn token_statistics(
    result: &PerformanceResult,
    tokens: &TokenResult,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out)?;
    let Some(latencies) = &tokens.latencies else { return Ok(()) };
    match result.figures {
        ScenarioFigures::SingleStream { .. } => {
            let with = f2(latencies.tokens_per_second_with_loadgen_overhead);
            let without = f2(latencies.tokens_per_second_without_loadgen_overhead);
            writeln!(out, "TPS w/ loadgen overhead         : {with}")?;
            writeln!(out, "TPS w/o loadgen overhead        : {without}")?;
        }
        ScenarioFigures::Server { .. } => {
            let rate = f2(tokens.completed_tokens_per_second);
            writeln!(out, "Completed tokens per second                 : {rate}")?;
        }
        _ => {}
    }
    block(&latencies.first_token, "First Token latency", "first token latency", out)?;
    writeln!(out)?;
    block(&latencies.per_output_token, "Time per Output Token", "time to output token", out)
}

/// Writes the minimum, maximum, mean and percentiles. LoadGen pads each line by itself, so that names differ in their
/// columns.
fn block(
    latencies: &LatencyStatistics,
    name: &str,
    percentile_name: &str,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "Min {name} (ns)                : {}", latencies.min_ns)?;
    writeln!(out, "Max {name} (ns)                : {}", latencies.max_ns)?;
    writeln!(out, "Mean {name} (ns)               : {}", latencies.mean_ns)?;
    for (quantile, latency_ns) in REPORTED_QUANTILES.iter().zip(latencies.percentiles_ns) {
        writeln!(out, "{:.2} percentile {percentile_name} (ns)   : {latency_ns}", quantile * 100.0)?;
    }
    Ok(())
}
