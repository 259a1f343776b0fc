//! One run or test at a time in a process: it has the processors, the plugin's threads and the handlers of crashes to
//! itself.

use std::{
    process,
    sync::atomic::{AtomicU32, Ordering},
};

use pyo3::prelude::*;

use crate::failure::Failure;

/// Text of the error for a second run or test.
const BUSY: &str = "this process makes one run or test at a time, and another is under way; wait for its end, or use a \
                    process for each";

/// Process whose work has its turn, or 0: a copy made by `fork` has the number of its parent, whose turn is not its
/// own.
static HOLDER: AtomicU32 = AtomicU32::new(0);

/// The right to make a run or a test. Dropped, it is given back.
#[derive(Debug)]
pub(crate) struct Turn(());

impl Turn {
    /// Takes the turn.
    ///
    /// # Errors
    /// `BusyError` if a run or a test of this process has it.
    pub(crate) fn take(py: Python<'_>) -> PyResult<Self> {
        let own = process::id();
        let taken =
            HOLDER.fetch_update(Ordering::AcqRel, Ordering::Acquire, |holder| (holder != own).then_some(own));
        taken.map(|_| Self(())).map_err(|_| Failure::busy(BUSY).exception(py))
    }

    /// Returns whether this process has given it away.
    pub(crate) fn is_taken() -> bool {
        HOLDER.load(Ordering::Acquire) == process::id()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        HOLDER.store(0, Ordering::Release);
    }
}
