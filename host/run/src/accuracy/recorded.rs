//! An accuracy log on disk, and the run of this host that wrote it, if one did.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use proctor_config::{Loader, RoundScenario};
use proctor_results::{
    DetailLog, LoadGenLogs, ResultFile, ResultsError, SummaryLog,
    file_names::{ACCURACY, ACCURACY_LOG, DETAIL_LOG, RESULT, SUMMARY_LOG},
};
use proctor_vocabulary::{Irregular, Scenario, TestMode, read_regular};
use proctor_words::{DataError, HostError};
use serde_json::Value;

/// Places of a log in a folder: the log of the accuracy run, of the only run, or of the first of several runs.
const PLACES: [&str; 3] = [ACCURACY, "", "run_1"];
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

/// Part of LoadGen's logs, in addition to the responses, that an accuracy depends on.
#[derive(Debug)]
struct RecordedTest {
    /// File of the log.
    file: PathBuf,
    scenario: Option<Scenario>,
    mode: Option<TestMode>,
    /// Number of samples of the library.
    sample_count: Option<u64>,
    /// `seq_id` of the first sample of the performance phase, of a test that has accuracy phases before it.
    performance_seq_id: Option<u64>,
}

/// The part of `result.json` that an accuracy depends on.
#[derive(Debug)]
struct RecordedRun {
    file: PathBuf,
    /// Settings that were given.
    given: BTreeMap<String, String>,
    /// The benchmark, which may be the default.
    benchmark: String,
    /// The precision that the plugin has computed in.
    precision: String,
    /// Scenario; `None` if it is unknown.
    scenario: Option<Scenario>,
}

impl FoundLog {
    /// Finds the log of a folder, which may be a run folder or any other, or takes the file.
    ///
    /// # Errors
    /// [`HostError::Data`] if there is no log, it is of a performance run, or the logs or the result next to
    /// it cannot be read.
    pub fn find(path: &Path) -> Result<Self, HostError> {
        let folders = PLACES.map(|place| path.join(place));
        let mut places = folders.iter().map(|folder| folder.join(ACCURACY_LOG)).chain([path.to_owned()]);
        let log = places.find(|place| place.is_file());
        let log = log.ok_or_else(|| irregular(path, &folders).unwrap_or_else(|| no_log(path, &folders)))?;
        // In a run folder, or in one below it.
        let absolute = std::path::absolute(&log).unwrap_or_else(|_| log.clone());
        let mut results = absolute.ancestors().skip(1).take(2).map(|folder| folder.join(RESULT));
        let run = results.find_map(|file| RecordedRun::read(&file).transpose()).transpose()?;
        let test = RecordedTest::read(absolute.parent().unwrap_or(&absolute))?;
        if let (Some(run), Some(of_test)) = (&run, test.scenario)
            && let Some(of_run) = run.scenario.filter(|scenario| *scenario != of_test)
        {
            let (run, log) = (run.file.clone(), test.file.clone());
            return Err(DataError::TwoScenarios { run, of_run, log, of_log: of_test }.into());
        }
        if test.is_of_performance() && is_empty(&log) {
            return Err(DataError::NoAnswers(log).into());
        }
        Ok(Self { path: log, run, test })
    }

    /// Returns the benchmark stated in a result next to the log.
    #[must_use]
    pub fn benchmark(&self) -> Option<&str> {
        self.run.as_ref().map(|run| run.benchmark.as_str())
    }

    /// Returns the number of samples in the run's library, if a log next to this one states it.
    pub(crate) fn sample_count(&self) -> Option<u64> {
        self.test.sample_count
    }

    /// Returns `seq_id` of the first sample of the performance phase, if a log next to this one says that the
    /// test has accuracy phases before it.
    pub(crate) fn performance_seq_id(&self) -> Option<u64> {
        self.test.performance_seq_id
    }

