//! Samples of a query, which are completed one by one.

use std::{collections::HashMap, sync::Arc};

use crossbeam_channel::Sender;
use parking_lot::{Mutex, RwLock};
use proctor_plugin_api::{
    Host, PluginError, PreparedSample, Response,
    vocabulary::{QuerySample, ResponseId},
};
use pyo3::{
    exceptions::PyRuntimeError,
    prelude::*,
    types::{PyBytes, PyList},
};

use super::{first_token, no_sample, tokens};
use crate::{
    errors::backend_error,
    memory::PythonMemory,
    tensors::{Inputs, Place},
};

/// Inputs of the prepared samples, by their positions in the data set.
#[derive(Default)]
pub(crate) struct Prepared(RwLock<HashMap<u64, Vec<Place>>>);

impl Prepared {
    /// Notes samples, until [`release`](Self::release).
    pub(crate) fn prepare(&self, samples: &[PreparedSample], inputs_vary: bool) {
        let place = |tensor: &proctor_plugin_api::PreparedTensor| {
            // SAFETY: the samples are being prepared, so they have not been released.
            let shape = || unsafe { tensor.shape() }.iter().map(|&extent| extent as usize).collect();
            Place {
                address: tensor.as_ptr().expose_provenance(),
                size_bytes: tensor.size_bytes(),
                shape: inputs_vary.then(shape),
            }
        };
        let places = |sample: &PreparedSample| (sample.index.0, sample.inputs.iter().map(place).collect());
        *self.0.write() = samples.iter().map(places).collect();
    }

    /// Forgets the samples: their inputs are the host's again, once nobody reads them.
    pub(crate) fn release(&self) {
        self.0.write().clear();
    }
}

/// Samples of one query.
#[pyclass(frozen, module = "proctor._native")]
pub(crate) struct QuerySamples {
    samples: Vec<QuerySample>,
    /// True for each sample that was completed or failed.
    done: Mutex<Vec<bool>>,
    prepared: Arc<Prepared>,
    inputs: Arc<Inputs>,
    memory: Arc<PythonMemory>,
    host: Host,
    /// Waits for the end of a query whose answers are discarded.
    warm_up: Option<Sender<Result<(), PluginError>>>,
}

impl QuerySamples {
    pub(crate) fn new(
        samples: Vec<QuerySample>,
        prepared: Arc<Prepared>,
        inputs: Arc<Inputs>,
        memory: Arc<PythonMemory>,
        host: Host,
        warm_up: Option<Sender<Result<(), PluginError>>>,
    ) -> Self {
        let done = Mutex::new(vec![false; samples.len()]);
        Self { samples, done, prepared, inputs, memory, host, warm_up }
    }

    /// Fails the samples that are not done.
    pub(crate) fn fail_rest(&self, error: &PluginError) {
        let mut done = self.done.lock();
        let is_left =
            |(position, done): (usize, &mut bool)| (!std::mem::replace(done, true)).then_some(position);
        let left: Vec<_> = done.iter_mut().enumerate().filter_map(is_left).collect();
        drop(done);
        self.send_failures(&left, error);
    }

    fn send_failures(&self, positions: &[usize], error: &PluginError) {
        match &self.warm_up {
            Some(warm_up) if !positions.is_empty() => _ = warm_up.send(Err(error.clone())),
            Some(_) => (),
            None => {
                let failures =
                    positions.iter().map(|&position| Response::failed(self.samples[position].id, error));
                self.host.complete_each(failures);
            }
        }
    }

    /// Marks samples as done: these, or all.
    ///
    /// # Errors
    /// If one is not in the query, or was done before; then nothing is marked.
    fn claim(&self, py: Python<'_>, positions: Option<Vec<usize>>) -> PyResult<Vec<usize>> {
        let count = self.samples.len();
        let positions = positions.unwrap_or_else(|| (0..count).collect());
        let mut done = self.done.lock();
        let mut claimed = 0;
        let mut wrong = None;
        for &position in &positions {
            match done.get_mut(position) {
                Some(done) if !*done => (*done, claimed) = (true, claimed + 1),
                is_done => {
                    wrong = Some((position, is_done.is_some()));
                    break;
                }
            }
        }
        let Some((position, is_there)) = wrong else { return Ok(positions) };
        for &position in &positions[..claimed] {
            done[position] = false;
        }
        drop(done);
        Err(match is_there {
            true => backend_error(py, &format!("sample {position} of the query was completed before")),
            false => no_sample(position, count),
        })
    }

