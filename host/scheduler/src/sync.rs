//! The primitives of the threads, the standard library's or loom's in a build with `--cfg loom`, and locks that a panic
//! elsewhere does not close.

use std::sync::PoisonError;

#[cfg(loom)]
use loom::sync;
#[cfg(not(loom))]
use std::sync;

#[cfg(loom)]
pub(crate) use loom::{sync::atomic::fence, thread};
#[cfg(not(loom))]
pub(crate) use std::{sync::atomic::fence, thread};

pub(crate) type AtomicBool = sync::atomic::AtomicBool;
pub(crate) type AtomicU64 = sync::atomic::AtomicU64;
pub(crate) type Condvar = sync::Condvar;
pub(crate) type Mutex<T> = sync::Mutex<T>;
pub(crate) type MutexGuard<'a, T> = sync::MutexGuard<'a, T>;

/// Locks `mutex`, also after a panic of a former holder.
///
/// Instances and sinks are never called under a lock, so such a panic is a bug of a policy or of this crate, and
/// the state that it leaves behind is still good enough to report.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Step that is expensive between processors.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cost {
    /// A read-modify-write of a line that several threads use.
    Exchange,
    /// A plain write to such a line.
    Write,
    /// A thread that is unparked, with a system call if it sleeps.
    Wake,
}

/// Notes a cost of the calling thread. Nothing outside of tests.
#[inline]
#[cfg(any(loom, not(test)))]
pub(crate) fn note(_: Cost) {}

#[cfg(all(test, not(loom)))]
pub(crate) use counted::note;

#[cfg(all(test, not(loom)))]
pub(crate) mod counted {
    use std::cell::Cell;

    use super::Cost;

    thread_local! {
        static COUNTS: Cell<[u64; 3]> = const { Cell::new([0; 3]) };
    }

    pub(crate) fn note(cost: Cost) {
        let mut counts = COUNTS.get();
        counts[cost as usize] += 1;
        COUNTS.set(counts);
    }

    /// Returns the exchanges, writes and wakes of this thread since the last call.
    pub(crate) fn take() -> [u64; 3] {
        COUNTS.replace([0; 3])
    }
}

/// A value that threads write often, kept apart from data that others read: alone on its cache lines, and on the
/// neighbour that the processor fetches along.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Apart<T>(pub(crate) T);
