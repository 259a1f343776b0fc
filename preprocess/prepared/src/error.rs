//! Errors of prepared samples.

use std::{io, path::PathBuf};

use proctor_vocabulary::SampleIndex;

/// Why prepared samples could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum PreparedError {
    /// A file cannot be read or written.
    #[error("cannot {doing} {}{}", path.display(), advice(source))]
    File {
        /// The verb.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file is of another version, or none of ours.
    #[error("{} is no index of prepared samples of this version; delete its folder, which is made again", path.display())]
    Foreign {
        /// The index.
        path: PathBuf,
    },
    /// The samples are of other inputs than those that were asked for.
    #[error("{} holds samples of another recipe; delete its folder, which is made again", path.display())]
    OtherRecipe {
        /// The file with the recipe.
        path: PathBuf,
    },
    /// The sample was not prepared.
    #[error("sample {index} is not among those prepared in {}", folder.display())]
    Absent {
        /// The sample.
        index: SampleIndex,
        /// The folder.
        folder: PathBuf,
    },
    /// The bytes differ from the ones that were written.
    #[error("{}: sample {index} is damaged; delete the folder, which is made again", path.display())]
    Damaged {
        /// The file of records.
        path: PathBuf,
        /// The sample.
        index: SampleIndex,
    },
    /// The sizes of the tensors differ from the given buffers'.
    #[error("sample {index} has tensors of {got:?} bytes, but there is room for {room:?}")]
    Sizes {
        /// The sample.
        index: SampleIndex,
        /// Bytes of each tensor.
        got: Vec<usize>,
        /// Bytes of each slice.
        room: Vec<usize>,
    },
    /// The index is past the end of the data set.
    #[error("there is no sample {index}: the data set has {sample_count} samples, counted from 0")]
    NoSuchSample {
        /// The index.
        index: SampleIndex,
        /// Number of samples of the data set.
        sample_count: u64,
    },
}

impl PreparedError {
    pub(crate) fn file(doing: &'static str, path: PathBuf) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { doing, path, source }
    }
}

fn advice(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            ": there is no room left; free some, or set cache_folder to a folder with more"
        }
        _ => "",
    }
}
