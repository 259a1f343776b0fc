//! Measures energy and noise while the load generator runs, and derives the figures of a test.

pub(crate) mod energy;
pub mod figures;
pub(crate) mod noise;
