//! Why the issuing of a phase ended, in the words of the detail log.

use std::fmt;

/// Why a phase stopped issuing.
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
        /// Queries issued.
        issued_count: u64,
        /// Queries of them that are not complete.
        outstanding_count: u64,
    },
    /// `max_query_count` is reached.
    MaxQueryCount {
        /// Queries issued.
        issued_count: u64,
    },
    /// `max_duration_ms` is exceeded.
    MaxDuration {
        /// From the start to the last issue.
        duration_ns: u64,
    },
    /// In virtual time, many queries were complete at the instant of their issue: no time passes.
    TimeStandsStill {
        /// Queries issued.
        issued_count: u64,
    },
    /// The test was stopped from outside.
    Stopped,
    /// Nothing completed for so long that the watchdog ended the wait for the last query.
    Stalled,
}

impl IssueEnd {
    /// Whether it is an error in the log. A stop and a stall are reported on their own.
    #[must_use]
    pub fn is_error(self) -> bool {
        !matches!(self, Self::Naturally | Self::AllIssued | Self::Stopped | Self::Stalled)
    }
}

impl fmt::Display for IssueEnd {
    /// The text of the detail log, as LoadGen words it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Naturally => f.write_str("Ending naturally: Minimum query count and test duration met."),
            Self::AllIssued => f.write_str("All generated queries were issued."),
            Self::RanOut => f.write_str(
                "Ending early: Ran out of generated queries to issue before the minimum query count and test \
                 duration were reached. Please update the relevant expected latency or target qps in the \
                 TestSettings so they are more accurate.",
            ),
            Self::TooManyOutstanding { issued_count, outstanding_count } => write!(
                f,
                "IssueQueryThread 0 Ending early: Too many outstanding queries. issued {issued_count} \
                 outstanding {outstanding_count}"
            ),
            Self::MaxQueryCount { issued_count } => write!(
                f,
                "IssueQueryThread 0 Ending early: Max query count reached. query_count {issued_count}"
            ),
            Self::MaxDuration { duration_ns } => write!(
                f,
                "IssueQueryThread 0 Ending early: Max test duration reached. duration_ns {duration_ns}"
            ),
            Self::TimeStandsStill { issued_count } => write!(
                f,
                "Ending early: no virtual time passed during {issued_count} queries. The system under test has to \
                 take some time, or the test would not end."
            ),
            Self::Stopped => f.write_str("Issuing was stopped from outside."),
            Self::Stalled => f.write_str("Issuing ended because the last query did not complete."),
        }
    }
}
