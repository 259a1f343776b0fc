//! The form of a definition file.

use std::collections::BTreeMap;

use proctor_vocabulary::Generation;
use serde::Deserialize;

/// A definition in the form of the file. The fields are explained at [`Benchmark`](super::Benchmark).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Definition {
    pub(super) schema_version: u64,
    pub(super) id: String,
    pub(super) task: String,
    pub(super) description: String,
    pub(super) dataset: String,
    pub(super) preprocessing: String,
    pub(super) image: Option<Image>,
    pub(super) suite: Option<String>,
    pub(super) untimed_steps: Option<Vec<String>>,
    pub(super) model: Model,
    pub(super) inputs: Vec<Tensor>,
    pub(super) outputs: Vec<Tensor>,
    pub(super) quality: Quality,
    pub(super) qsl: Qsl,
    pub(super) scenarios: BTreeMap<String, BTreeMap<String, toml::Value>>,
    #[serde(default)]
    pub(super) refused: BTreeMap<String, String>,
}

/// The table of steps of the definition's own, which are explained at
/// [`ImageSteps`](proctor_preprocess::ImageSteps).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Image {
    pub(super) resize: String,
    pub(super) short_side: Option<i64>,
    pub(super) channels: Option<String>,
    pub(super) scale: Option<f64>,
    pub(super) mean: Option<[f64; 3]>,
    pub(super) deviation: Option<[f64; 3]>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Model {
    pub(super) id: String,
    #[serde(default)]
    pub(super) files: BTreeMap<String, ModelFile>,
    #[serde(default)]
    pub(super) precisions: BTreeMap<String, ModelPrecision>,
    pub(super) generation: Option<Generation>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelPrecision {
    pub(super) files: BTreeMap<String, ModelFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelFile {
    pub(super) path: Option<String>,
    pub(super) sha256: Option<String>,
    pub(super) generated: Option<String>,
    pub(super) supplied: Option<String>,
    pub(super) dataset_file: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tensor {
    pub(super) name: String,
    pub(super) element_type: String,
    pub(super) shape: Vec<i64>,
    #[serde(default)]
    pub(super) varies: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Quality {
    pub(super) metric: String,
    pub(super) reference: f64,
    pub(super) target_ratio: f64,
    pub(super) answers: Option<String>,
    #[serde(default)]
    pub(super) tolerance: BTreeMap<String, f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Qsl {
    pub(super) total_sample_count: i64,
    pub(super) performance_sample_count: i64,
}
