//! Systems and libraries behind numbers: `ConstructSUT` and the like. A number is no address, so that a wrong one is an
//! error.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use parking_lot::Mutex;
use pyo3::{exceptions::PyValueError, prelude::*};

use super::arguments::{Callback, Unsigned};

/// Functions of a system under test.
pub(super) struct System {
    pub kind: SystemKind,
    pub issue: Py<PyAny>,
    pub flush: Py<PyAny>,
}

/// The form in which a system takes queries, and its name.
pub(super) enum SystemKind {
    /// A list of samples.
    Samples,
    /// A list of ids and a list of indices.
    Fast,
    /// A list of samples; a function gives the name.
    Network { name: Py<PyAny> },
}

/// A library of samples.
pub(super) struct Library {
    pub total_count: u64,
    pub performance_count: u64,
    pub load: Py<PyAny>,
    pub unload: Py<PyAny>,
}

enum Object {
    System(Arc<System>),
    Library(Arc<Library>),
}

static OBJECTS: Mutex<BTreeMap<u64, Object>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(1);

fn keep(object: Object) -> u64 {
    let handle = NEXT.fetch_add(1, Relaxed);
    OBJECTS.lock().insert(handle, object);
    handle
}

/// Returns the system behind a handle.
///
/// # Errors
/// `ValueError` if the handle belongs to a library, or to nothing.
pub(super) fn system(handle: u64) -> PyResult<Arc<System>> {
    match OBJECTS.lock().get(&handle) {
        Some(Object::System(system)) => Ok(Arc::clone(system)),
        Some(Object::Library(_)) => Err(other(handle, "query sample library, not a system under test")),
        None => Err(none(handle, "system under test")),
    }
}

/// Returns the library behind a handle.
///
/// # Errors
/// `ValueError` if the handle belongs to a system, or to nothing.
pub(super) fn library(handle: u64) -> PyResult<Arc<Library>> {
    match OBJECTS.lock().get(&handle) {
        Some(Object::Library(library)) => Ok(Arc::clone(library)),
        Some(Object::System(_)) => Err(other(handle, "system under test, not a query sample library")),
        None => Err(none(handle, "query sample library")),
    }
}

fn none(handle: u64, what: &str) -> PyErr {
    PyValueError::new_err(format!("{handle} is no {what}: it was never constructed, or it is destroyed"))
}

fn other(handle: u64, what: &str) -> PyErr {
    PyValueError::new_err(format!("{handle} is a {what}"))
}

/// Forgets an object; a test that runs with it keeps it to its end. The lock is free when its functions are dropped,
/// which may run any code.
fn forget(handle: u64) {
    let object = OBJECTS.lock().remove(&handle);
    drop(object);
}

fn destroy_system(handle: u64) -> PyResult<()> {
    system(handle).map(|_| forget(handle))
}

fn construct(kind: SystemKind, issue: Callback, flush: Callback) -> u64 {
    keep(Object::System(Arc::new(System { kind, issue: issue.0, flush: flush.0 })))
}

/// ConstructSUT(issue_cb, flush_cb) -> int
///
/// Constructs a system under test: issue_cb takes a list of QuerySample.
#[pyfunction]
#[pyo3(name = "ConstructSUT", signature = (issue_cb, flush_cb, /))]
pub(super) fn construct_sut(issue_cb: Callback, flush_cb: Callback) -> u64 {
    construct(SystemKind::Samples, issue_cb, flush_cb)
}

/// DestroySUT(sut)
#[pyfunction]
#[pyo3(name = "DestroySUT", signature = (sut, /))]
pub(super) fn destroy_sut(sut: Unsigned) -> PyResult<()> {
    destroy_system(sut.0)
}

/// ConstructFastSUT(issue_cb, flush_cb) -> int
///
/// Constructs a system under test: issue_cb takes a list of ids and a list of indices.
#[pyfunction]
#[pyo3(name = "ConstructFastSUT", signature = (issue_cb, flush_cb, /))]
pub(super) fn construct_fast_sut(issue_cb: Callback, flush_cb: Callback) -> u64 {
    construct(SystemKind::Fast, issue_cb, flush_cb)
}

/// DestroyFastSUT(sut)
#[pyfunction]
#[pyo3(name = "DestroyFastSUT", signature = (sut, /))]
pub(super) fn destroy_fast_sut(sut: Unsigned) -> PyResult<()> {
    destroy_system(sut.0)
}

/// ConstructQDL(issue_cb, flush_cb, name_cb) -> int
///
/// Constructs a system under test that is somewhere else: name_cb returns its name.
#[pyfunction]
#[pyo3(name = "ConstructQDL", signature = (issue_cb, flush_cb, name_cb, /))]
pub(super) fn construct_qdl(issue_cb: Callback, flush_cb: Callback, name_cb: Callback) -> u64 {
    construct(SystemKind::Network { name: name_cb.0 }, issue_cb, flush_cb)
}

/// DestroyQDL(qdl)
#[pyfunction]
#[pyo3(name = "DestroyQDL", signature = (qdl, /))]
pub(super) fn destroy_qdl(qdl: Unsigned) -> PyResult<()> {
    destroy_system(qdl.0)
}

/// ConstructQSL(total, performance, load_cb, unload_cb) -> int
///
/// Constructs a library of samples: load_cb and unload_cb take a list of indices.
#[pyfunction]
#[pyo3(name = "ConstructQSL", signature = (total, performance, load_cb, unload_cb, /))]
pub(super) fn construct_qsl(
    total: Unsigned,
    performance: Unsigned,
    load_cb: Callback,
    unload_cb: Callback,
) -> u64 {
    let (load, unload) = (load_cb.0, unload_cb.0);
    keep(Object::Library(Arc::new(Library {
        total_count: total.0,
        performance_count: performance.0,
        load,
        unload,
    })))
}

/// DestroyQSL(qsl)
#[pyfunction]
#[pyo3(name = "DestroyQSL", signature = (qsl, /))]
pub(super) fn destroy_qsl(qsl: Unsigned) -> PyResult<()> {
    library(qsl.0).map(|_| forget(qsl.0))
}
