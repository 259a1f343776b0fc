//! Energy and noise beside the load generator, and the figures of a test.

pub(crate) mod energy;
pub mod figures;
pub(crate) mod noise;
