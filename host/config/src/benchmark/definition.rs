//! The form of a definition file.

use std::{collections::BTreeMap, path::Path};

use figment::{Figment, error::Kind, providers::Serialized};
use proctor_vocabulary::did_you_mean;
use serde::Deserialize;
use toml::de::DeTable;

use crate::{error::ConfigError, file::syntax_error};

/// A definition as the file has it. The fields are explained at [`Benchmark`](super::Benchmark).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Definition {
    pub(super) schema_version: u64,
    pub(super) id: String,
    pub(super) task: String,
    pub(super) description: String,
    pub(super) dataset: String,
    pub(super) preprocessing: String,
    pub(super) model: Model,
    pub(super) inputs: Vec<Tensor>,
    pub(super) outputs: Vec<Tensor>,
    pub(super) quality: Quality,
    pub(super) qsl: Qsl,
    pub(super) scenarios: BTreeMap<String, BTreeMap<String, toml::Value>>,
    #[serde(default)]
    pub(super) refused: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Model {
    pub(super) id: String,
    pub(super) files: BTreeMap<String, ModelFile>,
    #[serde(default)]
    pub(super) precisions: BTreeMap<String, ModelPrecision>,
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

/// Reads a definition. An unknown key, a missing key and a value of the wrong type are errors.
pub(super) fn parse(text: &str, file: &Path) -> Result<Definition, Vec<ConfigError>> {
    // Read once for all syntax errors with their lines.
    let (_, problems) = DeTable::parse_recoverable(text);
    if !problems.is_empty() {
        let errors = problems.iter().map(|error| syntax_error(text, file, error.span(), error.message()));
        return Err(errors.collect());
    }
    let table: toml::Table = toml::from_str(text)
        .map_err(|error| vec![syntax_error(text, file, error.span(), error.message())])?;
    // figment knows the path of a key that is wrong.
    let result: Result<Definition, figment::Error> = Figment::from(Serialized::defaults(table)).extract();
    result.map_err(|errors| errors.into_iter().map(|error| explain(&error, file)).collect())
}

/// The error with the path of its key; for an unknown key with the near match.
fn explain(error: &figment::Error, file: &Path) -> ConfigError {
    let parent = error.path.join(".");
    let below = |name: &str| if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") };
    let (key, problem) = match &error.kind {
        Kind::UnknownField(name, known) => {
            // The path ends with the field itself, or with its table.
            let key = if error.path.last() == Some(name) { parent.clone() } else { below(name) };
            (key, format!("unknown key{}", did_you_mean(name, known.iter().copied())))
        }
        Kind::MissingField(name) => (below(name), "missing key".to_owned()),
        kind => (parent, kind.to_string()),
    };
    ConfigError::Definition { file: file.to_owned(), key, problem }
}