    /// Returns the path of the log.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a loader with the settings of the log's run; without a run, with the test's system and
    /// scenario.
    #[must_use]
    pub fn loader(&self) -> Loader {
        let Some(RecordedRun { file, given, benchmark, precision, .. }) = &self.run else {
            let RecordedTest { file, scenario, .. } = &self.test;
            let loader = Loader::from_system();
            return match scenario {
                Some(scenario) => loader.recorded(file, "scenario", scenario.to_string()),
                None => loader,
            };
        };
        // A definition in a file has an id, too, and then the file is among the settings that were given.
        let run = [("benchmark", benchmark), ("precision", precision)].into_iter();
        let given = given.iter().map(|(key, value)| (key.as_str(), value));
        run.chain(given).fold(Loader::new(), |loader, (key, value)| loader.recorded(file, key, value))
    }
}

/// Returns the error of a log that exists but is not a file: a log is read more than once, and so are its neighbours.
fn irregular(path: &Path, folders: &[PathBuf]) -> Option<HostError> {
    let logs = folders.iter().map(|folder| folder.join(ACCURACY_LOG));
    // The folder of a log is not a log itself.
    let path = [path.to_owned()].into_iter().filter(|path| !path.is_dir());
    logs.chain(path).find_map(|path| {
        let Irregular { kind } = Irregular::of(fs::metadata(&path).ok()?.file_type())?;
        Some(DataError::Irregular { path, kind }.into())
    })
}

/// Returns the error of a path without a log, below which these folders were searched.
fn no_log(path: &Path, folders: &[PathBuf]) -> HostError {
    let tests = folders.iter().filter_map(|folder| RecordedTest::read(folder).ok());
    let tests: Vec<_> = tests.filter(|test| test.mode.is_some()).collect();
    // Of a run that had an accuracy run, too, the log is lost.
    let is_of_performance = !tests.is_empty() && tests.iter().all(RecordedTest::is_of_performance);
    let path = path.to_owned();
    match is_of_performance {
        true => DataError::NoLogOfPerformance { path, log: ACCURACY_LOG }.into(),
        false => DataError::NoLog { path, log: ACCURACY_LOG }.into(),
    }
}

/// Returns whether a log has no record: nothing but the brackets of its array.
fn is_empty(log: &Path) -> bool {
    /// Maximum number of bytes of such a log, with room for white space.
    const BYTES_MAX: u64 = 64;
    let is_short = fs::metadata(log).is_ok_and(|found| found.len() <= BYTES_MAX);
    is_short && fs::read(log).is_ok_and(|text| text.iter().filter(|it| !it.is_ascii_whitespace()).eq(b"[]"))
}

impl RecordedTest {
    /// Reads the detail log of a folder, or the summary log if there is no detail log, or one without
    /// entries, as LoadGen of the first rounds wrote it.
    ///
    /// # Errors
    /// [`HostError::Data`] if a log is there that cannot be read, or they contradict each other.
    fn read(folder: &Path) -> Result<Self, HostError> {
        let logs = match LoadGenLogs::read(folder) {
            Err(ResultsError::NoEntry { .. }) => {
                let summary = SummaryLog::read(&folder.join(SUMMARY_LOG));
                summary.map(|summary| LoadGenLogs { detail: None, summary })
            }
            logs => logs,
        };
        let logs = logs.map_err(DataError::Results)?;
        let count = |key: &str| logs.detail.as_ref()?.value(key)?.as_u64();
        Ok(Self {
            file: folder.join(if logs.detail.is_some() { DETAIL_LOG } else { SUMMARY_LOG }),
            scenario: logs.scenario(),
            mode: logs.mode(),
            performance_seq_id: logs
                .detail
                .as_ref()
                .filter(|_| logs.mode() == Some(TestMode::SubmissionRun))
                .and_then(performance_seq_id),
            sample_count: count("qsl_reported_total_count"),
        })
    }

    /// Returns whether the test was for performance alone.
    fn is_of_performance(&self) -> bool {
        matches!(self.mode, Some(TestMode::PerformanceOnly | TestMode::FindPeakPerformance))
    }
}

