//! Messages between the host, which needs samples, and the program that prepares them: one line of JSON each.

use std::path::PathBuf;

use proctor_datasets::RowAggregation;
use proctor_preprocess::Preprocessing;
use serde::{Deserialize, Serialize};

use crate::recipe::{Input, Recipe};

/// Samples that the host wants prepared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// Name of the data set.
    pub dataset: String,
    /// The folder that it lies in.
    pub folder: PathBuf,
    /// Name of the pipeline, or its steps.
    pub preprocessing: Preprocessing,
    /// Grouping of rows into samples, for a data set of clicks.
    pub rows: RowAggregation,
    /// The tensors of a sample.
    pub inputs: Vec<Input>,
    /// The folder of caches.
    pub caches: PathBuf,
    /// Samples that must be prepared; existing ones are skipped. Empty: only list the data set.
    pub samples: Vec<u64>,
}

/// The answer to an [`Order`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delivery {
    /// Everything that decides the samples, and so their folder.
    pub recipe: Recipe,
    /// The folder with the samples.
    pub folder: PathBuf,
    /// Number of samples of the data set.
    pub sample_count: u64,
    /// Number of samples that the data set lists but does not have.
    pub missing_count: u64,
    /// Messages for the user of these samples.
    #[serde(default)]
    pub notes: Vec<String>,
}
