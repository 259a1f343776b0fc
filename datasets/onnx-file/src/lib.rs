//! ONNX files, read, checked and written.
//!
//! [`OnnxFile::open`] reads a file and says what is wrong with it before any engine sees it; [`fit`] finds how a
//! benchmark's tensors are the model's, or explains why they are not. Both keep the facts that an engine needs, and no
//! weights. [`TensorData`] and [`Attributes`] read constants and parameters of nodes for those that run a model by
//! themselves. [`GraphBuilder`] writes files, with their weights in another one if need be. [`proto`] is the
//! format itself, as far as this crate reads or writes it.

#![forbid(unsafe_code)]

mod attributes;
mod build;
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
