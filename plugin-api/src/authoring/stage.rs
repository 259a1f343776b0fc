//! A stage of the work on a batch or on whole queries.

use std::fmt;

use super::raw::text;
use crate::abi;

/// A part of the work on a batch or on whole queries, with its instants in the time of
/// [`Host::now_ns`](crate::Host::now_ns).
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Stage {
    raw: abi::ProctorStage,
}

// SAFETY: the one pointer is to the name, which is static and only read.
unsafe impl Send for Stage {}
// SAFETY: the one pointer is to the name, which is static and only read.
unsafe impl Sync for Stage {}

impl Stage {
    /// Name of the stage in which the inputs move to the device.
    pub const COPY_IN: &'static str = "copy_in";
    /// Name of the stage of the computation.
    pub const COMPUTE: &'static str = "compute";
    /// Name of the stage in which the outputs move to the host.
    pub const COPY_OUT: &'static str = "copy_out";

    /// A stage that began and ended at these instants. The name is of printable ASCII without spaces: one of those
    /// above, which some figures are made of, or the plugin's own.
    #[must_use]
    pub const fn new(name: &'static str, begin_ns: u64, end_ns: u64) -> Self {
        Self { raw: abi::ProctorStage { name: text(name), begin_ns, end_ns } }
    }
}

impl fmt::Debug for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A name is static, so that it can be read.
        f.debug_struct("Stage")
            .field("begin_ns", &self.raw.begin_ns)
            .field("end_ns", &self.raw.end_ns)
            .finish_non_exhaustive()
    }
}
