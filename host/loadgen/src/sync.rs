//! The primitives of the concurrent parts: the standard library's, or loom's in a build with `--cfg loom`.

#[cfg(not(loom))]
mod primitives {
    use std::time::Duration;

    pub(crate) use std::sync::{Mutex, atomic::AtomicU64};
    pub(crate) use std::thread::{Thread, current};

    pub(crate) fn park(timeout: Duration) {
        std::thread::park_timeout(timeout);
    }
}

#[cfg(loom)]
mod primitives {
    use std::time::Duration;

    pub(crate) use loom::{
        sync::{Mutex, atomic::AtomicU64},
        thread::{Thread, current},
    };

    /// No time passes in a model: a wait that only its timeout would end is a deadlock, which loom reports.
    pub(crate) fn park(_timeout: Duration) {
        loom::thread::park();
    }
}

pub(crate) use primitives::*;
