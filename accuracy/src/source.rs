//! Where the right answers of a benchmark come from.

use std::path::PathBuf;

use proctor_datasets::DataRoot;

use crate::{
    answers::Answers,
    computed,
    error::AccuracyError,
    labels::{LabelsRequest, PublishedSamples, read_labels},
    response::ResponseForm,
    shipped,
};

/// Source of the right answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerSource {
    /// The labels of a data set.
    Labels {
        /// Name of the data set.
        dataset: String,
        /// Samples, if it is a published data set.
        published: Option<PublishedSamples>,
    },
    /// The outputs of another implementation for the first samples of a generated model; they come with this crate.
    Shipped {
        /// Name of the model.
        model: String,
        /// The outputs that make a response, in their order.
        outputs: Vec<String>,
        /// Number of samples of the library.
        sample_count: usize,
    },
    /// The outputs for the first samples, computed from the weights in f64 by a registered
    /// [`ComputedAnswersEntry`](crate::ComputedAnswersEntry).
    Computed {
        /// Name of the model.
        model: String,
        /// Weights, a safetensors file.
        weights: PathBuf,
        /// Number of samples of the library.
        sample_count: usize,
    },
}

impl AnswerSource {
    /// Reads or computes the answers, and returns them with the number of samples of the library.
    pub(crate) fn read(
        &self,
        form: ResponseForm,
        root: &DataRoot,
    ) -> Result<(Answers, usize), AccuracyError> {
        match self {
            Self::Labels { dataset, published } => {
                let request = LabelsRequest { root, published: published.as_ref() };
                let labels = read_labels(dataset, &request)?;
                // Answers may be known of the first samples alone.
                let sample_count = published.as_ref().map_or(labels.len(), |samples| samples.names.len());
                Ok((labels, sample_count))
            }
            Self::Shipped { model, outputs, sample_count } => {
                Ok((shipped::read(model, outputs, form)?.at_most(*sample_count), *sample_count))
            }
            Self::Computed { model, weights, sample_count } => {
                Ok((Answers::Values(computed::compute(model, weights, *sample_count)?), *sample_count))
            }
        }
    }
}
