//! Locks whose holders do not panic.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, also after a holder has panicked.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
