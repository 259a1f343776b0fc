//! Measurements: everything that is read off a phase when it is over.

pub(crate) mod accuracy_record;
pub(crate) mod clock_check;
pub(crate) mod interval_record;
pub(crate) mod latencies;
pub(crate) mod missing_samples;
pub(crate) mod order_statistics;
pub(crate) mod phase_error;
pub(crate) mod phase_outcome;
pub(crate) mod phase_record;
pub(crate) mod sample_indices;
pub(crate) mod statistics;
