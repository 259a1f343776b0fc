//! A stage of the work on a batch or on whole queries.

pub(super) mod spans;

use std::fmt;

use super::raw::text;
use crate::abi;

/// A part of the work on a batch or on whole queries, with its instants in the time of
/// [`Host::now_ns`](crate::Host::now_ns).
///
/// A plugin reports the stages of a batch by [`Batch::set_stages`](crate::Batch::set_stages), or by spans of
/// `tracing` around its work, with the target [`Stage::SPAN`].
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

    /// Target of a span of `tracing` that is a stage: one that a thread enters and leaves while it executes a batch is
    /// a stage of that batch, named after the span. A span within another one is part of it; none counts if the plugin
    /// sets stages itself. Only in a library: a plugin that is linked into a program shares its spans.
    ///
    /// A name has 1 to 64 characters of printable ASCII without spaces. A batch has at most 64 stages, and the stages
    /// of a plugin have at most 64 names. A batch with more is left without stages, which is logged once.
    ///
    /// ```
    /// use proctor_plugin_api::Stage;
    ///
    /// fn execute() {
    ///     {
    ///         let _stage = tracing::trace_span!(target: Stage::SPAN, "compute").entered();
    ///         // The computation.
    ///     }
    ///     let _stage = tracing::trace_span!(target: Stage::SPAN, "copy_out").entered();
    ///     // The outputs.
    /// }
    /// # execute();
    /// ```
    pub const SPAN: &'static str = "proctor.stage";

    /// Creates a stage that began and ended at these instants. The name is of printable ASCII without spaces: one of
    /// those above, which some figures are made of, or the plugin's own.
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
