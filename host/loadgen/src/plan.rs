//! Plans a test: which samples are loaded together, and the order and times of their issue.

pub(crate) mod accuracy_sampling;
pub(crate) mod library_indices;
pub(crate) mod phases;
pub(crate) mod query_generator;
pub(crate) mod schedule;
