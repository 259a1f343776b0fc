//! The benchmarks of the official suites and the rules of the rounds, as data.
//!
//! The folder `suite` has a TOML file for each benchmark: its description, and for each round that has it the
//! data set, the quality, the constraints and the scenarios of each suite. `suite/rounds` has one for each
//! round: the length of a run, the reported figure, the seeds, numerical formats and untimed steps. They are
//! read and checked as definitions are, and built in.
//!
//! A definition says what can be run here, and names its benchmark of the suites by the key `suite`. Then the quality
//! target and the bounds are those of the round that the run follows, if the round has the benchmark. A run may be for
//! one suite of the round ([`Suite`]), and in a scenario that only rounds know ([`RoundScenario`]).
//!
//! `definition` and `round` are the types of the files, which `library` has and `validate` checks; `metric` is the
//! figure that a round reports, `quality` those that it judges the answers by, `interactive` which rounds have that
//! scenario. `choice` is the scenario and suite of a run, `link` what a definition takes from its row, `agreed` the
//! bounds of a benchmark that is in no round, `deviation` where a run departs from its round, `shown` a row in words.

pub(crate) mod agreed;
pub(crate) mod choice;
mod definition;
pub(crate) mod deviation;
pub(crate) mod interactive;
pub(crate) mod library;
pub(crate) mod link;
pub(crate) mod metric;
mod quality;
pub(crate) mod round;
mod shown;
mod validate;

use std::{collections::BTreeMap, path::PathBuf};

use proctor_loadgen::Rules;
use proctor_vocabulary::Scenario;
use serde::Deserialize;

pub use choice::{RoundScenario, Suite};
pub use deviation::Deviation;
pub use library::{round_rules, suite_benchmarks};
pub use metric::MetricKind;
pub use quality::{Figure, FigureBound, Unit, percent};
pub use round::{Format, Inferred, Length, RoundRules, Seeds, UntimedStep};
pub use shown::RowCells;

/// Version of the form of these files.
pub const SUITE_SCHEMA_VERSION: u64 = 1;

/// A benchmark of the official suites.
#[derive(Debug, Clone, PartialEq)]
pub struct SuiteBenchmark {
    /// Name by which definitions link to it.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Area, such as `vision`.
    pub area: String,
    /// Task, such as `image classification`.
    pub task: String,
    /// `heavy` or `light`, if a task has one of each.
    pub weight: Option<String>,
    /// Definition of one sample.
    pub sample: String,
    /// Name of the model in LoadGen's `mlperf.conf`.
    pub loadgen_model: String,
    /// Number of parameters of the model, in millions, if the paper of MLPerf Inference has it (table 1).
    pub parameters_millions: Option<f64>,
    /// Number of operations for one sample, in thousands of millions, if the same table has it.
    pub gops_per_sample: Option<f64>,
    /// Way in which it is exercised here.
    pub exercised: String,
    /// Data and weights that only the user can provide.
    pub needs: String,
    /// Reason why it cannot be run yet; `None` if a definition may link to it.
    pub stub: Option<String>,
    /// Row in each round that has it, by the name of the round.
    pub rounds: BTreeMap<String, RoundRow>,
    /// File that defines it.
    pub file: PathBuf,
}

impl SuiteBenchmark {
    /// Returns the row under these rules; `None` if the round does not have the benchmark.
    #[must_use]
    pub fn row(&self, rules: Rules) -> Option<&RoundRow> {
        self.rounds.get(rules.name)
    }
}

