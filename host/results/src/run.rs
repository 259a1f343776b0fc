//! A run folder.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

use proctor_vocabulary::{open_regular, read_regular};
use serde_json::Value;

use crate::{
    batches::Batches,
    detail::DetailLog,
    error::ResultsError,
    file_names::{
        ACCURACY, BATCHES, CRASH, DETAIL_LOG, ERROR, LOCK, PARTIAL, PROBES, RESULT, SAMPLES, SUMMARY_LOG,
        TRACE_LOG, WRONG_SAMPLES,
    },
    loadgen_logs::LoadGenLogs,
    result_file::ResultFile,
    samples::Samples,
    trace::Trace,
    wrong_samples::WrongSamples,
};

/// A run folder.
#[derive(Debug, Clone)]
pub struct Run {
    /// Folder of the run.
    pub folder: PathBuf,
    /// Kind of the folder, with its specific contents.
    pub kind: RunKind,
}

/// Numbers of samples that differ. Shown as the end of a sentence about the file of samples, behind "has".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherSampleCount {
    /// Number of samples in the file.
    pub found: u64,
    /// Number of samples that were issued according to the result.
    pub issued: u64,
}

impl fmt::Display for OtherSampleCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { found, issued } = self;
        write!(f, "{found} samples, and the result tells of {issued}: it was cut, or is of another run")
    }
}

/// Kind of a folder.
#[derive(Debug, Clone)]
pub enum RunKind {
    /// A run of this host, with a result.
    Whole(Box<WholeRun>),
    /// A run of this host without a result, with the reason if one is known.
    Partial(Option<Ending>),
    /// Logs of the official LoadGen, or of this one without a result.
    Logs(DetailLog),
}

/// The result of a whole run.
#[derive(Debug, Clone)]
pub struct WholeRun {
    /// Parts that readers need.
    pub result: ResultFile,
    /// Whole content of the file.
    pub json: Value,
}

/// Reason why a run ended early, in the words of its report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// The plugin crashed, with the report.
    Crash(String),
    /// An error.
    Error(String),
}

impl Run {
    /// Opens a run folder.
    ///
    /// # Errors
    /// [`ResultsError::NoRun`], [`ResultsError::NoDetailLog`], or a file of it that cannot be read.
    pub fn open(folder: &Path) -> Result<Self, ResultsError> {
        let folder = match fs::metadata(folder) {
            Ok(found) if found.is_dir() => folder.to_owned(),
            // The result, or a log, stands for its folder.
            Ok(_) => folder.parent().map_or_else(PathBuf::new, Path::to_owned),
            Err(source) => return Err(ResultsError::Read { path: folder.to_owned(), source }),
        };
        let has = |name: &str| folder.join(name).is_file();
        let kind = if has(RESULT) {
            let (result, json) = ResultFile::read(&folder.join(RESULT))?;
            RunKind::Whole(Box::new(WholeRun { result, json }))
        } else if is_partial(&folder) || ((has(CRASH) || has(ERROR)) && (has(LOCK) || !has(DETAIL_LOG))) {
            // Logs of other programs may lie next to a text of any name.
            RunKind::Partial(ending(&folder))
        } else if has(DETAIL_LOG)
            && let Some(log) = LoadGenLogs::read(&folder)?.detail
        {
            RunKind::Logs(log)
        } else if has(SUMMARY_LOG) {
            return Err(ResultsError::NoDetailLog { path: folder });
        } else {
            return Err(ResultsError::NoRun { path: folder });
        };
        Ok(Self { folder, kind })
    }

    /// Returns the result, of a whole run.
    #[must_use]
    pub fn result(&self) -> Option<&ResultFile> {
        match &self.kind {
            RunKind::Whole(run) => Some(&run.result),
            _ => None,
        }
    }

    /// Returns the result as it is, of a whole run.
    #[must_use]
    pub fn json(&self) -> Option<&Value> {
        match &self.kind {
            RunKind::Whole(run) => Some(&run.json),
            _ => None,
        }
    }

    /// Returns the name of the folder, for people.
    #[must_use]
    pub fn name(&self) -> String {
        folder_name(&self.folder)
    }