/// Returns the number of samples that the accuracy phases of a SubmissionRun have issued, from the queries that LoadGen
/// logs for each phase; `None` if the log does not reach the performance phase.
fn performance_seq_id(detail: &DetailLog) -> Option<u64> {
    let count = |key: &str| detail.value(key)?.as_u64();
    let set_count = count("effective_accuracy_sample_count")?
        .div_ceil(count("effective_performance_sample_count")?.max(1));
    let set_count = usize::try_from(set_count).ok()?;
    let each = |key: &'static str| {
        let entries = detail.entries.iter().filter(move |(name, _)| name == key);
        entries.map(|(_, value)| value.as_u64()).collect::<Option<Vec<_>>>()
    };
    let (queries, samples) = (each("generated_query_count")?, each("generated_samples_per_query")?);
    if queries.len() <= set_count || samples.len() != queries.len() {
        return None;
    }
    let issued = queries.into_iter().zip(samples).take(set_count);
    issued
        .map(|(queries, samples)| queries.checked_mul(samples))
        .try_fold(0_u64, |sum, count| sum.checked_add(count?))
}

impl RecordedRun {
    /// Reads a result; `None` if there is no result, or it is another program's.
    ///
    /// # Errors
    /// [`HostError::Data`] if it cannot be read, as by every reader of results: without it, the log would be judged by
    /// other settings than the run's.
    fn read(file: &Path) -> Result<Option<Self>, HostError> {
        if !file.exists() || is_of_another_program(file) {
            return Ok(None);
        }
        let (result, _) = ResultFile::read(file).map_err(DataError::Results)?;
        let given = result.settings.into_iter().filter(|(key, setting)| {
            SETTINGS.contains(&key.as_str()) && GIVEN.contains(&setting.origin.kind.as_str())
        });
        let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Ok(Some(Self {
            file: file.to_owned(),
            given: given.map(|(key, setting)| (key, text(setting.value))).collect(),
            benchmark: result.benchmark.id,
            precision: result.plugin.precision,
            scenario: result.scenario.parse::<RoundScenario>().ok().map(RoundScenario::loadgen),
        }))
    }
}

