//! OpenCV, Pillow and NumPy behind a pipe.

use std::path::Path;

use proctor_test_needs::{PythonPipe, skip};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Where `cargo xtask setup` puts the packages, under the workspace.
const FOLDER: &str = "target/python-opencv-python-headless-4.14.0.94";

/// A process that answers one request after the other.
pub struct Packages(PythonPipe);

/// A random picture, with what the packages make of it.
pub struct Case {
    facts: Value,
    pub blocks: Vec<Vec<u8>>,
}

impl Case {
    pub fn number(&self, key: &str) -> usize {
        usize::try_from(self.facts[key].as_u64().unwrap()).unwrap()
    }

    pub fn is(&self, key: &str) -> bool {
        self.facts[key].as_bool().unwrap()
    }

    /// Returns the value of a key, read as a type.
    pub fn of<T: DeserializeOwned>(&self, key: &str) -> T {
        serde_json::from_value(self.facts[key].clone()).unwrap()
    }

    pub fn text(&self, key: &str) -> &str {
        self.facts[key].as_str().unwrap()
    }
}

impl Packages {
    /// Starts the process; where the packages are missing, the test has skipped itself.
    pub fn start() -> Option<Self> {
        let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/differential/driver.py");
        match PythonPipe::start(&driver, FOLDER) {
            Ok(pipe) => Some(Self(pipe)),
            Err(reason) => {
                skip(reason);
                None
            }
        }
    }

    pub fn case(&mut self, kind: &str, seed: u64) -> Case {
        let line = self.0.ask(json!({ "kind": kind, "seed": seed })).unwrap();
        let facts: Value = serde_json::from_str(&line).expect("the packages answer");
        let lengths = facts["lengths"].as_array().unwrap().iter().map(|length| length.as_u64().unwrap());
        let blocks = lengths.map(|length| self.0.bytes(usize::try_from(length).unwrap()).unwrap()).collect();
        Case { facts, blocks }
    }
}
