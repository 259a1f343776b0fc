//! An accuracy log on disk, and the run of this host that it is of, if it is of one.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use proctor_config::Loader;
use serde::Deserialize;
use serde_json::Value;

use super::LOG;
use crate::{error::HostError, result::RESULT};

/// Where in a folder a log may be: of the accuracy run, of the only run, or of the first of several.
const PLACES: [&str; 3] = ["accuracy", "", "run_1"];
/// Settings that an accuracy depends on.
const SETTINGS: &[&str] = &[
    "benchmark",
    "scenario",
    "rules",
    "quality_target",
    "data_root",
    "dataset_folder",
    "model_file",
    "cache_folder",
    "row_aggregation",
    "multi_stream_samples_per_query",
    "performance_sample_count_override",
    "accuracy_sample_count_override",
];
/// Kinds of the origins of settings that a user has given; the others follow from them.
const GIVEN: &[&str] = &["file", "load-gen-conf", "environment", "flag"];

/// An accuracy log that was found.
#[derive(Debug)]
pub struct FoundLog {
    path: PathBuf,
    run: Option<RecordedRun>,
}

/// The part of `result.json` that an accuracy depends on.
#[derive(Debug)]
struct RecordedRun {
    /// The file.
    file: PathBuf,
    /// Settings that were given.
    given: BTreeMap<String, String>,
    /// The benchmark, which may be the default.
    benchmark: String,
    /// The precision that the plugin has computed in.
    precision: String,
}

impl FoundLog {
    /// Finds the log of a folder, which may be a run folder or any other, or takes the file.
    ///
    /// # Errors
    /// [`HostError::Data`] if there is no log.
    pub fn find(path: &Path) -> Result<Self, HostError> {
        let folders = PLACES.map(|place| path.join(place));
        let places = folders.map(|folder| folder.join(LOG)).into_iter().chain([path.to_owned()]);
        let log = places.into_iter().find(|place| place.is_file()).ok_or_else(|| {
            HostError::Data(format!(
                "{}: there is no {LOG}; give the log, or the folder that a run has left it in",
                path.display()
            ))
        })?;
        // In a run folder, or in one below it.
        let absolute = std::path::absolute(&log).unwrap_or_else(|_| log.clone());
        let run =
            absolute.ancestors().skip(1).take(2).find_map(|folder| RecordedRun::read(&folder.join(RESULT)));
        Ok(Self { path: log, run })
    }

    /// Whether a result beside the log says which benchmark it is of.
    #[must_use]
    pub fn names_benchmark(&self) -> bool {
        self.run.is_some()
    }

    /// The log.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A loader of the settings that its run had; without a run, of those of the system.
    #[must_use]
    pub fn loader(&self) -> Loader {
        let Some(RecordedRun { file, given, benchmark, precision }) = &self.run else {
            return Loader::from_system();
        };
        let origin = file.display().to_string();
        // A definition in a file has an id, too, and then the file is among the settings that were given.
        let run = [("benchmark", benchmark), ("precision", precision)].into_iter();
        let given = given.iter().map(|(key, value)| (key.as_str(), value));
        run.chain(given).fold(Loader::new(), |loader, (key, value)| loader.flag(&origin, key, value))
    }
}

#[derive(Deserialize)]
struct ResultFile {
    benchmark: BenchmarkPart,
    plugin: PluginPart,
    settings: BTreeMap<String, Setting>,
}

#[derive(Deserialize)]
struct BenchmarkPart {
    id: String,
}

#[derive(Deserialize)]
struct PluginPart {
    precision: String,
}

#[derive(Deserialize)]
struct Setting {
    value: Value,
    origin: Origin,
}

#[derive(Deserialize)]
struct Origin {
    kind: String,
}

impl RecordedRun {
    /// Reads a result; `None` if there is none, or it is another program's.
    fn read(file: &Path) -> Option<Self> {
        let result: ResultFile = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
        let given = result.settings.into_iter().filter(|(key, setting)| {
            SETTINGS.contains(&key.as_str()) && GIVEN.contains(&setting.origin.kind.as_str())
        });
        let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Some(Self {
            file: file.to_owned(),
            given: given.map(|(key, setting)| (key, text(setting.value))).collect(),
            benchmark: result.benchmark.id,
            precision: result.plugin.precision,
        })
    }
}
