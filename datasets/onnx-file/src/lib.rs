//! ONNX files, read, checked and written.
//!
//! [`OnnxFile::open`] reads a file and says what is wrong with it before any engine sees it; [`fit`] finds how a
//! benchmark's tensors are the model's, or explains why they are not. Both keep the facts that an engine needs, and no
//! weights. [`GraphBuilder`] writes files, with their weights in another one if need be. [`proto`] is the
//! format itself, as far as this crate reads or writes it.

#![forbid(unsafe_code)]

mod build;
mod convert;
mod elements;
mod error;
mod external;
mod file;
mod fit;
mod parts;
pub mod proto;
mod signature;

pub use build::{Attribute, GraphBuilder};
pub use convert::{Conversion, ConvertError};
pub use elements::{ValueType, data_type};
pub use error::OnnxFileError;
pub use external::ExternalData;
pub use file::{OnnxFile, OpType, Opset};
pub use fit::{Batching, Fit, FitError, Port, fit};
pub use signature::{Dim, Precision, Signature, ValueSpec};
