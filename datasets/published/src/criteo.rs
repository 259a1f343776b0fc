//! Criteo's terabyte of clicks: the text file of a day for DLRM, and arrays for DLRMv2.

mod aggregation;
mod content;
pub mod day;
pub(crate) mod fault;
pub mod multi_hot;
mod npz;
mod rows;

pub use aggregation::{Aggregation, QUANTILES, Samples, TraceError};
pub use fault::{ArrayFault, ZipFault};
pub use rows::{CATEGORY_FIELDS, COUNT_FIELDS};
