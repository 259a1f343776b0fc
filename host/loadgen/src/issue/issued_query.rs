//! One query that was issued.

/// One query. Instants are in ns from the start of the phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct IssuedQuery {
    pub first_sequence: u64,
    pub sample_count: u64,
    /// Instant from which its latency is measured.
    pub scheduled_ns: u64,
    pub issued_ns: u64,
}
