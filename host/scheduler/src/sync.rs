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

/// A value that threads write often, kept away from what others read: alone on its cache lines, also on the neighbour
/// that the processor fetches along.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Apart<T>(pub(crate) T);
