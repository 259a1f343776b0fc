//! Services of the host for an opened plugin.

pub(crate) mod context;
mod contexts;
pub(crate) mod done;
pub(crate) mod energy;
pub(crate) mod failures;
pub(crate) mod faults;
pub(crate) mod host_side;
pub(crate) mod host_table;
pub(crate) mod log_limit;
pub(crate) mod metric;
pub(crate) mod notes;
pub(crate) mod response_size;
pub(crate) mod stages;
mod tokens;
