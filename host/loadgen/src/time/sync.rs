//! The primitives of the concurrent parts: the standard library's, or loom's in a build with `--cfg loom`.

#[cfg(not(loom))]
mod primitives {
    use std::time::Duration;

    pub(crate) use std::sync::{Mutex, MutexGuard, atomic::AtomicU64};
    pub(crate) use std::thread::{Thread, current};

    use zerocopy::FromZeros as _;

    pub(crate) fn park(timeout: Duration) {
        std::thread::park_timeout(timeout);
    }

    /// So many pairs of 0, in memory that takes no place before it is written.
    pub(crate) fn zeroed_pairs(len: usize) -> Box<[[AtomicU64; 2]]> {
        <[[AtomicU64; 2]]>::new_box_zeroed_with_elems(len)
            .expect("without memory for its samples a test cannot go on")
    }
}

#[cfg(loom)]
mod primitives {
    use std::time::Duration;

    pub(crate) use loom::{
        sync::{Mutex, MutexGuard, atomic::AtomicU64},
        thread::{Thread, current},
    };

    /// No time passes in a model: a wait that only its timeout would end is a deadlock, which loom reports.
    pub(crate) fn park(_timeout: Duration) {
        loom::thread::park();
    }

    pub(crate) fn zeroed_pairs(len: usize) -> Box<[[AtomicU64; 2]]> {
        (0..len).map(|_| [0; 2].map(AtomicU64::new)).collect()
    }
}

pub(crate) use primitives::*;

/// What one thread writes often, kept away from what others read: alone on its cache lines, also on the neighbour
/// that the processor fetches along.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Apart<T>(pub T);
