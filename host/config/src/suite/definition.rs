//! The forms of the files of the suites. The fields are explained at the checked types.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Difference, Inference, round::Format};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Benchmark {
    pub(super) schema_version: u64,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) area: String,
    pub(super) task: String,
    pub(super) weight: Option<String>,
    pub(super) sample: String,
    pub(super) loadgen_model: String,
    pub(super) parameters_millions: Option<f64>,
    pub(super) gops_per_sample: Option<f64>,
    pub(super) exercised: String,
    pub(super) needs: String,
    pub(super) stub: Option<String>,
    pub(super) rounds: BTreeMap<String, Row>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    pub(super) source: String,
    pub(super) dataset: String,
    pub(super) input: Option<String>,
    pub(super) total_sample_count: i64,
    pub(super) performance_sample_count: i64,
    #[serde(default)]
    pub(super) target_ratios: Vec<f64>,
    pub(super) quality: Vec<Figure>,
    pub(super) tail: Option<f64>,
    pub(super) single_stream_tail: Option<f64>,
    pub(super) interval_ms: Option<i64>,
    pub(super) server_ms: Option<i64>,
    pub(super) ttft_ms: Option<i64>,
    pub(super) tpot_ms: Option<i64>,
    pub(super) interactive: Option<Bound>,
    pub(super) offline_samples: Option<i64>,
    #[serde(default)]
    pub(super) metric: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) inference: Inference,
    pub(super) ingress: Option<Vec<i64>>,
    pub(super) egress: Option<Vec<i64>>,
    #[serde(default)]
    pub(super) suites: BTreeMap<String, Scenarios>,
    #[serde(default)]
    pub(super) scenarios: Vec<String>,
    #[serde(default)]
    pub(super) open_in_rules: Vec<String>,
    #[serde(default)]
    pub(super) checker: Vec<Difference>,
}

/// Bound, with the keys of the row for Server.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Bound {
    pub(super) server_ms: Option<i64>,
    pub(super) ttft_ms: Option<i64>,
    pub(super) tpot_ms: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Figure {
    pub(super) figure: String,
    pub(super) unit: Option<String>,
    pub(super) reference: Option<f64>,
    pub(super) at_least_ratio: Option<f64>,
    pub(super) at_most_ratio: Option<f64>,
    pub(super) at_least: Option<f64>,
    pub(super) at_most: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenarios {
    pub(super) required: Vec<String>,
    #[serde(default)]
    pub(super) optional: Vec<String>,
    pub(super) target_ratios: Option<Vec<f64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Round {
    pub(super) schema_version: u64,
    pub(super) name: String,
    pub(super) source: String,
    pub(super) suites: Vec<String>,
    pub(super) divisions: Vec<String>,
    pub(super) categories: Vec<String>,
    pub(super) untimed_steps: Vec<String>,
    pub(super) formats: Option<Vec<Format>>,
    pub(super) runs: BTreeMap<String, i64>,
    pub(super) length: Option<Length>,
    pub(super) seeds: Seeds,
    pub(super) metric: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) metric_by_text: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) inferred: Vec<Inferred>,
    #[serde(default)]
    pub(super) checker: Vec<Difference>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Length {
    pub(super) min_duration_ms: i64,
    pub(super) single_stream_queries: i64,
    pub(super) single_stream_tail: f64,
    pub(super) offline_tail: f64,
    pub(super) other_tail: f64,
}

/// Texts, since TOML's integers have no 64 bits without a sign.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Seeds {
    pub(super) qsl: String,
    pub(super) sample_index: String,
    pub(super) schedule: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Inferred {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) rules: String,
    pub(super) checker: String,
}
