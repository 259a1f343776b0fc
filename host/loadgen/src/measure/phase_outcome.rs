//! One phase after its end.

use std::sync::Arc;

use crate::{
    issue::{
        call_trace::IssueSpan, delay::IssueDelay, end::IssueEnd, issuer_record::IssuerRecord,
        wrong_samples::WrongSamples,
    },
    measure::{
        clock_check::ClockCheck, missing_samples::MissingSamples, phase_error::PhaseError,
        phase_record::PhaseRecord,
    },
    plan::query_generator::QueryGenerator,
    record::phase::Phase,
};

/// One phase of a test: its measurements, and its end.
#[derive(Debug, Clone)]
pub struct PhaseOutcome {
    /// Measurements of the phase.
    pub record: PhaseRecord,
    /// Start of issuing, in ns from the start of the test.
    pub start_ns: u64,
    /// Time from the start of issuing to the last completion, in ns.
    pub duration_ns: u64,
    /// Reason why issuing ended; of several threads, the most informative one.
    pub end: IssueEnd,
    /// Lateness of the queries that have a schedule.
    pub issue_delay: IssueDelay,
    /// The issuing threads, by their numbers.
    pub issuers: Vec<IssuerRecord>,
    /// The wall clock at both ends of the phase, except in virtual time.
    pub clock_check: Option<ClockCheck>,
    /// Samples that were issued and never completed.
    pub missing: Option<MissingSamples>,
    /// True if the system was waited for to the end, or to a stop from outside; `false` if it had stalled.
    pub is_awaited: bool,
    /// Samples that an engine issued against the order that the settings give.
    pub wrong_samples: Option<WrongSamples>,
    /// Number of the phase's first sample in the logs.
    pub first_sample_id: u64,
    /// Reason why the library did not unload the samples, if it failed to.
    pub unload_error: Option<UnloadError>,
    /// Errors for the detail log that do not change the verdict.
    pub errors: Vec<PhaseError>,
    pub(crate) phase: Arc<Phase>,
    /// Data of the trace besides the samples, if the test is traced.
    pub(crate) trace: Option<PhaseTrace>,
}

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

/// The library failed to unload the samples of a phase.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("library {library} failed to unload its samples: {message}")]
pub struct UnloadError {
    /// Name of the library.
    pub library: String,
    /// The library's own message.
    pub message: String,
}

impl PhaseOutcome {
    /// Returns the start of issuing on the clock of the test, in ns; `None` if issuing never started.
    #[must_use]
    pub fn begun_ns(&self) -> Option<u64> {
        self.phase.begun_ns()
    }

    /// Returns the number of samples that completed as failed.
    #[must_use]
    pub fn failed_sample_count(&self) -> u64 {
        self.phase.records(0).filter(|sample| sample.is_failed()).count() as u64
    }
}
