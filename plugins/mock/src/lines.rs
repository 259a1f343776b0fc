//! Small text files, read whole, with errors that name file and line.

use std::path::{Path, PathBuf};

use proctor_plugin_api::PluginError;

/// The lines of a file that are not empty.
#[derive(Debug)]
pub(crate) struct Lines {
    path: PathBuf,
    text: String,
}

impl Lines {
    pub(crate) fn read(path: &Path) -> Result<Self, PluginError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| PluginError::failed(format!("cannot read {}: {error}", path.display())))?;
        Ok(Self { path: path.to_owned(), text })
    }

    /// Returns each line with its number, counted from 1. Empty lines and those that begin with `#` are left out.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &str)> {
        let numbered = self.text.lines().enumerate().map(|(position, line)| (position + 1, line.trim()));
        numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
    }

    /// Describes the fault of a line.
    pub(crate) fn error(&self, line: usize, problem: impl std::fmt::Display) -> PluginError {
        PluginError::failed(format!("{}, line {line}: {problem}", self.path.display()))
    }

    /// Says that nothing was found in the file.
    pub(crate) fn empty(&self, wanted: &str) -> PluginError {
        PluginError::failed(format!("{} holds no {wanted}", self.path.display()))
    }
}
