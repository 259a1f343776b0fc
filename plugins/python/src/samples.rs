//! Samples of a batch or of a query as Python sees them: inputs to read, and tokens to report.

pub(crate) mod batch;
pub(crate) mod query;

use proctor_plugin_api::{Host, Response, TokenReport, vocabulary::ResponseId};
use pyo3::{exceptions::PyIndexError, prelude::*};

/// Reports the first token of a sample.
fn first_token(host: &Host, id: ResponseId, data: &[u8]) {
    host.first_token(&[Response::new(id, data)]);
}

/// Reports tokens of a sample.
fn tokens(host: &Host, id: ResponseId, count: u32) {
    host.tokens(&[TokenReport::new(id, count)]);
}

/// Returns the exception for a position outside of the batch or query.
fn no_sample(position: usize, count: usize) -> PyErr {
    PyIndexError::new_err(format!("sample {position} of {count}"))
}
