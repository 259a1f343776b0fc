//! OpenCV, Pillow and NumPy behind a pipe.

use std::{
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use proctor_test_needs::{python_packages, skip};
use serde_json::Value;

/// Where `cargo xtask setup` puts the packages, under the workspace.
const FOLDER: &str = "target/python-opencv-python-headless-4.14.0.94";

/// A process that answers one request after the other.
pub struct Packages {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

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

    pub fn text(&self, key: &str) -> &str {
        self.facts[key].as_str().unwrap()
    }
}

impl Packages {
    /// Starts the process; where the packages are missing, the test has skipped itself.
    pub fn start() -> Option<Self> {
        let folder = match python_packages(FOLDER) {
            Ok(folder) => folder,
            Err(reason) => {
                skip(reason);
                return None;
            }
        };
        let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/differential/driver.py");
        let mut process = Command::new("python3")
            .arg(driver)
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it has just run");
        let requests = process.stdin.take().expect("it is a pipe");
        let answers = BufReader::new(process.stdout.take().expect("it is a pipe"));
        Some(Self { process, requests, answers })
    }

    pub fn case(&mut self, kind: &str, seed: u64) -> Case {
        writeln!(self.requests, "{}", serde_json::json!({ "kind": kind, "seed": seed })).unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        let facts: Value = serde_json::from_str(&line).expect("the packages answer");
        let lengths = facts["lengths"].as_array().unwrap().iter().map(|length| length.as_u64().unwrap());
        let blocks = lengths
            .map(|length| {
                let mut block = vec![0; usize::try_from(length).unwrap()];
                self.answers.read_exact(&mut block).unwrap();
                block
            })
            .collect();
        Case { facts, blocks }
    }
}

impl Drop for Packages {
    fn drop(&mut self) {
        // It only reads and writes pipes; nothing of it is lost.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
