//! The test that is running, as callbacks and completions find it.

use std::{
    cell::Cell,
    sync::{
        Arc, OnceLock,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Acquire, Relaxed, Release, SeqCst},
        },
    },
    thread,
    time::Instant,
};

use parking_lot::{Mutex, RwLock};
use proctor_loadgen::{Progress, StopHandle};
use proctor_vocabulary::CompletionSink;
use pyo3::{exceptions::PyRuntimeError, prelude::*};

use crate::{
    turn::Turn,
    waiting::{END_LIMIT, END_LOOK},
};

/// The test that takes completions.
static CURRENT: RwLock<Option<Arc<Session>>> = RwLock::new(None);
/// True from the preparation of a test until its thread needs the interpreter no more.
static IS_UNDER_WAY: AtomicBool = AtomicBool::new(false);
/// True once the interpreter is about to end.
static IS_ENDING: AtomicBool = AtomicBool::new(false);
/// Number of threads that have released the interpreter's lock for a completion.
static RELEASED_COUNT: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static IS_IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether this thread is in a callback of a test, so that the load generator itself waits for it.
pub(super) fn is_in_callback() -> bool {
    IS_IN_CALLBACK.get()
}

/// Does something with the interpreter's lock released.
///
/// A thread that waits for the lock while the interpreter ends is ended by it, which no Rust code outlives: so that is
/// waited for, and later threads keep the lock.
pub(super) fn released(py: Python<'_>, act: impl FnOnce() + Send) {
    RELEASED_COUNT.fetch_add(1, SeqCst);
    if IS_ENDING.load(SeqCst) {
        act();
    } else {
        py.detach(act);
    }
    RELEASED_COUNT.fetch_sub(1, SeqCst);
}

/// Ends the test of a thread that the interpreter does not wait for, before the interpreter ends.
#[pyfunction]
pub(super) fn end(py: Python<'_>) {
    IS_ENDING.store(true, SeqCst);
    let begun = Instant::now();
    // A copy made by `fork` has the marks of its parent, and no thread of it.
    let is_taken = || IS_UNDER_WAY.load(Acquire) && Turn::is_taken();
    let is_over = || !is_taken() && RELEASED_COUNT.load(SeqCst) == 0;
    while !is_over() && begun.elapsed() < END_LIMIT {
        let session = CURRENT.read().clone();
        if let Some(session) = session.filter(|session| !session.failure.has_failed.load(Relaxed)) {
            session.failure.note("the interpreter", PyRuntimeError::new_err("the interpreter ends"));
        }
        py.detach(|| thread::sleep(END_LOOK));
    }
}

/// The first exception of a test, which ends it.
#[derive(Default)]
pub(super) struct Failure {
    error: Mutex<Option<PyErr>>,
    has_failed: AtomicBool,
    stop: OnceLock<StopHandle>,
}

impl Failure {
    /// Ends the test of this handle at the first exception.
    pub(super) fn ends(&self, stop: StopHandle) {
        // Each test has a failure of its own.
        _ = self.stop.set(stop);
    }

    /// Keeps an exception, unless there is one, and ends the test.
    pub(super) fn note(&self, callback: &str, error: PyErr) {
        let reason = format!("{callback} has raised {error}");
        self.error.lock().get_or_insert(error);
        self.has_failed.store(true, Release);
        if let Some(stop) = self.stop.get() {
            // Nothing will answer the outstanding samples.
            stop.stop(reason.as_str());
            stop.stop(reason);
        }
    }

    /// Takes the exception out.
    pub(super) fn take(&self) -> Option<PyErr> {
        self.error.lock().take()
    }
}

/// A test that runs.
pub(super) struct Session {
    pub sink: Arc<dyn CompletionSink>,
    pub progress: Progress,
    pub failure: Arc<Failure>,
    /// False if no response is logged, so that none has to be looked at.
    pub may_log: bool,
}

impl Session {
    /// Calls into Python, unless an earlier call has raised an exception. One that is raised ends the test.
    pub(super) fn call<R>(
        &self,
        callback: &str,
        function: impl FnOnce(Python<'_>) -> PyResult<R>,
    ) -> Option<R> {
        if self.failure.has_failed.load(Relaxed) {
            return None;
        }
        Python::attach(|py| {
            let was_in_callback = IS_IN_CALLBACK.replace(true);
            let result = function(py);
            IS_IN_CALLBACK.set(was_in_callback);
            result.map_err(|error| self.failure.note(callback, error)).ok()
        })
    }

    /// Returns the test that runs.
    ///
    /// # Errors
    /// `RuntimeError` if no test is running.
    pub(super) fn current() -> PyResult<Arc<Self>> {
        let current = CURRENT.read().clone();
        current.ok_or_else(|| {
            PyRuntimeError::new_err("no test is running: a sample is completed before StartTest has returned")
        })
    }
}

/// The place of the one test of a process, which no run may share.
pub(super) struct Place {
    _turn: Turn,
}

impl Place {
    /// Takes it for a test.
    ///
    /// # Errors
    /// `BusyError` if a test or a run is under way.
    pub(super) fn take(py: Python<'_>) -> PyResult<Self> {
        let turn = Turn::take(py)?;
        IS_UNDER_WAY.store(true, Release);
        Ok(Self { _turn: turn })
    }

    /// Lets completions come.
    pub(super) fn open(&self, session: Arc<Session>) {
        *CURRENT.write() = Some(session);
    }

    /// Lets no more completions come.
    pub(super) fn close(&self) {
        // What it holds is dropped without the lock.
        let session = CURRENT.write().take();
        drop(session);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.close();
        IS_UNDER_WAY.store(false, Release);
    }
}
