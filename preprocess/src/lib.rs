//! Untimed preprocessing: from a raw sample to the tensors that a model takes.
//!
//! [`build_pipeline`] makes the [`Pipeline`] registered under a name for a model with given inputs. The pipeline then
//! writes the tensors of one [`RawSample`](proctor_datasets::RawSample) one after another into the memory of the query
//! sample library.
//!
//! # Choices
//! - A pipeline is built for the inputs that the benchmark declares and refuses those that it cannot make. A mismatch
//!   is therefore found before anything is loaded, and the sizes of all tensors are known up front.
//! - It writes in place and keeps nothing, so one pipeline serves any number of threads.
//! - A definition of a benchmark names a registered pipeline or gives the steps of its own, on pictures:
//!   [`Preprocessing`] is either.
//! - A plugin may choose another layout for an input: MLPerf's rules leave transpositions and numerical formats open
//!   (inference rules v5.0, section 7.1). [`with_forms`] adds the conversion after the pipeline.
//! - All of it happens before the first query. Anything a task counts as timed belongs to the plugin.
//!
//! # Example
//! ```
//! use proctor_datasets::{DataRoot, open_dataset};
//! use proctor_preprocess::build_pipeline;
//! use proctor_vocabulary::{ElementType, SampleIndex, TensorSpec};
//!
//! let input = TensorSpec { name: "image".into(), element_type: ElementType::F32, shape: vec![8, 8] };
//! let pipeline = build_pipeline("digits", &[input])?;
//! let digits = open_dataset("digits", &DataRoot::search())?;
//!
//! let mut tensor = vec![0; pipeline.outputs()[0].size_bytes()];
//! pipeline.run(&digits.read(SampleIndex(0))?, &mut [&mut tensor])?;
//! let (pixels, _) = tensor.as_chunks::<4>();
//! assert!(pixels.iter().all(|pixel| (0.0..=1.0).contains(&f32::from_ne_bytes(*pixel))));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//! The outputs of a sample have as many dimensions as the benchmark's inputs; only extents may differ between samples.

#![forbid(unsafe_code)]

mod copy;
mod criteo;
pub mod decoded;
mod digits;
mod error;
mod fashion_mnist;
mod form;
mod grey;
mod image;
mod integers;
mod pipeline;
mod preprocessing;
mod prompt;
mod squad_bert;
mod wmt_gnmt;

pub use decoded::pipeline_names;
pub use error::{PreprocessError, StepsFault};
pub use form::{FormError, in_form, with_forms};
pub use image::{BuildSteps, Channels, ImageInput, ImageSteps, ImageStepsEntry, ResizeMethod};
pub use pipeline::{
    BuildPipeline, Pipeline, PipelineEntry, PipelineName, build_pipeline, describe, pipeline_entries,
    pipeline_version,
};
pub use preprocessing::Preprocessing;
