//! Figures that all instances of a model share.

use std::sync::atomic::AtomicU64;

/// Counters of a model.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Number of bytes of inputs copied before the runtime saw them.
    pub input_bytes_copied: AtomicU64,
}
