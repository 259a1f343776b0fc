//! The account of one issuing thread.

use crate::issue::end::IssueEnd;

/// The account of one issuing thread in a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IssuerRecord {
    /// The system's number of the thread; 0 in virtual time, and if it is not known.
    pub thread_id: u64,
    /// Number of queries that it issued.
    pub query_count: u64,
    /// Reason why it ended.
    pub end: IssueEnd,
    /// Instant at which it issued its last query, in ns from the start of issuing; 0 if it issued none.
    pub last_issued_ns: u64,
}

/// Returns the number by which the system knows this thread.
#[cfg(target_os = "linux")]
pub(crate) fn thread_id() -> u64 {
    u64::try_from(rustix::thread::gettid().as_raw_nonzero().get()).unwrap_or(0)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn thread_id() -> u64 {
    0
}
