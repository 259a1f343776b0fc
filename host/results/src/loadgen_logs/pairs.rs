//! Values that both logs of a test have: by name in the summary log, by key in the detail log.

use proctor_vocabulary::{Scenario, TestMode};
use serde_json::Value;

use crate::detail::{DetailLog, latency_keys::LatencyKeys};

/// Names in the summary log and keys in the detail log, of whole numbers, words and answers, in any scenario.
const WHOLE: [(&str, &str); 32] = [
    ("Scenario", "effective_scenario"),
    ("Rules", "effective_rules"),
    ("Samples per query", "result_samples_per_query"),
    ("Mode", "effective_test_mode"),
    ("Result is", "result_validity"),
    ("Performance constraints satisfied", "result_perf_constraints_met"),
    ("Min duration satisfied", "result_min_duration_met"),
    ("Min queries satisfied", "result_min_queries_met"),
    ("Early stopping satisfied", "early_stopping_met"),
    ("samples_per_query", "effective_samples_per_query"),
    ("target_latency (ns)", "effective_target_latency_ns"),
    ("ttft_latency (ns)", "requested_server_ttft_latency"),
    ("tpot_latency (ns)", "requested_server_tpot_latency"),
    ("max_async_queries", "effective_max_async_queries"),
    ("min_duration (ms)", "effective_min_duration_ms"),
    ("max_duration (ms)", "effective_max_duration_ms"),
    ("min_query_count", "effective_min_query_count"),
    ("max_query_count", "effective_max_query_count"),
    ("qsl_rng_seed", "effective_qsl_rng_seed"),
    ("sample_index_rng_seed", "effective_sample_index_rng_seed"),
    ("schedule_rng_seed", "effective_schedule_rng_seed"),
    ("accuracy_log_rng_seed", "effective_accuracy_log_rng_seed"),
    ("accuracy_log_sampling_target", "effective_accuracy_log_sampling_target"),
    ("performance_issue_unique", "effective_performance_issue_unique"),
    ("performance_issue_same", "effective_performance_issue_same"),
    ("performance_issue_same_index", "effective_performance_issue_same_index"),
    ("performance_sample_count", "effective_performance_sample_count"),
    ("accuracy_sample_count", "effective_accuracy_sample_count"),
    ("Min Time per Output Token (ns)", "result_time_to_output_token_min"),
    ("Max Time per Output Token (ns)", "result_time_to_output_token_max"),
    ("Mean Time per Output Token (ns)", "result_time_to_output_token_mean"),
    ("print_timestamps", "effective_print_timestamps"),
];
/// The same for rates. The summary log has two decimals of marked ones, and six digits of the others.
const RATES: [(&str, &str, bool); 10] = [
    ("Completed samples per second", "result_completed_samples_per_sec", true),
    ("Scheduled samples per second", "result_scheduled_samples_per_sec", true),
    ("Samples per second", "result_samples_per_second", false),
    ("Completed tokens per second", "result_completed_tokens_per_second", true),
    ("Tokens per second", "result_tokens_per_second", false),
    ("Completed tokens per second (inferred)", "result_inferred_completed_tokens_per_second", true),
    ("Tokens per second (inferred)", "result_inferred_tokens_per_second", false),
    ("QPS w/ loadgen overhead", "result_qps_with_loadgen_overhead", true),
    ("QPS w/o loadgen overhead", "result_qps_without_loadgen_overhead", true),
    ("TPS w/ loadgen overhead", "result_token_throughput_with_loadgen_overhead", true),
];
/// Requested rate, which a search for the peak changes between the logs.
const TARGET_QPS: (&str, &str) = ("target_qps", "effective_target_qps");
/// Percentiles in both logs.
const PERCENTS: [&str; 6] = ["50.00", "90.00", "95.00", "97.00", "99.00", "99.90"];
/// Maximum difference of a number from its two decimals, with room for the binary fraction.
const TWO_DECIMALS: f64 = 0.005 + 1e-9;

/// A value that both logs have.
pub(crate) struct Pair {
    /// Name in the summary log.
    pub(crate) name: String,
    /// Key in the detail log.
    pub(crate) key: String,
    /// Maximum difference of the number in the summary log, beyond the digits of the detail log.
    tolerance: f64,
}

impl Pair {
    fn new(name: impl Into<String>, key: impl Into<String>) -> Self {
        Self { name: name.into(), key: key.into(), tolerance: 0.0 }
    }

