//! Errors of a phase that do not change the verdict.

use crate::issue::end::IssueEnd;

/// An error of a phase in the detail log that alone does not make the test INVALID. Displays as the log's sentence.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum PhaseError {
    /// An issuing thread ended early.
    #[error("{}", end.text(*issuer))]
    EndedEarly { issuer: u64, end: IssueEnd },
    #[error(
        "{count} responses did not fit into the accuracy log: raise response_arena_bytes = {arena_bytes}"
    )]
    LostResponses { count: u64, arena_bytes: u64 },
    /// Samples failed in a run of a search for the peak, so that its rate is too high.
    #[error("{count} samples failed at {qps:.6} queries per second")]
    FailedSamples { count: u64, qps: f64 },
    /// Samples lacked tokens in a run of a search for the peak, so that nothing says whether its rate is too high.
    #[error("{count} samples were completed without their tokens at {qps:.6} queries per second")]
    TokenlessSamples { count: u64, qps: f64 },
}
