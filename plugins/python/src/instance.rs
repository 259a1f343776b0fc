//! An object of the class, and the batches that it runs.

use std::sync::Arc;

use proctor_plugin_api::{Batch, Instance, PluginError, abi};
use pyo3::{ffi, prelude::*};

use crate::{
    calls::Call,
    errors::{explained, failed, helper},
    memory::Bytes,
    samples::batch::{BatchSamples, Context},
    tensors::Form,
};

/// One object of the class, with rooms for the outputs of a batch.
pub struct PythonInstance {
    pub(crate) made: Py<PyAny>,
    pub(crate) runner: Py<PyAny>,
    pub(crate) context: Arc<Context>,
    pub(crate) rooms: Vec<Room>,
    pub(crate) thread: Option<KeptThread>,
}

/// Room for one output of all samples of a batch.
pub(crate) struct Room {
    pub(crate) bytes: Bytes,
    pub(crate) size_bytes: usize,
    /// Bytes of an element, or of those that share one.
    pub(crate) unit_bytes: usize,
}

/// State of a thread in the interpreter, which would be made and dropped with each batch without it.
pub(crate) struct KeptThread {
    gil: ffi::PyGILState_STATE,
    state: *mut ffi::PyThreadState,
}

// SAFETY: the thread that has made it alone uses it, as `begin_thread` and `end_thread` are calls of one thread.
unsafe impl Send for KeptThread {}

/// The end of a batch: sizes of the last output in elements, token counts, and failures by position.
type Said = (Option<Vec<usize>>, Option<Vec<u32>>, std::collections::HashMap<usize, String>);

impl PythonInstance {
    /// Copies the outputs to the host.
    fn hand_over(&self, py: Python<'_>, batch: &mut Batch<'_>, said: Option<&Said>) {
        for (position, mut sample) in batch.samples().enumerate() {
            if let Some((_, counts, failures)) = said {
                if let Some(reason) = failures.get(&position) {
                    sample.fail(&PluginError::failed(reason.as_str()));
                    continue;
                }
                if let Some(&count) = counts.as_ref().and_then(|counts| counts.get(position)) {
                    sample.set_token_count(count);
                }
            }
            for (output, room) in self.rooms.iter().enumerate() {
                let to = sample.output_mut(output);
                let count = to.len().min(room.size_bytes);
                let begin = position * room.size_bytes;
                assert!(
                    begin + count <= room.bytes.size_bytes(),
                    "the batch is no larger than was asked for"
                );
                // SAFETY: as just checked, these bytes are inside the byte array, which is not resized. A thread of
                // the class that still writes there decides about the answers alone.
                unsafe {
                    let from = room.bytes.as_mut_ptr(py).add(begin);
                    std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), count);
                }
            }
            let sizes = said.and_then(|(sizes, ..)| sizes.as_ref());
            if let (Some(room), Some(&elements)) =
                (self.rooms.last(), sizes.and_then(|sizes| sizes.get(position)))
            {
                sample.set_output_size(self.rooms.len() - 1, elements * room.unit_bytes);
            }
        }
    }
}

impl Room {
    /// Makes room for an output of so many samples.
    pub(crate) fn new(py: Python<'_>, form: &Form, rows: usize) -> PyResult<Self> {
        let bytes = Bytes::zeros(py, form.size_bytes * rows)?;
        let elements: usize = form.shape.iter().product();
        Ok(Self { bytes, size_bytes: form.size_bytes, unit_bytes: form.size_bytes / elements.max(1) })
    }
}

impl Instance for PythonInstance {
    fn execute(&mut self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        let samples = BatchSamples::new(&self.context, batch);
        let _call = Call::begin();
        Python::attach(|py| {
            let samples = Py::new(py, samples).map_err(|error| failed(py, error))?;
            let noted = samples.get().during_call();
            let answered = self.runner.bind(py).call1((batch.sample_count(), &samples));
            drop(noted);
            let said = answered.and_then(|answer| answer.extract::<Option<Said>>());
            let said = said.map_err(|error| failed(py, error))?;
            self.hand_over(py, batch, said.as_ref());
            Ok(())
        })
    }

    fn begin_thread(&mut self) -> Result<(), PluginError> {
        let _call = Call::begin();
        // SAFETY: the interpreter runs, since its process does; `end_thread` undoes both in the other order.
        let kept = unsafe {
            let gil = ffi::PyGILState_Ensure();
            KeptThread { gil, state: ffi::PyEval_SaveThread() }
        };
        self.thread = Some(kept);
        Ok(())
    }

    fn end_thread(&mut self) -> Result<(), PluginError> {
        let _call = Call::begin();
        if let Some(KeptThread { gil, state }) = self.thread.take() {
            // SAFETY: this is the thread of `begin_thread`, whose state has been set aside since.
            unsafe {
                ffi::PyEval_RestoreThread(state);
                ffi::PyGILState_Release(gil);
            }
        }
        Ok(())
    }
}

impl Drop for PythonInstance {
    fn drop(&mut self) {
        let _call = Call::begin();
        Python::attach(|py| unload(py, &self.made, &self.context.host));
    }
}

/// Lets an object end; nobody is left to fail.
pub(crate) fn unload(py: Python<'_>, made: &Py<PyAny>, host: &proctor_plugin_api::Host) {
    if let Err(error) = helper(py, "unload").and_then(|unload| unload.call1((made,))) {
        let text = format!("unload failed: {}", explained(py, error));
        host.log(abi::PROCTOR_LOG_ERROR, "python", &text);
    }
}
