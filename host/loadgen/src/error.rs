//! Reasons why a test could not take place.

use std::collections::TryReserveError;

use proctor_loadgen_settings::SettingsError;
use proctor_vocabulary::Scenario;

use crate::{record::response_id::MAX_PHASE_COUNT, system::LibraryError};

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
    #[error("cannot start issuing thread {index}: {source}: lower server_num_issue_query_threads")]
    IssueThread { index: u64, source: std::io::Error },
    #[error("cannot get memory for logged responses: {source}: lower response_arena_bytes = {arena_bytes}")]
    ResponseMemory { arena_bytes: u64, source: TryReserveError },
    #[error(
        "the accuracy run has {count} sets of samples, and at most {MAX_PHASE_COUNT} are possible: raise performance_sample_count_override"
    )]
    TooManyPhases { count: usize },
    #[error("library {library} failed to load {sample_count} samples: {source}")]
    Load { library: String, sample_count: usize, source: LibraryError },
    #[error("this load generator has already run its test: make a new one")]
    AlreadyRun,
}
