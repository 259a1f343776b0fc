//! The official LoadGen's settings, by the driver of the load generator's own comparison.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use proctor_loadgen::TestSettings;
use proctor_test_needs::python_packages;
use proctor_vocabulary::Scenario;
use serde_json::{Map, Value, json};

/// Where `cargo xtask setup` puts the package, under the workspace.
const PACKAGE_FOLDER: &str = "target/mlcommons-loadgen-6.0.17";

const DRIVER: &str = "../loadgen/tests/suite/differential/driver.py";

/// LoadGen's `conf_type` of a `user.conf`.
const USER: u32 = 1;

/// Settings of older rounds, which the official program knows no more.
const OURS_ALONE: &[&str] = &["rules", "multi_stream_interval_ms"];

/// A process that makes settings of one file after the other.
pub(super) struct Official {
    process: Child,
    requests: ChildStdin,
    outcomes: BufReader<ChildStdout>,
}

impl Official {
    /// Starts the driver; the error is the reason why it cannot run here.
    pub(super) fn start() -> Result<Self, String> {
        let package = python_packages(PACKAGE_FOLDER)?;
        let mut process = Command::new("python3")
            .arg("-B")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(DRIVER))
            .arg(package)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("python3 cannot be started: {error}"))?;
        let requests = process.stdin.take().expect("it is a pipe");
        let outcomes = BufReader::new(process.stdout.take().expect("it is a pipe"));
        Ok(Self { process, requests, outcomes })
    }

    /// The settings after LoadGen's own file and this text, by their names: a float by its bits, an enumerator by its
    /// name.
    pub(super) fn settings(&mut self, text: &str, model: &str, scenario: Scenario) -> Map<String, Value> {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let request = json!({
            "folder": folder.path(),
            "settings": {"scenario": scenario.name()},
            "config_files": [{"text": text, "model": model, "scenario": scenario.name(), "kind": USER}],
            "settings_after": {},
            "fields": fields().collect::<Vec<_>>(),
            "only_configure": true,
            "limit_s": 30,
        });
        writeln!(self.requests, "{request}").expect("the driver takes a case");
        let mut line = String::new();
        self.outcomes.read_line(&mut line).expect("the driver gives an outcome");
        let mut outcome: Value = serde_json::from_str(&line).expect("the outcome is JSON");
        assert_eq!(outcome["codes"], json!([0]), "{model} in {scenario}: {outcome}");
        match outcome["values"].take() {
            Value::Object(values) => values,
            values => panic!("{values}"),
        }
    }
}

impl Drop for Official {
    fn drop(&mut self) {
        // It only reads and writes pipes; nothing of it is lost.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The settings that both have.
fn fields() -> impl Iterator<Item = &'static str> {
    let names = TestSettings::FIELDS.iter().map(|field| field.name);
    names.filter(|name| !OURS_ALONE.contains(name))
}