    /// Returns whether the run may continue: its process holds the lock of the folder, or this is unknown, such as on a
    /// file system without locks.
    #[must_use]
    pub fn may_go_on(&self) -> bool {
        match open_regular(&self.folder.join(LOCK)) {
            Ok(lock) => lock.try_lock_shared().is_err(),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }

    /// Returns whether the folder is of a search that was interrupted, and can be resumed.
    #[must_use]
    pub fn can_be_resumed(&self) -> bool {
        matches!(self.kind, RunKind::Partial(_)) && self.folder.join(PROBES).is_file()
    }

    /// Returns the folder with the logs and samples of the performance run that decides.
    ///
    /// # Errors
    /// [`ResultsError::NoPerformanceRun`].
    pub fn performance_folder(&self) -> Result<PathBuf, ResultsError> {
        let none = |why| ResultsError::NoPerformanceRun { path: self.folder.clone(), why };
        let RunKind::Whole(run) = &self.kind else { return Ok(self.folder.clone()) };
        let WholeRun { result, .. } = &**run;
        let Some(deciding) = &result.performance_run else {
            return Err(none("the result has none; leave out --mode accuracy for one"));
        };
        if result.performance_runs.is_empty() {
            return Ok(self.folder.clone());
        }
        // Each has a folder of its own, numbered from 1.
        let place = result.performance_runs.iter().position(|test| test == deciding);
        let place = place.ok_or_else(|| none("none of its several runs is the one that decides"))?;
        Ok(self.folder.join(format!("run_{}", place + 1)))
    }

    /// Reads the samples of the performance run. The samples of a whole run make the figures of its result.
    ///
    /// # Errors
    /// [`ResultsError::NoPerformanceRun`], or the file cannot be read, or is of another run.
    pub fn samples(&self) -> Result<Samples, ResultsError> {
        let path = self.performance_folder()?.join(SAMPLES);
        if matches!(self.kind, RunKind::Logs(_)) && !path.is_file() {
            let why = "logs of the official LoadGen have no samples.bin";
            return Err(ResultsError::NoPerformanceRun { path: self.folder.clone(), why });
        }
        match self.result().and_then(|result| Some((result, result.performance_run.as_ref()?))) {
            Some((result, test)) => {
                let issuers = result.settings.get("server_num_issue_query_threads");
                let issuer_count = issuers.and_then(|setting| setting.value.as_u64()).unwrap_or(1);
                Samples::read_of(&path, test, issuer_count)
            }
            None => Samples::read(&path),
        }
    }

    /// Reads the samples as [`samples`](Self::samples) does, and those of a whole run only if all are present. A killed
    /// run has its samples so far.
    ///
    /// # Errors
    /// Returns the errors of [`samples`](Self::samples), or if the file of a whole run has a torn end or another number
    /// of samples than its result.
    pub fn all_samples(&self) -> Result<Samples, ResultsError> {
        let samples = self.samples()?;
        match self.lack(&samples) {
            Some(fault) => {
                Err(ResultsError::Malformed { path: self.performance_folder()?.join(SAMPLES), fault })
            }
            None => Ok(samples),
        }
    }

    /// Returns the deficiency of a whole run's samples, as the end of a sentence about their file.
    fn lack(&self, samples: &Samples) -> Option<String> {
        self.result()?;
        if let Some(other) = self.other_sample_count(samples) {
            return Some(format!("has {other}"));
        }
        let torn_bytes = samples.torn_bytes;
        (torn_bytes > 0).then(|| format!("has a torn end: the last {torn_bytes} bytes are no whole sample"))
    }

    /// Returns the number of errors in the detail logs of the run: 0 if there is no log. The result checkers
    /// take no run with an error, regardless of its verdict.
    #[must_use]
    pub fn error_count(&self) -> u64 {
        match &self.kind {
            RunKind::Logs(log) => log.error_count,
            RunKind::Partial(_) => 0,
            RunKind::Whole(_) => {
                let accuracy = Some(self.folder.join(ACCURACY)).filter(|folder| folder.is_dir());
                let folders = self.performance_folder().ok().into_iter().chain(accuracy);
                let logs = folders.filter_map(|folder| DetailLog::read(&folder.join(DETAIL_LOG)).ok());
                logs.map(|log| log.error_count).sum()
            }
        }
    }

    /// Returns the numbers of samples in `samples` and in the result, if they differ: the file was cut, or is
    /// another's.
    #[must_use]
    pub fn other_sample_count(&self, samples: &Samples) -> Option<OtherSampleCount> {
        let issued = self.result()?.performance_run.as_ref()?.issued_sample_count;
        let found = samples.issued().count() as u64;
        (found != issued).then_some(OtherSampleCount { found, issued })
    }

    /// Reads the trace of the performance run; `None` if there is no trace. Leaves out accuracy phases of the
    /// same test, which come first in the file.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn trace(&self) -> Result<Option<Trace>, ResultsError> {
        let test = self.result().and_then(|result| result.performance_run.as_ref());
        let first = test.and_then(|test| {
            let phases = test.accuracy_phases.as_ref()?;
            // If the test ended in one of them, its numbers may have gaps.
            Some(if test.issued_sample_count == 0 { u64::MAX } else { phases.issued_sample_count })
        });
        self.performance_file(TRACE_LOG).map(|path| Trace::read_from(&path, first.unwrap_or(0))).transpose()
    }

    /// Reads the batches that the performance run has kept; `None` if it has kept none. Checks them against the result,
    /// and against its samples if given.
    ///
    /// # Errors
    /// If the file cannot be read, or is of another run.
    pub fn batches(&self, samples: Option<&Samples>) -> Result<Option<Batches>, ResultsError> {
        let Some(path) = self.performance_file(BATCHES) else { return Ok(None) };
        let batches = Batches::read(&path)?;
        if let Some(test) = self.result().and_then(|result| result.performance_run.as_ref()) {
            batches.check_against(&path, test, samples)?;
        }
        Ok(Some(batches))
    }

