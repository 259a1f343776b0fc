//! The package `proctor` from Python: its tests are in Python, beside the package.

use proctor_test_needs::NUMPY_PACKAGE;
use proctor_tests::{datasets, plugin, workspace};

use super::python_with;

/// Runs a file of tests in Python, with a folder of its own.
fn check(file: &str) {
    let Some(python) = python_with(&[NUMPY_PACKAGE]) else { return };
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let mut command = python.command();
    command.args(["-m", "unittest", "-v", file]).current_dir(workspace().join("host/python/tests"));
    command.env("PROCTOR_DATA_ROOT", datasets()).env("XDG_CACHE_HOME", folder.path());
    command.env_remove("PROCTOR_PLUGIN_PATH").env("TMPDIR", folder.path());
    command.env("FAULTY_PLUGIN", plugin("faulty"));
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (shown, text) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{shown}\n{text}", output.status);
    // The last line says how many were left out.
    assert!(text.contains("OK") && !text.contains("skipped"), "{text}");
}

macro_rules! files {
    ($($name:ident: $file:literal;)*) => {
        $(
            #[test]
            fn $name() {
                check($file);
            }
        )*
    };
}

files! {
    runs_return_values_and_end_at_ctrl_c: "test_run.py";
    searches_and_comparisons_are_those_of_the_program: "test_campaigns.py";
    samples_data_and_plugins_are_arrays: "test_arrays.py";
    mistakes_are_exceptions_or_invalid_runs_and_the_interpreter_goes_on: "test_mlperf_loadgen.py";
    the_notebook_runs_from_top_to_bottom: "test_notebook.py";
}

#[test]
fn every_file_of_tests_in_python_is_run() {
    let names = |folder: &str, wanted: fn(&str) -> bool| {
        let folder = workspace().join(folder);
        let entries = folder.read_dir().unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| wanted(name)).collect::<Vec<_>>()
    };
    const HERE: &str = "tests/tests/suite/python";
    let sources = names(HERE, |name| name.ends_with(".rs")).into_iter();
    let sources: String =
        sources.filter_map(|name| std::fs::read_to_string(workspace().join(HERE).join(name)).ok()).collect();
    for name in names("host/python/tests", |name| name.starts_with("test_")) {
        assert!(sources.contains(&format!("\"{name}\"")), "{name} is run by no test");
    }
}