/// A benchmark in one round.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundRow {
    /// Document that states its values.
    pub source: String,
    /// Name of the data set.
    pub dataset: String,
    /// Size of a sample as the model takes it, if it has one.
    pub input: Option<String>,
    /// Number of samples in the whole library.
    pub total_sample_count: u64,
    /// Number of samples that are loaded for a performance run.
    pub performance_sample_count: u64,
    /// Shares of the reference that a result may aim at, in the order of the rules; none where figures have bounds
    /// only.
    pub target_ratios: Vec<f64>,
    /// All figures by which the answers are judged.
    pub quality: Vec<Figure>,
    /// Share of the queries of Server, Interactive and MultiStream that has to meet the bound.
    pub tail: Option<f64>,
    /// Percentile that SingleStream reports, as a fraction, if it is not the round's.
    pub single_stream_tail: Option<f64>,
    /// MultiStream: time from one query to the next, in ms, in rounds with intervals.
    pub interval_ms: Option<u64>,
    /// Bound of Server.
    pub server: Option<ServerBound>,
    /// Bound of Interactive, if the row has that scenario.
    pub interactive: Option<ServerBound>,
    /// Minimum number of samples of Offline, if it differs from the round's.
    pub offline_samples: Option<u64>,
    /// Figures that a result reports in place of the round's, by scenario. Interactive uses Server's.
    pub metric: BTreeMap<Scenario, MetricKind>,
    /// Parameters of inference that a result may not change.
    pub inference: Inference,
    /// Elements of one input sample, for each element type; empty if negligible. `None` if there is no formula.
    pub ingress: Option<Vec<u64>>,
    /// Output elements of one sample.
    pub egress: Option<Vec<u64>>,
    /// Scenarios in each suite.
    pub suites: BTreeMap<String, SuiteScenarios>,
    /// Scenarios in a round without suites.
    pub scenarios: Vec<RoundScenario>,
    /// Keys whose values the text of the rules leaves open, and the round's result checker has.
    pub open_in_rules: Vec<String>,
    /// Values on which the round's result checker and the text of the rules differ.
    pub checker: Vec<Difference>,
}

/// Latency bound of Server or Interactive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerBound {
    /// Bound on whole answers.
    Latency {
        /// Latency bound in ms.
        ms: u64,
    },
    /// Bounds on tokens.
    Tokens {
        /// Bound of the time to the first token, in ms.
        ttft_ms: u64,
        /// Bound of the time for each further token, in ms.
        tpot_ms: u64,
    },
}

/// Scenarios of a benchmark in one suite.
#[derive(Debug, Clone, PartialEq)]
pub struct SuiteScenarios {
    /// Scenarios that a result has to have.
    pub required: Vec<RoundScenario>,
    /// Further scenarios that it may have.
    pub optional: Vec<RoundScenario>,
    /// Shares of the reference that a result may aim at in this suite.
    pub target_ratios: Vec<f64>,
}

/// Parameters of inference that the reference fixes.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inference {
    /// Width of the beam search; `None` for greedy search.
    pub num_beams: Option<u64>,
    /// Minimum number of tokens of an answer.
    pub min_new_tokens: Option<u64>,
    /// Maximum number of tokens of an answer.
    pub max_new_tokens: Option<u64>,
    /// True if the search ends as soon as there are as many answers as beams.
    pub early_stopping: Option<bool>,
    /// Number of steps from noise to an image.
    pub denoising_steps: Option<u64>,
    /// Weight of the caption.
    pub guidance_scale: Option<f64>,
}

impl Inference {
    /// Returns the parameters that there are, by name, with their values as text.
    #[must_use]
    pub fn named(&self) -> Vec<(&'static str, String)> {
        let Self {
            num_beams,
            min_new_tokens,
            max_new_tokens,
            early_stopping,
            denoising_steps,
            guidance_scale,
        } = self;
        let all = [
            ("num_beams", num_beams.map(|it| it.to_string())),
            ("min_new_tokens", min_new_tokens.map(|it| it.to_string())),
            ("max_new_tokens", max_new_tokens.map(|it| it.to_string())),
            ("early_stopping", early_stopping.map(|it| it.to_string())),
            ("denoising_steps", denoising_steps.map(|it| it.to_string())),
            ("guidance_scale", guidance_scale.map(|it| it.to_string())),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

/// A value on which the official result checker and the text of the rules differ.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// Subject of the difference.
    pub about: String,
    /// The value at issue, if runs are also judged by the checker's.
    pub key: Option<CheckedKey>,
    /// Value of the text.
    pub rules: Stated,
    /// Value of the checker.
    pub checker: Stated,
}

/// A value of the checker that runs are judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckedKey {
    /// Samples of the whole library: by text and by checker both are right.
    TotalSampleCount,
    /// Maximum latency bound that a Server run may ask for, in ms, whose text is not known here.
    ServerTargetLatencyMs,
}

/// A number or a few words.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Stated {
    /// A number.
    Number(f64),
    /// Words.
    Text(String),
}

impl std::fmt::Display for Stated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}
