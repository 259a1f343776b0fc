//! Responses of samples, as the module takes them.

use parking_lot::Mutex;
use proctor_loadgen::engine::EngineResponse;
use pyo3::{intern, prelude::*, types::PyList};

use super::{
    error::{OfficialError, calling},
    package::Package,
};

/// Greatest number of responses in one call: a list of more is sent in parts, which bounds the number of objects.
const PART: usize = 4096;

/// A report about samples.
#[derive(Debug, Clone, Copy)]
pub(super) enum Reply {
    Complete,
    FirstToken,
}

impl Reply {
    fn name(self) -> &'static str {
        match self {
            Self::Complete => "QuerySamplesComplete",
            Self::FirstToken => "FirstTokenComplete",
        }
    }
}

/// Batches that no thread uses now. Objects of the module are made once and then told what has changed: that is faster.
#[derive(Debug, Default)]
pub(super) struct Batches {
    idle: Mutex<Vec<Batch>>,
}

impl Batches {
    /// Sends responses, whose data LoadGen copies before it returns.
    pub(super) fn send(
        &self,
        py: Python<'_>,
        package: &Package,
        reply: Reply,
        responses: &[EngineResponse<'_>],
    ) -> Result<(), OfficialError> {
        let idle = self.idle.lock().pop();
        let mut batch = idle.unwrap_or_default();
        let sent = responses.chunks(PART).try_for_each(|part| batch.send(py, package, reply, part));
        self.idle.lock().push(batch);
        sent.map_err(calling(reply.name()))
    }
}

/// Objects of one call, and the list that holds them.
#[derive(Debug, Default)]
struct Batch {
    responses: Vec<Response>,
    list: Option<(usize, Py<PyList>)>,
}

impl Batch {
    fn send(
        &mut self,
        py: Python<'_>,
        package: &Package,
        reply: Reply,
        responses: &[EngineResponse<'_>],
    ) -> PyResult<()> {
        for (ours, response) in self.responses.iter_mut().zip(responses) {
            ours.take(py, response)?;
        }
        for response in responses.iter().skip(self.responses.len()) {
            self.responses.push(Response::new(py, package, response)?);
        }
        let function = match reply {
            Reply::Complete => &package.complete,
            Reply::FirstToken => &package.first_token,
        };
        function.bind(py).call1((self.list(py, responses.len())?,))?;
        Ok(())
    }

    /// Returns the list of the first `count` objects.
    fn list(&mut self, py: Python<'_>, count: usize) -> PyResult<Py<PyList>> {
        if let Some((length, list)) = &self.list
            && *length == count
        {
            return Ok(list.clone_ref(py));
        }
        let objects = self.responses[..count].iter().map(|response| response.object.bind(py));
        let list = PyList::new(py, objects)?.unbind();
        self.list = Some((count, list.clone_ref(py)));
        Ok(list)
    }
}

/// An object of the module, and what it holds.
#[derive(Debug)]
struct Response {
    object: Py<PyAny>,
    data: usize,
    size: usize,
    token_count: u64,
}

impl Response {
    fn new(py: Python<'_>, package: &Package, response: &EngineResponse<'_>) -> PyResult<Self> {
        let (data, size) = (response.data.as_ptr().addr(), response.data.len());
        let object = package.response.bind(py).call1((response.id, data, size))?.unbind();
        let mut made = Self { object, data, size, token_count: 0 };
        made.set_token_count(py, response.token_count)?;
        Ok(made)
    }

    /// Takes the values of a response. The address of its data means nothing after the call for which it is set.
    fn take(&mut self, py: Python<'_>, response: &EngineResponse<'_>) -> PyResult<()> {
        let object = self.object.bind(py);
        object.setattr(intern!(py, "id"), response.id)?;
        let (data, size) = (response.data.as_ptr().addr(), response.data.len());
        if size > 0 && self.data != data {
            object.setattr(intern!(py, "data"), data)?;
            self.data = data;
        }
        if self.size != size {
            object.setattr(intern!(py, "size"), size)?;
            self.size = size;
        }
        self.set_token_count(py, response.token_count)
    }

    fn set_token_count(&mut self, py: Python<'_>, token_count: u64) -> PyResult<()> {
        if self.token_count != token_count {
            self.object.bind(py).setattr(intern!(py, "n_tokens"), token_count)?;
            self.token_count = token_count;
        }
        Ok(())
    }
}
