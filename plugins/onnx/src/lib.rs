//! The ONNX Runtime plugin: any ONNX file, on the execution providers of the runtime.
//!
//! # Where to read
//! - `plugin`, `model`, `instance`: the three traits of a plugin; `options`: its options.
//! - `runtime_library`: ONNX Runtime, which is not part of the plugin: found by option, by environment, next to the
//!   plugin or in the folder of `cargo xtask setup`; checked, and loaded once.
//! - `session`, `provider`: sessions of the runtime and the providers that compute in them, also those out of a library
//!   (`provider/library`).
//! - `way`: how samples go through a model, derived from the tensors of both: together, row by row, or in windows.
//! - `binding`, `tensor`, `buffer`: one batch, from the host's memory through the runtime into the host's memory;
//!   `volumes`: one volume after the other, in windows.
//! - `answer`: outputs derived from the model's: classes, records of boxes, vectors of sentences, and outputs that vary
//!   in size.
//! - `generation`: models in two files that answer with tokens, one after the other.
//!
//! `proctor-onnx-file` handles the contents of a file and how a benchmark's tensors match its graph.
//!
//! # Choices
//! - **No unnecessary copy.** A batch of one runs on the host's memory, input and output; larger batches are gathered
//!   once and scattered once. The metric `input_bytes_copied` counts copied input bytes.
//! - **The C functions, not the session of `ort`,** run a batch: that session must be borrowed exclusively, so
//!   instances could not share one, and it allocates in each call.
//! - **One runtime per process.** A second library, or another version of the same, is refused: two would share names
//!   of files, threads and providers, and no figure could say which one computed.
//! - **The file decides the precision.** A run that requests another precision is refused. Tensors of the benchmark are
//!   converted to the model's types and back if the values allow it.
//!
//! # Limits
//! The batch is the first dimension of all tensors, or there is none. Samples with different shapes are only supported
//! as rows in that dimension, or as volumes labelled in windows. Outputs have the shapes of the benchmark unless its
//! last one varies: that one has any size, the same for all samples of a batch. The runtime refuses outputs with other
//! shapes than the file states when they first run, during the warm-up.

mod answer;
mod binding;
mod buffer;
mod error;
mod generation;
mod instance;
mod model;
mod options;
mod plugin;
mod provider;
mod runtime_library;
mod session;
mod tensor;
mod volumes;
mod way;

pub use instance::OnnxInstance;
pub use model::OnnxModel;
pub use plugin::Onnx;
