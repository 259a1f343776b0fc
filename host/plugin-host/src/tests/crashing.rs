//! A plugin that ends the process leaves a report.

use std::{path::PathBuf, process::Command};

use super::*;

/// Names the report, and makes this test program, run a second time, crash.
const REPORT_VARIABLE: &str = "PROCTOR_TEST_CRASH_REPORT";

#[test]
fn a_crash_is_reported_with_plugin_call_instance_and_sample() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("crash.txt");
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::crashing::crashes_if_told_to", "--nocapture"])
        .env(REPORT_VARIABLE, &report)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(crate::EXIT_PLUGIN_CRASHED), "{stderr}");
    let expected =
        "plugin hand-made crashed with SIGSEGV in execute, instance 1, batch that starts with sample 3\n";
    assert!(stderr.contains(expected), "{stderr}");
    assert_eq!(std::fs::read_to_string(report).unwrap(), expected);
}

/// The other half of the test above; does nothing on its own.
#[test]
fn crashes_if_told_to() {
    let Some(report) = std::env::var_os(REPORT_VARIABLE) else { return };
    crate::crash::install(&PathBuf::from(report)).unwrap();
    let backend = good_backend();
    let model = backend.load_model(&demand()).unwrap();
    let mut instance = model.create_instance(1).unwrap();
    prepare(&model, &[3]).unwrap();
    model.start().unwrap();
    BEHAVIOUR.set(Behaviour::Crashes);
    instance.execute(&query(&[3])).unwrap();
}
