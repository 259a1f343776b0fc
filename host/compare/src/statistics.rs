//! The statistics of figures of correlated samples: estimates with their resamples, and intervals of their differences.

pub(crate) mod correlation;
pub(crate) mod estimate;
pub(crate) mod interval;
pub(crate) mod measured;
pub(crate) mod random;
pub(crate) mod student;

#[cfg(test)]
mod tests;
