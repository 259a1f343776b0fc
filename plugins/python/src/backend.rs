//! The class that the plugin stands for, and its manifest.

use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use proctor_plugin_api::{Manifest, ModelSupport, OptionKind, OptionSpec, vocabulary::Scenario};
use pyo3::prelude::*;

use crate::{
    calls::Call,
    errors::{explained, helper},
};

/// Name to ask for the plugin by, whatever class it stands for.
pub const NAME: &str = "python";

/// The class of the next opening. Never locked while this thread waits for the interpreter.
static CURRENT: Mutex<Option<Current>> = Mutex::new(None);

struct Current {
    class: Py<PyAny>,
    manifest: Manifest,
    file: Option<PathBuf>,
}

/// Manifest of a class, as the decorator has checked it.
#[derive(FromPyObject)]
struct Described {
    name: String,
    version: String,
    vendor: String,
    license: String,
    description: String,
    issue: bool,
    network: bool,
    live_instances: bool,
    models: Vec<DescribedModel>,
    options: Vec<DescribedOption>,
    file: Option<PathBuf>,
}

#[derive(FromPyObject)]
struct DescribedModel {
    model: String,
    format: String,
    precision: String,
    device: String,
    scenarios: Vec<String>,
    batch_size_max: u32,
    dynamic_shapes: bool,
    memory_bytes: u64,
}

#[derive(FromPyObject)]
struct DescribedOption {
    name: String,
    kind: String,
    default: Option<String>,
    help: String,
    choices: Vec<String>,
    integer_min: i64,
    integer_max: i64,
    float_min: f64,
    float_max: f64,
}

/// Makes a class the one that the plugin stands for from its next opening on.
///
/// # Errors
/// If it has no manifest.
pub fn set_backend(class: Bound<'_, PyAny>) -> PyResult<()> {
    let described: Described = helper(class.py(), "manifest_of")?.call1((&class,))?.extract()?;
    let (manifest, file) = described.into_manifest();
    let current = Current { class: class.unbind(), manifest, file };
    // The class before is dropped when the lock is open again: that may run code of its own.
    let _before = CURRENT.lock().replace(current);
    Ok(())
}

/// Runs a file, and makes the class in it the one that the plugin stands for: the one of this name, or the only one.
///
/// # Errors
/// Returns a sentence that names the file.
pub fn take(path: &Path, class: Option<&str>) -> Result<(), String> {
    let _call = Call::begin_load();
    Python::attach(|py| {
        let load = || set_backend(helper(py, "load_file")?.call1((path.to_string_lossy(), class))?);
        load().map_err(|error| explained(py, error))
    })
}

/// Returns the file that the class is in, if it is in one.
#[must_use]
pub fn file() -> Option<PathBuf> {
    CURRENT.lock().as_ref()?.file.clone()
}

/// Returns the class.
pub(crate) fn class(py: Python<'_>) -> Option<Py<PyAny>> {
    CURRENT.lock().as_ref().map(|current| current.class.clone_ref(py))
}

/// Returns the manifest of the class.
pub(crate) fn manifest() -> Manifest {
    CURRENT.lock().as_ref().map_or_else(nothing, |current| current.manifest.clone())
}

/// Returns a manifest for no class.
fn nothing() -> Manifest {
    let about = "Stands for a class in Python: name its file, as in --plugin my_sut.py.";
    Manifest::new(NAME, env!("CARGO_PKG_VERSION"), about).model(ModelSupport::new("*", "*"))
}

impl Described {
    fn into_manifest(self) -> (Manifest, Option<PathBuf>) {
        let manifest = Manifest {
            issue: self.issue,
            // The queue takes queries from any thread.
            concurrent_issue: self.issue,
            execute: !self.issue,
            live_instances: self.live_instances && !self.issue,
            network: self.network,
            models: self.models.into_iter().map(DescribedModel::into_support).collect(),
            options: self.options.into_iter().map(DescribedOption::into_spec).collect(),
            ..Manifest::new(&self.name, &self.version, &self.description).vendor(&self.vendor, &self.license)
        };
        (manifest, self.file)
    }
}

impl DescribedModel {
    fn into_support(self) -> ModelSupport {
        // The decorator has refused other names.
        let scenarios = self.scenarios.iter().filter_map(|name| name.parse::<Scenario>().ok());
        ModelSupport {
            precision: self.precision,
            device: self.device,
            scenarios: scenarios.collect(),
            batch_size_max: self.batch_size_max,
            dynamic_shapes: self.dynamic_shapes,
            memory_bytes: self.memory_bytes,
            ..ModelSupport::new(&self.model, &self.format)
        }
    }
}

impl DescribedOption {
    fn into_spec(self) -> OptionSpec {
        let kind = match self.kind.as_str() {
            "boolean" => OptionKind::Boolean,
            "integer" => OptionKind::Integer(self.integer_min..=self.integer_max),
            "float" => OptionKind::Float(self.float_min..=self.float_max),
            "path" => OptionKind::Path,
            "choice" => OptionKind::Choice(self.choices),
            _ => OptionKind::Text,
        };
        OptionSpec { name: self.name, kind, default: self.default, help: self.help }
    }
}
