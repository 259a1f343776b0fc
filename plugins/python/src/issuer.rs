//! The thread that hands queries to the class, and the queue before it.

use std::{
    io,
    sync::Arc,
    thread::{self, JoinHandle},
};

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use proctor_plugin_api::{Host, PluginError, Query, vocabulary::QuerySample};
use pyo3::prelude::*;

use crate::{
    calls::Call,
    errors::{explained, failed, helper},
    memory::PythonMemory,
    samples::query::{Prepared, QuerySamples},
    tensors::Inputs,
};

/// Queue of queries, and the thread behind it.
pub(crate) struct Issuer {
    queue: Sender<Task>,
    thread: Option<JoinHandle<()>>,
}

enum Task {
    Query(Issued),
    Flush,
    End,
}

struct Issued {
    samples: Vec<QuerySample>,
    offset: u64,
    total: u64,
    /// Waits for the answers, which are discarded.
    warm_up: Option<Sender<Result<(), PluginError>>>,
}

/// Place where the thread finds what it needs for a query.
pub(crate) struct Context {
    pub(crate) prepared: Arc<Prepared>,
    pub(crate) inputs: Arc<Inputs>,
    pub(crate) memory: Arc<PythonMemory>,
    pub(crate) host: Host,
}

impl Issued {
    fn new(query: Query<'_>, warm_up: Option<Sender<Result<(), PluginError>>>) -> Self {
        Self { samples: query.iter().collect(), offset: query.offset(), total: query.total(), warm_up }
    }
}

impl Issuer {
    /// Starts the thread for an object of the class.
    ///
    /// # Errors
    /// If there is no `Issuer` for it, or no thread.
    pub(crate) fn start(
        py: Python<'_>,
        made: &Py<PyAny>,
        model: &Bound<'_, PyAny>,
        context: Context,
    ) -> PyResult<Self> {
        let issuer = helper(py, "Issuer")?.call1((made, model))?.unbind();
        let (queue, tasks) = unbounded();
        let work = move || Python::attach(|py| serve(py, issuer.bind(py), &tasks, &context));
        let thread = thread::Builder::new().name("python issue".to_owned()).spawn(work);
        let thread = Some(thread.map_err(|error: io::Error| PyErr::from(error))?);
        Ok(Self { queue, thread })
    }

    /// Takes a query, and returns at once.
    pub(crate) fn issue(&self, query: Query<'_>) -> Result<(), PluginError> {
        self.send(Task::Query(Issued::new(query, None)))
    }

    /// Hands a query over to warm up with, and waits for its answer.
    pub(crate) fn warm_up(&self, query: Query<'_>) -> Result<(), PluginError> {
        // Each sample may fail by itself.
        let (answer, answered) = bounded(query.len() + 1);
        self.send(Task::Query(Issued::new(query, Some(answer))))?;
        let lost = |_| PluginError::failed("the warm-up was dropped without an answer");
        answered.recv().map_err(lost)?
    }

    /// Tells the object that no further query comes, once it has been given those before.
    pub(crate) fn flush(&self) {
        // Without the thread there is nothing to flush.
        let _ = self.send(Task::Flush);
    }

    fn send(&self, task: Task) -> Result<(), PluginError> {
        self.queue.send(task).map_err(|_| PluginError::failed("the thread for queries has ended"))
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        let _ = self.send(Task::End);
        if let Some(thread) = self.thread.take() {
            // It does not panic.
            let _ = thread.join();
        }
    }
}

/// Hands queries over until the end.
fn serve(py: Python<'_>, issuer: &Bound<'_, PyAny>, tasks: &Receiver<Task>, context: &Context) {
    loop {
        let (task, _call) = py.detach(|| (tasks.recv(), Call::begin()));
        match task {
            Ok(Task::Query(issued)) => issue(py, issuer, issued, context),
            Ok(Task::Flush) => {
                if let Err(error) = issuer.call_method0("flush") {
                    let text = format!("flush failed: {}", explained(py, error));
                    context.host.log(proctor_plugin_api::abi::PROCTOR_LOG_ERROR, "python", &text);
                }
            }
            Ok(Task::End) | Err(_) => return,
        }
    }
}

fn issue(py: Python<'_>, issuer: &Bound<'_, PyAny>, issued: Issued, context: &Context) {
    let Issued { samples, offset, total, warm_up } = issued;
    let Context { prepared, inputs, memory, host } = context;
    let size = samples.len();
    let shared = (Arc::clone(prepared), Arc::clone(inputs), Arc::clone(memory));
    let query = QuerySamples::new(samples, shared.0, shared.1, shared.2, *host, warm_up);
    // Without memory for it, the samples fail as the query is dropped.
    let Ok(query) = Py::new(py, query) else { return };
    if let Err(error) = issuer.call_method1("issue", (&query, size, offset, total)) {
        query.get().fail_rest(&failed(py, error));
    }
}
