//! Folders of `host find-max` and `host scale`, which have their own result instead of a run's.

pub(crate) mod find_max;
pub(crate) mod scale;

use std::path::{Path, PathBuf};

use serde_json::Value;

use self::{find_max::FindMaxFile, scale::ScaleFile};
use crate::{
    error::ResultsError,
    file_names::{FIND_MAX, SCALE},
    run::folder_name,
    versioned::read_versioned,
};

/// A folder of several runs for one question.
#[derive(Debug, Clone)]
pub struct Series {
    /// Folder of the series.
    pub folder: PathBuf,
    /// Kind, with its answer.
    pub kind: SeriesKind,
    /// Content of the file.
    pub json: Value,
}

/// Kind of a series, with its answer.
#[derive(Debug, Clone)]
pub enum SeriesKind {
    /// The highest load that is VALID, or that meets the constraints of its search.
    FindMax(Box<FindMaxFile>),
    /// The setting with the highest throughput under a latency target.
    Scale(Box<ScaleFile>),
}

impl Series {
    /// Opens a folder of `host find-max` or `host scale`; `None` if it is neither.
    ///
    /// # Errors
    /// [`ResultsError::Read`], [`ResultsError::Version`] or [`ResultsError::Malformed`].
    pub fn open(folder: &Path) -> Result<Option<Self>, ResultsError> {
        let Some(path) =
            [FIND_MAX, SCALE].map(|name| folder.join(name)).into_iter().find(|path| path.is_file())
        else {
            return Ok(None);
        };
        let (kind, json) = if path.ends_with(FIND_MAX) {
            let (file, json) = read_versioned(&path, "result")?;
            (SeriesKind::FindMax(Box::new(file)), json)
        } else {
            let (file, json) = read_versioned(&path, "result")?;
            (SeriesKind::Scale(Box::new(file)), json)
        };
        Ok(Some(Self { folder: folder.to_owned(), kind, json }))
    }

    /// Returns the name of the folder, for people.
    #[must_use]
    pub fn name(&self) -> String {
        folder_name(&self.folder)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const PLACE: &str =
        r#""benchmark":"b","plugin":{"name":"p","version":"1","precision":"f32"},"machine":{}"#;

    fn open(name: &str, text: &str) -> Result<Option<Series>, ResultsError> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(name), text).unwrap();
        Series::open(folder.path())
    }

    #[test]
    fn a_search_and_a_scaling_are_told_apart() {
        let search = format!(
            r#"{{"schema_version":1,"load":7.5,"unit":"queries/s","summary":"s","bounds_ns":{{"latency":5,"tpot":null}},
            "curve":[{{"kind":"probe","load":1.0,"p50_ns":1,"p99_ns":2,"side":"under"}},
            {{"kind":"probe","load":2.0,"p50_ns":null,"p99_ns":null,"side":"over"}}],{PLACE}}}"#
        );
        let found = open(FIND_MAX, &search).unwrap().unwrap();
        let SeriesKind::FindMax(file) = &found.kind else { panic!("{found:?}") };
        assert_eq!((file.load, file.curve.len(), &*file.benchmark), (Some(7.5), 2, "b"));
        assert_eq!([0, 1].map(|number| file.curve[number].p99_ns), [Some(2), None]);
        let scale = format!(r#"{{"schema_version":1,"courses":[],{PLACE}}}"#);
        let objections = |text: &str| match open(SCALE, text).unwrap().unwrap().kind {
            SeriesKind::Scale(file) => file.objections,
            SeriesKind::FindMax(_) => panic!("{text}"),
        };
        assert!(objections(&scale).is_empty());
        let spoiled = scale.replacen('{', r#"{"objections":["why"],"#, 1);
        assert_eq!(objections(&spoiled), ["why"]);
        let later = spoiled.replacen(r#""courses":[]"#, r#""courses":[{"reason":"of a later version"}]"#, 1);
        assert_eq!(objections(&later), ["why"], "what is known of it can be shown");
        assert!(open("result.json", "{}").unwrap().is_none());
        assert!(open(SCALE, "{}").unwrap_err().to_string().contains("has no schema_version"));
        assert!(open(SCALE, "{\"schema_version\":1").unwrap_err().to_string().contains("is no whole result"));
    }
}
