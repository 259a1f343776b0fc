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

#[test]
fn a_line_that_begins_in_another_one_is_still_found() {
    let Some(python) = python_with(&[LOADGEN_PACKAGE]) else { return };
    let script = "import sys; sys.path.insert(0, sys.argv[1]); from same_logs import console\n\
                  stop = 'Loadgen :: Perf mode stop. systme_clock Timestamp = '\n\
                  ratio = 'Loadgen :: PerfClock/system_clock ratio = '\n\
                  entry, results = ':::MLLOG {\"value\": 0}\\n', 'MLPerf Results Summary\\n'\n\
                  whole = console(f'{stop}17\\n{entry}{ratio}1.0\\n{results}')\n\
                  assert whole == ([stop[:-1], ratio[:-1]], True), whole\n\
                  mixed = console(f':::MLLOG {{{stop}\"value\": 0{ratio}}}\\n1{results}7\\n.0\\n')\n\
                  assert mixed == whole, mixed\n\
                  assert console(f'{ratio}1.0\\n') != whole";
    let mut command = python.command();
    command.args(["-c", script]).arg(workspace().join("host/python/tests/differential"));
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
