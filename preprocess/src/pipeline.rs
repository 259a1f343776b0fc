//! What a preprocessing pipeline is, and the list of those that there are.

use proctor_datasets::RawSample;
use proctor_vocabulary::{TensorSpec, did_you_mean};

use crate::PreprocessError;

/// Turns raw samples of one data set into the tensors that one model takes.
pub trait Pipeline: Send + Sync {
    /// The name that it is registered by.
    fn name(&self) -> &str;

    /// The tensors that it makes of each sample, in the order of the model's inputs.
    fn outputs(&self) -> &[TensorSpec];

    /// Writes the tensors of one sample: row-major, contiguous, native byte order. [any thread, untimed]
    ///
    /// `tensors` has one slice for each of [`Pipeline::outputs`], exactly as long as that tensor. Every byte is written.
    ///
    /// # Errors
    /// [`PreprocessError::Sample`] if the sample is not of the kind that the pipeline reads.
    ///
    /// # Panics
    /// If number or length of the slices is not as it must be: a mistake of the caller.
    fn run(&self, sample: &RawSample<'_>, tensors: &mut [&mut [u8]]) -> Result<(), PreprocessError>;
}

/// Builds a pipeline for a model that takes these inputs, or says why it cannot.
pub type BuildPipeline = fn(&[TensorSpec]) -> Result<Box<dyn Pipeline>, PreprocessError>;

/// A pipeline that can be built, registered with `inventory::submit!`.
#[derive(Debug, Clone, Copy)]
pub struct PipelineEntry {
    /// The name in benchmark definitions.
    pub name: &'static str,
    /// Builds the pipeline for a model that takes these inputs.
    pub build: BuildPipeline,
}

inventory::collect!(PipelineEntry);

/// All registered pipelines, by name.
#[must_use]
pub fn pipeline_entries() -> Vec<&'static PipelineEntry> {
    let mut entries: Vec<_> = inventory::iter::<PipelineEntry>().collect();
    entries.sort_by_key(|entry| entry.name);
    entries
}

/// Builds the pipeline of this name for a model that takes `inputs`.
///
/// # Errors
/// [`PreprocessError::Unknown`] with a suggestion, or [`PreprocessError::Outputs`].
pub fn build_pipeline(name: &str, inputs: &[TensorSpec]) -> Result<Box<dyn Pipeline>, PreprocessError> {
    let entries = pipeline_entries();
    let entry = entries.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let names: Vec<_> = entries.iter().map(|entry| entry.name).collect();
        PreprocessError::Unknown {
            name: name.to_owned(),
            hint: did_you_mean(name, names.iter().copied()),
            known: names.join(", "),
        }
    })?;
    (entry.build)(inputs)
}

/// The tensors in words.
pub(crate) fn describe(tensors: &[TensorSpec]) -> String {
    let tensors: Vec<_> = tensors.iter().map(TensorSpec::to_string).collect();
    if tensors.is_empty() { "nothing".to_owned() } else { tensors.join(", ") }
}
