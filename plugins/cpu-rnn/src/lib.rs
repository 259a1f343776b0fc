//! The CPU RNN plugin: recurrent networks on the CPU after DeepCPU, from safetensors and ONNX files.
//!
//! [`CpuRnn`] is the plugin as the host sees it, exported by the crate's one macro call. What it runs lies in crates of
//! their own, each usable without it: `proctor-rnn-models` reads files and knows the networks, `proctor-rnn-engine`
//! runs recurrent layers on a team of threads, `proctor-rnn-optimiser` chooses how, `proctor-rnn-kernels` computes;
//! `proctor-rnn-layer` has the words that they share.
//!
//! - **Schedules are chosen once**, when a model is loaded ([`planning`]): measured, and kept in the host's cache
//!   folder. The first real calls are held against what was measured; a layer that is slower is measured again at the
//!   next load.
//! - **Nothing is copied that need not be**: recurrent layers read the samples where the host has put them, and write
//!   their states into the host's outputs.
//! - **Each instance has a team of its own**, on cores that no other instance has as long as there are enough.

mod batch;
mod options;
pub mod planning;
mod plugin;

pub use plugin::{CpuRnn, LoadedInstance, LoadedModel};
