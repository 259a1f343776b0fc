//! Everything that determines prepared samples.

use std::path::{Path, PathBuf};

use proctor_datasets::{RowAggregation, sha256_hex};
use proctor_preprocess::Preprocessing;
use proctor_vocabulary::{ElementType, InputForm, Layout, Quantization, TensorSpec};
use serde::{Deserialize, Serialize};

use crate::FOLDER;

/// The data set that samples are prepared from, and how: recipes that are equal make the same bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recipe {
    /// Name of the data set.
    pub dataset: String,
    /// Sum that differs when the data set does.
    pub contents: String,
    /// Name of the pipeline, or its steps.
    pub preprocessing: Preprocessing,
    /// Version of the code of the pipeline.
    pub version: u32,
    /// Grouping of rows into samples, for a data set of clicks.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rows: RowAggregation,
    /// The tensors of a sample.
    pub inputs: Vec<Input>,
}

/// Returns whether it has the default, which recipes of other data sets omit.
fn is_default(rows: &RowAggregation) -> bool {
    *rows == RowAggregation::default()
}

/// An input of a model, in the form that a plugin wants it in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    name: String,
    /// Type in the benchmark.
    element_type: String,
    shape: Vec<usize>,
    /// Type that the plugin wants.
    form_element_type: String,
    channels_last: bool,
    scale: f32,
    zero_point: i32,
}

impl Input {
    /// Returns the input of a benchmark in a form.
    #[must_use]
    pub fn new(input: &TensorSpec, form: &InputForm) -> Self {
        Self {
            name: input.name.clone(),
            element_type: input.element_type.name().to_owned(),
            shape: input.shape.clone(),
            form_element_type: form.element_type.name().to_owned(),
            channels_last: form.layout == Layout::ChannelsLast,
            scale: form.quantization.scale,
            zero_point: form.quantization.zero_point,
        }
    }

    /// Returns the input in the benchmark's form, and the form; `None` if a type has no such name.
    #[must_use]
    pub fn parts(&self) -> Option<(TensorSpec, InputForm)> {
        let input = TensorSpec {
            name: self.name.clone(),
            element_type: ElementType::from_name(&self.element_type)?,
            shape: self.shape.clone(),
        };
        let form = InputForm {
            element_type: ElementType::from_name(&self.form_element_type)?,
            layout: if self.channels_last { Layout::ChannelsLast } else { Layout::AsGiven },
            quantization: Quantization { scale: self.scale, zero_point: self.zero_point },
        };
        Some((input, form))
    }
}

impl Recipe {
    /// Returns the folder of its samples below one of caches.
    #[must_use]
    pub fn folder(&self, caches: &Path) -> PathBuf {
        let sum = sha256_hex(self.text().as_bytes());
        // Readable, and long enough for two not to meet.
        caches.join(FOLDER).join(format!("{}-{}", self.dataset, &sum[..24]))
    }

    /// Returns the recipe as it is written down.
    pub(crate) fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("all keys are text")
    }
}
