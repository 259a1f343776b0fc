//! A library that fails to unload.

use std::fmt;

/// The library failed to unload the samples of a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnloadError {
    /// Name of the library.
    pub library: String,
    /// The library's own message.
    pub message: String,
}

impl fmt::Display for UnloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "library {} failed to unload its samples: {}", self.library, self.message)
    }
}
