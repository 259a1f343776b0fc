//! `host replay`: the calls of a recording, made again on another build of its plugin.

use std::path::PathBuf;

use clap::Args;
use proctor_bed::Interrupt;
use proctor_campaigns::{Replay, replay};
use proctor_display::{Terminal, print};
use proctor_words::{Conclusion, HostError};

/// The flags of a replay.
#[derive(Debug, Args)]
pub(crate) struct ReplayFlags {
    /// Folder of the recording, made by host run --record
    #[arg(value_name = "FOLDER")]
    recording: PathBuf,
    /// Name of the plugin, or path to its library
    #[arg(long, value_name = "NAME|PATH")]
    pub(super) plugin: String,
    /// Folder to keep the recording of the replay in [default: not kept]
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Folder with the data sets and models [default: the one shipped with the program]
    #[arg(long, value_name = "FOLDER")]
    data_root: Option<PathBuf>,
    /// Change a setting of the recording, or a plugin option as PLUGIN.OPTION; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
}

impl ReplayFlags {
    /// Makes the replay, and prints its differences from the recording.
    pub(super) fn run(&self) -> Result<Conclusion, HostError> {
        let Self { recording, plugin, output, data_root, set } = self;
        let request = Replay {
            recording: recording.clone(),
            plugin: plugin.clone(),
            output: output.clone(),
            data_root: data_root.clone(),
            changed: set.clone(),
        };
        let (text, conclusion) = replay(&request, &Interrupt::install(Terminal::observer())?)?;
        print(text);
        Ok(conclusion)
    }
}

pub(super) const REPLAY_HELP: &str = "\
Examples:
  host run --plugin ./libmine_sut.so --scenario Offline --record recording
  host replay recording --plugin ./libmine_sut.so
  host replay recording --plugin ./fixed/libmine_sut.so --output replayed
  host replay recording --plugin mine --set mine.threads=4

The plugin receives the same model, options, samples, and batches or queries in the
same order. Exit code 0: every call returned the same status and every answer has the
same bytes. Exit code 1: something differs; the output names the first call and the
first sample that do. Warm-up answers are not compared. Times are shown side by side
but do not count. A recording holds no tensors and no model; see
docs/record-and-replay.md.";
