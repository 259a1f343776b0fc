//! Arrays of NumPy over samples.

use proctor_plugin_api::vocabulary::TensorSpec;
use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyBytes, PyList, PyTuple},
};

use crate::memory::PythonMemory;

/// Form of an array for one sample.
pub(crate) struct Form {
    pub(crate) name: String,
    pub(crate) element_type: &'static str,
    /// Extents of the array: of the tensor, or of its bytes where several elements share one.
    pub(crate) shape: Vec<usize>,
    /// Bytes of a sample.
    pub(crate) size_bytes: usize,
    /// Bytes of an element of the array.
    item_bytes: usize,
}

/// Inputs of a model, as arrays.
pub(crate) struct Inputs {
    pub(crate) forms: Vec<Form>,
    /// Type of each in NumPy.
    dtypes: Vec<Py<PyAny>>,
    /// The type `numpy.ndarray`.
    ndarray: Py<PyAny>,
}

/// Place of a tensor of a sample.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) address: usize,
    pub(crate) size_bytes: usize,
    /// Its extents, where they may be smaller than those of the form.
    pub(crate) shape: Option<Box<[usize]>>,
}

/// Memory that an array is made over.
pub(crate) struct Source<'py> {
    buffer: Bound<'py, PyAny>,
    offset: usize,
    /// Distance of the samples in bytes.
    stride: usize,
    shape: Vec<usize>,
}

impl Form {
    pub(crate) fn new(spec: &TensorSpec) -> Self {
        let (bits, size_bytes) = (spec.element_type.bits(), spec.size_bytes());
        let shape = if bits < 8 { vec![size_bytes] } else { spec.shape.clone() };
        Self {
            name: spec.name.clone(),
            element_type: spec.element_type.name(),
            shape,
            size_bytes,
            item_bytes: bits.div_ceil(8),
        }
    }

    /// Returns name, element type and shape, for the Python side.
    pub(crate) fn told(&self) -> (&str, &str, &[usize]) {
        (&self.name, self.element_type, &self.shape)
    }

    /// Returns the shape of the array of a sample.
    fn shape_of<'a>(&'a self, place: &'a Place) -> &'a [usize] {
        place.shape.as_deref().unwrap_or(&self.shape)
    }
}

impl Inputs {
    /// Returns the inputs; `tensors` are the same on the Python side.
    pub(crate) fn new(py: Python<'_>, forms: Vec<Form>, tensors: &Bound<'_, PyAny>) -> PyResult<Self> {
        let dtype = |tensor: PyResult<Bound<'_, PyAny>>| Ok(tensor?.getattr("dtype")?.unbind());
        let dtypes = tensors.try_iter()?.map(dtype).collect::<PyResult<_>>()?;
        let ndarray = py.import("numpy")?.getattr("ndarray")?.unbind();
        Ok(Self { forms, dtypes, ndarray })
    }

    /// Finds or copies the tensors of some samples. Runs no code in Python, for which another thread might be let in:
    /// the caller holds a lock.
    ///
    /// # Errors
    /// If they differ in shape, or there is no memory.
    ///
    /// # Safety
    /// The places are valid for the call.
    pub(crate) unsafe fn source<'py>(
        &self,
        py: Python<'py>,
        memory: &PythonMemory,
        input: usize,
        places: &[&Place],
    ) -> PyResult<Source<'py>> {
        let form = &self.forms[input];
        let first = places[0];
        let shape = form.shape_of(first);
        if places.iter().any(|place| form.shape_of(place) != shape) {
            let name = &form.name;
            // Made when it is raised: the caller holds a lock.
            return Err(PyValueError::new_err(format!(
                "the samples of \"{name}\" differ in shape: take each by itself, by views(\"{name}\")"
            )));
        }
        let size_bytes = first.size_bytes;
        let stride = match places.get(1) {
            Some(second) => second.address.checked_sub(first.address),
            None => Some(size_bytes),
        };
        let shape = shape.to_vec();
        if let Some(stride) = stride {
            let at = |position: usize| stride.checked_mul(position)?.checked_add(first.address);
            let is_even =
                places.iter().enumerate().all(|(position, place)| at(position) == Some(place.address));
            let span = stride.checked_mul(places.len() - 1).and_then(|span| span.checked_add(size_bytes));
            let found = span.filter(|_| is_even).and_then(|span| memory.find(py, first.address, span));
            if let Some((buffer, offset)) = found {
                return Ok(Source { buffer: buffer.into_bound(py), offset, stride, shape });
            }
        }
        let copy = PyBytes::new_with(py, size_bytes * places.len(), |room| {
            // Chunks of no bytes cannot be.
            for (room, place) in room.chunks_exact_mut(size_bytes.max(1)).zip(places) {
                // SAFETY: the caller says that the place is valid, which has as many bytes as the first one, being of
                // the same shape.
                room.copy_from_slice(unsafe {
                    std::slice::from_raw_parts(std::ptr::with_exposed_provenance(place.address), size_bytes)
                });
            }
            Ok(())
        })?;
        Ok(Source { buffer: copy.into_any(), offset: 0, stride: size_bytes, shape })
    }

    /// Returns a read-only array of a source: over `count` samples, or of one without that dimension.
    ///
    /// # Errors
    /// If NumPy makes none.
    pub(crate) fn array<'py>(
        &self,
        py: Python<'py>,
        input: usize,
        source: &Source<'py>,
        count: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let form = &self.forms[input];
        let (dtype, ndarray) = (self.dtypes[input].bind(py), self.ndarray.bind(py));
        let extents: Vec<_> = count.into_iter().chain(source.shape.iter().copied()).collect();
        let shape = PyTuple::new(py, extents)?;
        let row_bytes = source.shape.iter().product::<usize>() * form.item_bytes;
        if count.is_none_or(|count| count == 1) || source.stride == row_bytes {
            return ndarray.call1((shape, dtype, &source.buffer, source.offset));
        }
        // Distances of the last dimension first.
        let mut strides = vec![form.item_bytes];
        for extent in source.shape.iter().skip(1).rev() {
            strides.push(strides[strides.len() - 1] * extent);
        }
        strides.truncate(source.shape.len());
        strides.push(source.stride);
        strides.reverse();
        ndarray.call1((shape, dtype, &source.buffer, source.offset, PyTuple::new(py, strides)?))
    }

    /// Returns an array for each of these sources, each of one sample.
    ///
    /// # Errors
    /// As [`array`](Self::array).
    pub(crate) fn arrays<'py>(
        &self,
        py: Python<'py>,
        input: usize,
        sources: &[Source<'py>],
    ) -> PyResult<Bound<'py, PyList>> {
        let arrays = sources.iter().map(|source| self.array(py, input, source, None));
        PyList::new(py, arrays.collect::<PyResult<Vec<_>>>()?)
    }
}
