//! ONNX files: from protobuf to a [`Graph`].
//!
//! Everything that is not supported is refused by name, all of it at once, before anything is computed. Operator sets 7
//! to 28 of ONNX's own domain are read; tensors hold f32, i32 or i64.

pub(crate) mod error;
pub(crate) mod fit;
pub(crate) mod model;
mod node;
pub(crate) mod read;
pub(crate) mod tensor;

pub use error::OnnxError;
pub use read::{ReadOptions, from_bytes, input_names, load};
pub use tensor::tensor_from_bytes;

#[cfg(doc)]
use crate::graph::build::Graph;
