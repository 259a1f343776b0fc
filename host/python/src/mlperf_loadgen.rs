//! The names of the official LoadGen's Python module, on this project's load generator.
//!
//! `proctor/mlperf_loadgen.py` exports them under the names and with the manners of the package `mlcommons-loadgen`, so
//! that harnesses written for it run unchanged. A test is a [`LoadGen`](proctor_loadgen::LoadGen) on the real clock
//! whose system and library are Python functions; its logs have LoadGen's form.
//!
//! The interpreter's lock is free while a test runs, and taken for each call into Python. These calls are made by the
//! thread that called `StartTest`.

mod arguments;
mod clock;
mod completions;
mod enums;
mod handles;
mod log_settings;
mod samples;
mod session;
mod settings;
mod start_test;

use pyo3::prelude::*;

/// Adds the submodule to the native part of the package.
pub(crate) fn add_to(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = PyModule::new(parent.py(), "mlperf_loadgen")?;
    module.add_class::<enums::TestScenario>()?;
    module.add_class::<enums::TestMode>()?;
    module.add_class::<enums::LoggingMode>()?;
    module.add_class::<settings::TestSettings>()?;
    module.add_class::<log_settings::LogOutputSettings>()?;
    module.add_class::<log_settings::LogSettings>()?;
    module.add_class::<samples::QuerySample>()?;
    module.add_class::<samples::QuerySampleResponse>()?;
    module.add_function(wrap_pyfunction!(handles::construct_sut, &module)?)?;
    module.add_function(wrap_pyfunction!(handles::destroy_sut, &module)?)?;
    module.add_function(wrap_pyfunction!(handles::construct_fast_sut, &module)?)?;
    module.add_function(wrap_pyfunction!(handles::destroy_fast_sut, &module)?)?;
    module.add_function(wrap_pyfunction!(handles::construct_qdl, &module)?)?;
    module.add_function(wrap_pyfunction!(handles::destroy_qdl, &module)?)?;
    module.add_function(wrap_pyfunction!(handles::construct_qsl, &module)?)?;
    module.add_function(wrap_pyfunction!(handles::destroy_qsl, &module)?)?;
    module.add_function(wrap_pyfunction!(start_test::start_test, &module)?)?;
    module.add_function(wrap_pyfunction!(start_test::start_test_with_log_settings, &module)?)?;
    module.add_function(wrap_pyfunction!(completions::query_samples_complete, &module)?)?;
    module.add_function(wrap_pyfunction!(completions::first_token_complete, &module)?)?;
    let end = wrap_pyfunction!(session::end, &module)?;
    parent.py().import("atexit")?.call_method1("register", (end,))?;
    parent.add_submodule(&module)
}
