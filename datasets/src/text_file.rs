//! Files of text, which are read whole.

use std::{fs, io, path::Path};

use proctor_vocabulary::{not_text, read_regular};

use crate::error::DatasetError;

/// Reason why there is no text in a file; as text it says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextFault {
    /// The file is not there, but packed by gzip.
    #[error("it is missing, but {name} is there: unpack it")]
    PackedBeside {
        /// Name of the packed file in the same folder.
        name: String,
    },
    /// The file begins as one of another kind, or with a byte order mark; the text says so.
    #[error("{0}")]
    Foreign(&'static str),
    /// The file is not UTF-8.
    #[error("it is not UTF-8 text: restore it")]
    NotUtf8,
}

impl TextFault {
    /// Returns the fault of a missing file, if a copy packed by gzip exists.
    #[must_use]
    pub fn packed_beside(path: &Path) -> Option<Self> {
        let packed = path.with_added_extension("gz");
        let name = packed.file_name().filter(|_| packed.is_file())?;
        Some(Self::PackedBeside { name: name.to_string_lossy().into_owned() })
    }
}

/// Reads a file of text.
///
/// # Errors
/// [`DatasetError::Read`], or [`DatasetError::Malformed`] with the [`TextFault`].
pub fn read_text(path: &Path) -> Result<String, DatasetError> {
    text_read(path, read_regular(path))
}

/// Reads a file of text that the user names, which may be a pipe, as [`read_text`] does.
///
/// # Errors
/// As [`read_text`].
pub fn read_named_text(path: &Path) -> Result<String, DatasetError> {
    text_read(path, fs::read(path))
}

fn text_read(path: &Path, read: io::Result<Vec<u8>>) -> Result<String, DatasetError> {
    let text = match read {
        Ok(bytes) => text_of(bytes),
        Err(source) => match TextFault::packed_beside(path) {
            Some(fault) if source.kind() == io::ErrorKind::NotFound => Err(fault),
            _ => return Err(DatasetError::Read { path: path.to_owned(), source }),
        },
    };
    text.map_err(|fault| DatasetError::Malformed { path: path.to_owned(), reason: fault.to_string() })
}

/// Returns the bytes of a file as text.
///
/// # Errors
/// As [`check_text_start`], or [`TextFault::NotUtf8`].
pub fn text_of(bytes: Vec<u8>) -> Result<String, TextFault> {
    check_text_start(&bytes)?;
    String::from_utf8(bytes).map_err(|_| TextFault::NotUtf8)
}

/// Checks the beginning of a text file for faults that a reader of lines or of JSON cannot name.
///
/// # Errors
/// [`TextFault::Foreign`].
pub fn check_text_start(bytes: &[u8]) -> Result<(), TextFault> {
    not_text(bytes).map_or(Ok(()), |words| Err(TextFault::Foreign(words)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_what_its_name_says_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let fault = || read_text(&path).unwrap_err().to_string();
        assert!(matches!(read_text(&path), Err(DatasetError::Read { .. })));
        fs::write(folder.path().join("a.json.gz"), "").unwrap();
        assert!(fault().ends_with("a.json: it is missing, but a.json.gz is there: unpack it"), "{}", fault());
        for (bytes, words) in [
            (&b"\x1f\x8b\x08"[..], "it is packed by gzip: unpack it"),
            (b"PK\x03\x04", "it is a zip archive: unpack it"),
            (b"\xef\xbb\xbf{}", "it begins with a byte order mark: save it as UTF-8 without one"),
            (b"\xff\xfe{\0}\0", "it is text in UTF-16: save it as UTF-8"),
            (b"\xfe\xff\0{\0}", "it is text in UTF-16: save it as UTF-8"),
            (b"version https://git-lfs.github.com/spec/v1\n", "`git lfs pull`"),
            (
                b"<!DOCTYPE html>",
                "it is a web page, such as a server's answer in place of the file: download",
            ),
            (b"a\xff", "it is not UTF-8 text: restore it"),
        ] {
            fs::write(&path, bytes).unwrap();
            assert!(fault().contains("a.json: it ") && fault().contains(words), "{}", fault());
        }
        fs::write(&path, "{}").unwrap();
        assert_eq!(read_text(&path).unwrap(), "{}");
    }
}
