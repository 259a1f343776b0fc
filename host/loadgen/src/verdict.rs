//! The verdict: figures from measurements, and which rules they keep or break.

pub(crate) mod early_stopping;
pub(crate) mod findings;
mod judge;
pub(crate) mod outcome;
pub(crate) mod peak_search;
pub(crate) mod results;
