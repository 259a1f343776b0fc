//! Data that a phase keeps for the trace.

use crate::{issue::call_trace::IssueSpan, plan::query_generator::QueryGenerator};

/// Data that a phase keeps for the trace, besides its samples.
#[derive(Debug, Clone)]
pub(crate) struct PhaseTrace {
    pub spans: Vec<IssueSpan>,
    /// Number of sequence numbers between two samples of a call.
    pub issuer_count: u64,
    /// The generator as it was before the first query.
    pub queries: QueryGenerator,
    /// Number of the phase's first query in the test.
    pub first_query_id: u64,
}
