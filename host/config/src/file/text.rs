//! Reads the files that a user names.

use std::{fs, path::Path};

use proctor_vocabulary::{NotIntact, intact_bytes, intact_text};

use crate::error::ConfigError;

/// Reads a file. If a download, a checkout or an editor has replaced it, the error says so instead of naming a line.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, Box<ConfigError>> {
    intact_bytes(fs::read(path)).map_err(|fault| about(path, fault))
}

/// Reads a file of text in UTF-8.
pub(crate) fn read_text(path: &Path) -> Result<String, Box<ConfigError>> {
    intact_text(fs::read(path)).map_err(|fault| about(path, fault))
}

fn about(path: &Path, fault: NotIntact) -> Box<ConfigError> {
    let path = path.to_owned();
    Box::new(match fault {
        NotIntact::Unread(source) => ConfigError::CannotRead { path, source },
        NotIntact::Misfetched(what) => ConfigError::Misfetched { path, what },
    })
}
