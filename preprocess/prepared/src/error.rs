//! Errors of prepared samples.

use std::{io, path::PathBuf};

use proctor_vocabulary::SampleIndex;

/// Reason why prepared samples could not be written or read.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum PreparedError {
    /// A file cannot be read or written.
    #[error("cannot {doing} {}{}", path.display(), advice(source))]
    File { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("{} is no index of prepared samples of this version; delete its folder, which is made again", path.display())]
    Foreign { path: PathBuf },
    #[error("{} holds samples of another recipe; delete its folder, which is made again", path.display())]
    OtherRecipe { path: PathBuf },
    #[error("sample {index} is not among those prepared in {}", folder.display())]
    Absent { index: SampleIndex, folder: PathBuf },
    #[error("{}: sample {index} is damaged; delete the folder, which is made again", path.display())]
    Damaged { path: PathBuf, index: SampleIndex },
    #[error("sample {index} has tensors of {got:?} bytes, but there is room for {room:?}")]
    Sizes { index: SampleIndex, got: Vec<usize>, room: Vec<usize> },
    #[error("there is no sample {index}: the data set has {sample_count} samples, counted from 0")]
    NoSuchSample { index: SampleIndex, sample_count: u64 },
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
