//! Reads the files of trained networks, as PyTorch and TensorFlow write them, and converts them to ONNX.
//!
//! [`efficientnet_lite0`] and [`ssdlite_mobilenet_v2`] convert the networks of two benchmarks. [`convert_graph`]
//! converts any [`Graph`] of TensorFlow whose operators it knows. Equal files give equal bytes on every machine, so
//! that a result can be checked by its SHA-256.
//!
//! # Choices
//! - No code of a file is run. A checkpoint of PyTorch is a pickle, which may call any function of Python:
//!   [`Checkpoint`] follows the few instructions that a table of tensors consists of, and refuses everything else by
//!   its name.
//! - A frozen graph (`.pb`) and a graph model of TensorFlow.js (`model.json` and its shards) become the same [`Graph`].
//! - The size of a batch stays free. Shapes that a graph computes while it runs are computed here, as numbers or
//!   multiples of the batch; so are branches that depend on a constant.
//! - Convolutions have ONNX's order of axes. Factors and terms of channels that follow, such as a batch norm, become
//!   part of their weights.
//!
//! # Example
//! ```
//! use proctor_model_files::Checkpoint;
//!
//! // A call of `pickle.dumps(os.system)` writes this.
//! let error = Checkpoint::parse(b"\x80\x02cposix\nsystem\nq\x00.").unwrap_err();
//! assert!(error.to_string().contains("posix.system"));
//! ```
//!
//! # Limits
//! Weights are f32, or become f32. Of TensorFlow's operators those are known that the converted networks need.

#![forbid(unsafe_code)]

mod convert;
mod convolution;
mod efficientnet;
mod error;
mod ssdlite;
mod tensorflow;
mod torch;

pub use convert::{
    convert_graph,
    port::{GraphInput, GraphOutput, Order},
};
pub use efficientnet::efficientnet_lite0;
pub use error::ConvertError;
pub use ssdlite::ssdlite_mobilenet_v2;
pub use tensorflow::{
    constant::{Constant, Values},
    error::GraphError,
    graph::Graph,
    node::{Attribute, Node},
};
pub use torch::{Checkpoint, error::TorchError};
