//! Calls of the class, which the end of the interpreter waits for: a thread that is in one meanwhile is a crash.

use std::{
    process,
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst},
    thread,
};

static COUNT: AtomicU64 = AtomicU64::new(0);
/// Process of the calls: a copy made by `fork` has no threads of its parent.
static PROCESS: AtomicU32 = AtomicU32::new(0);
static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// A call that is under way.
pub(crate) struct Call(());

impl Call {
    /// Begins the load of a file or of a model; one of them is the first call of a process. Else as
    /// [`begin`](Self::begin).
    pub(crate) fn begin_load() -> Self {
        let own = process::id();
        if PROCESS.swap(own, SeqCst) != own {
            COUNT.store(0, SeqCst);
        }
        Self::begin()
    }

    /// Begins a call, before the thread waits for the interpreter. Never returns once that is about to end.
    pub(crate) fn begin() -> Self {
        COUNT.fetch_add(1, SeqCst);
        let call = Self(());
        if IS_ENDING.load(SeqCst) {
            drop(call);
            loop {
                thread::park();
            }
        }
        call
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        COUNT.fetch_sub(1, SeqCst);
    }
}

/// Lets no further call begin, as the interpreter is about to end.
pub fn end_calls() {
    IS_ENDING.store(true, SeqCst);
}

/// Returns whether a call of this process is under way.
#[must_use]
pub fn has_calls() -> bool {
    COUNT.load(SeqCst) > 0 && PROCESS.load(SeqCst) == process::id()
}
