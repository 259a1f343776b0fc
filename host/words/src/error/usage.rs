//! Settings and arguments that contradict each other, the plugin or the benchmark.

use std::{io, path::PathBuf};

use proctor_config::Origin;
use proctor_datasets::RowAggregation;
use proctor_vocabulary::{ElementType, TestMode, did_you_mean};

use super::Cause;

/// Settings or arguments that contradict each other, the plugin or the benchmark.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
#[rustfmt::skip]
pub enum UsageError {
    #[error("{0}")] Stated(&'static str),
    #[error(transparent)] Other(Cause),
    #[error("model_file is {path}, but benchmark {benchmark} takes files that end in {}", formats.join(" or "))]
    ModelFile { path: PathBuf, benchmark: String, formats: Vec<String> },
    #[error("--record {0}: there is a recording already; name a new folder")] RecordingThere(PathBuf),
    #[error("--record {record} lies in the folder of the results, --output {output}, which has its name only when they \
             are whole: give one of them another folder")] RecordInOutput { record: PathBuf, output: PathBuf },
    #[error("{0}: the recording ends before its plugin was loaded")] RecordingEnds(PathBuf),
    #[error("virtual_time is {is_virtual}, and was {} in the recording, whose calls are made in that time alone: leave \
             out --set virtual_time={is_virtual}", !is_virtual)] VirtualTime { is_virtual: bool },
    #[error("cannot listen for signals: {0}")] Signals(io::Error),
    #[error("{origin}: devices = \"{value}\": {fault}")]
    Devices { origin: Box<Origin>, value: String, fault: DevicesFault },
    #[error("{origin}: {key} is an option of plugin \"{owner}\", but the run uses plugin {plugin}{}",
        did_you_mean(owner, [plugin.as_str()]))]
    OptionOfOther { origin: Box<Origin>, key: String, owner: String, plugin: String },
    #[error("row_aggregation = {rows} is for data sets of {of}, and {dataset} is none: leave it out")]
    NoRows { rows: RowAggregation, of: &'static str, dataset: String },
    #[error("settings mode = {0} and test05 = true: test05 makes every run a performance run, which logs no answers; \
             leave test05 out for the accuracy run, or the mode for the performance run")] Test05(TestMode),
    #[error("{origin}: {key} = {value} does not go with engine = {engine}: {why}")]
    NotWithEngine { origin: String, key: &'static str, value: String, engine: &'static str, why: &'static str },
    #[error("{origin}: engine = {engine} is for host run: {why}; leave it out")]
    NoEngine { origin: String, engine: &'static str, why: &'static str },
    #[error("{benchmark} is not to be proven: its {format} file would hold random weights (recipe {recipe}); give \
             trained ones with --model-file, or prove a benchmark of a trained model")]
    RandomWeights { benchmark: String, format: String, recipe: String },
    #[error("{benchmark} is not to be proven: the samples of its data set \"{dataset}\" are generated; name the folder of \
             the real ones with --dataset-folder, or prove a benchmark on real data")]
    GeneratedSamples { benchmark: String, dataset: String },
    #[error("setting audit_config = {path}: {cause}")] AuditConfig { path: PathBuf, cause: Cause },
    #[error("{}\nwith strict = true, these warnings are errors", .0.join("\n"))] Strict(Vec<String>),
    #[error("{flag} is for {metric}, and {benchmark} is scored by {scored_by}: leave it out")]
    LogOfOther { flag: &'static str, metric: &'static str, benchmark: String, scored_by: String },
    #[error("--element-type {}: {metric} is computed from {outputs}", element_type.name())]
    LogType { element_type: ElementType, metric: &'static str, outputs: &'static str },
    #[error("{metric} compares values as closely as the precision allows: give --precision, one of {}",
        known.join(", "))]
    LogPrecision { metric: String, known: Vec<String> },
    #[error("{0}: no result of a run of this program lies there, which would name the benchmark: give --benchmark")]
    LogBenchmark(PathBuf),
}

/// A fault of the setting that chooses devices.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
#[rustfmt::skip]
pub enum DevicesFault {
    #[error("plugin {plugin} lists no devices to choose from: leave it out")] NoList { plugin: String },
    #[error("\"{part}\" is no device of plugin {plugin}, which has 0 to {last}")]
    Unknown { part: String, plugin: String, last: u32 },
    #[error("device {0} stands there twice")] Twice(u32),
}
