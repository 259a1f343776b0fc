//! Issuing: when each query of a phase leaves, on which thread, and when the issuing ends.

pub(crate) mod call_trace;
pub(crate) mod delay;
pub(crate) mod end;
mod interval_grid;
pub(crate) mod issue_loop;
pub(crate) mod issued_query;
pub(crate) mod issuer_record;
pub(crate) mod stall;
pub(crate) mod threads;
pub(crate) mod wrong_samples;
