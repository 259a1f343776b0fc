//! ONNX files: what they hold, read, checked and written.
//!
//! [`proto`] is the format itself, as far as anybody here reads or writes it.

#![forbid(unsafe_code)]

pub mod proto;
