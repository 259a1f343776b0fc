//! The flags of `host data`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{RunFlags, setting_flags::SettingFlags};

/// Flags of `host data`.
#[derive(Debug, Args)]
pub(crate) struct DataFlags {
    #[command(subcommand)]
    pub(crate) command: DataCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// List the models that can be made, their size, and where they are if they have been made
    List {
        /// Folder of the data sets and models
        #[arg(long, value_name = "FOLDER")]
        data_root: Option<String>,
    },
    /// Make the files of a model, which a run otherwise does when it first needs them
    #[command(after_help = MAKE_MODEL_HELP)]
    MakeModel {
        /// Name of the model
        name: String,
        /// Folder for the files [default: `generated` in the folder of the data sets, or in that of caches]
        #[arg(long, value_name = "FOLDER")]
        out: Option<PathBuf>,
        /// Folder of the data sets and models
        #[arg(long, value_name = "FOLDER", conflicts_with = "out")]
        data_root: Option<String>,
    },
}

impl DataCommand {
    /// The flags of a run that would use the same data.
    pub(crate) fn run(&self) -> RunFlags {
        let (Self::List { data_root } | Self::MakeModel { data_root, .. }) = self;
        let settings = SettingFlags::default().with("data_root", data_root.as_deref());
        RunFlags { settings, ..RunFlags::default() }
    }
}

pub(super) const DATA_HELP: &str = "\
Examples:
  host data list
  host data make-model gnmt
  host data make-model rnn-lstm-256-256-1-100 --out models";

const MAKE_MODEL_HELP: &str = "\
Examples:
  host data make-model gnmt
  host data make-model resnet50 --out models
  host data make-model rnn-lstm-256-256-1-100 --out models

The weights are random, of the true shape and from a fixed seed, so that the file
is the same everywhere. It is written under another name and renamed when it is
whole. NAME.safetensors holds the weights; models of general engines have a graph,
too, NAME.onnx, whose constants are in the same file of weights: keep both in one
folder.";
