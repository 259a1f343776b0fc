//! Folders of `host find-max` and `host scale`, which have their own result instead of a run's.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::{
    error::ResultsError,
    file_names::{FIND_MAX, SCALE},
    run::folder_name,
    schema::{
        machine::MachinePart,
        plugin::PluginPart,
        scaling::ScalingPart,
        setting::{DeviationPart, SettingPart},
    },
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

/// Content of `find_max.json`.
#[derive(Debug, Clone, Deserialize)]
pub struct FindMaxFile {
    /// The load that was found.
    pub load: Option<f64>,
    /// Share of samples that may fail; above 0, the found load need not be VALID.
    #[serde(default)]
    pub max_error_share: f64,
    /// Unit of the load.
    pub unit: String,
    /// The answer in words.
    pub summary: String,
    /// Bounds by name, in ns.
    #[serde(default)]
    pub bounds_ns: BTreeMap<String, Option<u64>>,
    /// Probes and full runs, in their order.
    #[serde(default)]
    pub curve: Vec<CurvePoint>,
    /// The full runs.
    #[serde(default)]
    pub full_runs: Vec<FullRun>,
    /// Place of the search.
    #[serde(flatten)]
    pub provenance: Provenance,
}

/// A load that was tried.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CurvePoint {
    /// `probe` or `full-run`.
    pub kind: String,
    /// The load that was tried.
    pub load: f64,
    /// Median latency in ns; `None` if no query was answered.
    pub p50_ns: Option<u64>,
    /// 99th percentile in ns; `None` if no query was answered.
    pub p99_ns: Option<u64>,
    /// Side of the bound, such as `under`.
    pub side: Option<String>,
}

/// A full run of a search.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct FullRun {
    /// Folder, within the search's folder.
    pub folder: String,
    /// Load of the full run.
    pub load: f64,
    /// True if it was VALID.
    pub valid: bool,
    /// True if it met the constraints of the search, if the file says so.
    #[serde(default)]
    pub met: Option<bool>,
    /// Reasons why it is not VALID.
    #[serde(default)]
    pub reasons: Vec<String>,
}

/// Content of `scale.json`.
#[derive(Debug, Clone, Deserialize)]
pub struct ScaleFile {
    /// A course for each policy. One with reasons of a later version is left out.
    #[serde(deserialize_with = "known_courses")]
    pub courses: Vec<ScalingPart>,
    /// Reasons why no setting counts, in words.
    #[serde(default)]
    pub objections: Vec<String>,
    /// Place of the measurement.
    #[serde(flatten)]
    pub provenance: Provenance,
}

fn known_courses<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ScalingPart>, D::Error> {
    let courses = Vec::<Value>::deserialize(deserializer)?;
    Ok(courses.into_iter().filter_map(|course| serde_json::from_value(course).ok()).collect())
}

/// The benchmark, the plugin and the machine.
#[derive(Debug, Clone, Deserialize)]
pub struct Provenance {
    /// Id of the benchmark.
    pub benchmark: String,
    /// Round of the rules.
    #[serde(default)]
    pub rules: String,
    /// True if time was virtual.
    #[serde(default)]
    pub virtual_time: bool,
    /// Rules of the round that its runs do not keep.
    #[serde(default)]
    pub deviations: Vec<DeviationPart>,
    /// Plugin of the run.
    pub plugin: PluginPart,
    /// Machine of the run.
    pub machine: MachinePart,
    /// Settings by key.
    #[serde(default)]
    pub settings: BTreeMap<String, SettingPart>,
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

    /// Returns the benchmark, the plugin and the machine.
    #[must_use]
    pub fn provenance(&self) -> &Provenance {
        match &self.kind {
            SeriesKind::FindMax(file) => &file.provenance,
            SeriesKind::Scale(file) => &file.provenance,
        }
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
        assert_eq!((file.load, file.curve.len(), &*found.provenance().benchmark), (Some(7.5), 2, "b"));
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
