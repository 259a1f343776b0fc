//! Waits for another thread without the interpreter's lock.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::Duration,
};

use pyo3::prelude::*;

/// Time between two looks for Ctrl-C.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// Longest time that the end of the interpreter waits for work, which may never return.
pub(crate) const END_LIMIT: Duration = Duration::from_secs(10);
/// Time between two looks whether that is over.
pub(crate) const END_LOOK: Duration = Duration::from_millis(1);

/// Waits for a message until the next look for Ctrl-C, and returns the receiver with it: a reference to one may not
/// cross over.
pub(crate) fn receive<T: Send>(
    py: Python<'_>,
    told: Receiver<T>,
) -> (Receiver<T>, Result<T, RecvTimeoutError>) {
    py.detach(move || {
        let next = told.recv_timeout(LOOK);
        (told, next)
    })
}
