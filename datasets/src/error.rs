//! Errors of data on disk.

use std::{io, path::PathBuf};

use proctor_vocabulary::registry::UnknownName;

use crate::idx::IdxError;

/// Why a data set could not be opened or read.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// No registered data set has this name.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
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
    /// The data set's own reader failed in a way of its own.
    #[error(transparent)]
    Reader(Box<dyn std::error::Error + Send + Sync>),
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
