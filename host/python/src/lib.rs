//! The native part of the Python package `proctor`, whose Python files lie beside this folder.
//!
//! - `main` is the program `host` within an interpreter: `python -m proctor run ...`.
//! - `measure` makes runs, searches and scaling, one at a time (`turn`); `results` opens, compares and shows their
//!   folders.
//! - `lists` names benchmarks and plugins, `data` reads samples, and `opened_model` is a plugin worked by hand.
//! - `official` is the official LoadGen as the engine of a run; `mlperf_loadgen` has the names of its module, on our
//!   load generator.
//! - `failure` makes errors exceptions, and `waiting` waits for threads.

#![forbid(unsafe_code)]

mod data;
mod failure;
mod lists;
mod measure;
mod mlperf_loadgen;
mod official;
mod opened_model;
mod results;
mod turn;
mod waiting;

use std::{ffi::OsString, path::PathBuf, sync::Arc};

use proctor_bed::engine;
use proctor_plugin_host::{Scripts, install_scripts};
use proctor_vocabulary::{embed, restart_by};
use pyo3::prelude::*;

use crate::official::OfficialLoadGen;

/// Does what the command line asks for, and ends the process. `words` begin with the name of the program.
#[pyfunction]
fn main(py: Python<'_>, words: Vec<OsString>) -> PyResult<()> {
    let interpreter: OsString = py.import("sys")?.getattr("executable")?.extract()?;
    restart_by(vec![interpreter, "-m".into(), "proctor".into()]);
    engine::install(Arc::new(OfficialLoadGen::default()));
    py.detach(|| proctor_host::main(words))
}

/// Notes where the program and this library lie, for the plugins and programs that lie beside them. The package calls
/// it before anything else.
#[pyfunction]
fn embed_host(program: PathBuf, image: PathBuf) {
    embed(program, image);
}

/// The native part of the package.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    install_scripts(Scripts { name: python_sut::NAME, take: python_sut::take, file: python_sut::file });
    module.add_function(wrap_pyfunction!(main, module)?)?;
    module.add_function(wrap_pyfunction!(embed_host, module)?)?;
    module.add_function(wrap_pyfunction!(measure::measure, module)?)?;
    module.add_function(wrap_pyfunction!(results::compare, module)?)?;
    module.add_function(wrap_pyfunction!(results::report, module)?)?;
    module.add_function(wrap_pyfunction!(results::open_folder, module)?)?;
    module.add_function(wrap_pyfunction!(lists::benchmarks, module)?)?;
    module.add_function(wrap_pyfunction!(lists::plugins, module)?)?;
    module.add_function(wrap_pyfunction!(data::data_facts, module)?)?;
    module.add_function(wrap_pyfunction!(data::data_samples, module)?)?;
    module.add_function(wrap_pyfunction!(data::data_labels, module)?)?;
    mlperf_loadgen::add_to(module)?;
    let register = module.py().import("atexit")?.getattr("register")?;
    // What is registered last is called first.
    register.call1((wrap_pyfunction!(measure::end_calls, module)?,))?;
    register.call1((wrap_pyfunction!(measure::end, module)?,))?;
    register.call1((wrap_pyfunction!(opened_model::close_all, module)?,))?;
    module.add_class::<opened_model::OpenedModel>()
}