    /// Answers a warm-up once all of its samples are done.
    fn end_warm_up(&self) {
        if let Some(warm_up) = &self.warm_up
            && self.done.lock().iter().all(|done| *done)
        {
            // After a failure nobody waits.
            let _ = warm_up.send(Ok(()));
        }
    }

    fn id(&self, position: usize) -> PyResult<ResponseId> {
        let sample = self.samples.get(position);
        sample.map(|sample| sample.id).ok_or_else(|| no_sample(position, self.samples.len()))
    }

    /// Calls `read` with the places of an input, while the host keeps them.
    fn with_places<R>(&self, input: usize, read: impl FnOnce(&[&Place]) -> PyResult<R>) -> PyResult<R> {
        let prepared = self.prepared.0.read();
        let place = |sample: &QuerySample| prepared.get(&sample.index.0).and_then(|places| places.get(input));
        let places: Option<Vec<_>> = self.samples.iter().map(place).collect();
        let over =
            || PyRuntimeError::new_err("the samples were released: the part of the test with them is over");
        read(&places.ok_or_else(over)?)
    }
}

impl Drop for QuerySamples {
    /// Fails samples that nobody can complete.
    fn drop(&mut self) {
        let message = "the backend let go of the query without completing this sample";
        self.fail_rest(&PluginError::failed(message));
    }
}

#[pymethods]
impl QuerySamples {
    /// Returns an array of an input over all samples.
    fn array<'py>(&self, py: Python<'py>, input: usize) -> PyResult<Bound<'py, PyAny>> {
        let source = self.with_places(input, |places| {
            // SAFETY: the host keeps the inputs until `release` returns, which waits for `with_places`.
            unsafe { self.inputs.source(py, &self.memory, input, places) }
        })?;
        self.inputs.array(py, input, &source, Some(self.samples.len()))
    }

    /// Returns an array of an input for each sample.
    fn views<'py>(&self, py: Python<'py>, input: usize) -> PyResult<Bound<'py, PyList>> {
        let sources = self.with_places(input, |places| {
            let source = |place: &&Place| {
                // SAFETY: as in `array`.
                unsafe { self.inputs.source(py, &self.memory, input, &[place]) }
            };
            places.iter().map(source).collect::<PyResult<Vec<_>>>()
        })?;
        self.inputs.arrays(py, input, &sources)
    }

    fn ids(&self) -> Vec<u64> {
        self.samples.iter().map(|sample| sample.id.0).collect()
    }

    fn indices(&self) -> Vec<u64> {
        self.samples.iter().map(|sample| sample.index.0).collect()
    }

    fn first_token(&self, position: usize, data: &[u8]) -> PyResult<()> {
        let id = self.id(position)?;
        if self.warm_up.is_none() {
            first_token(&self.host, id, data);
        }
        Ok(())
    }

    fn tokens(&self, position: usize, count: u32) -> PyResult<()> {
        let id = self.id(position)?;
        if self.warm_up.is_none() {
            tokens(&self.host, id, count);
        }
        Ok(())
    }

    /// Completes samples. `data` are their bytes one after another, `row_bytes` for each, or a list of those of each.
    fn complete(
        &self,
        py: Python<'_>,
        positions: Option<Vec<usize>>,
        data: &Bound<'_, PyAny>,
        row_bytes: usize,
        token_counts: Option<Vec<u32>>,
    ) -> PyResult<()> {
        let (together, each);
        let rows: Vec<&[u8]> = if let Ok(bytes) = data.cast::<PyBytes>() {
            together = bytes.as_bytes();
            match row_bytes {
                0 => vec![&[]; self.samples.len()],
                _ => together.chunks_exact(row_bytes).collect(),
            }
        } else {
            each = data.extract::<Vec<Bound<'_, PyBytes>>>()?;
            each.iter().map(|bytes| bytes.as_bytes()).collect()
        };
        let positions = self.claim(py, positions)?;
        if self.warm_up.is_none() {
            let counts = token_counts.unwrap_or_default();
            let answers = positions.iter().zip(&rows).enumerate().map(|(nth, (&position, row))| {
                let answer = Response::new(self.samples[position].id, row);
                counts.get(nth).map_or(answer, |&count| answer.with_token_count(count))
            });
            self.host.complete_each(answers);
        }
        self.end_warm_up();
        Ok(())
    }

    /// Fails samples: these, or every one that is not done.
    fn fail(&self, py: Python<'_>, positions: Option<Vec<usize>>, reason: String) -> PyResult<()> {
        let error = PluginError::failed(reason);
        match positions {
            None => self.fail_rest(&error),
            Some(_) => self.send_failures(&self.claim(py, positions)?, &error),
        }
        Ok(())
    }
}
