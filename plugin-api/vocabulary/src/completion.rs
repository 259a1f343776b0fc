//! Samples on their way out to the system under test, and responses on their way back.

use std::fmt;

/// Position of a sample in the query sample library, counted from 0.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SampleIndex(pub u64);

/// Opaque identity of one issued sample.
///
/// Only the load generator makes ids and reads them; all others hand them back unchanged, exactly once. An id
/// is never an address and never 0, so a plugin that invents ids is found out instead of believed.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ResponseId(pub u64);

/// One sample of a query as it is issued. It lies in memory as the plugin ABI has it, so that a query crosses the
/// boundary without being copied.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuerySample {
    /// Identity to complete the sample with.
    pub id: ResponseId,
    /// Index of the sample in the library.
    pub index: SampleIndex,
}

/// Samples that an issuing thread passes on in one call: a query, several overdue ones merged, or a part of a query
/// that is too large for one call. The parts of a query come one after another, all at its one instant.
#[derive(Debug, Clone, Copy)]
pub struct QueryPart<'a> {
    /// Samples of this part.
    pub samples: &'a [QuerySample],
    /// Number of the issuing thread, from 0.
    pub issuer: usize,
    /// Number of samples of the query that were passed on before.
    pub offset: u64,
    /// Number of samples of the whole query.
    pub total: u64,
}

impl<'a> QueryPart<'a> {
    /// Creates a whole query of the only issuing thread.
    #[must_use]
    pub fn whole(samples: &'a [QuerySample]) -> Self {
        Self { samples, issuer: 0, offset: 0, total: samples.len() as u64 }
    }

    /// Returns whether another part of the query follows.
    #[must_use]
    pub fn is_followed(&self) -> bool {
        self.offset + (self.samples.len() as u64) < self.total
    }
}

/// Outcome of one sample, as a plugin reports it: 0 is success, anything else a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SampleStatus(pub i32);

impl SampleStatus {
    /// The sample was computed and its response data are complete.
    pub const OK: Self = Self(0);
    /// The sample failed for a reason that has no code of its own.
    pub const FAILED: Self = Self(1);

    /// Returns whether the sample was computed.
    #[must_use]
    pub fn is_ok(self) -> bool {
        self == Self::OK
    }
}

/// The answer to one issued sample.
#[derive(Debug, Clone, Copy)]
pub struct QuerySampleResponse<'a> {
    /// The id that the sample was issued with.
    pub id: ResponseId,
    /// Success or failure. A failed sample counts as completed and makes the run INVALID.
    pub status: SampleStatus,
    /// Output bytes, borrowed for the call only. Read only if the sample is to be logged.
    pub data: &'a [u8],
    /// Number of output tokens; 0 where tokens have no meaning.
    pub token_count: u32,
}

/// Receiver of responses.
///
/// [any thread] All functions are wait-free, do not allocate and make no system call, unless the response is
/// selected for the accuracy log or a thread sleeps for this very completion.
pub trait CompletionSink: Send + Sync {
    /// Records that these samples are done, all at the instant of the call.
    fn complete(&self, responses: &[QuerySampleResponse<'_>]);

    /// Records the arrival of the first token of these samples, at the instant of the call. Does not complete them.
    fn first_token(&self, responses: &[QuerySampleResponse<'_>]);

    /// Records tokens of a sample that came at an instant that [`now_ns`](Self::now_ns) gave: how many, at least 1.
    /// Nothing in a sink that keeps no instants.
    fn tokens(&self, _now_ns: u64, _id: ResponseId, _token_count: u32) {}

    /// Returns whether it wants to know the [handed over](Self::handed_over) samples. Called when it becomes the sink.
    fn watches_hand_over(&self) -> bool {
        false
    }

    /// Records that the system under test is about to be given these issued samples, which waited in the host for their
    /// batch. Of a system that is given whole queries the issue says it.
    fn handed_over(&self, _samples: &[QuerySample]) {}

    /// Returns the present instant on the clock that latencies are measured with, in ns; 0 of a sink that keeps no
    /// instants.
    fn now_ns(&self) -> u64 {
        0
    }

    /// Returns the instant from which the latency of an issued sample is measured, on the clock of
    /// [`now_ns`](Self::now_ns); `None` if there is no such sample, or for a sink that keeps no instants.
    fn latency_begins_ns(&self, _id: ResponseId) -> Option<u64> {
        None
    }

    /// Does the same as [`complete`](Self::complete), at an instant that [`now_ns`](Self::now_ns) gave: for
    /// responses that come in one call and are handed on in several.
    fn complete_at(&self, _now_ns: u64, responses: &[QuerySampleResponse<'_>]) {
        self.complete(responses);
    }

    /// Does the same as [`complete_at`](Self::complete_at), for samples that the host fails itself, as it has
    /// no answer to them. A sink that has given them up before does not take that for a late answer.
    fn fail_at(&self, now_ns: u64, responses: &[QuerySampleResponse<'_>]) {
        self.complete_at(now_ns, responses);
    }

    /// Does the same as [`first_token`](Self::first_token), at an instant that [`now_ns`](Self::now_ns) gave.
    fn first_token_at(&self, _now_ns: u64, responses: &[QuerySampleResponse<'_>]) {
        self.first_token(responses);
    }
}

impl fmt::Display for SampleIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for ResponseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}
