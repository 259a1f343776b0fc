//! What a phase leaves for the trace.

use crate::{issue::call_trace::IssueSpan, plan::query_generator::QueryGenerator};

/// What a phase leaves for the trace, besides its samples.
#[derive(Debug, Clone)]
pub(crate) struct PhaseTrace {
    pub spans: Vec<IssueSpan>,
    /// The samples of a call are so many sequence numbers apart.
    pub issuer_count: u64,
    /// The generator as it was before the first query.
    pub queries: QueryGenerator,
    /// Number of the phase's first query in the test.
    pub first_query_id: u64,
}
