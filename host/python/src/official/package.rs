//! The module `mlperf_loadgen`, wherever it is.

use std::path::{Path, PathBuf};

use pyo3::{exceptions::PyModuleNotFoundError, prelude::*};

use super::error::{OfficialError, calling};

/// The name under which the extension module is imported.
const MODULE: &str = "mlperf_loadgen";

/// The names of the module that a test looks up again and again.
#[derive(Debug)]
pub(super) struct Package {
    pub(super) module: Py<PyModule>,
    /// Class of a response.
    pub(super) response: Py<PyAny>,
    /// Function that completes samples.
    pub(super) complete: Py<PyAny>,
    /// Function that reports first tokens.
    pub(super) first_token: Py<PyAny>,
}

impl Package {
    /// Imports the module, with `folder` (or the folder of that file) before all others.
    pub(super) fn import(py: Python<'_>, folder: Option<&Path>) -> Result<Self, OfficialError> {
        let folder = folder.map(|path| if path.is_file() { path.parent().unwrap_or(path) } else { path });
        if let Some(folder) = folder {
            put_first(py, folder).map_err(OfficialError::Import)?;
        }
        let module = py.import(MODULE).map_err(|error| not_imported(py, error))?;
        if let Some(wanted) = folder {
            let found: PathBuf =
                module.getattr("__file__").and_then(|file| file.extract()).map_err(OfficialError::Import)?;
            if real(found.parent().unwrap_or(&found)) != real(wanted) {
                return Err(OfficialError::Elsewhere { wanted: wanted.to_owned(), found });
            }
        }
        let name = |name| module.getattr(name).map(Bound::unbind).map_err(calling("a name"));
        Ok(Self {
            response: name("QuerySampleResponse")?,
            complete: name("QuerySamplesComplete")?,
            first_token: name("FirstTokenComplete")?,
            module: module.unbind(),
        })
    }
}

fn put_first(py: Python<'_>, folder: &Path) -> PyResult<()> {
    let path = py.import("sys")?.getattr("path")?;
    path.call_method1("insert", (0, folder.as_os_str()))?;
    Ok(())
}

fn not_imported(py: Python<'_>, error: PyErr) -> OfficialError {
    // It may be there, and lack a module that it imports itself.
    let name = error.value(py).getattr("name").and_then(|name| name.extract::<String>());
    if !error.is_instance_of::<PyModuleNotFoundError>(py) || name.is_ok_and(|name| name != MODULE) {
        return OfficialError::Import(error);
    }
    let executable = py.import("sys").and_then(|sys| sys.getattr("executable")?.extract());
    let version = py.version_info();
    OfficialError::NoPackage {
        version: format!("{}.{}.{}", version.major, version.minor, version.patch),
        executable: executable.unwrap_or_else(|_| "python3".to_owned()),
    }
}

/// Returns a path without links, or as it is where there is nothing.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
