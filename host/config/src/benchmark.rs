//! Benchmark definitions: the model, its data, its scoring, and its constraints.
//!
//! A definition is one TOML file. The built-in ones lie in the folder `benchmarks`; adding one is adding a file there.
//! Any other one is given by its path. A [`BenchmarkFamily`] writes definitions for names of a form. [`Benchmark`] is a
//! definition that has been checked.

mod definition;
mod family;
mod image;
pub(crate) mod library;
mod validate;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use proctor_loadgen::{EffectiveSettings, LoadGenError, TestSettings};
use proctor_preprocess::Preprocessing;
use proctor_vocabulary::{Generation, TensorSpec};

pub use family::{BenchmarkFamily, benchmark_families};
pub use library::benchmarks;

use crate::{
    error::ConfigErrors,
    form,
    layers::Layer,
    origin::Origin,
    suite::{choice::RoundScenario, round::UntimedStep},
    value::Value,
};

/// Version of the form of a definition file.
pub const BENCHMARK_SCHEMA_VERSION: u64 = 1;

/// A checked benchmark definition.
#[derive(Debug, Clone, PartialEq)]
pub struct Benchmark {
    /// Name, unique among the built-in ones.
    pub id: String,
    /// The kind of problem, such as `image classification`.
    pub task: String,
    /// A sentence or two for people.
    pub description: String,
    /// Model of the benchmark.
    pub model: Model,
    /// Name of the data set.
    pub dataset: String,
    /// The pipeline that makes tensors of raw samples: its name, or its steps.
    pub preprocessing: Preprocessing,
    /// Id of the suite benchmark that this definition matches, if any. If set, bounds and quality target come
    /// from the round of the run, provided that the round has the benchmark.
    pub suite: Option<String>,
    /// Steps from the sample as published to the tensors of the model that are done before the clock starts.
    pub untimed_steps: Vec<UntimedStep>,
    /// Tensors of one sample that go into the model, without a batch dimension.
    pub inputs: Vec<TensorSpec>,
    /// Tensors that the model returns for one sample. The response data are these, one after another.
    pub outputs: Vec<TensorSpec>,
    /// True if the last of them may have fewer elements than its shape, such as the tokens of an answer.
    pub last_output_varies: bool,
    /// True if inputs of a sample may be smaller than their shapes, such as a volume of a patient.
    pub inputs_vary: bool,
    /// Required quality of the answers.
    pub quality: Quality,
    /// The query sample library.
    pub qsl: QslCounts,
    /// The scenarios that it may be run in, each with the settings that it asks for.
    pub scenarios: BTreeMap<RoundScenario, BTreeMap<String, Value>>,
    /// Reasons why it may not be run in other scenarios, if there are any.
    pub refused: BTreeMap<RoundScenario, String>,
    /// The file of the definition; for a built-in one just its name.
    pub file: PathBuf,
    /// SHA-256 of the text of the definition, 64 hexadecimal digits in lower case.
    pub sha256: String,
}

/// The model of a benchmark.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Model {
    /// Name by which plugins declare it, and by which `mlperf.conf` and `user.conf` may set values for it.
    pub id: String,
    /// Files by format: `safetensors` and `onnx` are different forms of the same weights, `vocabulary` goes with them.
    pub files: BTreeMap<String, ModelFile>,
    /// Files by precision that replace the file of the same format when the model is computed in that precision.
    pub precisions: BTreeMap<String, BTreeMap<String, ModelFile>>,
    /// The way to tokens, for a model in two files that gives one after the other. The plugin gets it as a file of the
    /// format [`Generation::FORMAT`].
    pub generation: Option<Generation>,
}

impl Model {
    /// Returns the files for a precision, by format: its own files, and the general ones of the other formats.
    #[must_use]
    pub fn files_for(&self, precision: &str) -> BTreeMap<&str, &ModelFile> {
        let own = self.precisions.get(precision).into_iter().flatten();
        self.files.iter().chain(own).map(|(format, file)| (format.as_str(), file)).collect()
    }