/// Returns whether a file is whole JSON without any key that names a result of this program. Other programs
/// have files of this name, too, which may lie next to a log of LoadGen's.
fn is_of_another_program(file: &Path) -> bool {
    let json = read_regular(file).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    json.is_some_and(|json| json.get("schema_version").is_none() && json.get("program").is_none())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use serde_json::json;

    use super::*;

    /// A result of a run in this scenario.
    fn result(scenario: &str) -> Value {
        json!({
            "schema_version": 1,
            "program": {"name": "proctor"},
            "verdict": {"valid": true},
            "scenario": scenario,
            "preset": "official",
            "rules": "v5.0",
            "benchmark": {
                "id": "b", "model": "m", "dataset": "d", "total_sample_count": 1, "performance_sample_count": 1,
            },
            "plugin": {"name": "p", "version": "1", "precision": "f32"},
            "machine": {},
            "settings": {"rules": {"value": "v0.7", "origin": {"kind": "flag"}}},
        })
    }

    #[test]
    fn logs_of_the_test_have_its_scenario_and_its_samples() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write(ACCURACY_LOG, "[\n]\n");
        let found = || {
            let RecordedTest { scenario, sample_count, .. } = FoundLog::find(folder.path()).unwrap().test;
            (scenario, sample_count)
        };
        assert_eq!(found(), (None, None));
        write(SUMMARY_LOG, "SUT name : PySUT\nScenario : Server\nMode     : AccuracyOnly\n");
        assert_eq!(found(), (Some(Scenario::Server), None));
        for older in ["", "\"pid\": 1, \"tid\": 1, \"ts\": 5ns : Starting test\n"] {
            write(DETAIL_LOG, older);
            assert_eq!(found(), (Some(Scenario::Server), None), "{older}");
        }
        write(SUMMARY_LOG, "");
        let entry = |key: &str, value: &str| format!(":::MLLOG {{\"key\": \"{key}\", \"value\": {value}}}\n");
        let count = entry("qsl_reported_total_count", "64");
        write(DETAIL_LOG, &format!("{count}{}", entry("effective_scenario", "\"Offline\"")));
        assert_eq!(found(), (Some(Scenario::Offline), Some(64)));
        write(DETAIL_LOG, &entry("effective_scenario", "\"Elsewhere\""));
        assert_eq!(found(), (None, None));
    }

    #[test]
    fn a_result_of_another_scenario_than_the_logs_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write(ACCURACY_LOG, "[\n]\n");
        write(DETAIL_LOG, ":::MLLOG {\"key\": \"effective_scenario\", \"value\": \"Server\"}\n");
        for (scenario, is_good) in [("Server", true), ("Interactive", true), ("Offline", false)] {
            write(RESULT, &result(scenario).to_string());
            let found = FoundLog::find(folder.path());
            assert_eq!(found.is_ok(), is_good, "{found:?}");
            if let Err(error) = found {
                let text = error.to_string();
                assert!(
                    text.contains("result.json is of Offline, and ") && text.contains(" of Server: "),
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn the_performance_phase_of_a_submission_run_begins_after_the_accuracy_phases() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write(ACCURACY_LOG, "[\n]\n");
        // LoadGen's entries of ten samples in sets of four, in queries of three samples.
        let of = |mode: &str, query_counts: &[u64]| {
            let mut entries = vec![
                ("effective_test_mode", format!("\"{mode}\"")),
                ("effective_performance_sample_count", "4".to_owned()),
                ("effective_accuracy_sample_count", "10".to_owned()),
            ];
            for count in query_counts {
                entries.push(("generated_query_count", count.to_string()));
                entries.push(("generated_samples_per_query", "3".to_owned()));
            }
            let lines = entries
                .iter()
                .map(|(key, value)| format!(":::MLLOG {{\"key\": \"{key}\", \"value\": {value}}}\n"));
            write(DETAIL_LOG, &lines.collect::<String>());
            FoundLog::find(folder.path()).unwrap().performance_seq_id()
        };
        assert_eq!(of("SubmissionRun", &[2, 2, 1, 6]), Some(15));
        assert_eq!(of("SubmissionRun", &[2, 2, 1]), None);
        assert_eq!(of("AccuracyOnly", &[2, 2, 1, 6]), None);
    }

    #[test]
    fn files_beside_a_log_that_are_not_what_their_names_say_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
        write(ACCURACY_LOG, b"[\n]\n");
        for name in [DETAIL_LOG, SUMMARY_LOG, RESULT] {
            for (bytes, words) in [
                (&b"\xff\xfe{\0"[..], "it is text in UTF-16: save it as UTF-8"),
                (b"\x1f\x8b\x08", "it is packed by gzip: unpack it"),
                (b"<!DOCTYPE html>", "it is a web page, "),
                (b"version https://git-lfs.github.com/spec/v1\n", "it is a pointer of Git LFS "),
            ] {
                write(name, bytes);
                let error = FoundLog::find(folder.path()).unwrap_err().to_string();
                assert!(error.contains(name) && error.contains(words), "{error}");
            }
            fs::remove_file(folder.path().join(name)).unwrap();
        }
        write(RESULT, b"{\"of\": \"another program\"}");
        assert_eq!(FoundLog::find(folder.path()).unwrap().benchmark(), None);
    }

    /// A run whose result cannot be read must not count as a log without one, which any settings may judge.
    #[test]
    fn a_result_that_is_damaged_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
        write(ACCURACY_LOG, b"[\n]\n");
        let whole = result("Offline").to_string();
        write(RESULT, whole.as_bytes());
        let found = FoundLog::find(folder.path()).unwrap();
        let run = found.run.as_ref().unwrap();
        assert_eq!((found.benchmark(), run.given["rules"].as_str()), (Some("b"), "v0.7"));
        let without = |key: &str| {
            let mut result = result("Offline");
            result.as_object_mut().unwrap().remove(key);
            result.to_string().into_bytes()
        };
        for (bytes, words) in [
            ([&b"\xef\xbb\xbf"[..], whole.as_bytes()].concat(), "is no whole result of this program: "),
            (whole.as_bytes()[..whole.len() / 2].to_vec(), "is no whole result of this program: EOF "),
            (Vec::new(), "is no whole result of this program: EOF "),
            (without("machine"), "is no whole result of this program: missing field"),
            (without("schema_version"), "has no schema_version, and is no result of this program"),
        ] {
            write(RESULT, &bytes);
            let error = FoundLog::find(folder.path()).unwrap_err();
            assert!(matches!(error, HostError::Data(_)), "{error:?}");
            let text = error.to_string();
            assert!(text.contains(&format!("result.json {words}")), "{text}");
        }
    }

    #[test]
    fn what_is_there_and_no_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = |path: &Path| FoundLog::find(path).unwrap_err().to_string();
        let log = folder.path().join(ACCURACY_LOG);
        fs::create_dir(&log).unwrap();
        let expected = "mlperf_log_accuracy.json is a folder, and no regular file: write the log to a file, ";
        for path in [folder.path(), log.as_path()] {
            let found = error(path);
            assert_eq!(found.contains(expected), path == folder.path(), "{found}");
        }
        fs::remove_dir(&log).unwrap();
        let _socket = UnixListener::bind(&log).unwrap();
        for path in [folder.path(), log.as_path()] {
            let found = error(path);
            assert!(found.contains("mlperf_log_accuracy.json is a socket, and no regular file: "), "{found}");
        }
        let device = error(Path::new("/dev/null"));
        assert!(device.starts_with("/dev/null is a device, and no regular file: "), "{device}");
    }

    #[test]
    fn the_folder_of_a_performance_run_is_told_from_one_without_a_log() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        let error = || FoundLog::find(folder.path()).unwrap_err().to_string();
        assert!(error().ends_with("give the log, or the folder that a run has left it in"), "{}", error());
        for mode in ["PerformanceOnly", "FindPeakPerformance"] {
            write(SUMMARY_LOG, &format!("Mode : {mode}\n"));
            let missing = "there is no mlperf_log_accuracy.json; the run was a performance run, which logs no \
                           answers: run `host run --mode accuracy`, or LoadGen in the mode AccuracyOnly, ";
            assert!(error().contains(missing), "{}", error());
            write(ACCURACY_LOG, "[\n]\n");
            let empty = "mlperf_log_accuracy.json has no answers, since it is of a performance run: run ";
            assert!(error().contains(empty), "{}", error());
            // Answers that it has logged by chance are there to be looked at.
            write(
                ACCURACY_LOG,
                "[\n{ \"seq_id\" : 0, \"qsl_idx\" : 1, \"data\" : \"0000000000000000\" }\n]\n",
            );
            assert!(FoundLog::find(folder.path()).is_ok());
            fs::remove_file(folder.path().join(ACCURACY_LOG)).unwrap();
        }
        // Beside an accuracy run, whose log is lost.
        write(SUMMARY_LOG, "Mode : PerformanceOnly\n");
        fs::create_dir(folder.path().join("accuracy")).unwrap();
        write("accuracy/mlperf_log_summary.txt", "Mode : AccuracyOnly\n");
        assert!(error().ends_with("give the log, or the folder that a run has left it in"), "{}", error());
        write(ACCURACY_LOG, "[\n]\n");
        write(SUMMARY_LOG, "Mode : AccuracyOnly\n");
        assert!(FoundLog::find(folder.path()).is_ok());
    }
}
