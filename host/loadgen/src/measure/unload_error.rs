//! A library that fails to unload.

/// The library failed to unload the samples of a phase.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("library {library} failed to unload its samples: {message}")]
pub struct UnloadError {
    /// Name of the library.
    pub library: String,
    /// The library's own message.
    pub message: String,
}
