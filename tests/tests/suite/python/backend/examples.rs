//! Examples, a new plugin, and the suite of plugins.

use proctor_test_needs::{NUMPY_PACKAGE, SCIKIT_LEARN_PACKAGE};
use proctor_tests::{SCENARIOS, short, workspace};

use super::bench;
use crate::python::bench_with;

fn is_valid_and_right(packages: &[&str], file: &str, benchmark: &str, flags: &str) {
    let Some(bench) = bench_with(packages) else { return };
    let file = workspace().join("host/python/examples").join(file);
    let run = bench.run(&format!("--plugin {} --benchmark {benchmark} {flags}", file.display()));
    run.assert_valid();
    assert_eq!(run.result()["accuracy"]["passed"], true, "{}", run.finished);
}

#[test]
fn scikit_learn_reads_digits() {
    let flags = format!("{} --set batch_size=32", short("Offline"));
    is_valid_and_right(&[SCIKIT_LEARN_PACKAGE], "digits_sklearn.py", "digits-mlp", &flags);
}

#[test]
fn onnx_runtime_reads_digits_in_each_scenario() {
    for scenario in SCENARIOS {
        let flags = short(scenario);
        is_valid_and_right(&[NUMPY_PACKAGE], "digits_onnx.py", "digits-cnn", &flags);
    }
}

#[test]
fn what_is_made_in_python_classifies_digits_and_keeps_the_rules() {
    let Some(bench) = bench() else { return };
    let made = bench.host("new-plugin my-chip --lang python");
    assert_eq!(made.code(), 0, "{made}");
    let run =
        bench.run(&format!("--plugin my-chip/my_chip_sut.py --benchmark digits-mlp {}", short("Offline")));
    run.assert_valid();
    assert_eq!(run.result()["accuracy"]["passed"], true, "{}", run.finished);
    let validated = bench.host("validate my-chip/my_chip_sut.py");
    assert_eq!(validated.code(), 0, "{validated}");
    assert!(validated.stdout.contains(", 0 FAIL,"), "{validated}");
}
