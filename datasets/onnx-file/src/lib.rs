//! Reads, checks and writes ONNX files.
//!
//! [`OnnxFile::open`] reads a file and reports its defects before any engine sees it; [`fit`] matches a benchmark's
//! tensors to the model's, or explains why they do not match. Both keep the facts that an engine needs, and no weights.
//! [`TensorData`] and [`Attributes`] read constants and node parameters for engines of our own. [`GraphBuilder`] writes
//! files, with weights in a separate file if needed. [`proto`] is the format itself, as far as this crate reads or
//! writes it.

#![forbid(unsafe_code)]

mod attributes;
mod build;
mod classes;
mod convert;
mod elements;
mod error;
mod external;
mod file;
mod fit;
mod node;
mod parts;
pub mod proto;
mod request;
mod signature;
mod tensor;

pub use attributes::Attributes;
pub use build::{Attribute, GraphBuilder};
pub use classes::ClassOutput;
pub use convert::{Conversion, ConvertError};
pub use elements::{ValueType, data_type, value_type};
pub use error::OnnxFileError;
pub use external::ExternalData;
pub use file::{OnnxFile, OpType, Opset};
pub use fit::{Batching, Fit, FitError, Port, TooManySamples, divide, fit, fit_inputs};
pub use node::{domain, label};
pub use request::RequestError;
pub use signature::{Dim, Precision, Signature, ValueSpec};
pub use tensor::{TensorData, TensorError};
