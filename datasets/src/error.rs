//! Errors of data on disk.

use std::{io, path::PathBuf};

use proctor_vocabulary::{printable, registry::UnknownName};

/// Why a data set could not be opened or read. The text of paths and of what a file holds is [`printable`].
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// No registered data set has this name.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// Another program opens the data set.
    #[error("data set \"{0}\" is opened by the program host-data alone, which has its reader")]
    Elsewhere(&'static str),
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
    #[error("cannot read {}", printable(path.display()))]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file or folder cannot be written.
    #[error("cannot write {}", printable(path.display()))]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A data set is to be made in a folder that holds something.
    #[error(
        "{} holds files already; name an empty or a new folder, so that none of them is lost",
        printable(path.display())
    )]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// The file is not the IDX file that it should be.
    #[error("{} is not a usable IDX file", printable(path.display()))]
    Idx {
        /// The file.
        path: PathBuf,
        /// The fault.
        source: IdxError,
    },
    /// The content is not what was published.
    #[error(
        "{} is damaged or was changed: its sha256 is {got}, but {listed_in} says {expected}; restore the file",
        printable(path.display())
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
    #[error("{} has no line for \"{file}\", so the file cannot be verified", printable(list.display()))]
    NotListed {
        /// The list of checksums.
        list: PathBuf,
        /// Name of the file.
        file: String,
    },
    /// A text file is not in the form that it should have.
    #[error("{}: {}", printable(path.display()), printable(reason))]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The fault, with its place.
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

/// Fault in the bytes of an IDX file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdxError {
    /// The file ends within its header.
    #[error("it ends after {got} bytes, within its header of {expected}")]
    HeaderTruncated {
        /// Size of the header in bytes, as far as it is known.
        expected: usize,
        /// Size of the file in bytes.
        got: usize,
    },
    /// The first two bytes are not zero.
    #[error("it starts with {0:#04x} {1:#04x} instead of two zero bytes; is it still compressed?")]
    Magic(u8, u8),
    /// The elements are of another type.
    #[error("its element type is {0:#04x}, but only 0x08 (unsigned byte) is read here")]
    ElementType(u8),
    /// The number of dimensions is not the expected one.
    #[error("it has {got} dimensions instead of {expected}")]
    Rank {
        /// Number of dimensions wanted.
        expected: usize,
        /// Number of dimensions in the file.
        got: usize,
    },
    /// The extents do not fit the size of the file.
    #[error("its extents {shape:?} do not match its size: {got} bytes of elements follow the header")]
    Size {
        /// Extents in the file.
        shape: Vec<usize>,
        /// Number of bytes after the header.
        got: usize,
    },
}

fn list(folders: &[PathBuf]) -> String {
    let names: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
    if names.is_empty() { "any folder".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_files_is_shown_without_control_characters() {
        let path = PathBuf::from("a\x1bc");
        let malformed = DatasetError::Malformed { path: path.clone(), reason: "line 1 is \"b\r\"".into() };
        assert_eq!(malformed.to_string(), "a\\u001bc: line 1 is \"b\\r\"");
        let unreadable = DatasetError::Read { path, source: io::ErrorKind::NotFound.into() };
        assert_eq!(unreadable.to_string(), "cannot read a\\u001bc");
    }
}
