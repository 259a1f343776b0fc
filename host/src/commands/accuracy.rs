//! `host accuracy`: scores an accuracy log.

use std::path::PathBuf;

use clap::Args;
use proctor_config::{Benchmark, Loader, Settings};
use proctor_display::{Terminal, print};
use proctor_run::{FoundLog, Reading, score_log};
use proctor_vocabulary::ElementType;
use proctor_words::{Conclusion, HostError, UsageError};

use crate::setting_flags::SettingFlags;

/// Flags of a log. For a run of this host, the settings come from its result, and flags override them.
#[derive(Debug, Args)]
pub(crate) struct AccuracyFlags {
    /// The log, mlperf_log_accuracy.json, or the run folder that contains it
    #[arg(value_name = "FOLDER|FILE")]
    log: PathBuf,
    /// Name of the benchmark, or path to its definition [default: the run's]
    #[arg(long, value_name = "NAME|PATH")]
    benchmark: Option<String>,
    /// Round of the MLPerf rules whose target applies [default: the run's, or v5.0]
    #[arg(long, value_name = "ROUND")]
    rules: Option<String>,
    /// Suite of the round whose target applies, datacenter or edge [default: the run's]
    #[arg(long, value_name = "SUITE")]
    suite: Option<String>,
    /// Accuracy target as a percentage of the reference, if the round has several, such as 99 and 99.9
    #[arg(long, value_name = "PERCENT")]
    quality_target: Option<String>,
    /// Folder of the benchmark's data set, if it is a published one such as ImageNet
    #[arg(long, value_name = "FOLDER")]
    dataset_folder: Option<String>,
    /// Folder with the data sets and models [default: the one shipped with the program]
    #[arg(long, value_name = "FOLDER")]
    data_root: Option<String>,
    /// Element type of the responses, such as f32, if it differs from the benchmark's
    #[arg(long, value_name = "TYPE", value_parser = element_type)]
    element_type: Option<ElementType>,
    /// BERT: logits are laid out as [2, n] instead of [n, 2]
    #[arg(long)]
    output_transposed: bool,
    /// Detection: classes number the categories from 1 instead of being category ids
    #[arg(long)]
    use_inv_map: bool,
    /// Precision the answers were computed in, if the tolerance depends on it
    #[arg(long)]
    precision: Option<String>,
    /// Scenario of the run (MultiStream answers some samples twice) [default: that of the log beside it]
    #[arg(long)]
    scenario: Option<String>,
    /// Set any setting; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
}

impl AccuracyFlags {
    /// Scores the log, and prints the score.
    pub(super) fn run(&self) -> Result<Conclusion, HostError> {
        let log = FoundLog::find(&self.log)?;
        let Some(benchmark) = self.benchmark.as_deref().or_else(|| log.benchmark()) else {
            return Err(UsageError::LogBenchmark(log.path().to_owned()).into());
        };
        let settings = self.settings(&log, benchmark)?;
        let reading = Reading {
            element_type: self.element_type,
            output_transposed: self.output_transposed,
            use_inv_map: self.use_inv_map,
        };
        let result = score_log(&log, settings, reading, Terminal::observer().as_ref())?;
        print(if self.json { result.json() } else { result.text() });
        Ok(result.conclusion())
    }

    /// Returns the settings. If the user chose no scenario that the benchmark has, its first one will do:
    /// only MultiStream makes a difference.
    fn settings(&self, log: &FoundLog, benchmark: &str) -> Result<Settings, HostError> {
        self.load(log.loader()).or_else(|error| {
            let Ok(Benchmark { scenarios, .. }) = Benchmark::find(benchmark) else { return Err(error) };
            let Some(first) = scenarios.keys().next() else { return Err(error) };
            let loader = log.loader().flag("the benchmark's first scenario", "scenario", first.name());
            self.load(loader).map_err(|_| error)
        })
    }

    /// Puts the flags above the loader's layers.
    fn load(&self, loader: Loader) -> Result<Settings, HostError> {
        let flags = [
            ("benchmark", &self.benchmark),
            ("rules", &self.rules),
            ("suite", &self.suite),
            ("quality_target", &self.quality_target),
            ("dataset_folder", &self.dataset_folder),
            ("data_root", &self.data_root),
            ("precision", &self.precision),
            ("scenario", &self.scenario),
        ];
        let flags = flags
            .into_iter()
            .fold(SettingFlags::default(), |flags, (setting, value)| flags.with(setting, value.as_deref()));
        let loader = flags.apply(loader);
        Ok(loader.set_all(&self.set).load()?)
    }
}

fn element_type(name: &str) -> Result<ElementType, String> {
    ElementType::from_name(name).ok_or_else(|| {
        let known: Vec<_> = ElementType::ALL.iter().map(|it| it.name()).collect();
        format!("give one of {}", known.join(", "))
    })
}

pub(super) const ACCURACY_HELP: &str = "\
Examples:
  host accuracy runs/2026-11-21T18-43-00-digits-lstm-SingleStream
  host accuracy results/resnet50 --benchmark resnet50 \\
                --dataset-folder /data/imagenet --element-type f32
  host accuracy mlperf_log_accuracy.json --benchmark gnmt --rules v0.5 --json

Scores a log in LoadGen's format, no matter which program wrote it. For MLPerf
benchmarks the first line is the one the reference script prints. Exit code 0 means
that the accuracy passed: the value reaches the target of the round, both rounded to
five significant figures, and every sample has exactly one complete answer. Otherwise
the exit code is 1, and the output lists all missing, damaged, repeated and unknown
answers.

For a run of this program, the benchmark and settings come from result.json, beside
the log or one folder above; flags override them. For other logs, the scenario comes
from mlperf_log_detail.txt or mlperf_log_summary.txt beside the log, or else it is the
benchmark's first. Only MultiStream may answer a sample twice.

Scoring does not prepare samples of published data sets. For ImageNet, COCO, Open
Images, LibriSpeech and WMT, only the label list is needed. --element-type is
--dtype or --output_dtype of the reference scripts; --output-transposed and
--use-inv-map have the same names there.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_has_its_short_name() {
        assert_eq!(element_type("i64"), Ok(ElementType::I64));
        assert!(element_type("float32").is_err_and(|error| error.starts_with("give one of f32, f64, ")));
    }
}
