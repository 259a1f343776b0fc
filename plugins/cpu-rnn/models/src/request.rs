//! A model to be loaded, and the reasons why it cannot be.

use std::path::{Path, PathBuf};

use proctor_rnn_layer::{GruReset, Precision};
use proctor_text::VocabularyError;
use proctor_vocabulary::TensorSpec;

use crate::model::Scheduler;
use crate::onnx::error::OnnxError;
use crate::safetensors::error::WeightsError;

/// The model to be loaded, and how it will be used.
#[derive(Clone, Copy)]
pub struct LoadRequest<'a> {
    /// Id of the model, such as `digits-lstm`. The networks are found by it; for all others the file says everything.
    pub model: &'a str,
    /// The file of weights, if there is one.
    pub safetensors: Option<&'a Path>,
    /// The ONNX file, if there is one.
    pub onnx: Option<&'a Path>,
    /// The file of tokens by number, if there is one: a text with a token in each line.
    pub vocabulary: Option<&'a Path>,
    /// Input tensors of one sample.
    pub inputs: &'a [TensorSpec],
    /// Output tensors of one sample.
    pub outputs: &'a [TensorSpec],
    /// Largest batch; at least 1.
    pub batch_size_max: usize,
    /// Number format of the weights.
    pub precision: Precision,
    /// Convention of a GRU in a file that does not say it.
    pub reset: GruReset,
    /// Scheduler that chooses how layers run.
    pub scheduler: &'a dyn Scheduler,
}

/// Reason why a model cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum LoadError {
    #[error("model \"{model}\" comes without a {formats} file")]
    NoFile { model: String, formats: &'static str },
    #[error("the model {has}, but the benchmark {wants}")]
    Tensors { has: String, wants: String },
    /// The safetensors file cannot be used.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    #[error("cannot read {}: {}", .0.display(), .1)]
    Read(PathBuf, std::io::Error),
    /// The vocabulary cannot be used.
    #[error("{}: {}", .0.display(), .1)]
    Vocabulary(PathBuf, VocabularyError),
    /// The ONNX file cannot be used.
    #[error(transparent)]
    Onnx(#[from] OnnxError),
}
