//! `mlperf_log_detail.txt`, of any LoadGen.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
};

use serde::Deserialize;
use serde_json::Value;

use crate::error::ResultsError;

/// Beginning of each entry.
const MARK: &str = ":::MLLOG ";

/// The entries of a detail log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DetailLog {
    /// Key and value of each entry, in the order of the file.
    pub entries: Vec<(String, Value)>,
    /// Number of entries that cannot be read, such as the last one of a log that is cut off.
    pub damaged_count: usize,
}

#[derive(Deserialize)]
struct Entry {
    key: String,
    #[serde(default)]
    value: Value,
}

impl DetailLog {
    /// Reads a log.
    ///
    /// # Errors
    /// [`ResultsError::Read`], or [`ResultsError::Malformed`] if it has no entry.
    pub fn read(path: &Path) -> Result<Self, ResultsError> {
        let unreadable = |source| ResultsError::Read { path: path.to_owned(), source };
        let mut log = Self::default();
        for line in BufReader::new(File::open(path).map_err(unreadable)?).split(b'\n') {
            let line = line.map_err(unreadable)?;
            let text = String::from_utf8_lossy(&line);
            let Some(entry) = text.trim().strip_prefix(MARK) else { continue };
            match serde_json::from_str::<Entry>(entry) {
                Ok(Entry { key, value }) => log.entries.push((key, value)),
                Err(_) => log.damaged_count += 1,
            }
        }
        if log.entries.is_empty() {
            let fault = format!("is no detail log of LoadGen: no line begins with \"{}\"", MARK.trim_end());
            return Err(ResultsError::Malformed { path: path.to_owned(), fault });
        }
        Ok(log)
    }

    /// The last value of a key.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.entries.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_and_damaged_ones_counted() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = ":::MLLOG {\"key\": \"a\", \"value\": 1, \"time_ms\": 0.5}\nother\n:::MLLOG {\"key\": \"b\", \"value\": \"x\"}\n:::MLLOG {\"key\": \"a\", \"value\": 2}\n:::MLLOG {\"key\": \"c";
        std::fs::write(file.path(), text).unwrap();
        let log = DetailLog::read(file.path()).unwrap();
        assert_eq!((log.entries.len(), log.damaged_count), (3, 1));
        assert_eq!((log.value("a"), log.value("c")), (Some(&2.into()), None));
        std::fs::write(file.path(), "MLPerf Results Summary\n").unwrap();
        assert!(DetailLog::read(file.path()).unwrap_err().to_string().contains("no detail log of LoadGen"));
    }
}