    /// Returns the format of each file and its precision; `None` for files that serve any precision.
    pub fn formats(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        let own = self.precisions.iter().flat_map(|(precision, files)| {
            files.keys().map(move |format| (format.as_str(), Some(precision.as_str())))
        });
        self.files.keys().map(|format| (format.as_str(), None)).chain(own)
    }
}

/// One file of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelFile {
    /// A published file.
    Published {
        /// Path below the data root.
        path: PathBuf,
        /// SHA-256 of its bytes, 64 hexadecimal digits in lower case.
        sha256: String,
    },
    /// A file that is made here, the same everywhere, when it is first needed.
    Generated {
        /// Name of the recipe.
        recipe: String,
    },
    /// A file that the user gives, as it may not be passed on.
    Supplied {
        /// Sentence about the file and how to get it.
        about: String,
        /// Name of the recipe of random weights of the same shapes, if there is one. They replace a file that the user
        /// does not give, so that everything but the answers can be tried; such a run is INVALID.
        stand_in: Option<String>,
    },
    /// A file of the data set.
    OfDataset {
        /// Path below the data set's folder.
        path: PathBuf,
    },
}

/// Required quality of the answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Quality {
    /// Name of the accuracy metric.
    pub metric: String,
    /// Accuracy of the reference model in f32, in the metric's unit.
    pub reference: f64,
    /// The share of it that a run has to reach.
    pub target_ratio: f64,
    /// Source of the right answers.
    pub answers: AnswerKind,
    /// Largest difference of a value from the right one, by precision; for metrics that compare values.
    pub tolerance: BTreeMap<String, f64>,
}

/// Source of the right answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerKind {
    /// The labels of the data set.
    Labels,
    /// The outputs of another implementation for the first samples.
    Shipped,
    /// Computed from the weights, in f64, after the run.
    Computed,
}

impl Quality {
    /// Returns the minimum metric value that passes.
    #[must_use]
    pub fn target(&self) -> f64 {
        self.reference * self.target_ratio
    }
}

/// The sizes of a query sample library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QslCounts {
    /// Number of samples in the whole library.
    pub total_sample_count: u64,
    /// Number of samples that are loaded for a performance run.
    pub performance_sample_count: u64,
}

impl QslCounts {
    /// Returns the sizes over a data set with this many samples. Of more, the first are used.
    #[must_use]
    pub fn within(self, sample_count: u64) -> Self {
        Self {
            total_sample_count: self.total_sample_count.min(sample_count),
            performance_sample_count: self.performance_sample_count.min(sample_count),
        }
    }

    /// Returns the settings that apply to a test over a library of these sizes.
    ///
    /// # Errors
    /// If the settings make no test.
    pub fn effective_settings(self, test: &TestSettings) -> Result<EffectiveSettings, LoadGenError> {
        let (effective, _) =
            EffectiveSettings::new(test, self.performance_sample_count, self.total_sample_count)?;
        Ok(effective)
    }
}

impl Benchmark {
    /// Reads and checks a definition. `file` is named in errors and origins.
    ///
    /// # Errors
    /// Returns everything that is wrong with it.
    pub fn parse(text: &str, file: &Path) -> Result<Self, ConfigErrors> {
        form::parse(text, file).and_then(|raw| validate::validate(raw, text, file)).map_err(ConfigErrors)
    }

    /// Returns the benchmark of this name, or of the definition at this path. A name with a `/` or with `.toml` at its
    /// end is a path.
    ///
    /// # Errors
    /// If no definition has this name, with the nearest match; or every mistake in the definition.
    pub fn find(name: &str) -> Result<Self, ConfigErrors> {
        library::find(name, &Origin::Flag { flag: "--benchmark".to_owned() }).map_err(ConfigErrors)
    }

    /// Returns the settings for a scenario, as a layer.
    pub(crate) fn layer(&self, scenario: RoundScenario) -> Layer {
        let origin = Origin::Benchmark { name: self.id.clone(), file: self.file.clone() };
        let settings = self.scenarios.get(&scenario).into_iter().flatten();
        Layer::new(origin, settings.map(|(key, value)| (key.as_str(), value.clone())))
    }
}
