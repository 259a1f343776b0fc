//! Additional parts of token runs and of searches for the peak.

use serde::{Deserialize, Serialize};

use super::{latency::LatencyPart, or_default};

/// Tokens of a run.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct TokenPart {
    /// Number of output tokens of all samples that count; `None` if they are only inferred.
    pub token_count: Option<u64>,
    /// Samples that were answered without a first token, which Offline does not ask for, and are in no figure here;
    /// `None` if tokens are only inferred.
    pub no_first_token_sample_count: Option<u64>,
    /// Number of other samples with fewer than two tokens, which only have a time to the first; `None` likewise.
    pub too_few_tokens_sample_count: Option<u64>,
    /// Number of samples with more tokens than their data can hold, which are in no figure here; `None` likewise.
    pub too_many_tokens_sample_count: Option<u64>,
    /// Over the time until the last sample was completed; in Offline, the slowest. `None` without tokens.
    pub tokens_per_second: Option<f64>,
    /// Number of samples per second times `token_latency_scaling_factor`, if tokens are inferred from samples.
    pub inferred_tokens_per_second: Option<f64>,
    /// Time from the scheduled instant to the first token; not in Offline, and `None` if no sample counts.
    pub time_to_first_token: Option<LatencyPart>,
    /// Mean time between the tokens after the first, of each sample; not in Offline, and `None` if no sample counts.
    pub time_per_output_token: Option<LatencyPart>,
    /// Time between two reports of tokens, of all samples; `None` if the plugin reported none, or if samples do not
    /// count.
    pub time_between_tokens: Option<LatencyPart>,
    /// True if the bound of the first token was met.
    pub ttft_bound_met: Option<bool>,
    /// True if the bound of the further tokens was met.
    pub tpot_bound_met: Option<bool>,
}

/// A search for the peak.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct SearchPart {
    /// The peak, in queries per second.
    pub peak_qps: Option<f64>,
    /// Way in which it ended, in words.
    #[serde(default, deserialize_with = "or_default")]
    pub end: String,
    /// Position of the reported step.
    pub reported_step: Option<usize>,
    /// Steps, in order.
    #[serde(default)]
    pub steps: Vec<SearchStep>,
}

/// A step of a search.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct SearchStep {
    /// Rate, in queries per second.
    pub rate_qps: f64,
    /// True if it was met; `None` of a run that did not end.
    pub met: Option<bool>,
}
