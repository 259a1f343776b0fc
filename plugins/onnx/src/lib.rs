//! The ONNX Runtime plugin: any ONNX file, on the execution providers of the runtime.
//!
//! # Where to read
//! - `plugin`, `model`, `instance`: the three traits of a plugin; `options` what can be set.
//! - `runtime_library`: ONNX Runtime, which is no part of the plugin: found by option, environment, beside the plugin
//!   or in the folder of `cargo xtask setup`, checked, and loaded once.
//! - `session`, `provider`: sessions of the runtime and what computes in them.
//! - `way`: how samples go through a model, found by the tensors of both: together, row by row, or in windows.
//! - `binding`, `tensor`, `buffer`: one batch, from the host's memory through the runtime into the host's memory;
//!   `volumes` one volume after the other, in windows.
//! - `answer`: outputs that are made of the model's: classes, records of boxes, and those that vary in size.
//!
//! The contents of a file, and how a benchmark's tensors are those of its graph, are `proctor-onnx-file`'s business.
//!
//! # Choices
//! - **No copy where none is needed.** A batch of one runs on the host's memory, input and output; larger ones are
//!   copied together once, and apart once. Bytes of inputs that were copied are the figure `input_bytes_copied`.
//! - **The C functions, not the session of `ort`,** are called for a batch: the session wants to be borrowed
//!   exclusively, so instances could not share one, and allocates in each call.
//! - **One runtime in a process.** A second library, or the same in another version, is refused: two of them share
//!   names of files, threads and providers, and no figure could say which one computed.
//! - **What a file is in, it computes in.** A run that asks for another precision than the file's is refused. Tensors
//!   of the benchmark are converted to the model's types and back where the values allow it.
//!
//! # Limits
//! The batch is the first dimension of all tensors, or there is none. Samples whose shapes differ are rows in that
//! dimension, or volumes that are labelled in windows, and nothing else. Outputs have the shapes of the
//! benchmark, unless its last one varies: then it is as large as it comes, the same for all samples of a batch. Outputs
//! of other shapes than the file says are refused by the runtime when they first run, which is in the warm-up.

mod answer;
mod binding;
mod buffer;
mod counters;
mod error;
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
