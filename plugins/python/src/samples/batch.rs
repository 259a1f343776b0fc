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

/// Common part of the batches of an instance.
pub(crate) struct Context {
    pub(crate) inputs: Arc<Inputs>,
    pub(crate) memory: Arc<PythonMemory>,
    pub(crate) host: Host,
    pub(crate) inputs_vary: bool,
}

/// Samples of one batch: an object of its own, so that a thread which comes too late cannot reach the next batch.
#[pyclass(frozen, module = "proctor._native")]
pub(crate) struct BatchSamples {
    context: Arc<Context>,
    /// The batch, until its call is over. A reader of a place holds the lock, so that the call goes on meanwhile.
    batch: Mutex<Option<Samples>>,
}

/// A batch during its call: a panic ends that, too.
pub(crate) struct Noted<'a>(&'a BatchSamples);

impl Drop for Noted<'_> {
    /// Forgets the samples: their inputs are the host's again.
    fn drop(&mut self) {
        *self.0.batch.lock() = None;
    }
}

struct Samples {
    ids: Vec<u64>,
    indices: Vec<u64>,
    /// The inputs of the first sample, then those of the second one.
    places: Vec<Place>,
}

impl BatchSamples {
    pub(crate) fn new(context: &Arc<Context>, batch: &mut Batch<'_>) -> Self {
        let (count, input_count) = (batch.sample_count(), context.inputs.forms.len());
        let (ids, indices) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut noted = Samples { ids, indices, places: Vec::with_capacity(count * input_count) };
        for sample in batch.samples() {
            noted.ids.push(sample.id().0);
            noted.indices.push(sample.index().0);
            for input in 0..input_count {
                let bytes = sample.input(input);
                let shape = || sample.input_shape(input).iter().map(|&extent| extent as usize).collect();
                noted.places.push(Place {
                    address: bytes.as_ptr().expose_provenance(),
                    size_bytes: bytes.len(),
                    shape: context.inputs_vary.then(shape),
                });
            }
        }
        Self { context: Arc::clone(context), batch: Mutex::new(Some(noted)) }
    }

    /// Returns the guard whose drop ends the batch.
    pub(crate) fn during_call(&self) -> Noted<'_> {
        Noted(self)
    }

    /// Calls `read` with the samples.
    ///
    /// # Errors
    /// If the batch is over. Otherwise, as `read`.
    fn with<R>(&self, read: impl FnOnce(&Samples) -> PyResult<R>) -> PyResult<R> {
        match &*self.batch.lock() {
            Some(samples) => read(samples),
            None => {
                Err(PyRuntimeError::new_err("the batch is over: it can be used during its call of execute"))
            }
        }
    }

    /// Returns the identity of a sample.
    fn id(&self, position: usize) -> PyResult<ResponseId> {
        self.with(|batch| {
            let id = batch.ids.get(position).copied().map(ResponseId);
            id.ok_or_else(|| no_sample(position, batch.ids.len()))
        })
    }
}

impl Samples {
    /// Returns the places of an input.
    fn places(&self, input: usize, input_count: usize) -> Vec<&Place> {
        self.places.iter().skip(input).step_by(input_count).collect()
    }
}

#[pymethods]
impl BatchSamples {
    /// Returns an array of an input over all samples.
    fn array<'py>(&self, py: Python<'py>, input: usize) -> PyResult<Bound<'py, PyAny>> {
        let Context { inputs, memory, .. } = &*self.context;
        let (source, count) = self.with(|batch| {
            let places = batch.places(input, inputs.forms.len());
            // SAFETY: the host keeps the inputs for the call, which does not return while `with` has the lock: the end
            // of `Noted` waits.
            let source = unsafe { inputs.source(py, memory, input, &places)? };
            Ok((source, places.len()))
        })?;
        inputs.array(py, input, &source, Some(count))
    }

    /// Returns an array of an input for each sample.
    fn views<'py>(&self, py: Python<'py>, input: usize) -> PyResult<Bound<'py, PyList>> {
        let Context { inputs, memory, .. } = &*self.context;
        let source = |place: &Place| {
            // SAFETY: as in `array`.
            unsafe { inputs.source(py, memory, input, &[place]) }
        };
        let sources = self.with(|batch| {
            let places = batch.places(input, inputs.forms.len());
            places.into_iter().map(source).collect::<PyResult<Vec<_>>>()
        })?;
        inputs.arrays(py, input, &sources)
    }

    fn ids(&self) -> PyResult<Vec<u64>> {
        self.with(|batch| Ok(batch.ids.clone()))
    }

    fn indices(&self) -> PyResult<Vec<u64>> {
        self.with(|batch| Ok(batch.indices.clone()))
    }

    fn first_token(&self, position: usize, data: &[u8]) -> PyResult<()> {
        first_token(&self.context.host, self.id(position)?, data);
        Ok(())
    }

    fn tokens(&self, position: usize, count: u32) -> PyResult<()> {
        tokens(&self.context.host, self.id(position)?, count);
        Ok(())
    }
}
