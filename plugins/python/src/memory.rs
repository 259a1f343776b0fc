//! Memory for samples that belongs to Python, so that arrays which a class keeps stay valid.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use proctor_plugin_api::{Allocation, MemoryKind, PluginError, PluginMemory};
use pyo3::{
    prelude::*,
    types::{PyByteArray, PyMemoryView},
};

use crate::errors::failed;

/// A byte array of Python that cannot be resized as long as this lives, nor by Python as long as an array looks at it.
pub(crate) struct Bytes {
    bytes: Py<PyByteArray>,
    /// Read-only view. That it exists keeps the array from being resized.
    view: Py<PyAny>,
    /// Address of the first byte.
    begin: usize,
    size_bytes: usize,
}

impl Bytes {
    /// Returns zeros.
    ///
    /// # Errors
    /// If there is no such memory.
    pub(crate) fn zeros(py: Python<'_>, size_bytes: usize) -> PyResult<Self> {
        let bytes = PyByteArray::new_with(py, size_bytes, |_| Ok(()))?;
        let view = PyMemoryView::from(bytes.as_any())?.call_method0("toreadonly")?.unbind();
        let begin = bytes.data().addr();
        Ok(Self { bytes: bytes.unbind(), view, begin, size_bytes })
    }

    /// Returns the byte array, to be written.
    pub(crate) fn array(&self, py: Python<'_>) -> Py<PyByteArray> {
        self.bytes.clone_ref(py)
    }

    /// Returns the address of the first byte.
    pub(crate) fn as_mut_ptr(&self, py: Python<'_>) -> *mut u8 {
        self.bytes.bind(py).data()
    }

    /// Returns the number of bytes.
    pub(crate) fn size_bytes(&self) -> usize {
        self.size_bytes
    }
}

/// Ranges of memory for samples.
#[derive(Default)]
pub(crate) struct PythonMemory {
    /// By the address that the host was given. Never locked while this thread waits for the interpreter.
    ranges: Mutex<BTreeMap<usize, Bytes>>,
}

impl PythonMemory {
    /// Returns a buffer of Python that has these bytes, and their distance from its beginning; `None` if they are in
    /// memory of the host.
    pub(crate) fn find(
        &self,
        py: Python<'_>,
        address: usize,
        size_bytes: usize,
    ) -> Option<(Py<PyAny>, usize)> {
        let ranges = self.ranges.lock();
        let (_, bytes) = ranges.range(..=address).next_back()?;
        let offset = address - bytes.begin;
        let is_inside = offset.checked_add(size_bytes).is_some_and(|end| end <= bytes.size_bytes);
        is_inside.then(|| (bytes.view.clone_ref(py), offset))
    }
}

// SAFETY: a range is a part of a byte array that `ranges` owns until `free`, and that cannot be resized meanwhile; it
// is as large and as aligned as asked for. Python sees it by read-only views; a class that gets at the byte array
// behind them changes values, as code of any plugin could.
unsafe impl PluginMemory for PythonMemory {
    fn allocate(&self, size_bytes: usize, alignment: usize) -> Result<Allocation, PluginError> {
        let room = size_bytes
            .checked_add(alignment)
            .ok_or_else(|| PluginError::out_of_memory("that much memory is nowhere"))?;
        Python::attach(|py| {
            let bytes = Bytes::zeros(py, room).map_err(|error| failed(py, error))?;
            let begin = bytes.as_mut_ptr(py);
            let memory = begin.wrapping_add(begin.align_offset(alignment));
            self.ranges.lock().insert(memory.addr(), bytes);
            Ok(Allocation { memory, size_bytes, kind: MemoryKind::Host })
        })
    }

    fn free(&self, memory: *mut u8) -> Result<(), PluginError> {
        Python::attach(|_| {
            // Dropped with the lock open: Python frees the memory, unless an array looks at it.
            let freed = self.ranges.lock().remove(&memory.addr());
            let message = || PluginError::invalid_argument(format!("{memory:p} is no memory of the plugin"));
            freed.map(drop).ok_or_else(message)
        })
    }
}
