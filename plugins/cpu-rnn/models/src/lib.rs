//! Models around recurrent layers, from ONNX and safetensors files.
//!
//! [`load`] makes a [`Model`] of a benchmark's files; a model makes [`Instance`]s, which execute [`Batch`]es.
//! [`mod@safetensors`] reads weights with PyTorch's names.

mod batch;
mod dense;
mod load;
mod model;
pub mod nets;
pub mod safetensors;

pub use batch::{OwnedBatch, Places};
pub use dense::Dense;
pub use load::{LoadError, LoadRequest, load};
pub use model::{Batch, Instance, Model, Plans, RunError, Scheduler, SingleThread};
