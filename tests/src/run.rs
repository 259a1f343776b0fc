//! One run of a benchmark, and its files.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::process::{Finished, SAMPLE_BYTES};

/// Flags of a run whose plugin is in the process of the program, and in one of its own.
pub const PLACES: [&str; 2] = ["", "--isolate"];

/// One run of a benchmark, at its end.
#[derive(Debug)]
pub struct Run {
    /// End of the program.
    pub finished: Finished,
    folder: PathBuf,
    result: Option<Value>,
}

impl Run {
    /// Examines the files of a run in the given folder, or in its `.partial`.
    ///
    /// # Panics
    /// If there is a result that is no JSON.
    #[must_use]
    pub fn new(finished: Finished, output: PathBuf) -> Self {
        let folder = if output.is_dir() { output } else { output.with_added_extension("partial") };
        let text = fs::read_to_string(folder.join("result.json")).ok();
        let result = text.map(|text| serde_json::from_str(&text).expect("result.json is JSON"));
        Self { finished, folder, result }
    }

    /// Returns the run folder; of a run that did not end the one that ends in `.partial`.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns whether the run folder has its last name.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.folder.is_dir() && self.folder.extension().is_none_or(|extension| extension != "partial")
    }

    /// Returns the result.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn result(&self) -> &Value {
        self.result.as_ref().unwrap_or_else(|| panic!("no result of {}", self.finished))
    }

    /// Returns the result, if there is one.
    #[must_use]
    pub fn find_result(&self) -> Option<&Value> {
        self.result.as_ref()
    }

    /// Returns why the run is not VALID, a line each.
    ///
    /// # Panics
    /// If there is no result.
    #[must_use]
    pub fn reasons(&self) -> String {
        let reasons = self.result()["verdict"]["reasons"].as_array().expect("there is a list of reasons");
        reasons
            .iter()
            .map(|reason| reason.as_str().expect("a reason is a text"))
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// Asserts that the run is whole and VALID, and its accuracy not failed.
    ///
    /// # Panics
    /// If not, with the output.
    pub fn assert_valid(&self) -> &Self {
        assert_eq!(self.finished.code(), 0, "{}", self.finished);
        assert_eq!(self.result()["verdict"]["valid"], true, "{}", self.finished);
        assert!(self.is_whole());
        self
    }

    /// Asserts that the run is complete and INVALID for a reason that contains each of `texts`.
    ///
    /// # Panics
    /// If not, with the output.
    pub fn assert_invalid(&self, texts: &[&str]) -> &Self {
        assert_eq!(self.finished.code(), 1, "{}", self.finished);
        assert_eq!(self.result()["verdict"]["valid"], false, "{}", self.finished);
        assert!(self.finished.stdout.contains("INVALID"), "{}", self.finished);
        let reasons = self.reasons();
        for text in texts {
            assert!(
                reasons.contains(text),
                "no \"{text}\" among the reasons of {}\n{reasons}",
                self.finished
            );
        }
        assert!(self.is_whole());
        self
    }

    /// Returns the text of a file of the run folder.
    ///
    /// # Panics
    /// If it cannot be read.
    #[must_use]
    pub fn text(&self, name: &str) -> String {
        let read = fs::read_to_string(self.folder.join(name));
        read.unwrap_or_else(|error| panic!("{name}: {error}: {}", self.finished))
    }

    /// Returns the text of a file of the run folder, if it exists.
    #[must_use]
    pub fn find_text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.folder.join(name)).ok()
    }

    /// Returns the samples that were recorded: the instant from which the latency counts, and the latency, both in ns,
    /// as written in the file.
    ///
    /// # Panics
    /// If there is no `samples.bin`, or it is not made of whole samples.
    #[must_use]
    pub fn samples(&self) -> Vec<(u64, u64)> {
        let bytes = fs::read(self.folder.join("samples.bin"));
        let bytes = bytes.unwrap_or_else(|error| panic!("samples.bin: {error}: {}", self.finished));
        assert_eq!(bytes.len() % SAMPLE_BYTES, 0, "samples.bin ends within a sample");
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("it has eight bytes"));
        bytes.chunks(SAMPLE_BYTES).map(|sample| (number(&sample[..8]), number(&sample[8..]))).collect()
    }

    /// Returns the names of all files of the run folder, with slashes, sorted.
    ///
    /// # Panics
    /// If it cannot be listed.
    #[must_use]
    pub fn files(&self) -> Vec<String> {
        let mut names = Vec::new();
        collect(&self.folder, "", &mut names);
        names.sort();
        names
    }
}

/// Returns the content of a JSON file.
///
/// # Panics
/// If it cannot be read, or is not JSON.
#[must_use]
pub fn json(path: &Path) -> Value {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn collect(folder: &Path, prefix: &str, names: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a run folder can be listed") {
        let entry = entry.expect("a run folder can be listed");
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            collect(&entry.path(), &format!("{name}/"), names);
        } else {
            names.push(name);
        }
    }
}
