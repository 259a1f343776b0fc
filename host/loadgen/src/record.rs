//! The record of a running phase: a slot for each sample, which one thread issues and any thread completes.

pub(crate) mod engine_samples;
pub(crate) mod engine_sink;
pub(crate) mod histogram;
pub(crate) mod phase;
pub(crate) mod recorder;
pub(crate) mod response_id;
pub(crate) mod responses;
pub(crate) mod segments;
pub(crate) mod share;
pub(crate) mod slots;
pub(crate) mod token_recorder;
pub(crate) mod tokens;
pub(crate) mod turn;
pub(crate) mod violations;
