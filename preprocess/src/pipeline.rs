//! The trait of preprocessing pipelines, and their registry.

use proctor_datasets::RawSample;
use proctor_vocabulary::{
    TensorSpec,
    registry::{self, Named},
};

use crate::error::PreprocessError;

/// Turns raw samples of one data set into the tensors that one model takes.
pub trait Pipeline: Send + Sync {
    /// Returns the tensors that it makes of each sample, in the order of the model's inputs; where they vary, the
    /// largest ones.
    fn outputs(&self) -> &[TensorSpec];

    /// Returns the shapes of the tensors of this sample, each within its shape in [`Pipeline::outputs`], and the same
    /// unless they vary. [any thread, untimed]
    ///
    /// # Errors
    /// [`PreprocessError::Sample`] if the sample is not of the kind that the pipeline reads.
    fn shapes(&self, sample: &RawSample<'_>) -> Result<Vec<Vec<usize>>, PreprocessError> {
        let _ = sample;
        Ok(self.outputs().iter().map(|output| output.shape.clone()).collect())
    }

    /// Writes the tensors of one sample: row-major, contiguous, native byte order. [any thread, untimed]
    ///
    /// `tensors` has one slice for each of [`Pipeline::outputs`], exactly as long as a tensor of the sample's shape.
    /// Every byte is written.
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
    /// Describes in a line of which samples it makes which tensors, for lists.
    pub about: &'static str,
    /// Version of its output: it changes whenever the same sample becomes other bytes, so that no outdated samples are
    /// used.
    pub version: u32,
    /// Function that builds the pipeline for a model that takes these inputs.
    pub build: BuildPipeline,
}

inventory::collect!(PipelineEntry);

/// A pipeline as lists have it, whether or not the program has its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PipelineName {
    /// The name in benchmark definitions.
    pub name: &'static str,
    /// Describes in a line of which samples it makes which tensors.
    pub about: &'static str,
}

impl PipelineName {
    /// Returns the entry of the pipeline, with its code.
    #[must_use]
    pub const fn entry(self, version: u32, build: BuildPipeline) -> PipelineEntry {
        PipelineEntry { name: self.name, about: self.about, version, build }
    }
}

impl Named for PipelineEntry {
    const KIND: &'static str = "preprocessing";

    fn name(&self) -> &'static str {
        self.name
    }
}

/// Returns all registered pipelines, by name.
#[must_use]
pub fn pipeline_entries() -> Vec<&'static PipelineEntry> {
    registry::sorted(inventory::iter::<PipelineEntry>())
}

/// Builds the pipeline of this name for a model that takes `inputs`.
///
/// # Errors
/// [`PreprocessError::Unknown`] with a suggestion, or [`PreprocessError::Outputs`].
pub fn build_pipeline(name: &str, inputs: &[TensorSpec]) -> Result<Box<dyn Pipeline>, PreprocessError> {
    (registry::find(inventory::iter::<PipelineEntry>(), name)?.build)(inputs)
}

/// Returns the version of the pipeline of this name.
///
/// # Errors
/// [`PreprocessError::Unknown`] with a suggestion.
pub fn pipeline_version(name: &str) -> Result<u32, PreprocessError> {
    Ok(registry::find(inventory::iter::<PipelineEntry>(), name)?.version)
}

/// Returns the tensors in words, for errors.
#[must_use]
pub fn describe(tensors: &[TensorSpec]) -> String {
    let tensors: Vec<_> = tensors.iter().map(TensorSpec::to_string).collect();
    if tensors.is_empty() { "nothing".to_owned() } else { tensors.join(", ") }
}
