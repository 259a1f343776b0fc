//! Results that runs have left: opened, compared, and as a page.

use std::{ffi::OsString, path::PathBuf};

use proctor_host::embedded;
use proctor_results::{Ending, Run, RunKind, Series, SeriesKind};
use proctor_words::DataError;
use pyo3::prelude::*;

use crate::failure::Failure;

/// Compares two folders by the words of `host compare`, and returns the answer as JSON.
#[pyfunction]
pub(crate) fn compare(py: Python<'_>, words: Vec<OsString>) -> PyResult<String> {
    let compared = py.detach(|| embedded::compare(words));
    compared.map(|value| value.to_string()).map_err(|error| Failure::from(error).exception(py))
}

/// Writes a page by the words of `host report`, and returns its path.
#[pyfunction]
pub(crate) fn report(py: Python<'_>, words: Vec<OsString>) -> PyResult<PathBuf> {
    py.detach(|| embedded::report(words)).map_err(|error| Failure::from(error).exception(py))
}

/// Checks a folder of results as every reader of the host does. Returns its kind and the folder itself.
#[pyfunction]
pub(crate) fn open_folder(py: Python<'_>, folder: PathBuf) -> PyResult<(&'static str, PathBuf)> {
    py.detach(|| open(folder)).map_err(|failure| failure.exception(py))
}

fn open(folder: PathBuf) -> Result<(&'static str, PathBuf), Failure> {
    let unreadable = |error| Failure::from(proctor_words::HostError::from(DataError::Results(error)));
    if let Some(series) = Series::open(&folder).map_err(unreadable)? {
        let kind = match series.kind {
            SeriesKind::FindMax(_) => "find-max",
            SeriesKind::Scale(_) => "scale",
        };
        return Ok((kind, series.folder));
    }
    let run = Run::open(&folder).map_err(unreadable)?;
    let shown = run.folder.display();
    match run.kind {
        RunKind::Whole(_) => Ok(("run", run.folder)),
        RunKind::Partial(ending) => {
            let why = match ending {
                Some(Ending::Crash(text) | Ending::Error(text)) => format!(": {}", text.trim()),
                None => String::new(),
            };
            Err(Failure::data(format!("{shown} is of a run without a result{why}")))
        }
        RunKind::Logs(_) => Err(Failure::data(format!(
            "{shown} has logs of LoadGen and no result.json, which results are read from"
        ))),
    }
}
