//! Reading the files that a user names.

use std::{fs, io, path::Path};

use proctor_vocabulary::misfetched;

use crate::error::ConfigError;

/// Reads a file. If a download, a checkout or an editor has left something else in its place, the error says what, and
/// not which line of that is wrong.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, Box<ConfigError>> {
    let bytes = fs::read(path).map_err(|source| ConfigError::CannotRead { path: path.to_owned(), source })?;
    match misfetched(&bytes) {
        Some(what) => Err(Box::new(ConfigError::Misfetched { path: path.to_owned(), what })),
        None => Ok(bytes),
    }
}

/// Reads a file of text in UTF-8.
pub(crate) fn read_text(path: &Path) -> Result<String, Box<ConfigError>> {
    String::from_utf8(read_bytes(path)?).map_err(|error| {
        let source = io::Error::new(io::ErrorKind::InvalidData, error);
        Box::new(ConfigError::CannotRead { path: path.to_owned(), source })
    })
}
