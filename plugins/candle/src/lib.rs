//! The candle plugin: models by name, from safetensors and GGUF files.
//!
//! [`Candle`] is the plugin as the host sees it, exported by the crate's only macro call. It opens a file as
//! [`Weights`], lets the model of that name in [`models`] make a [`Network`] of them, and runs it in instances, each on
//! its own threads.
//!
//! - **Sizes are read from the file**: a model takes its widths and depths from the shapes of the tensors, so
//!   `resnet50-tiny` needs only its file.
//! - **Errors are found before the timed part**: every tensor must be present with its shape, and the benchmark's
//!   tensors must match the model's, or loading fails with the file and the tensor.
//! - **One copy of each input.** The engine's tensors own their memory, so the host's buffers are copied once; the
//!   metric `input_bytes_copied` says how much.
//!
//! # Limits
//! Large element-wise operations run on the engine's own threads, whose number it takes from the environment; see the
//! README.

mod batch;
mod device;
mod error;
mod instance;
mod model;
pub mod models;
mod network;
mod ops;
mod options;
mod plugin;
mod precision;
mod threads;
mod weights;

pub use error::LoadError;
pub use instance::LoadedInstance;
pub use model::LoadedModel;
pub use network::{Known, Load, LoadRequest, Network, NetworkCall, Output};
pub use plugin::Candle;
pub use precision::Precision;
pub use weights::{Format, Weights};
