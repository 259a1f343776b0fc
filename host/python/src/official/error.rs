//! Reasons why the official LoadGen did not run a test.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
};

use parking_lot::Mutex;
use pyo3::PyErr;

use crate::failure::panic_text;

/// The package that brings the module, in the version that the load generator of the host follows.
const PACKAGE: &str = "mlcommons-loadgen==6.0.17";

#[derive(Debug, thiserror::Error)]
pub(crate) enum OfficialError {
    #[error(
        "Python {version} has no module mlperf_loadgen, the official LoadGen; \
         `{executable} -m pip install {PACKAGE}` installs it"
    )]
    NoPackage { version: String, executable: String },
    #[error("the official LoadGen cannot be imported: {0}")]
    Import(PyErr),
    #[error(
        "{} has no module mlperf_loadgen that this Python takes; it has the one in {}",
        wanted.display(), found.display()
    )]
    Elsewhere { wanted: PathBuf, found: PathBuf },
    #[error("the official LoadGen cannot read {}: it says {code}", path.display())]
    Config { path: PathBuf, code: i32 },
    #[error("this build of the official LoadGen has no setting {}, which the test needs", .0.join(", "))]
    NoSettings(Vec<&'static str>),
    #[error(
        "setting server_num_issue_query_threads must be 0: the official LoadGen registers no issuing threads from \
         Python"
    )]
    IssueThreads,
    #[error("the official LoadGen began no test; it must be able to write its logs into {}", .0.display())]
    NotBegun(PathBuf),
    #[error("{call} of the official LoadGen raised {error}")]
    Raised { call: &'static str, error: PyErr },
    #[error("a callback of the official LoadGen panicked: {0}")]
    Panicked(String),
}

/// Returns what makes an exception in `call` an error.
pub(super) fn calling(call: &'static str) -> impl Fn(PyErr) -> OfficialError {
    move |error| OfficialError::Raised { call, error }
}

/// The first error within a test, where nobody could take it.
#[derive(Debug, Default)]
pub(super) struct Troubles {
    first: Mutex<Option<OfficialError>>,
}

impl Troubles {
    pub(super) fn note(&self, error: OfficialError) {
        self.first.lock().get_or_insert(error);
    }

    pub(super) fn take(&self) -> Option<OfficialError> {
        self.first.lock().take()
    }

    /// Does the work of a callback, out of which neither an error nor a panic may come.
    pub(super) fn guard(&self, work: impl FnOnce() -> Result<(), OfficialError>) {
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.note(error),
            Err(panic) => self.note(OfficialError::Panicked(panic_text(panic.as_ref()).to_owned())),
        }
    }
}
