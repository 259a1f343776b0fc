//! The time that the harness itself takes.

pub(crate) mod direct_run;
pub mod floor;
pub(crate) mod isolated_call;
pub(crate) mod null_run;
