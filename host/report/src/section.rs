//! The sections of the page of a run, a file each, and their parts.

pub(crate) mod accuracy;
pub(crate) mod batches;
pub(crate) mod latency;
pub(crate) mod noise;
pub(crate) mod official;
pub(crate) mod over_time;
pub(crate) mod parts;
pub(crate) mod scaling;
pub(crate) mod search;
pub(crate) mod settings;
pub(crate) mod stages;
pub(crate) mod system;
pub(crate) mod tokens;
pub(crate) mod verdict;
pub(crate) mod wrong;
