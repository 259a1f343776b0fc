//! Models from safetensors files with PyTorch's names.
//!
//! [`Weights`] takes tensors out of a file one by one, checked; [`Stack`] is the model of a file that holds nothing but
//! a stack of recurrent layers and perhaps a linear layer. A [`StackStream`] runs it one step at a time.

pub(crate) mod error;
pub(crate) mod stack;
mod stream;
pub(crate) mod weights;

pub use error::WeightsError;
pub use stack::{Stack, StackOutput, StackSettings};
pub use stream::StackStream;
pub use weights::{Weights, read_file};
