//! `QuerySamplesComplete` and `FirstTokenComplete`.

use proctor_vocabulary::{QuerySampleResponse, ResponseId, SampleStatus};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    sync::PyOnceLock,
    types::{PyBytes, PyList, PySequence},
};

use super::{
    arguments::Callback,
    samples,
    session::{Session, is_in_callback, released},
};

/// The event that responses report.
#[derive(Clone, Copy)]
enum Event {
    Complete,
    FirstToken,
}

/// QuerySamplesComplete(responses, response_cb=None)
///
/// Completes samples. Their data are read before it returns, and only of samples that are logged. response_cb is called
/// with each of these before it is read.
#[pyfunction]
#[pyo3(name = "QuerySamplesComplete", signature = (responses, response_cb = None))]
pub(super) fn query_samples_complete(
    responses: &Bound<'_, PyAny>,
    response_cb: Option<Callback>,
) -> PyResult<()> {
    report(Event::Complete, responses, response_cb)
}

/// FirstTokenComplete(responses, response_cb=None)
///
/// Reports the first tokens of samples.
#[pyfunction]
#[pyo3(name = "FirstTokenComplete", signature = (responses, response_cb = None))]
pub(super) fn first_token_complete(
    responses: &Bound<'_, PyAny>,
    response_cb: Option<Callback>,
) -> PyResult<()> {
    report(Event::FirstToken, responses, response_cb)
}

fn report(event: Event, responses: &Bound<'_, PyAny>, response_cb: Option<Callback>) -> PyResult<()> {
    let py = responses.py();
    // One sample at a time is the usual case, and needs no lists.
    if let (Ok(list), None) = (responses.cast_exact::<PyList>(), &response_cb)
        && list.len() == 1
    {
        let object = object(list.get_item(0)?)?;
        let session = Session::current()?;
        let now_ns = now_if_logging(&session);
        let read = Read::of(&session, &object)?;
        send(py, &session, event, now_ns, &[read.response()]);
        return Ok(());
    }
    let objects = objects(responses)?;
    if objects.is_empty() {
        return Ok(());
    }
    let session = Session::current()?;
    let now_ns = now_if_logging(&session);
    if let Some(Callback(response_cb)) = response_cb {
        for object in &objects {
            if session.may_log && session.progress.is_logged(ResponseId(object.get().id())) {
                response_cb.call1(py, (object,))?;
            }
        }
    }
    let read = objects.iter().map(|object| Read::of(&session, object)).collect::<PyResult<Vec<_>>>()?;
    let responses: Vec<_> = read.iter().map(Read::response).collect();
    send(py, &session, event, now_ns, &responses);
    Ok(())
}

/// Returns the instant of a completion in a test that may log it: neither callbacks nor copies of data count as time
/// of the samples.
fn now_if_logging(session: &Session) -> Option<u64> {
    session.may_log.then(|| session.sink.now_ns())
}

/// Passes responses on. Where the load generator waits for this thread anyway, the interpreter's lock is kept:
/// releasing it would cost more than the rest.
fn send(
    py: Python<'_>,
    session: &Session,
    event: Event,
    now_ns: Option<u64>,
    responses: &[QuerySampleResponse<'_>],
) {
    let sink = &*session.sink;
    let pass_on = || match (event, now_ns) {
        (Event::Complete, None) => sink.complete(responses),
        (Event::Complete, Some(now_ns)) => sink.complete_at(now_ns, responses),
        (Event::FirstToken, None) => sink.first_token(responses),
        (Event::FirstToken, Some(now_ns)) => sink.first_token_at(now_ns, responses),
    };
    if is_in_callback() { pass_on() } else { released(py, pass_on) }
}

/// Contents of a response of Python.
struct Read<'py> {
    id: ResponseId,
    token_count: u32,
    /// Copy of its memory, which is read only if it is to be logged.
    data: Option<Bound<'py, PyBytes>>,
}

impl<'py> Read<'py> {
    fn of(session: &Session, object: &Bound<'py, samples::QuerySampleResponse>) -> PyResult<Self> {
        let values = object.get();
        let (id, size) = (ResponseId(values.id()), values.size());
        let is_logged = size > 0 && session.may_log && session.progress.is_logged(id);
        let data = is_logged.then(|| copy(object.py(), values.data(), size)).transpose()?;
        // Fewer than 0 tokens are as much against the rules as none.
        let token_count = u32::try_from(values.n_tokens().max(0)).unwrap_or(u32::MAX);
        Ok(Self { id, token_count, data })
    }

    fn response(&self) -> QuerySampleResponse<'_> {
        let data = self.data.as_ref().map_or(&[][..], |data| data.as_bytes());
        QuerySampleResponse { id: self.id, status: SampleStatus::OK, data, token_count: self.token_count }
    }
}

/// Copies the bytes at an address that code in Python has given, by Python's own function for that.
fn copy(py: Python<'_>, address: u64, size: u64) -> PyResult<Bound<'_, PyBytes>> {
    static STRING_AT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    // It takes a size of 32 bits.
    if address == 0 || address.checked_add(size).is_none() || i32::try_from(size).is_err() {
        let text = format!("a response has no {size} bytes at the address {address:#x}");
        return Err(PyValueError::new_err(text));
    }
    let string_at = STRING_AT.import(py, "ctypes", "string_at")?;
    Ok(string_at.call1((address, size))?.cast_into::<PyBytes>()?)
}

fn object(value: Bound<'_, PyAny>) -> PyResult<Bound<'_, samples::QuerySampleResponse>> {
    value.cast_into().map_err(|error| {
        let name = error
            .into_inner()
            .get_type()
            .name()
            .map_or_else(|_| "another type".to_owned(), |n| n.to_string());
        PyTypeError::new_err(format!("expected a list of QuerySampleResponse, with a {name} in it"))
    })
}

fn objects<'py>(responses: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, samples::QuerySampleResponse>>> {
    if let Ok(list) = responses.cast::<PyList>() {
        return list.iter().map(object).collect();
    }
    let sequence = responses
        .cast::<PySequence>()
        .map_err(|_| PyTypeError::new_err("expected a list of QuerySampleResponse"))?;
    sequence.try_iter()?.map(|item| object(item?)).collect()
}
