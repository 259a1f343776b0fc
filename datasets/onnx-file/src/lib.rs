//! ONNX files: what they hold, read, checked and written.
//!
//! [`OnnxFile::open`] reads a file and says what is wrong with it before any engine sees it; [`fit`] finds how a
//! benchmark's tensors are the model's, or explains why they are not. Both keep what an engine has to know, and none
//! of the weights. [`GraphBuilder`] writes files, with their weights in another one if need be. [`proto`] is the
//! format itself, as far as anybody here reads or writes it.

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
pub use elements::data_type;
pub use error::OnnxFileError;
pub use external::ExternalData;
pub use file::{OnnxFile, OpType, Opset};
pub use fit::{Batching, Fit, FitError, Port, fit};
pub use signature::{Dim, Precision, Signature, ValueSpec, ValueType};
