//! `proof.json`: a benchmark proven on real data with reference weights, in one record.

use serde::{Deserialize, Serialize};

use crate::{result_file::Program, schema::benchmark::SamplesPart};

/// A record of what was measured, with which files, and on which data.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct Proof {
    /// Version of the form of the file.
    pub schema_version: u32,
    /// The program that wrote it.
    pub program: Program,
    /// Instant at which the run was finished.
    pub finished_at_utc: Option<String>,
    /// True if the data are whole, the run is VALID, and its accuracy reaches the target.
    pub passed: bool,
    /// Name of the round of rules.
    pub rules: String,
    /// The benchmark.
    pub benchmark: ProvenBenchmark,
    /// The files of the model.
    pub model_files: Vec<ProvenFile>,
    /// The data set, and what became of looking at its files.
    pub dataset: VerificationPart,
    /// Samples that the run has loaded.
    pub samples: Option<SamplesPart>,
    /// The accuracy.
    pub accuracy: ProvenAccuracy,
    /// The plugin.
    pub plugin: ProvenPlugin,
}

/// A benchmark whose definition is known by its checksum.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct ProvenBenchmark {
    /// Id of the benchmark.
    pub id: String,
    /// SHA-256 of the text of its definition.
    pub definition_sha256: String,
    /// Name of the model.
    pub model: String,
}

/// A file of a model.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct ProvenFile {
    /// Format, as the definition names it.
    pub format: String,
    /// Name without folders.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
}

/// The outcome of looking at every file of a data set.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct VerificationPart {
    /// Name of the data set.
    pub name: String,
    /// Number of files that were looked at: those in its folder, or on its list.
    pub file_count: u64,
    /// Number of faults.
    pub defect_count: u64,
    /// The first of them, a sentence each.
    pub defects: Vec<String>,
    /// Checksums that its files were held against, with their source; `None` if there are none.
    pub checksums: Option<String>,
    /// True if the samples are made from a seed, and are no real data.
    pub generated: bool,
}

impl VerificationPart {
    /// Maximum number of faults that are listed one by one.
    pub const LISTED: usize = 20;

    /// Returns whether nothing is missing or damaged.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.defect_count == 0
    }
}

/// An accuracy beside the one that was expected.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct ProvenAccuracy {
    /// Name of the metric.
    pub metric: String,
    /// Number of samples that were judged.
    pub judged_count: Option<u64>,
    /// Value that was measured.
    pub measured: f64,
    /// Lower and upper end of its 95 % interval, where it is a share of samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_95: Option<[f64; 2]>,
    /// Value of the reference.
    pub expected: f64,
    /// Minimum value that passes.
    pub target: f64,
    /// True if it does.
    pub passed: bool,
}

/// A plugin.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct ProvenPlugin {
    /// Name of the plugin.
    pub name: String,
    /// Version of the plugin.
    pub version: String,
    /// SHA-256 of its file; `None` for one that is linked in.
    pub sha256: Option<String>,
    /// Precision that it computed in.
    pub precision: String,
}
