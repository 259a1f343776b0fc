//! One side of a comparison: a run, or several repeats of one.

use std::path::{Path, PathBuf};

use proctor_config::RoundScenario;
use proctor_results::{
    ResultFile, ResultsError, Run, RunKind,
    file_names::{ACCURACY, ACCURACY_LOG},
    find_runs,
};
use proctor_vocabulary::Scenario;
use serde_json::Value;

use crate::{
    differences::{Part, differences, listed},
    error::CompareError,
    figure::{Figure, SHIFTS},
    remark::Remark,
    statistics::measured::Measured,
};

/// One side of a comparison.
#[derive(Debug)]
pub struct Side {
    /// The folder, as given.
    pub folder: PathBuf,
    /// Runs, by name: at least one.
    pub(crate) runs: Vec<SideRun>,
    /// Remarks on the files that were read.
    pub(crate) remarks: Vec<Remark>,
}

#[derive(Debug)]
pub(crate) struct SideRun {
    pub(crate) folder: PathBuf,
    pub(crate) result: ResultFile,
    pub(crate) json: Value,
    pub(crate) scenario: RoundScenario,
    /// File of the answers behind the accuracy, if there is one.
    pub(crate) accuracy_log: PathBuf,
    /// Number of samples that failed or never completed.
    pub(crate) unanswered: u64,
    /// Number of samples that were issued.
    pub(crate) issued: u64,
    pub(crate) measured: Measured,
}

impl Side {
    /// Opens a run folder, or a folder with repeats of one run.
    ///
    /// # Errors
    /// If there is no run that can be compared, or several that are no repeats of each other.
    pub fn open(folder: &Path) -> Result<Self, CompareError> {
        let mut remarks = Vec::new();
        let runs = match Run::open(folder) {
            Ok(run) => vec![SideRun::open(run, &mut remarks)?],
            Err(none @ ResultsError::NoRun { .. }) => {
                let mut runs = Vec::new();
                for run in find_runs(folder)? {
                    let run = Run::open(&run)?;
                    let is_interrupted = run.result().is_some_and(|result| result.verdict.interrupted);
                    if is_interrupted || matches!(run.kind, RunKind::Partial(_)) {
                        remarks.push(Remark::LeftOut { run: run.folder, is_interrupted });
                    } else {
                        runs.push(SideRun::open(run, &mut remarks)?);
                    }
                }
                if runs.is_empty() {
                    return Err(none.into());
                }
                runs
            }
            Err(error) => return Err(error.into()),
        };
        let side = Self { folder: folder.to_owned(), runs, remarks };
        side.check_repeats()?;
        side.check_copies()?;
        Ok(side)
    }

    /// Returns the number of runs.
    #[must_use]
    pub fn run_count(&self) -> usize {
        self.runs.len()
    }

    /// Checks that the runs differ in no chosen setting.
    fn check_repeats(&self) -> Result<(), CompareError> {
        let first = &self.runs[0];
        for other in &self.runs[1..] {
            let found = differences(&[&first.json], &[&other.json]);
            let chosen =
                found.iter().filter(|found| found.part != Part::Machine && found.part != Part::Program);
            let keys: Vec<_> = chosen.map(ToString::to_string).collect();
            if !keys.is_empty() {
                return Err(CompareError::NoRepeats { path: self.folder.clone(), keys: listed(&keys) });
            }
        }
        Ok(())
    }

    /// Checks that no run is a copy of another one, which would make the repeats seem to vary less than they
    /// do. Runs in virtual time have no finishing instant, and may be the same.
    fn check_copies(&self) -> Result<(), CompareError> {
        for (number, run) in self.runs.iter().enumerate() {
            let Some(finished) = &run.result.finished_at_utc else { continue };
            let is_copy = |other: &&SideRun| {
                other.result.finished_at_utc.as_ref() == Some(finished)
                    && other.measured.digest == run.measured.digest
            };
            if let Some(first) = self.runs[..number].iter().find(is_copy) {
                return Err(CompareError::Copies {
                    path: first.folder.clone(),
                    copy: run.folder.clone(),
                    finished: finished.clone(),
                });
            }
        }
        Ok(())
    }