    /// Returns whether both logs say the same, each with the digits that it prints.
    pub(crate) fn agrees(&self, summary: &str, detail: &Value) -> bool {
        match detail {
            Value::Bool(true) => matches!(summary, "Yes" | "1"),
            Value::Bool(false) => matches!(summary, "NO" | "0"),
            Value::String(text) => text == summary,
            Value::Number(number) => {
                // Whole numbers may have more digits than an f64, such as seeds.
                number.to_string() == summary
                    || ((number.is_f64() || self.tolerance > 0.0 || summary.contains(['e', '.']))
                        && summary.parse::<f64>().is_ok_and(|summary| {
                            let detail = number.as_f64().unwrap_or(f64::NAN);
                            (summary - detail).abs() <= self.tolerance + beyond_six_digits(detail)
                        }))
            }
            _ => true,
        }
    }
}

/// Returns the maximum difference of a number from its six digits, with room for the binary fraction.
fn beyond_six_digits(number: f64) -> f64 {
    if number == 0.0 {
        return 0.0;
    }
    let last_digit = 10_f64.powi(number.abs().log10().floor() as i32 - 5);
    0.5 * last_digit * (1.0 + 1e-9)
}

/// Returns all pairs that both logs of a test may have, by the kind of test that its detail log states.
pub(crate) fn pairs(detail: &DetailLog) -> Vec<Pair> {
    let mut pairs: Vec<_> = WHOLE.into_iter().map(|(name, key)| Pair::new(name, key)).collect();
    pairs.extend(RATES.into_iter().map(|(name, key, is_short)| Pair {
        tolerance: if is_short { TWO_DECIMALS } else { 0.0 },
        ..Pair::new(name, key)
    }));
    let text = |key: &str| detail.value(key).and_then(Value::as_str);
    if text("effective_test_mode").and_then(|mode| mode.parse::<TestMode>().ok())
        != Some(TestMode::FindPeakPerformance)
    {
        pairs.push(Pair::new(TARGET_QPS.0, TARGET_QPS.1));
    }
    let scenario = detail.known_scenario();
    // The summary is about queries.
    let keys = LatencyKeys::of(scenario);
    for (name, key) in [("Min", "min"), ("Max", "max"), ("Mean", "mean")] {
        pairs.push(Pair::new(format!("{name} latency (ns)"), keys.figure(key)));
        let first_token = format!("result_first_token_{key}_latency_ns");
        pairs.push(Pair::new(format!("{name} First Token latency (ns)"), first_token));
    }
    let first_token = |percent: &str| format!("result_first_token_{percent}_percentile_latency_ns");
    for percent in PERCENTS {
        let name = |what: &str| format!("{percent} percentile {what} (ns)");
        pairs.push(Pair::new(name("latency"), keys.percentile(percent)));
        pairs.push(Pair::new(name("first token latency"), first_token(percent)));
        let per_token = format!("result_time_per_output_token_{percent}_percentile_ns");
        pairs.push(Pair::new(name("time to output token"), per_token));
    }
    let target = detail.value("effective_target_latency_percentile").and_then(Value::as_f64);
    let target = target.map(|share| share * 100.0);
    // Others are rounded in the name, so that it may be another percentile's.
    let named = target.filter(|percent| (percent * 10.0 - (percent * 10.0).round()).abs() < 1e-6);
    if let (Some(percent), Some(scenario @ (Scenario::SingleStream | Scenario::MultiStream))) =
        (named, scenario)
    {
        let (shown, exact) = (format!("{percent:.1}"), format!("{percent:.2}"));
        pairs.push(Pair::new(format!("{shown}th percentile latency (ns)"), keys.percentile(&exact)));
        pairs.push(Pair::new(format!("{shown}th first token percentile latency (ns)"), first_token(&exact)));
        // A token run has two estimates of each name.
        if detail.value("early_stopping_ttft_result").is_none() {
            let estimate = |percent: &str| format!("* Early stopping {percent}th percentile estimate");
            let is_single = scenario == Scenario::SingleStream;
            let key = if is_single { "early_stopping_latency_ss" } else { "early_stopping_latency_ms" };
            pairs.push(Pair::new(estimate(&shown), key));
            if is_single && shown != "99.0" {
                pairs.push(Pair::new(estimate("99.0"), "early_stopping_latency_ms"));
            }
        }
    }
    pairs
}
