//! Errors of data on disk.

use std::{io, path::PathBuf};

use proctor_vocabulary::{printable, registry::UnknownName};

use crate::obtainable::obtainable;

/// Reason why a data set could not be opened or read. Paths and the content of files are shown [`printable`].
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum DatasetError {
    /// No registered data set has this name.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    #[error("data set \"{0}\" is opened by the program host-data alone, which has its reader")]
    Elsewhere(&'static str),
    #[error(
        "\"{wanted}\" not found in {}; {}say where the data are with --set data_root=DIR, where DIR/{wanted} exists",
        list(looked_in),
        how_to_get(wanted)
    )]
    NotFound {
        wanted: String,
        /// The folders that were searched, in order.
        looked_in: Vec<PathBuf>,
    },
    #[error("cannot read {}", printable(path.display()))]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {}", printable(path.display()))]
    Write { path: PathBuf, source: io::Error },
    #[error(
        "{} holds files already; name an empty or a new folder, so that none of them is lost",
        printable(path.display())
    )]
    NotEmpty { path: PathBuf },
    #[error("{} is not a usable IDX file", printable(path.display()))]
    Idx { path: PathBuf, source: IdxError },
    #[error(
        "{} is damaged or was changed: its sha256 is {got}, but {listed_in} says {expected}; restore the file",
        printable(path.display())
    )]
    Checksum {
        path: PathBuf,
        listed_in: String,
        /// Sum as published, 64 hexadecimal digits.
        expected: String,
        got: String,
    },
    #[error("{} has no line for \"{file}\", so the file cannot be verified", printable(list.display()))]
    NotListed { list: PathBuf, file: String },
    /// A text file is not in the form that it should have.
    #[error("{}: {}", printable(path.display()), printable(reason))]
    Malformed {
        path: PathBuf,
        /// The fault, with its place.
        reason: String,
    },
    /// The data set's own reader failed in its own way.
    #[error(transparent)]
    Reader(Box<dyn std::error::Error + Send + Sync>),
    #[error("data set \"{dataset}\" has no sample {index}: it has {sample_count} samples, counted from 0")]
    NoSuchSample { dataset: String, index: u64, sample_count: u64 },
}

/// Fault in the bytes of an IDX file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum IdxError {
    #[error("it ends after {got} bytes, within its header of {expected}")]
    HeaderTruncated {
        /// Expected size of the header in bytes, as far as known.
        expected: usize,
        got: usize,
    },
    #[error("it starts with {0:#04x} {1:#04x} instead of two zero bytes; is it still compressed?")]
    Magic(u8, u8),
    #[error("its element type is {0:#04x}, but only 0x08 (unsigned byte) is read here")]
    ElementType(u8),
    #[error("it has {got} dimensions instead of {expected}")]
    Rank { expected: usize, got: usize },
    #[error("its extents {shape:?} do not match its size: {got} bytes of elements follow the header")]
    Size { shape: Vec<usize>, got: usize },
}

/// Returns advice for a file or a folder that can be fetched.
fn how_to_get(wanted: &str) -> String {
    obtainable(wanted).map(|name| format!("get it with `host data get {name}`, or ")).unwrap_or_default()
}

fn list(folders: &[PathBuf]) -> String {
    let names: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
    if names.is_empty() { "any folder".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_fetched_comes_with_the_command() {
        let not_found = |wanted: &str| {
            DatasetError::NotFound { wanted: wanted.to_owned(), looked_in: vec!["here".into()] }.to_string()
        };
        let text = not_found("minilm-int8/model.onnx");
        assert!(
            text.contains("; get it with `host data get minilm-int8`, or say where the data are "),
            "{text}"
        );
        let text = not_found("digits");
        assert!(text.contains("not found in here; say where the data are "), "{text}");
    }

    #[test]
    fn text_of_files_is_shown_without_control_characters() {
        let path = PathBuf::from("a\x1bc");
        let malformed = DatasetError::Malformed { path: path.clone(), reason: "line 1 is \"b\r\"".into() };
        assert_eq!(malformed.to_string(), "a\\u001bc: line 1 is \"b\\r\"");
        let unreadable = DatasetError::Read { path, source: io::ErrorKind::NotFound.into() };
        assert_eq!(unreadable.to_string(), "cannot read a\\u001bc");
    }
}
