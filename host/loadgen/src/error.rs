//! Reasons why a test could not take place.

use std::{collections::TryReserveError, error::Error, fmt};

use proctor_loadgen_settings::SettingsError;
use proctor_vocabulary::Scenario;

use crate::{engine::EngineError, record::response_id::MAX_PHASE_COUNT, system::LibraryError};

/// Reason why a test could not take place.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum LoadGenError {
    /// The settings do not make a test.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Only Server has a rate to search for. LoadGen logs this as `error_invalid_config`.
    #[error(
        "setting mode = FindPeakPerformance needs scenario = Server, not {scenario}: Finding peak performance is only \
         supported in Server scenarios."
    )]
    FindPeakNeedsServer { scenario: Scenario },
    #[error("cannot start issuing thread {index}: {error}: lower server_num_issue_query_threads")]
    IssueThread { index: u64, error: std::io::Error },
    #[error("cannot get memory for logged responses: {error}: lower response_arena_bytes = {arena_bytes}")]
    ResponseMemory { arena_bytes: u64, error: TryReserveError },
    #[error(
        "the accuracy run has {count} sets of samples, and at most {MAX_PHASE_COUNT} are possible: raise performance_sample_count_override"
    )]
    TooManyPhases { count: usize },
    /// The library has not loaded the samples.
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("cannot start the thread of the engine: {0}")]
    EngineThread(std::io::Error),
    /// The engine in the place of this load generator did not run the test.
    #[error("the engine did not run the test: {0}")]
    Engine(EngineError),
    #[error("this load generator has already run its test: make a new one")]
    AlreadyRun,
}

/// Failure of a library to load samples. The text quotes the library's error, so the source is the one of that error.
#[derive(Debug)]
pub struct LoadError {
    /// Name of the library.
    pub library: String,
    /// Number of samples to load.
    pub sample_count: usize,
    /// The library's own error.
    pub error: LibraryError,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { library, sample_count, error } = self;
        write!(f, "library {library} failed to load {sample_count} samples: {error}")
    }
}

impl Error for LoadError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}
