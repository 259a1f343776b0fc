//! Reasons why a test could not take place.

use std::collections::TryReserveError;

use proctor_loadgen_settings::SettingsError;
use proctor_vocabulary::Scenario;

use crate::{record::response_id::MAX_PHASE_COUNT, system::LibraryError};

/// Reason why a test could not take place.
#[derive(Debug, thiserror::Error)]
pub enum LoadGenError {
    /// The settings make no test.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Only Server has a rate to search for. LoadGen logs this as `error_invalid_config`.
    #[error(
        "setting mode = FindPeakPerformance needs scenario = Server, not {scenario}: Finding peak performance is only \
         supported in Server scenarios."
    )]
    FindPeakNeedsServer {
        /// The setting.
        scenario: Scenario,
    },
    /// The system has no thread for one of the issuers.
    #[error("cannot start issuing thread {index}: {source}: lower server_num_issue_query_threads")]
    IssueThread {
        /// Number of the issuer.
        index: u64,
        /// The system's message.
        source: std::io::Error,
    },
    /// The system has no memory for the responses that a performance phase logs.
    #[error("cannot get memory for logged responses: {source}: lower response_arena_bytes = {arena_bytes}")]
    ResponseMemory {
        /// Size of the memory that was asked for.
        arena_bytes: u64,
        /// Reason for the refusal.
        source: TryReserveError,
    },
    /// The accuracy run has too many sets.
    #[error(
        "the accuracy run has {count} sets of samples, and at most {MAX_PHASE_COUNT} are possible: raise performance_sample_count_override"
    )]
    TooManyPhases {
        /// Number of its sets.
        count: usize,
    },
    /// The library failed to load samples.
    #[error("library {library} failed to load {sample_count} samples: {source}")]
    Load {
        /// Name of the library.
        library: String,
        /// Number of samples that were to be loaded.
        sample_count: usize,
        /// The library's message.
        source: LibraryError,
    },
    /// A load generator makes one test.
    #[error("this load generator has already run its test: make a new one")]
    AlreadyRun,
}
