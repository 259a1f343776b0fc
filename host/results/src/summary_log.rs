//! `mlperf_log_summary.txt`, of any LoadGen.

use std::{io, path::Path};

use proctor_vocabulary::{not_text, read_regular};

use crate::error::ResultsError;

/// Title of the results, which a test has once at most.
const TITLE: &str = "MLPerf Results Summary";

/// The lines of a summary log that have a name and a value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SummaryLog {
    entries: Vec<(String, String)>,
    /// Number of errors that its last line states.
    pub error_count: u64,
}

impl SummaryLog {
    /// Reads a log; `None` if there is no log. The log of a test without a performance part has no entry.
    ///
    /// # Errors
    /// [`ResultsError::Read`], or [`ResultsError::Malformed`] if it is another kind of file, or of several tests.
    pub fn read(path: &Path) -> Result<Option<Self>, ResultsError> {
        let bytes = match read_regular(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(ResultsError::Read { path: path.to_owned(), source }),
        };
        let malformed = |fault| Err(ResultsError::Malformed { path: path.to_owned(), fault });
        if let Some(words) = not_text(&bytes) {
            return malformed(format!("is no summary log of LoadGen: {words}"));
        }
        let text = String::from_utf8_lossy(&bytes);
        let test_count = text.lines().filter(|line| line.trim() == TITLE).count();
        if test_count > 1 {
            return malformed(format!("has the summaries of {test_count} tests: make a file of each"));
        }
        let entry = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((name.trim().to_owned(), value.trim().to_owned()))
        };
        let errors = |line: &str| {
            let (count, behind) = line.trim().split_once(' ')?;
            let is_so = behind.starts_with("ERROR encountered") || behind.starts_with("ERRORS encountered");
            count.parse::<u64>().ok().filter(|_| is_so)
        };
        let error_count = text.lines().filter_map(errors).max().unwrap_or(0);
        Ok(Some(Self { entries: text.lines().filter_map(entry).collect(), error_count }))
    }

    /// Returns the value of a name, such as `Scenario`.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        self.entries.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn names_have_values_and_what_is_no_summary_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mlperf_log_summary.txt");
        assert_eq!(SummaryLog::read(&path).unwrap(), None);
        let text =
            format!("===\n{TITLE}\n===\nScenario : Server\r\nMin latency (ns)                : 5\n\nNo.\n");
        fs::write(&path, &text).unwrap();
        let log = SummaryLog::read(&path).unwrap().unwrap();
        let values = ["Scenario", "Min latency (ns)", "No."].map(|name| log.value(name));
        assert_eq!(values, [Some("Server"), Some("5"), None]);
        fs::write(&path, "\nNo warnings encountered during test.\n").unwrap();
        assert_eq!(SummaryLog::read(&path).unwrap(), Some(SummaryLog::default()));
        for (line, count) in
            [("1 ERROR encountered. See detailed log.", 1), ("12 ERRORS encountered. See", 12)]
        {
            fs::write(&path, format!("\nNo warnings encountered during test.\n\n{line}\n")).unwrap();
            assert_eq!(SummaryLog::read(&path).unwrap().unwrap().error_count, count);
        }
        for (file, fault) in [
            (text.repeat(2).into_bytes(), "has the summaries of 2 tests: make a file of each"),
            (b"\xff\xfe=\0=\0".to_vec(), "is no summary log of LoadGen: it is text in UTF-16: "),
            (b"\x1f\x8b\x08".to_vec(), "is no summary log of LoadGen: it is packed by gzip: "),
            (b"<!DOCTYPE html>".to_vec(), "is no summary log of LoadGen: it is a web page, "),
        ] {
            fs::write(&path, file).unwrap();
            let error = SummaryLog::read(&path).unwrap_err().to_string();
            assert!(error.contains(&format!("mlperf_log_summary.txt {fault}")), "{error}");
        }
    }
}
