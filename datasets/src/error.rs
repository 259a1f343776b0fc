//! What can go wrong with data on disk.

use std::{io, path::PathBuf};

use crate::IdxError;

/// Why a data set could not be opened or read.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// No registered data set has this name.
    #[error("unknown data set \"{name}\"{hint}; known are {known}")]
    Unknown {
        /// The name as given.
        name: String,
        /// A suggestion, or empty.
        hint: String,
        /// All registered names, separated by commas.
        known: String,
    },
    /// None of the folders that were searched holds the file or folder.
    #[error(
        "\"{wanted}\" not found in {}; say where the data are with --set data_root=DIR, where DIR/{wanted} exists",
        list(looked_in)
    )]
    NotFound {
        /// Path below the data root.
        wanted: String,
        /// The folders that were searched, in order.
        looked_in: Vec<PathBuf>,
    },
    /// The file cannot be read at all.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is not the IDX file that it should be.
    #[error("{} is not a usable IDX file", path.display())]
    Idx {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: IdxError,
    },
    /// The content is not what was published.
    #[error(
        "{} is damaged or was changed: its sha256 is {got}, but {listed_in} says {expected}; restore the file",
        path.display()
    )]
    Checksum {
        /// The file.
        path: PathBuf,
        /// Where the expected sum comes from.
        listed_in: String,
        /// Sum as published, 64 hexadecimal digits.
        expected: String,
        /// Sum of the content as read.
        got: String,
    },
    /// The list of checksums does not mention the file.
    #[error("{} has no line for \"{file}\", so the file cannot be verified", list.display())]
    NotListed {
        /// The list of checksums.
        list: PathBuf,
        /// Name of the file.
        file: String,
    },
    /// A text file is not in the form that it should have.
    #[error("{}: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        reason: String,
    },
    /// There is no recipe for the model.
    #[error("there is no recipe for model \"{model}\"{hint}; there are recipes for {known}")]
    NoRecipe {
        /// The model as asked for.
        model: String,
        /// A suggestion, or empty.
        hint: String,
        /// The models that have one, separated by commas.
        known: String,
    },
    /// The recipe makes no file of the format.
    #[error(
        "the recipe of model \"{model}\" makes no {format} file, but {known}; take the entry out of the benchmark's model.files"
    )]
    NoFormat {
        /// The model.
        model: String,
        /// The format as asked for.
        format: String,
        /// The formats that there are, separated by commas.
        known: String,
    },
    /// The recipe makes other samples than the benchmark wants.
    #[error(
        "the recipe of model \"{model}\" makes {makes}, but the benchmark wants {wanted}; correct the benchmark's inputs"
    )]
    RecipeInputs {
        /// The model.
        model: String,
        /// The tensors of a sample.
        makes: String,
        /// Those of the benchmark.
        wanted: String,
    },
    /// A file could not be made.
    #[error("cannot make {}", path.display())]
    Make {
        /// The file.
        path: PathBuf,
        /// What failed.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The data set has no such sample.
    #[error("data set \"{dataset}\" has no sample {index}: it has {sample_count} samples, counted from 0")]
    NoSuchSample {
        /// Name of the data set.
        dataset: String,
        /// The index as asked for.
        index: u64,
        /// Number of samples that there are.
        sample_count: u64,
    },
}

fn list(folders: &[PathBuf]) -> String {
    let names: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
    if names.is_empty() { "any folder".to_owned() } else { names.join(", ") }
}