    /// Returns the number of samples of its runs that failed or never completed, and the number of all issued ones.
    pub(crate) fn unanswered(&self) -> (u64, u64) {
        let sum = |of: fn(&SideRun) -> u64| self.runs.iter().map(of).sum::<u64>();
        (sum(|run| run.unanswered), sum(|run| run.issued))
    }

    pub(crate) fn measured(&self) -> Vec<&Measured> {
        self.runs.iter().map(|run| &run.measured).collect()
    }

    /// Returns the raw results.
    pub(crate) fn json(&self) -> Vec<&Value> {
        self.runs.iter().map(|run| &run.json).collect()
    }
}

impl SideRun {
    fn open(run: Run, remarks: &mut Vec<Remark>) -> Result<Self, CompareError> {
        let folder = run.folder.clone();
        let samples = match &run.kind {
            RunKind::Partial(ending) => {
                return Err(CompareError::NotWhole { path: folder, ending: ending.clone() });
            }
            RunKind::Logs(_) => return Err(CompareError::Logs { path: folder }),
            RunKind::Whole(_) => run.samples()?,
        };
        if let Some(count) = run.other_sample_count(&samples) {
            remarks.push(Remark::OtherCount { run: folder.clone(), count });
        }
        let log_folder = match run.result().is_some_and(|result| result.accuracy_run.is_some()) {
            true => folder.join(ACCURACY),
            // One test of both.
            false => run.performance_folder()?,
        };
        let accuracy_log = log_folder.join(ACCURACY_LOG);
        let error_count = run.error_count();
        let RunKind::Whole(whole) = run.kind else { return Err(CompareError::Logs { path: folder }) };
        let proctor_results::WholeRun { result, json } = *whole;
        let scenario = result.scenario.parse::<RoundScenario>().map_err(|error| ResultsError::Malformed {
            path: folder.clone(),
            fault: format!("has a result of an {error}"),
        })?;
        if samples.torn_bytes > 0 {
            remarks.push(Remark::Torn { run: folder.clone(), bytes: samples.torn_bytes });
        }
        let (failed, missing) = (samples.failed_count(), samples.missing_count());
        if failed + missing > 0 {
            remarks.push(Remark::WithoutLatency { run: folder.clone(), failed, missing });
        }
        if !result.verdict.valid {
            remarks.push(Remark::Invalid { run: folder.clone() });
        }
        if result.verdict.accuracy_passed == Some(false) {
            remarks.push(Remark::Inaccurate { run: folder.clone() });
        }
        if error_count > 0 {
            remarks.push(Remark::Errors { run: folder.clone(), count: error_count });
        }
        let samples_per_query = match scenario.loadgen() {
            Scenario::MultiStream => {
                let setting = result.settings.get("multi_stream_samples_per_query");
                setting.and_then(|setting| setting.value.as_u64()).unwrap_or(1)
            }
            _ => 1,
        };
        let mut wanted = Figure::of(scenario.loadgen());
        if scenario.loadgen() != Scenario::Offline {
            wanted.extend(SHIFTS.map(Figure::Percentile));
        }
        wanted.sort_by_key(|figure| match figure {
            Figure::Percentile(tenths) => *tenths,
            _ => u16::MAX,
        });
        wanted.dedup();
        // As many as fit into memory.
        let samples_per_query = usize::try_from(samples_per_query).unwrap_or(usize::MAX);
        let measured = Measured::of(&samples.records, samples_per_query, &wanted);
        if measured.count < 2 {
            return Err(CompareError::TooFewSamples { path: folder, count: measured.count });
        }
        let (unanswered, issued) = ((failed + missing) as u64, samples.issued().count() as u64);
        Ok(Self { folder, result, json, scenario, accuracy_log, unanswered, issued, measured })
    }
}
