//! Data, models and logs that do not fit the benchmark.

use std::{io, path::PathBuf, process::ExitStatus};

use proctor_results::{ResultsError, with_cause};
use proctor_vocabulary::{SampleIndex, Scenario};

use super::{Cause, HostError};

/// Advice on how to get a log with answers.
const RUN_AGAIN: &str = "run `host run --mode accuracy`, or LoadGen in the mode AccuracyOnly, and give the folder of \
                         that run";

/// Data, a model or a log that is missing or does not fit the benchmark.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
#[rustfmt::skip]
pub enum DataError {
    #[error("{0}")] Stated(&'static str),
    #[error(transparent)] Other(Cause),
    #[error("{}", with_cause(.0))] Results(ResultsError),
    #[error("cannot read {path}: {error}")] CannotRead { path: PathBuf, error: io::Error },
    #[error("cannot write {path}: {error}")] CannotWrite { path: PathBuf, error: io::Error },
    #[error("{path}: {error}")] Path { path: PathBuf, error: io::Error },
    #[error("benchmark {benchmark} needs a model of yours as {format}; give it with --model-file FILE.{format}: \
             {about}")]
    NoModel { benchmark: String, format: String, about: String },
    #[error("{file}: qsl.total_sample_count = {declared}, but data set {dataset} has {count} samples")]
    TooFewSamples { file: PathBuf, declared: u64, dataset: String, count: u64 },
    #[error("{0} has no samples; `host data verify` says what is missing")] NoSamples(PathBuf),
    #[error("{}; `host data info {dataset}` says what has to lie where, and `host data verify {dataset} --folder \
             {folder}` what is missing or damaged", cause.messages().join(": "))]
    NotOpened { dataset: &'static str, folder: PathBuf, cause: Box<HostError> },
    #[error("cannot find {program}: {error}")] NoProgram { program: &'static str, error: io::Error },
    #[error("data set \"{dataset}\" is prepared by a program of its own, and {program} cannot be started: {error}; \
             build it with {build}")]
    NotStarted { dataset: String, program: PathBuf, build: &'static str, error: io::Error },
    #[error("data set \"{dataset}\" cannot be prepared: {program} ended with {ended}")]
    NotPrepared { dataset: String, program: &'static str, ended: ExitStatus },
    #[error("data set \"{dataset}\" cannot be looked at: {program} ended with {ended}")]
    NotVerified { dataset: String, program: &'static str, ended: ExitStatus },
    #[error("{program} is of another version: {error}")] OtherVersion { program: PathBuf, error: serde_json::Error },
    #[error("cannot start the thread that turns batch size and instances: {0}")] NoThread(io::Error),
    #[error("sample {index} of data set {dataset} has the hash {hash}, and {recorded} in the recording: replay it with \
             the data that it was made with (--data-root)")]
    OtherSample { index: SampleIndex, dataset: String, hash: String, recorded: String },
    #[error("{0}: quality.answers = \"computed\" needs the model as safetensors")] NoWeights(PathBuf),
    #[error("{file}: quality.tolerance has none for precision {precision}, only for {}", known.join(", "))]
    NoTolerance { file: PathBuf, precision: String, known: Vec<String> },
    #[error("{file}: outputs: {metric} is computed from {outputs}")]
    Outputs { file: PathBuf, metric: &'static str, outputs: &'static str },
    #[error("{folder} lacks files of samples, and nothing says whether the run had the other {others} alone: restore \
             them, or put the mlperf_log_detail.txt of the run beside the log")]
    SamplesOfLog { folder: PathBuf, others: u64 },
    #[error("{run} is of {of_run}, and {log} of {of_log}: put the log beside the files of its own run")]
    TwoScenarios { run: PathBuf, of_run: Scenario, log: PathBuf, of_log: Scenario },
    #[error("{} has no answers, since it is of a performance run: {}", .0.display(), RUN_AGAIN)] NoAnswers(PathBuf),
    #[error("{path} is {kind}, and no regular file: write the log to a file, and give that")]
    Irregular { path: PathBuf, kind: &'static str },
    #[error("{path}: there is no {log}; give the log, or the folder that a run has left it in")]
    NoLog { path: PathBuf, log: &'static str },
    #[error("{path}: there is no {log}; the run was a performance run, which logs no answers: {}", RUN_AGAIN)]
    NoLogOfPerformance { path: PathBuf, log: &'static str },
}
