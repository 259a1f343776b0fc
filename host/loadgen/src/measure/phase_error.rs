//! Errors of a phase that do not change the verdict.

use crate::issue::end::IssueEnd;

/// An error of a phase in the detail log that does not make the test INVALID by itself. Displays as the
/// log's sentence.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum PhaseError {
    /// An issuing thread ended early.
    #[error("{}", end.text(*issuer))]
    EndedEarly {
        /// Number of the thread.
        issuer: u64,
        /// Reason why it ended.
        end: IssueEnd,
    },
    /// Logged responses of a performance phase did not fit into their memory.
    #[error(
        "{count} responses did not fit into the accuracy log: raise response_arena_bytes = {arena_bytes}"
    )]
    LostResponses {
        /// Number of lost responses.
        count: u64,
        /// Size of the memory.
        arena_bytes: u64,
    },
    /// Samples failed in a run of a search for the peak, so that its rate is too high.
    #[error("{count} samples failed at {qps:.6} queries per second")]
    FailedSamples {
        /// Number of failed samples.
        count: u64,
        /// Rate of the run.
        qps: f64,
    },
    /// Samples lacked tokens in a run of a search for the peak, so that nothing says whether its rate is too high.
    #[error("{count} samples were completed without their tokens at {qps:.6} queries per second")]
    TokenlessSamples {
        /// Number of samples without tokens.
        count: u64,
        /// Rate of the run.
        qps: f64,
    },
}
