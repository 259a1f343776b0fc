//! The process in Python that scores the cases a second time.

use std::{
    fs::{self, File},
    path::Path,
    process::Command,
};

use proctor_test_needs::{python_packages, skip};
use serde::Deserialize;
use serde_json::Value;

/// Where `cargo xtask setup` puts the packages, from the root of the workspace.
const PACKAGES: &str = "target/python-pycocotools-2.0.11";

/// The scores of a case.
#[derive(Debug, Deserialize)]
pub struct Answer {
    pub figures: Vec<f64>,
    /// The text that the reference prints.
    pub lines: String,
}

impl Answer {
    pub fn line(lines: String) -> Self {
        Self { figures: Vec::new(), lines }
    }
}

/// Compares the answers to all cases of a task, figures to within `tolerance`; skips the test where the packages are
/// missing.
pub fn compare(
    task: &str,
    cases: impl Iterator<Item = Value>,
    tolerance: f64,
    answer: impl Fn(usize) -> Answer,
) {
    let packages = match python_packages(PACKAGES) {
        Ok(packages) => packages,
        Err(missing) => return skip(missing),
    };
    let cases: Vec<_> = cases.map(|case| case.to_string()).collect();
    let folder = tempfile::tempdir().expect("a folder for the cases");
    let path = folder.path().join("cases.jsonl");
    fs::write(&path, cases.join("\n")).expect("the cases can be written");
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/differential/oracle.py");
    let mut python = Command::new("python3");
    python.arg("-B").arg(here).arg(task).env("PYTHONPATH", packages);
    let output =
        python.stdin(File::open(&path).expect("it was just written")).output().expect("python3 starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    let answers = String::from_utf8(output.stdout).expect("JSON is UTF-8");
    assert!(output.status.success(), "case {}: {errors}", cases[answers.lines().count()]);
    assert_eq!(answers.lines().count(), cases.len());
    for (index, (case, right)) in cases.iter().zip(answers.lines()).enumerate() {
        let right: Answer = serde_json::from_str(right).expect("the oracle's answer");
        let given = answer(index);
        let is_close = |(given, right): (&f64, &f64)| given == right || (given - right).abs() <= tolerance;
        let agree = given.figures.len() == right.figures.len()
            && given.figures.iter().zip(&right.figures).all(is_close)
            && given.lines == right.lines;
        assert!(agree, "case {index} of {task}\n{case}\nours   {given:?}\noracle {right:?}");
    }
}
