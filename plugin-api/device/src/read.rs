//! Turns an ONNX file into a [`Graph`](crate::graph::Graph).
//!
//! A [`Source`] is a file that was read once: each of its nodes has become a rule, which knows the attributes and makes
//! operators of `op` as soon as the shapes are known. For each batch size the rules are applied in the order of
//! the file. Whatever follows from constants and shapes alone is computed then; large tensors are shared between all
//! batch sizes.
//!
//! Operator sets 7 to 23 of ONNX's own domain are read. Everything unsupported is refused by name, all of it at once,
//! before anything large is computed.

pub(crate) mod error;
mod fold;
mod operators;
mod scope;
pub(crate) mod source;
#[cfg(test)]
mod tests;

pub use error::{ReadError, Refusal};
pub use source::Source;
