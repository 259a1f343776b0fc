//! Runs recurrent layers on the CPU according to a schedule.
//!
//! A [`Layer`] holds the weights, a [`Team`] the threads, a [`Workspace`] the memory of one caller. [`Layer::run`] maps
//! [`Sequences`] to [`SequencesMut`] as a [`Schedule`](proctor_rnn_layer::Schedule) says. A [`Stream`] runs a layer one
//! step at a time and carries its states. A [`FirstCalls`] times the first calls of a layer.
//! [`reference`](mod@reference) is the same in plain f64 code: the oracle of every test.
//!
//! # Where things are
//! - `layer`: a layer's weights; `execution`: one call by a schedule, on a `team` of threads;
//! - `stream`: one step at a time; `first_calls`: the timer of the first calls; `priming`: of the last-level cache;
//! - `ablation`: the same LSTM without the paper's techniques; `reference`: the oracle.

pub mod ablation;
mod call;
mod execution;
mod first_calls;
mod layer;
pub mod priming;
pub mod reference;
mod sequences;
mod spec;
mod stream;
mod sync;
pub mod team;
mod trial;

pub use call::{CallError, LayerCall};
pub use execution::workspace::Workspace;
pub use first_calls::FirstCalls;
pub use layer::{Layer, LayerError};
pub use priming::Primed;
pub use proctor_rnn_kernels::DirectionWeights;
pub use sequences::{Sequences, SequencesMut};
pub use spec::LayerSpec;
pub use stream::{RowState, Stream, StreamError};
pub use team::{BarrierForm, Member, Team, TeamOptions};
pub use trial::Trial;