    /// Reads the samples that the run has answered with a wrong class; `None` if it has noted none.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn wrong_samples(&self) -> Result<Option<WrongSamples>, ResultsError> {
        let path = self.folder.join(WRONG_SAMPLES);
        path.is_file().then(|| WrongSamples::read(&path)).transpose()
    }

    /// Returns a file of the performance run, if it exists.
    fn performance_file(&self, name: &str) -> Option<PathBuf> {
        Some(self.performance_folder().ok()?.join(name)).filter(|path| path.is_file())
    }
}

/// Returns whether a folder is of a run that is not whole: it has the suffix, and a file that only a run leaves.
pub(crate) fn is_partial(folder: &Path) -> bool {
    folder_name(folder).ends_with(PARTIAL)
        && [LOCK, SAMPLES, DETAIL_LOG, CRASH, ERROR, PROBES].iter().any(|name| folder.join(name).is_file())
}

/// Returns the name of a folder, `run` for one without a name.
pub(crate) fn folder_name(folder: &Path) -> String {
    // Use an absolute path, so that neither a separator at the end nor `.` hides the name.
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    absolute.file_name().map_or_else(|| "run".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Reads why a run ended early.
fn ending(folder: &Path) -> Option<Ending> {
    let text = |name| {
        let bytes = read_regular(&folder.join(name)).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim_end().to_owned())
    };
    text(CRASH).map(Ending::Crash).or_else(|| text(ERROR).map(Ending::Error))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    #[test]
    fn folders_are_told_apart() {
        let error = |files: &[(&str, &str)]| Run::open(folder(files).path()).unwrap_err().to_string();
        assert!(error(&[]).contains("is no run folder: it has neither result.json nor LoadGen's logs"));
        assert!(
            error(&[(RESULT, "{\"schema_version\": 7}")])
                .contains("has schema_version 7, and this program reads 1")
        );
        assert!(error(&[(RESULT, "{}")]).contains("has no schema_version"));
        assert!(
            error(&[(RESULT, "{\"schema_version\": 1, ")]).contains("is no whole result of this program")
        );
        assert!(error(&[(RESULT, "{\"schema_version\": 1}")]).contains("missing field"));
        assert!(
            error(&[(RESULT, "<html>")]).contains("is no whole result of this program: it is a web page")
        );
        let detail = ":::MLLOG {\"key\": \"effective_scenario\", \"value\": \"Server\"}\n";
        let logs = [(DETAIL_LOG, detail), ("mlperf_log_summary.txt", "Scenario : Offline\n")];
        assert!(
            error(&logs).contains("has Scenario Offline in its summary log and effective_scenario Server")
        );

        let alone = error(&[("mlperf_log_summary.txt", "Scenario : Offline\n")]);
        assert!(
            alone.contains("has mlperf_log_summary.txt and no mlperf_log_detail.txt beside it"),
            "{alone}"
        );

        let crashed = folder(&[("crash.txt", "the plugin crashed in execute\n")]);
        let run = Run::open(crashed.path()).unwrap();
        let RunKind::Partial(Some(Ending::Crash(text))) = &run.kind else { panic!("{run:?}") };
        assert_eq!(text, "the plugin crashed in execute");
        let partial = folder(&[]);
        let path = partial.path().join("r.partial");
        fs::create_dir(&path).unwrap();
        assert!(Run::open(&path).unwrap_err().to_string().contains("is no run folder"));
        // It is so by any name of it.
        fs::write(path.join(LOCK), "").unwrap();
        fs::write(path.join(DETAIL_LOG), ":::MLLOG {\"key\": \"result_validity\", \"value\": \"VALID\"}\n")
            .unwrap();
        for path in [path.clone(), path.join("")] {
            let run = Run::open(&path).unwrap();
            assert!(matches!(run.kind, RunKind::Partial(None)) && !run.may_go_on() && !run.can_be_resumed());
        }
        // A lock that cannot be looked at says nothing.
        fs::remove_file(path.join(LOCK)).unwrap();
        symlink(LOCK, path.join(LOCK)).unwrap();
        assert!(Run::open(&path).unwrap().may_go_on());

        let detail = (DETAIL_LOG, ":::MLLOG {\"key\": \"result_validity\", \"value\": \"VALID\"}\n");
        let ours = folder(&[("crash.txt", "in execute"), detail, (LOCK, "")]);
        assert!(matches!(Run::open(ours.path()).unwrap().kind, RunKind::Partial(Some(Ending::Crash(_)))));
        for note in ["crash.txt", "error.txt"] {
            let of_others = folder(&[(note, "why it took two tries"), detail]);
            assert!(matches!(Run::open(of_others.path()).unwrap().kind, RunKind::Logs(_)), "{note}");
        }

        let logs =
            folder(&[(DETAIL_LOG, ":::MLLOG {\"key\": \"requested_scenario\", \"value\": \"Server\"}\n")]);
        let run = Run::open(logs.path()).unwrap();
        let RunKind::Logs(log) = &run.kind else { panic!("{run:?}") };
        assert_eq!(log.value("requested_scenario"), Some(&"Server".into()));
        assert!(run.samples().unwrap_err().to_string().contains("have no samples.bin"));
        assert_eq!(run.trace().unwrap(), None);
    }
}
