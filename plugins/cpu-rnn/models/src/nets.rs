//! Networks around recurrent layers: DeepCPU's served models, GNMT and RNN-T, and the layers that they are made of.
//!
//! [`find`] gives a [`Network`] by its id, [`Network::load`] reads its weights and plans its layers. What the files
//! hold, what a sample is and what is computed is written in the `README.md` beside this file.
//!
//! Batches run together: all sequences of all samples of a batch are one call of a recurrent layer, and decoders step
//! all hypotheses of all samples at once. A sample's answer does not depend on the others, except for the last bits of
//! its values.

mod attention_sum_reader;
mod bidaf;
mod gnmt;
mod inputs;
mod known;
pub mod layers;
pub(crate) mod network;
pub(crate) mod recurrent;
mod rnnt;
mod text_similarity;

pub use network::{Network, find, networks};
