//! The names of LoadGen's Python module on our own engine.

use proctor_test_needs::LOADGEN_PACKAGE;
use proctor_tests::workspace;

use super::python_with;

#[test]
fn one_script_leaves_the_same_logs_with_both_modules() {
    let Some(python) = python_with(&[LOADGEN_PACKAGE]) else { return };
    let mut command = python.command();
    command.arg(workspace().join("host/python/tests/differential/same_logs.py"));
    command.arg(workspace().join("host/loadgen/tests/suite/differential/driver.py"));
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (shown, text) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{shown}\n{text}", output.status);
    assert!(shown.matches(": same").count() > 30, "{shown}");
}
