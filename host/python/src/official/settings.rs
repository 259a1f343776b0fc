//! The settings of a test, as objects of the module.

use std::{os::unix::ffi::OsStrExt, path::Path};

use proctor_loadgen::{SettingValue, TestSettings, engine::EngineTest};
use pyo3::{IntoPyObjectExt, exceptions::PyAttributeError, prelude::*, types::PyBytes};

use super::error::{OfficialError, calling};

/// Kind of a file that brings nothing else. The kind without a name is the user's, which brings LoadGen's own values
/// with it; LoadGen objects to a second one in a process.
const PLAIN: i32 = 2;

/// Settings of older rounds, which the official program no longer knows.
const OURS_ALONE: [&str; 2] = ["rules", "multi_stream_interval_ms"];

/// Makes the settings of a test: LoadGen reads the user's files where it may, and what was made of them applies.
pub(super) fn test_settings<'py>(
    module: &Bound<'py, PyModule>,
    test: &EngineTest,
    reads_files: bool,
) -> Result<Bound<'py, PyAny>, OfficialError> {
    let settings =
        module.getattr("TestSettings").and_then(|class| class.call0()).map_err(calling("TestSettings"))?;
    if reads_files {
        read_files(&settings, test)?;
    }
    let unset = TestSettings::default();
    let mut lacking = Vec::new();
    for field in TestSettings::FIELDS.iter().filter(|field| !OURS_ALONE.contains(&field.name)) {
        let Some(value) = test.settings.get(field.name) else { continue };
        let object = object_of(module, value).map_err(calling("a name"))?;
        let is_there = set(&settings, field.name, &object).map_err(calling("TestSettings"))?;
        if !is_there && unset.get(field.name) != Some(value) {
            lacking.push(field.name);
        }
    }
    if lacking.is_empty() { Ok(settings) } else { Err(OfficialError::NoSettings(lacking)) }
}

fn read_files(settings: &Bound<'_, PyAny>, test: &EngineTest) -> Result<(), OfficialError> {
    let py = settings.py();
    for (number, path) in test.user_configs.iter().enumerate() {
        let path_object = PyBytes::new(py, path_bytes(path));
        let (model, scenario) = (&test.model, test.settings.scenario.name());
        let code = if number == 0 {
            settings.call_method1("FromConfig", (path_object, model, scenario))
        } else {
            settings.call_method1("FromConfig", (path_object, model, scenario, PLAIN))
        };
        let code = code.and_then(|code| code.extract()).map_err(calling("FromConfig"))?;
        if code != 0 {
            return Err(OfficialError::Config { path: path.clone(), code });
        }
    }
    Ok(())
}

/// Sets an attribute; returns false if this build has none of this name.
fn set(settings: &Bound<'_, PyAny>, name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let python_name = if name.ends_with("ttft_latency") || name.ends_with("tpot_latency") {
        name.trim_start_matches("server_")
    } else {
        name
    };
    match settings.setattr(python_name, value) {
        Ok(()) => Ok(true),
        Err(error) if error.is_instance_of::<PyAttributeError>(settings.py()) => Ok(false),
        Err(error) => Err(error),
    }
}

fn object_of<'py>(module: &Bound<'py, PyModule>, value: SettingValue) -> PyResult<Bound<'py, PyAny>> {
    let py = module.py();
    match value {
        SettingValue::Bool(value) => value.into_bound_py_any(py),
        SettingValue::Unsigned(value) => value.into_bound_py_any(py),
        SettingValue::Signed(value) => value.into_bound_py_any(py),
        SettingValue::Float(value) => value.into_bound_py_any(py),
        SettingValue::Scenario(value) => module.getattr("TestScenario")?.getattr(value.name()),
        SettingValue::Mode(value) => module.getattr("TestMode")?.getattr(value.name()),
        SettingValue::Rules(value) => value.to_string().into_bound_py_any(py),
    }
}

/// Makes the settings of the logs, in the folder of the test.
pub(super) fn log_settings<'py>(
    module: &Bound<'py, PyModule>,
    test: &EngineTest,
) -> Result<Bound<'py, PyAny>, OfficialError> {
    let make = || {
        let settings = module.getattr("LogSettings")?.call0()?;
        let output = settings.getattr("log_output")?;
        output.setattr("outdir", PyBytes::new(module.py(), path_bytes(&test.folder)))?;
        output.setattr("copy_detail_to_stdout", false)?;
        output.setattr("copy_summary_to_stdout", false)?;
        settings.setattr("enable_trace", test.enable_trace)?;
        Ok(settings)
    };
    make().map_err(calling("LogSettings"))
}

/// Returns a path as LoadGen takes it, also where it is no text.
pub(super) fn path_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}
