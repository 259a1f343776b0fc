//! The rules of a round that do not concern the load generator.

use std::collections::BTreeMap;

use proctor_vocabulary::Scenario;
use serde::{Deserialize, Serialize};

use super::{Difference, metric::MetricKind};

/// The rules of a round as in its file.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundRules {
    /// Name of the round, as in the setting `rules`.
    pub name: String,
    /// Document of the rules.
    pub source: String,
    /// Suites; none in the first round.
    pub suites: Vec<String>,
    /// Divisions of results.
    pub divisions: Vec<String>,
    /// Categories of systems.
    pub categories: Vec<String>,
    /// Steps of preprocessing that may be done before the clock starts.
    pub untimed_steps: Vec<UntimedStep>,
    /// Numerical formats of weights and activations; `None` if the round has no list of them.
    pub formats: Option<Vec<Format>>,
    /// Number of performance runs that make one result, by scenario; one if there is no number.
    pub runs: BTreeMap<Scenario, u64>,
    /// Length of a run; `None` if LoadGen's built-in `mlperf.conf` states it.
    pub length: Option<Length>,
    /// Seeds that the round announced.
    pub seeds: Seeds,
    /// Figure that a result of each scenario reports, by the round's result checker.
    pub metric: BTreeMap<Scenario, MetricKind>,
    /// Figures by the text of the rules, if they differ.
    pub metric_by_text: BTreeMap<Scenario, MetricKind>,
    /// Results that may be computed from the run of another scenario.
    pub inferred: Vec<Inferred>,
    /// Rules on which the round's result checker and the text differ.
    pub checker: Vec<Difference>,
}

/// Seeds that a round announced for all its results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seeds {
    /// Seed of the performance sets drawn from the library.
    pub qsl: u64,
    /// Seed of the samples of queries.
    pub sample_index: u64,
    /// Seed of the arrivals.
    pub schedule: u64,
}

impl Seeds {
    /// Returns each seed with the setting that holds it.
    #[must_use]
    pub fn settings(&self) -> [(&'static str, u64); 3] {
        let Self { qsl, sample_index, schedule } = *self;
        [("qsl_rng_seed", qsl), ("sample_index_rng_seed", sample_index), ("schedule_rng_seed", schedule)]
    }
}

/// A numerical format that a round allows.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Format {
    /// Name in the rules.
    pub name: String,
    /// Names that plugins have for it.
    pub precisions: Vec<String>,
}

/// Length of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Length {
    /// Shortest valid run, in ms.
    pub min_duration_ms: u64,
    /// Minimum number of queries of SingleStream.
    pub single_stream_queries: u64,
    /// Percentile that SingleStream reports, as a fraction.
    pub single_stream_tail: f64,
    /// Percentile for which Offline must have the samples, as a fraction.
    pub offline_tail: f64,
    /// Tail of a benchmark that resembles none of the round.
    pub other_tail: f64,
}

/// A result that may be computed from the run of another scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Inferred {
    /// Scenario of the run.
    pub from: Scenario,
    /// Scenario of the result.
    pub to: Scenario,
    /// Value by the text of the rules.
    pub rules: String,
    /// Value by the round's result checker.
    pub checker: String,
}

/// A step from a sample of the data set to the tensors of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum UntimedStep {
    /// Change to the size of the model.
    Resize,
    /// Order of axes or channels.
    Transpose,
    /// Around the sample.
    Pad,
    /// The same seed for all samples.
    Crop,
    /// Subtraction of a mean, scaling, clipping to a range.
    Normalize,
    /// Conversion to another numerical format.
    Convert,
    /// Conversion of text to the ids of tokens.
    Tokenize,
    /// Conversion of a waveform to features.
    ExtractFeatures,
    /// Into overlapping parts.
    Window,
}

proctor_vocabulary::named_values!(UntimedStep {
    Resize => "resize",
    Transpose => "transpose",
    Pad => "pad",
    Crop => "crop",
    Normalize => "normalize",
    Convert => "convert",
    Tokenize => "tokenize",
    ExtractFeatures => "extract-features",
    Window => "window",
});

impl RoundRules {
    /// Returns the number of performance runs of a scenario that make one result.
    #[must_use]
    pub fn run_count(&self, scenario: Scenario) -> u64 {
        self.runs.get(&scenario).copied().unwrap_or(1)
    }

    /// Returns whether a plugin may compute in the precision of this name.
    #[must_use]
    pub fn allows(&self, precision: &str) -> bool {
        let allows = |format: &Format| format.precisions.iter().any(|name| name == precision);
        self.formats.as_ref().is_none_or(|formats| formats.iter().any(allows))
    }
}
