//! Locks that a panic elsewhere does not close.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`, also after a panic of a former holder.
///
/// Instances and sinks are never called under a lock, so such a panic is a bug of a policy or of this crate, and
/// the state that it leaves behind is still good enough to report.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
