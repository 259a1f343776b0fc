//! The benchmark of a run, and its samples.

use serde::{Deserialize, Serialize};

use super::{nan, or_default, or_nan};

/// Benchmark of a run.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct BenchmarkPart {
    /// Id of the benchmark.
    pub id: String,
    /// Name of the task.
    #[serde(default, deserialize_with = "or_default")]
    pub task: String,
    /// Name of the model.
    pub model: String,
    /// Name of the data set.
    pub dataset: String,
    /// Name of the preprocessing.
    #[serde(default, deserialize_with = "or_default")]
    pub preprocessing: String,
    /// Benchmark of the official suites, if it is one of them.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub suite: Option<SuitePart>,
    /// Number of samples of the library.
    pub total_sample_count: u64,
    /// Number of samples of the performance set.
    pub performance_sample_count: u64,
    /// Accuracy of the reference.
    #[serde(default = "nan", deserialize_with = "or_nan")]
    pub accuracy_reference: f64,
    /// Share of the queries that must meet it.
    #[serde(default = "nan", deserialize_with = "or_nan")]
    pub accuracy_target_ratio: f64,
}

/// A benchmark of the official suites.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct SuitePart {
    /// Id of the benchmark.
    pub id: String,
    /// True if the round of the run has it. Then bounds and accuracy target come from the round.
    pub in_round: bool,
}

/// Samples that the tests of a run have loaded.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct SamplesPart {
    /// Number of samples.
    pub count: u64,
    /// SHA-256 over a checksum of the inputs of each, as the plugin had them, in the order of the library.
    pub sha256: String,
}
