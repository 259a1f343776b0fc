//! The library of ONNX Runtime: found, checked and loaded once.

pub(crate) mod error;
pub(crate) mod find;
mod maps;
pub(crate) mod runtime;
