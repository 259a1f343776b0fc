//! Samples of the batch that an instance runs.

use std::sync::Arc;

use parking_lot::Mutex;
use proctor_plugin_api::{Batch, Host, vocabulary::ResponseId};
use pyo3::{exceptions::PyRuntimeError, prelude::*, types::PyList};

use super::{first_token, no_sample, tokens};
use crate::{
    memory::PythonMemory,
    tensors::{Inputs, Place},
};

/// Samples of the batch of an instance, from one call to the next.
#[pyclass(frozen, module = "proctor._native")]
pub(crate) struct BatchSamples {
    inputs: Arc<Inputs>,
    memory: Arc<PythonMemory>,
    host: Host,
    inputs_vary: bool,
    /// The batch; empty between two calls. A reader of a place holds the lock, so that the call goes on meanwhile.
    batch: Mutex<Samples>,
}

/// A batch that is noted: a panic forgets it, too.
pub(crate) struct Noted<'a>(&'a BatchSamples);

impl Drop for Noted<'_> {
    /// Forgets the samples: their inputs are the host's again.
    fn drop(&mut self) {
        let mut noted = self.0.batch.lock();
        noted.ids.clear();
        noted.indices.clear();
        noted.places.clear();
    }
}

#[derive(Default)]
struct Samples {
    ids: Vec<u64>,
    indices: Vec<u64>,
    /// The inputs of the first sample, then those of the second one.
    places: Vec<Place>,
}

impl BatchSamples {
    pub(crate) fn new(inputs: Arc<Inputs>, memory: Arc<PythonMemory>, host: Host, inputs_vary: bool) -> Self {
        Self { inputs, memory, host, inputs_vary, batch: Mutex::default() }
    }

    /// Notes the samples of a batch, until the result is dropped.
    pub(crate) fn begin(&self, batch: &mut Batch<'_>) -> Noted<'_> {
        let mut noted = self.batch.lock();
        for sample in batch.samples() {
            noted.ids.push(sample.id().0);
            noted.indices.push(sample.index().0);
            for input in 0..self.inputs.forms.len() {
                let bytes = sample.input(input);
                let shape = || sample.input_shape(input).iter().map(|&extent| extent as usize).collect();
                noted.places.push(Place {
                    address: bytes.as_ptr().expose_provenance(),
                    size_bytes: bytes.len(),
                    shape: self.inputs_vary.then(shape),
                });
            }
        }
        drop(noted);
        Noted(self)
    }

    /// Returns the identity of a sample.
    fn id(&self, position: usize) -> PyResult<ResponseId> {
        let batch = self.batch.lock();
        let id = batch.ids.get(position).copied().map(ResponseId);
        id.ok_or_else(|| no_sample(position, batch.ids.len()))
    }
}

impl Samples {
    /// Returns the places of an input.
    ///
    /// # Errors
    /// If there is no batch now.
    fn places(&self, input: usize, input_count: usize) -> PyResult<Vec<&Place>> {
        if self.places.is_empty() {
            let message = "the batch is over: its inputs can be read during the call of execute";
            return Err(PyRuntimeError::new_err(message));
        }
        Ok(self.places.iter().skip(input).step_by(input_count).collect())
    }
}

#[pymethods]
impl BatchSamples {
    /// Returns an array of an input over all samples.
    fn array<'py>(&self, py: Python<'py>, input: usize) -> PyResult<Bound<'py, PyAny>> {
        let batch = self.batch.lock();
        let places = batch.places(input, self.inputs.forms.len())?;
        let count = places.len();
        // SAFETY: the host keeps the inputs for the call, which does not return while this has the lock: the end of
        // `Noted` waits.
        let source = unsafe { self.inputs.source(py, &self.memory, input, &places)? };
        drop(batch);
        self.inputs.array(py, input, &source, Some(count))
    }

    /// Returns an array of an input for each sample.
    fn views<'py>(&self, py: Python<'py>, input: usize) -> PyResult<Bound<'py, PyList>> {
        let batch = self.batch.lock();
        let places = batch.places(input, self.inputs.forms.len())?;
        let source = |place: &&Place| {
            // SAFETY: as in `array`.
            unsafe { self.inputs.source(py, &self.memory, input, &[place]) }
        };
        let sources = places.iter().map(source).collect::<PyResult<Vec<_>>>()?;
        drop(batch);
        self.inputs.arrays(py, input, &sources)
    }

    fn ids(&self) -> Vec<u64> {
        self.batch.lock().ids.clone()
    }

    fn indices(&self) -> Vec<u64> {
        self.batch.lock().indices.clone()
    }

    fn first_token(&self, position: usize, data: &[u8]) -> PyResult<()> {
        first_token(&self.host, self.id(position)?, data);
        Ok(())
    }

    fn tokens(&self, position: usize, count: u32) -> PyResult<()> {
        tokens(&self.host, self.id(position)?, count);
        Ok(())
    }
}
