//! `QuerySample` and `QuerySampleResponse`, which are made for every sample: plain numbers, without locks.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

use proctor_vocabulary as vocabulary;
use pyo3::{exceptions::PyTypeError, prelude::*, types::PyType};

use super::arguments::{Long, Unsigned};

/// One sample of a query.
#[pyclass(module = "proctor.mlperf_loadgen", frozen, freelist = 256)]
#[derive(Debug)]
pub(crate) struct QuerySample {
    id: AtomicU64,
    index: AtomicU64,
}

impl From<vocabulary::QuerySample> for QuerySample {
    fn from(sample: vocabulary::QuerySample) -> Self {
        Self { id: AtomicU64::new(sample.id.0), index: AtomicU64::new(sample.index.0) }
    }
}

#[pymethods]
impl QuerySample {
    #[new]
    #[pyo3(signature = (id = None, index = None, /))]
    fn new(id: Option<Unsigned>, index: Option<Unsigned>) -> PyResult<Self> {
        let (Unsigned(id), Unsigned(index)) = match (id, index) {
            (Some(_), None) => {
                return Err(PyTypeError::new_err("QuerySample takes an id and an index, or nothing"));
            }
            (id, index) => (id.unwrap_or_default(), index.unwrap_or_default()),
        };
        Ok(Self { id: AtomicU64::new(id), index: AtomicU64::new(index) })
    }

    #[getter]
    fn id(&self) -> u64 {
        self.id.load(Relaxed)
    }

    #[setter]
    fn set_id(&self, id: Unsigned) {
        self.id.store(id.0, Relaxed);
    }

    #[getter]
    fn index(&self) -> u64 {
        self.index.load(Relaxed)
    }

    #[setter]
    fn set_index(&self, index: Unsigned) {
        self.index.store(index.0, Relaxed);
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, (u64, u64)) {
        (slf.as_any().get_type(), (slf.get().id(), slf.get().index()))
    }
}

/// The answer to one sample: `data` is the address of `size` bytes, which stay until the completion has returned.
#[pyclass(module = "proctor.mlperf_loadgen", frozen, freelist = 256)]
#[derive(Debug)]
pub(crate) struct QuerySampleResponse {
    id: AtomicU64,
    data: AtomicU64,
    size: AtomicU64,
    n_tokens: AtomicI64,
}

#[pymethods]
impl QuerySampleResponse {
    #[new]
    #[pyo3(signature = (id = None, data = None, size = None, n_tokens = None, /))]
    fn new(
        id: Option<Unsigned>,
        data: Option<Unsigned>,
        size: Option<Unsigned>,
        n_tokens: Option<Long>,
    ) -> PyResult<Self> {
        let values = match (id, data, size, n_tokens) {
            (Some(id), Some(data), Some(size), n_tokens) => (id, data, size, n_tokens.unwrap_or_default()),
            (None, None, None, None) => Default::default(),
            _ => {
                let text = "QuerySampleResponse takes id, data, size and n_tokens, the last may be absent, or nothing";
                return Err(PyTypeError::new_err(text));
            }
        };
        let (Unsigned(id), Unsigned(data), Unsigned(size), Long(n_tokens)) = values;
        Ok(Self {
            id: AtomicU64::new(id),
            data: AtomicU64::new(data),
            size: AtomicU64::new(size),
            n_tokens: AtomicI64::new(n_tokens),
        })
    }

    #[getter]
    pub(super) fn id(&self) -> u64 {
        self.id.load(Relaxed)
    }

    #[setter]
    fn set_id(&self, id: Unsigned) {
        self.id.store(id.0, Relaxed);
    }

    #[getter]
    pub(super) fn data(&self) -> u64 {
        self.data.load(Relaxed)
    }

    #[setter]
    fn set_data(&self, data: Unsigned) {
        self.data.store(data.0, Relaxed);
    }

    #[getter]
    pub(super) fn size(&self) -> u64 {
        self.size.load(Relaxed)
    }

    #[setter]
    fn set_size(&self, size: Unsigned) {
        self.size.store(size.0, Relaxed);
    }

    #[getter]
    pub(super) fn n_tokens(&self) -> i64 {
        self.n_tokens.load(Relaxed)
    }

    #[setter]
    fn set_n_tokens(&self, n_tokens: Long) {
        self.n_tokens.store(n_tokens.0, Relaxed);
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, (u64, u64, u64, i64)) {
        let response = slf.get();
        (slf.as_any().get_type(), (response.id(), response.data(), response.size(), response.n_tokens()))
    }
}
