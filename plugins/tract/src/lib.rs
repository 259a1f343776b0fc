//! The tract plugin: ONNX files in Rust alone, where there is no ONNX Runtime.
//!
//! [`Tract`] is the plugin as the host sees it, exported by the crate's one macro call. It runs any ONNX file that
//! tract can, with nothing installed. ONNX Runtime is 1.3 to 6 times as fast; where its library is at hand, use the
//! plugin `onnx`.
//!
//! - **A file is checked before tract sees it**: `proctor-onnx-file` finds what is damaged, missing or not what the
//!   benchmark wants, and says so; operators that tract does not have are all named, with their nodes.
//! - **Everything is compiled when a model is loaded**: one plan for each of a few batch sizes, out of which every
//!   batch is put together (see `plans`). Nothing is compiled in the timed part.
//! - **One model, many instances**: plans and weights are shared; an instance has its own state, buffers and threads.
//! - **Inputs are copied once.** A tensor of tract owns its memory, so samples cannot be lent to it where they lie. The
//!   bytes are counted and reported as the metric `input_bytes_copied`.
//!
//! # Example
//! ```
//! use proctor_plugin_api::Plugin;
//! use tract_sut::Tract;
//!
//! let manifest = Tract::manifest();
//! assert!(manifest.models.iter().all(|row| row.model == "*" && row.format == "onnx"));
//! ```

mod error;
mod executor;
mod instance;
mod model;
mod plans;
mod plugin;
mod slot;

pub use instance::TractInstance;
pub use model::TractModel;
pub use plugin::Tract;
