//! The program in a Python interpreter, and what Python gets of it.

mod api;
mod backend;
mod mlperf_loadgen;
mod official;

use proctor_test_needs::{PythonModule, python_module, skip};
use proctor_tests::Bench;

/// Returns a Python with the package of this build and with these packages; `None` where something is missing, and the
/// test is to skip itself.
fn python_with(packages: &[&str]) -> Option<PythonModule> {
    python_module(packages).map_err(skip).ok()
}

/// Returns a bench whose programs find that Python.
fn bench_with(packages: &[&str]) -> Option<Bench> {
    let python = python_with(packages)?;
    let mut bench = Bench::new();
    bench.set_variable("PYTHONPATH", python.path());
    bench.set_variable("PYTHONDONTWRITEBYTECODE", "1");
    bench.unset_variable("VIRTUAL_ENV");
    Some(bench)
}
