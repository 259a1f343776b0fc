//! An accuracy log on disk, and the run of this host that it is of, if it is of one.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use proctor_config::Loader;
use proctor_results::DetailLog;
use proctor_vocabulary::Scenario;
use serde::Deserialize;
use serde_json::Value;

use super::LOG;
use crate::{error::HostError, result::RESULT};

/// Where in a folder a log may be: of the accuracy run, of the only run, or of the first of several.
const PLACES: [&str; 3] = ["accuracy", "", "run_1"];
/// Names of LoadGen's logs of the test.
const DETAIL: &str = "mlperf_log_detail.txt";
const SUMMARY: &str = "mlperf_log_summary.txt";
/// Settings that an accuracy depends on.
const SETTINGS: &[&str] = &[
    "benchmark",
    "scenario",
    "rules",
    "suite",
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
    test: RecordedTest,
}

/// The part of LoadGen's logs, beside that of the responses, that an accuracy depends on.
#[derive(Debug)]
struct RecordedTest {
    /// The log.
    file: PathBuf,
    scenario: Option<Scenario>,
    /// Number of samples of the library.
    sample_count: Option<u64>,
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
        let test = RecordedTest::read(absolute.parent().unwrap_or(&absolute));
        Ok(Self { path: log, run, test })
    }

    /// The benchmark that a result beside the log says it is of.
    #[must_use]
    pub fn benchmark(&self) -> Option<&str> {
        self.run.as_ref().map(|run| run.benchmark.as_str())
    }

    /// Number of samples that the library of the run had, if a log beside this one says so.
    pub(crate) fn sample_count(&self) -> Option<u64> {
        self.test.sample_count
    }

    /// The log.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A loader of the settings that its run had; without a run, of those of the system and the scenario of the test.
    #[must_use]
    pub fn loader(&self) -> Loader {
        let Some(RecordedRun { file, given, benchmark, precision }) = &self.run else {
            let RecordedTest { file, scenario, .. } = &self.test;
            let origin = file.display().to_string();
            return Loader::from_system().optional_flag(&origin, "scenario", *scenario);
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

impl RecordedTest {
    /// Reads the detail log of a folder, or the summary if there is none.
    fn read(folder: &Path) -> Self {
        let file = folder.join(DETAIL);
        if let Ok(log) = DetailLog::read(&file) {
            let scenario = log.scenario().and_then(|name| name.parse().ok());
            let sample_count = log.value("qsl_reported_total_count").and_then(Value::as_u64);
            return Self { file, scenario, sample_count };
        }
        let file = folder.join(SUMMARY);
        let text = fs::read_to_string(&file).unwrap_or_default();
        let name = text.lines().find_map(|it| it.strip_prefix("Scenario")?.trim_start().strip_prefix(':'));
        Self { scenario: name.and_then(|name| name.trim().parse().ok()), file, sample_count: None }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_of_the_test_have_its_scenario_and_its_samples() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write(LOG, "[\n]\n");
        let found = || {
            let RecordedTest { scenario, sample_count, .. } = FoundLog::find(folder.path()).unwrap().test;
            (scenario, sample_count)
        };
        assert_eq!(found(), (None, None));
        write(SUMMARY, "SUT name : PySUT\nScenario : Server\nMode     : AccuracyOnly\n");
        assert_eq!(found(), (Some(Scenario::Server), None));
        let entry = |key: &str, value: &str| format!(":::MLLOG {{\"key\": \"{key}\", \"value\": {value}}}\n");
        let count = entry("qsl_reported_total_count", "64");
        write(DETAIL, &format!("{count}{}", entry("effective_scenario", "\"Offline\"")));
        assert_eq!(found(), (Some(Scenario::Offline), Some(64)));
        write(DETAIL, &entry("effective_scenario", "\"Elsewhere\""));
        assert_eq!(found(), (None, None));
    }
}
