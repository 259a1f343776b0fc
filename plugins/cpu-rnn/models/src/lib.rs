//! Models around recurrent layers, from ONNX and safetensors files.
//!
//! [`load()`] makes a [`Model`] from a benchmark's files; a model makes [`Instance`]s, which execute [`Batch`]es.
//! [`mod@safetensors`] reads weights with PyTorch's names; [`onnx`] turns files into a [`graph`], which runs operations
//! around recurrent layers; [`nets`] are the networks of the benchmarks.

mod batch;
mod dense;
pub mod graph;
mod load;
mod model;
pub mod nets;
pub mod onnx;
mod request;
pub mod safetensors;

pub use batch::TensorPointers;
pub use dense::Dense;
pub use load::load;
pub use model::{Batch, Instance, LayerCalls, Model, Plans, RunError, Scheduler, SingleThread};
pub use request::{LoadError, LoadRequest};
