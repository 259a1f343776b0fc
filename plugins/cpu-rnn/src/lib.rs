//! The CPU RNN plugin: recurrent networks on the CPU after DeepCPU, from safetensors and ONNX files.
//!
//! [`CpuRnn`] is the plugin as the host sees it, exported by the crate's only macro call. The work is done in separate
//! crates, each usable without it: `proctor-rnn-models` reads files and knows the networks, `proctor-rnn-engine` runs
//! recurrent layers on a team of threads, `proctor-rnn-optimiser` chooses how, `proctor-rnn-kernels` computes, and
//! `proctor-rnn-layer` has the shared types.
//!
//! - **Schedules are chosen once**, when a model is loaded ([`planning`]): measured, and kept in the host's cache
//!   folder. The first real calls are compared with the measurement; a slower layer is measured again at the next load.
//! - **Nothing is copied unnecessarily**: recurrent layers read the samples where the host put them, and write their
//!   states into the host's outputs.
//! - **Each instance has its own team**, on cores that no other instance uses, as long as there are enough.

mod batch;
mod options;
pub mod planning;
mod plugin;

pub use plugin::{CpuRnn, LoadedInstance, LoadedModel};
