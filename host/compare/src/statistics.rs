//! The statistics of figures of correlated samples: estimates with their resamples, and intervals of their differences.
//!
//! `measured` reduces a run to atoms, `correlation` is that of neighbours, `estimate` resamples, `interval` is the
//! difference of two sides; `student` and `random` are what they need.

pub(crate) mod correlation;
pub(crate) mod estimate;
pub(crate) mod interval;
pub(crate) mod measured;
pub(crate) mod random;
pub(crate) mod student;

#[cfg(test)]
mod tests;
