//! `wrong_samples.json`: the first samples that a run has answered with a wrong class.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{error::ResultsError, versioned::read_versioned};

/// Maximum number of rows of a picture, and of columns.
pub const PICTURE_SIDE_MAX: usize = 64;
/// Maximum number of samples that a reader takes.
const SAMPLE_COUNT_MAX: usize = 1000;

/// The first samples that a run has answered with a wrong class.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct WrongSamples {
    /// Version of the form of the file.
    pub schema_version: u32,
    /// Name of the data set.
    pub dataset: String,
    /// Number of all samples that were not answered rightly.
    pub wrong_count: u64,
    /// Names of the classes, in their order; empty if they have none.
    pub class_names: Vec<String>,
    /// The samples, ascending.
    pub samples: Vec<WrongSamplePart>,
}

/// A sample that was answered with a wrong class.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct WrongSamplePart {
    /// Index of the sample.
    pub sample: u64,
    /// Its class.
    pub expected: u64,
    /// The class that was answered; null if the response names none.
    pub given: Option<i64>,
    /// Its picture, if the data set has grey ones that may be passed on: a text for each row from the top, a
    /// hexadecimal digit for each pixel, from `0` for black to `f` for the brightest pixel of the picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<Vec<String>>,
}

impl WrongSamples {
    /// Reads a file of wrong samples.
    ///
    /// # Errors
    /// [`ResultsError::Read`], [`ResultsError::Malformed`] or [`ResultsError::Version`].
    pub fn read(path: &Path) -> Result<Self, ResultsError> {
        let wrong: Self = read_versioned(path, "list of wrong samples")?.0;
        match wrong.fault() {
            Some(fault) => Err(ResultsError::Malformed { path: path.to_owned(), fault }),
            None => Ok(wrong),
        }
    }

    /// Returns the class for people: its name, or its number.
    #[must_use]
    pub fn class(&self, class: i64) -> String {
        let name = usize::try_from(class).ok().and_then(|class| self.class_names.get(class));
        name.map_or_else(|| class.to_string(), Clone::clone)
    }

    /// Returns the first thing that no run writes, as the end of a sentence about the file.
    fn fault(&self) -> Option<String> {
        let listed = self.samples.len();
        if listed > SAMPLE_COUNT_MAX || listed as u64 > self.wrong_count {
            return Some(format!("lists {listed} samples, and has wrong_count {}", self.wrong_count));
        }
        let is_row =
            |row: &String| row.len() <= PICTURE_SIDE_MAX && row.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_picture = |rows: &Vec<String>| {
            let width = rows.first().map_or(0, String::len);
            (1..=PICTURE_SIDE_MAX).contains(&rows.len())
                && rows.iter().all(|row| is_row(row) && row.len() == width)
        };
        let wrong =
            self.samples.iter().find(|it| it.picture.as_ref().is_some_and(|rows| !is_picture(rows)))?;
        let sample = wrong.sample;
        Some(format!(
            "has a picture of sample {sample} that is not up to {PICTURE_SIDE_MAX} rows of hexadecimal digits"
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::versioned::SCHEMA_VERSION;

    fn read(json: &Value) -> Result<WrongSamples, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wrong_samples.json");
        fs::write(&path, json.to_string()).unwrap();
        WrongSamples::read(&path).map_err(|error| error.to_string())
    }

    fn written(picture: &[&str]) -> Value {
        json!({
            "schema_version": SCHEMA_VERSION, "dataset": "d", "wrong_count": 2, "class_names": ["a", "b"],
            "samples": [
                {"sample": 3, "expected": 1, "given": 0, "picture": picture},
                {"sample": 5, "expected": 1, "given": null},
            ],
        })
    }

    #[test]
    fn what_a_run_writes_is_read_and_classes_have_their_names() {
        let wrong = read(&written(&["0f", "a0"])).unwrap();
        assert_eq!(wrong.samples[0].picture.as_deref(), Some(&["0f".to_owned(), "a0".to_owned()][..]));
        assert_eq!((wrong.samples[1].given, &wrong.samples[1].picture), (None, &None));
        assert_eq!([0, 1, 2, -1].map(|class| wrong.class(class)), ["a", "b", "2", "-1"]);
    }

    #[test]
    fn other_files_are_refused() {
        for picture in [&[][..], &["0", "00"], &["0g"], &["é0"]] {
            let error = read(&written(picture)).unwrap_err();
            assert!(error.contains("a picture of sample 3 that is not"), "{picture:?}: {error}");
        }
        let mut more = written(&["0"]);
        more["wrong_count"] = 1.into();
        assert!(read(&more).unwrap_err().contains("lists 2 samples, and has wrong_count 1"));
        more["schema_version"] = 9.into();
        assert!(read(&more).is_err());
    }

    proptest! {
        #[test]
        fn any_picture_is_read_or_refused(rows in prop::collection::vec("[0-9a-g]{0,3}", 0..4)) {
            let rows: Vec<_> = rows.iter().map(String::as_str).collect();
            if let Ok(wrong) = read(&written(&rows)) {
                let picture = wrong.samples[0].picture.clone().unwrap();
                prop_assert!(!picture.is_empty() && picture.iter().all(|row| row.len() == picture[0].len()));
            }
        }
    }
}
