//! The plan of a test: which samples are loaded together, in which order they are issued, and when.

pub(crate) mod accuracy_sampling;
pub(crate) mod library_indices;
pub(crate) mod phases;
pub(crate) mod query_generator;
pub(crate) mod schedule;
