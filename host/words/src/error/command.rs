//! Commands that cannot do their work.

use std::{io, path::PathBuf};

use proctor_loadgen::Rules;
use proctor_vocabulary::{ElementType, did_you_mean, registry::UnknownName};

use super::Cause;

/// Arguments of a command, or a system, by which it cannot do its work.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
#[rustfmt::skip]
pub enum CommandError {
    #[error("cannot find this program to start it again: {0}")] NoProgram(io::Error),
    #[error("cannot start {program}: {error}")] NotStarted { program: PathBuf, error: io::Error },
    #[error("cannot start {python}, the Python of the run: {error}; name another one with --python")]
    NoPython { python: PathBuf, error: io::Error },
    #[error("{python} has no package proctor, which this run needs: install it with `{python} -m pip install \
             ./proctor-*.whl`, or name another Python with --python")] NoPackage { python: PathBuf },
    #[error("{python} has no module mlperf_loadgen, the official LoadGen: install it with `{python} -m pip install \
             mlcommons-loadgen`, or name another Python with --python")] NoLoadGen { python: PathBuf },
    #[error("setting loadgen = {build}: there is no module mlperf_loadgen for the Python of the run, a file such as \
             mlperf_loadgen.abi3.so or mlperf_loadgen.cpython-312-x86_64-linux-gnu.so: build LoadGen's Python module \
             with that Python, and give its file or folder")] NoBuild { build: PathBuf },
    #[error("{0}: one of the two runs there has no result")] NoEngineResult(PathBuf),
    #[error("cannot find this program, and {program} beside it: {error}")]
    NoSibling { program: &'static str, error: io::Error },
    #[error("host {command} {subcommand} is a program of its own, and {program} cannot be started: {error}; build it \
             with {build}")]
    SiblingNotStarted {
        command: &'static str, subcommand: String, program: PathBuf, build: &'static str, error: io::Error,
    },
    #[error("--keep {folder}: {error}")] Keep { folder: PathBuf, error: io::Error },
    #[error("--keep {folder}: there is no run there among those below {below}")]
    KeepNoRun { folder: PathBuf, below: PathBuf },
    #[error("--format {form} is of one run, and {count} folders were given")] OneRun { form: String, count: usize },
    #[error("--rules: {0}")] UnknownRules(UnknownName),
    #[error("--suite {suite}: {rules} has no suites; leave --suite out to see all of its benchmarks")]
    NoSuites { suite: String, rules: Rules },
    #[error("--suite {suite}: {rules} has {}{}",
        known.join(" and "), did_you_mean(suite, known.iter().map(String::as_str)))]
    UnknownSuite { suite: String, rules: Rules, known: Vec<String> },
    #[error("{name:?} cannot be the name of a plugin: it begins with a lower-case letter and has lower-case letters, \
             digits and single hyphens, at most {length_max} of all, as in my-chip")]
    PluginName { name: String, length_max: usize },
    #[error("cannot write a new plugin to {folder}: {error}")] NewPlugin { folder: PathBuf, error: io::Error },
    #[error("{0} is there already: choose another name, or another folder with --output")] NewPluginThere(PathBuf),
    #[error("{0} is not UTF-8, as Cargo.toml has to be")] NotUtf8(PathBuf),
    #[error("unknown data set \"{name}\"{}; known are {}",
        did_you_mean(name, known.iter().copied()), known.join(", "))]
    UnknownDataset { name: String, known: Vec<&'static str> },
    #[error("data set \"{0}\" is not a published one, and a run needs nothing generated or prepared for it; \
             `host data info {0}` describes it")] NotPublished(&'static str),
    #[error("there is no folder {folder}; `host data info {dataset}` says what has to lie in it")]
    NoDataset { folder: PathBuf, dataset: &'static str },
    #[error("{0} is there already, and not an empty folder: give another --out")] OutTaken(PathBuf),
    #[error("--files: a sample of {0} is more than a file; lay out its calibration samples as the data set is, and \
             give that --folder")] NotOfFiles(&'static str),
    #[error("{0} is there already: give another --out")] FileTaken(PathBuf),
    #[error("{0} is a file: say with --benchmark which benchmark it is for")] ModelOfNoBenchmark(PathBuf),
    #[error("benchmark {0} has no ONNX file of its own here: give one, as in `host data quantise FILE.onnx --benchmark {0}`")]
    NoOwnModel(String),
    #[error("data set {0} has no part for calibration: give samples with --calibration; `host data info {0}` names the \
             lists of MLPerf Inference")] NoCalibrationPart(String),
    #[error("data set {0}: --calibration takes a file with the numbers of samples, counted from 0")]
    NotOfNumbers(String),
    #[error("samples of benchmark {0} differ in shape, and ranges are measured on samples of one shape")]
    NotCalibrated(String),
    #[error("NumPy has no name for the type {} of the input {input}", element_type.name())]
    NoNumpyType { element_type: ElementType, input: String },
    #[error("cannot read the order from stdin: {0}")] OrderUnread(io::Error),
    #[error("the order is none: {0}")] NoOrder(serde_json::Error),
    #[error("cannot measure {what}: {cause}")] Unmeasured { what: &'static str, cause: Cause },
    #[error("--against python: the official LoadGen does not run ({}); install it with `python3 -m venv venv && \
             venv/bin/pip install {package}` and say --python venv/bin/python", tried.join("; "))]
    NoOfficial { package: &'static str, tried: Vec<String> },
    #[error("the official LoadGen failed: {python}: {why}")] OfficialFailed { python: PathBuf, why: String },
    #[error("the official LoadGen failed: its log has no {0}")] OfficialLog(String),
    #[error("--set {owner}...: the plugins to measure are {}", engines.join(", "))]
    StrayOption { owner: String, engines: Vec<String> },
    #[error("--batch {batch}: {benchmark} has {count} samples to draw from")]
    Batch { batch: usize, benchmark: String, count: u64 },
    #[error("--threads: {0}")] Threads(Cause),
    #[error("--cpus {cpus:?}: {error}")] Cpus { cpus: Vec<usize>, error: io::Error },
}
