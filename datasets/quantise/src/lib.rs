//! Makes an ONNX file in 8-bit integers of one in f32, from the ranges that its tensors have on calibration samples.
//!
//! 1. [`Plan::new`] reads a file and finds the operations that engines have in integers: convolutions, products of
//!    matrices, and the operations between them.
//! 2. [`Plan::observing`] writes a file that gives the range of each tensor that is going to be rounded. A
//!    program with an engine runs it on the samples and merges the answers in [`Ranges`]. So the engine knows the
//!    shapes, and nothing here has to infer them.
//! 3. [`Plan::quantise`] writes the file in integers, and says what it did.
//!
//! The result has a pair of QuantizeLinear and DequantizeLinear behind each rounded tensor. Engines see the pairs and
//! compute with the integers between them; one that does not see them rounds where the pairs are.
//!
//! # Where things are
//! - `operators`: which operations there are in integers; `plan`: which of a file become so;
//! - `observe`: the file that gives ranges; `ranges`: the ranges, and the scales that follow from them;
//! - `weights`: constants as integers; `rewrite`: the file in integers;
//! - `wire`: changes of a file that keep what this crate does not know.
//!
//! # Choices
//! - **Activations** are unsigned bytes with a scale and a zero point for each tensor. Zero is always among the values,
//!   since padding needs it.
//! - **Weights** are signed bytes without a zero point, with a scale for each output channel; before version 13 of the
//!   operators, which has no such scales, for each tensor. Biases are 32-bit integers in the scale of the sums.
//! - **A Relu or a Clip** behind an operation shares its pair: it is the bound of the integers.
//! - **The rest stays float**, such as what stands before Softmax, and outputs of the file.
//! - **The file is whole in itself:** constants that lay in other files are put into it.
//! - **The same input gives the same bytes.** Nothing depends on time, place or the order of a hash.

#![forbid(unsafe_code)]

mod error;
mod names;
mod observe;
mod operators;
mod plan;
mod ranges;
mod rewrite;
mod weights;
mod wire;

#[cfg(test)]
mod tests;

pub use error::QuantiseError;
pub use operators::Why;
pub use plan::{Kept, Plan};
pub use ranges::{Range, Ranges, Scale};
pub use rewrite::{Quantised, RoundedTensor};
pub use weights::WeightSteps;
