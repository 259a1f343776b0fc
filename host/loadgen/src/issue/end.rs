//! Reasons why the issuing of a phase ended, in the words of the detail log.

use std::fmt;

/// Reason why a phase stopped issuing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IssueEnd {
    /// The minimum query count and the duration are reached. Not in Server.
    Naturally,
    /// Every generated query is issued, as Server and an accuracy phase want it.
    AllIssued,
    /// Every generated query is issued, before the minimum query count and the duration were reached.
    RanOut,
    /// More queries are outstanding than `max_async_queries` allows.
    TooManyOutstanding {
        /// Number of queries issued by all threads.
        issued_count: u64,
        /// Number of them that are not complete.
        outstanding_count: u64,
    },
    /// `max_query_count` is reached, or the thread's share of it.
    MaxQueryCount {
        /// Number of queries issued by the thread.
        issued_count: u64,
    },
    /// `max_duration_ms` is exceeded.
    MaxDuration {
        /// Time from the start to the last issue.
        duration_ns: u64,
    },
    /// The virtual time stands still: many queries in a row were complete at the instant of their issue, before the
    /// duration was reached.
    TimeStandsStill {
        /// Number of queries issued at that instant.
        issued_count: u64,
    },
    /// The test was stopped from outside.
    Stopped,
    /// The watchdog ended the wait for the last query because nothing completed for too long.
    Stalled,
}

impl IssueEnd {
    /// Returns whether it is an error in the log. A stop and a stall are reported on their own.
    #[must_use]
    pub fn is_error(self) -> bool {
        !matches!(self, Self::Naturally | Self::AllIssued | Self::Stopped | Self::Stalled)
    }

    /// Returns the text of the detail log, as LoadGen words it, if this is how the issuing thread with this number
    /// ended.
    #[must_use]
    pub fn text(self, issuer: u64) -> String {
        match self {
            Self::Naturally => "Ending naturally: Minimum query count and test duration met.".to_owned(),
            Self::AllIssued => "All generated queries were issued.".to_owned(),
            Self::RanOut => "Ending early: Ran out of generated queries to issue before the minimum query count and test \
                             duration were reached. Please update the relevant expected latency or target qps in the \
                             TestSettings so they are more accurate."
                .to_owned(),
            Self::TooManyOutstanding { issued_count, outstanding_count } => format!(
                "IssueQueryThread {issuer} Ending early: Too many outstanding queries. issued {issued_count} \
                 outstanding {outstanding_count}"
            ),
            Self::MaxQueryCount { issued_count } => format!(
                "IssueQueryThread {issuer} Ending early: Max query count reached. query_count {issued_count}"
            ),
            Self::MaxDuration { duration_ns } => format!(
                "IssueQueryThread {issuer} Ending early: Max test duration reached. duration_ns {duration_ns}"
            ),
            Self::TimeStandsStill { issued_count } => format!(
                "Ending early: no virtual time passed during {issued_count} queries in a row. The system under test \
                 has to take some time, or the test would not end."
            ),
            Self::Stopped => "Issuing was stopped from outside.".to_owned(),
            Self::Stalled => "Issuing ended because the last query did not complete.".to_owned(),
        }
    }
}

impl fmt::Display for IssueEnd {
    /// Writes the text of the detail log, of a test with one issuing thread.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(0))
    }
}
