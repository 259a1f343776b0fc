//! Single recurrent layers of any size as benchmarks: definitions from names, and correct answers in f64.
//!
//! A program that links this crate knows the family `rnn-<cell>-<input>-<hidden>-<batch>-<seq>[-bi]`: its definitions
//! register with `proctor-config`, its correct answers with `proctor-accuracy`. Weights and samples come from
//! `proctor-recipes`. The rows of table 1 of "DeepCPU: Serving RNN-based Deep Learning Models 10x Faster" (USENIX ATC
//! 2018), [`TABLE_1`], are members.
//!
//! # Choices
//! - The answers come from the simplest program that follows the equations ([`LayerDirection`]). It shares no code with
//!   any plugin; programs that compare single layers also use it.
//! - Linking registers the family, so nothing else in the workspace names a layer, a cell or the paper.
//!
//! # Example
//! ```
//! use proctor_config::Loader;
//! use proctor_recurrent_layers as _;
//!
//! let settings = Loader::new().benchmark("rnn-lstm-256-256-1-100").load()?;
//! assert_eq!(settings.benchmark.inputs[0].shape, [100, 256]);
//! # Ok::<(), proctor_config::ConfigErrors>(())
//! ```
//!
//! # Limits
//! Answers are computed only for the first samples, as many as take a few seconds.

#![forbid(unsafe_code)]

mod answers;
mod family;
mod layer;

pub use family::TABLE_1;
pub use layer::{LayerDirection, LayerState};
