//! Flags of `host bench data` and of the process that scores a log.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::comparison::OutputFlags;

/// Flags of `host bench data`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DataFlags {
    /// Parts to measure, comma-separated
    #[arg(long, value_enum, value_name = "PART", value_delimiter = ',', default_values_t = Part::ALL)]
    pub(super) part: Vec<Part>,
    /// JPEG files to prepare, comma-separated [default: generated ones]
    #[arg(long, value_name = "FILE", value_delimiter = ',')]
    pub(super) pictures: Vec<PathBuf>,
    /// Number of processors to prepare pictures on
    #[arg(long, value_name = "COUNT", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=256))]
    cores: u32,
    /// Folder on the disk to load prepared samples from [default: the temporary folder]
    #[arg(long, value_name = "FOLDER")]
    pub(super) folder: Option<PathBuf>,
    /// Python with the packages; may be repeated [default: the virtual environment's, or python3]
    #[arg(long, value_name = "PATH")]
    pub(super) python: Vec<PathBuf>,
    /// Number of turns per side
    #[arg(long, value_name = "COUNT", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Measure only briefly, as a smoke test
    #[arg(long)]
    pub(super) quick: bool,
    #[command(flatten)]
    pub(super) output: OutputFlags,
}

/// The process that reads an accuracy log: this program, started by itself.
#[derive(Debug, Clone, Args)]
pub(crate) struct DataLogFlags {
    /// Path of the log.
    pub(super) log: PathBuf,
    /// Whether to score it, as classes of the data set `digits`.
    #[arg(long)]
    pub(super) score: bool,
}

/// A part of the data processing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Part {
    Pictures,
    Boxes,
    Mel,
    Log,
    Cache,
}

impl Part {
    pub(super) const ALL: [Self; 5] = [Self::Pictures, Self::Boxes, Self::Mel, Self::Log, Self::Cache];

    /// Returns the title of its table.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Pictures => "Pictures prepared",
            Self::Boxes => "Average precision",
            Self::Mel => "Features of speech",
            Self::Log => "Accuracy logs",
            Self::Cache => "Prepared samples loaded",
        }
    }
}

impl DataFlags {
    pub(super) fn round_count(&self) -> u32 {
        if self.quick { self.rounds.min(2) } else { self.rounds }
    }

    /// Returns the processors to prepare pictures on, out of all that this program may use.
    pub(super) fn cpus(&self, all: &[usize]) -> Vec<usize> {
        all.iter().copied().take(self.cores as usize).collect()
    }
}

/// Examples for `host bench data --help`.
pub(crate) const DATA_HELP: &str = "\
Examples:
  host bench data --python venv/bin/python                 everything; takes a few minutes
  host bench data --part pictures --pictures a.jpg,b.jpg   your own photographs
  host bench data --part cache --folder /data              the disk to measure
  host bench data --quick --json data.json                 a smoke test
  host bench data --markdown data.md

Compares pictures with OpenCV and Pillow, average precision with pycocotools, and speech
features with librosa, all used as in the reference implementations. Also measures
accuracy logs, and loading prepared samples against a bare read of their file. Missing
packages are skipped:
  python3 -m venv venv
  venv/bin/pip install opencv-python-headless pillow pycocotools librosa

The sides take turns in rounds and are compared round by round. Ctrl-C stops and reports
the measurements so far. See docs/performance.md.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::tests::parsed;

    fn flags(text: &str) -> Result<DataFlags, String> {
        parsed(text)
    }

    #[test]
    fn without_flags_everything_is_measured_on_two_cores() {
        let plain = flags("").unwrap();
        assert_eq!((plain.part.as_slice(), plain.round_count()), (&Part::ALL[..], 7));
        assert_eq!((plain.cpus(&[3, 5, 8]), plain.cpus(&[3])), (vec![3, 5], vec![3]));
        assert_eq!(flags("--quick --part mel,log").unwrap().round_count(), 2);
    }

    #[test]
    fn what_is_not_there_is_refused() {
        for text in ["--part sound", "--cores 0", "--rounds 0"] {
            assert!(flags(text).is_err(), "{text}");
        }
    }
}
