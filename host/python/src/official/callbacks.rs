//! The Python objects that the official LoadGen calls.
//!
//! They are objects with `__call__`: LoadGen's binding looks into functions of C and takes those that hold a capsule
//! for its own.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use parking_lot::Mutex;
use proctor_loadgen::engine::{EngineCalls, EngineTest};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyList},
};

use super::{
    error::{OfficialError, Troubles, calling},
    package::Package,
};

/// A test while LoadGen drives it.
pub(super) struct Running {
    calls: Arc<dyn EngineCalls>,
    troubles: Arc<Troubles>,
    has_begun: AtomicBool,
}

impl Running {
    pub(super) fn new(calls: Arc<dyn EngineCalls>, troubles: Arc<Troubles>) -> Arc<Self> {
        Arc::new(Self { calls, troubles, has_begun: AtomicBool::new(false) })
    }

    /// Tells if LoadGen has loaded samples.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun.load(Relaxed)
    }
}

/// Takes queries: a list of ids, and one of indices.
#[pyclass(frozen)]
struct IssueCallback {
    test: Arc<Running>,
    /// The ids and indices of a query, kept from one to the next.
    lists: Mutex<(Vec<u64>, Vec<u64>)>,
}

#[pymethods]
impl IssueCallback {
    fn __call__(&self, py: Python<'_>, ids: &Bound<'_, PyList>, indices: &Bound<'_, PyList>) {
        self.test.troubles.guard(|| {
            let mut lists = self.lists.lock();
            read(ids, &mut lists.0)?;
            read(indices, &mut lists.1)?;
            let (ids, indices) = (&lists.0[..], &lists.1[..]);
            // Who completes samples on other threads needs the interpreter meanwhile.
            py.detach(|| self.test.calls.issue(ids, indices));
            Ok(())
        });
    }
}

/// Hears that no more queries are to come.
#[pyclass(frozen)]
struct FlushCallback(Arc<Running>);

#[pymethods]
impl FlushCallback {
    fn __call__(&self, py: Python<'_>) {
        self.0.troubles.guard(|| {
            py.detach(|| self.0.calls.flush());
            Ok(())
        });
    }
}

/// Loads or unloads samples: a list of indices.
#[pyclass(frozen)]
struct LibraryCallback {
    test: Arc<Running>,
    loads: bool,
}

#[pymethods]
impl LibraryCallback {
    fn __call__(&self, py: Python<'_>, indices: &Bound<'_, PyList>) {
        self.test.has_begun.store(true, Relaxed);
        self.test.troubles.guard(|| {
            let mut list = Vec::new();
            read(indices, &mut list)?;
            let calls = &self.test.calls;
            py.detach(|| if self.loads { calls.load(&list) } else { calls.unload(&list) });
            Ok(())
        });
    }
}

fn read(list: &Bound<'_, PyList>, into: &mut Vec<u64>) -> Result<(), OfficialError> {
    into.clear();
    into.reserve(list.len());
    for number in list {
        into.push(number.extract().map_err(calling("a callback"))?);
    }
    Ok(())
}

/// Runs a test with these callbacks; `words` are the settings of the test, those of its logs, and the audit file.
pub(super) fn start<'py, W>(
    py: Python<'py>,
    package: &Package,
    test: &EngineTest,
    running: &Arc<Running>,
    words: (W, W, &[u8]),
) -> Result<(), OfficialError>
where
    W: IntoPyObject<'py>,
{
    let module = package.module.bind(py);
    let issue = IssueCallback { test: Arc::clone(running), lists: Mutex::default() };
    let issue = Bound::new(py, issue).map_err(calling("a callback"))?;
    let flush = Bound::new(py, FlushCallback(Arc::clone(running))).map_err(calling("a callback"))?;
    let library = |loads| {
        Bound::new(py, LibraryCallback { test: Arc::clone(running), loads }).map_err(calling("a callback"))
    };
    let (load, unload) = (library(true)?, library(false)?);
    let system =
        module.call_method1("ConstructFastSUT", (issue, flush)).map_err(calling("ConstructFastSUT"))?;
    let counts = (test.total_sample_count, test.performance_sample_count);
    let samples = module
        .call_method1("ConstructQSL", (counts.0, counts.1, load, unload))
        .map_err(calling("ConstructQSL"))?;
    let (settings, log_settings, audit) = words;
    let audit = PyBytes::new(py, audit);
    let started = module
        .call_method1("StartTestWithLogSettings", (&system, &samples, settings, log_settings, audit))
        .map_err(calling("StartTestWithLogSettings"));
    module.call_method1("DestroyQSL", (samples,)).map_err(calling("DestroyQSL"))?;
    module.call_method1("DestroyFastSUT", (system,)).map_err(calling("DestroyFastSUT"))?;
    started.map(drop)
}
