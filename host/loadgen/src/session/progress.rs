//! Watching a test from another thread, and stopping it.

use std::{
    fmt,
    ops::Range,
    sync::{Arc, Mutex},
};

use proctor_vocabulary::ResponseId;

use crate::{
    plan::phases::PhaseMode,
    record::{recorder::Observed, slots::SampleRecord, tokens::SampleTokens},
    time::wake::Wake,
};

/// A view of a running test. Cheap to clone; reading it does not slow the completion path.
#[derive(Clone)]
pub struct Progress {
    observed: Arc<dyn Observed>,
}

/// The counts of the current phase at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhaseProgress {
    /// Number of the phase in its test, from 1.
    pub phase_number: u64,
    /// The purpose of the phase.
    pub mode: PhaseMode,
    /// Number of samples issued in this phase.
    pub issued_count: u64,
    /// Number of samples completed in this phase, including failed ones.
    pub completed_count: u64,
    /// Time since the start of issuing; it stands still once the phase is over.
    pub elapsed_ns: u64,
}

impl Progress {
    pub(crate) fn new(observed: Arc<dyn Observed>) -> Self {
        Self { observed }
    }

    /// Returns the counts of the current or last phase, or `None` before the first.
    #[must_use]
    pub fn current(&self) -> Option<PhaseProgress> {
        let phase = self.observed.current_phase()?;
        // The completions are read first, so that there are never more of them than issues.
        let signal_count = self.observed.signal_count();
        let issued_count = phase.issued_count();
        Some(PhaseProgress {
            phase_number: phase.number,
            mode: phase.mode,
            issued_count,
            completed_count: signal_count.saturating_sub(phase.signals_after(0)).min(issued_count),
            elapsed_ns: phase.elapsed_ns(self.observed.now_ns()).unwrap_or(0),
        })
    }

    /// Appends the current phase's samples with these sequence numbers, up to the last issued one.
    ///
    /// An outstanding sample has [`SampleRecord::NOT_COMPLETED`] as its latency; one that another issuing thread has
    /// still to issue is [`SampleRecord::NOT_ISSUED`]. Read both again later.
    pub fn read_samples(&self, range: Range<u64>, samples: &mut Vec<SampleRecord>) {
        if let Some(phase) = self.observed.current_phase() {
            let count = range.end.saturating_sub(range.start);
            samples.extend(phase.records(range.start).take(usize::try_from(count).unwrap_or(usize::MAX)));
        }
    }

    /// Returns the sequence number of this sample of the current phase, and its record; `None` if it was
    /// never issued there.
    #[must_use]
    pub fn sample(&self, id: ResponseId) -> Option<(u64, SampleRecord)> {
        self.observed.sample(id)
    }

    /// Returns whether the response of this sample of the current phase goes into the accuracy log. [any thread]
    #[must_use]
    pub fn is_logged(&self, id: ResponseId) -> bool {
        self.observed.is_logged(id)
    }

    /// Returns the instant of the start of issuing of the current phase, in ns on the clock; `None` before it.
    #[must_use]
    pub fn begun_ns(&self) -> Option<u64> {
        self.observed.current_phase()?.begun_ns()
    }

    /// Returns whether this sample of the current phase is issued and not complete.
    #[must_use]
    pub fn is_outstanding(&self, id: ResponseId) -> bool {
        self.sample(id).is_some_and(|(_, record)| record.completed_latency_ns().is_none())
    }

    /// Does the same as [`read_samples`](Self::read_samples), from sequence number `from` on, with a token
    /// run's measurements of each completed sample.
    pub fn read_token_samples(&self, from: u64, samples: &mut Vec<(SampleRecord, Option<SampleTokens>)>) {
        if let Some(phase) = self.observed.current_phase() {
            let numbered = (from..).zip(phase.records(from));
            samples.extend(numbered.map(|(sequence, sample)| {
                let tokens = phase.tokens.as_ref().and_then(|tokens| tokens.sample(sequence, sample));
                (sample, tokens)
            }));
        }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Progress").field(&self.current()).finish()
    }
}

/// Number of stops after which all waiting ends.
const GIVEN_UP: u64 = 2;

/// Ends a test early from another thread, such as the one that watches for signals.
#[derive(Debug, Clone)]
pub struct StopHandle {
    wake: Arc<Wake>,
    reason: Arc<Mutex<Option<String>>>,
}

impl StopHandle {
    pub(crate) fn new(wake: Arc<Wake>) -> Self {
        Self { wake, reason: Arc::default() }
    }

    /// Stops issuing, waits for outstanding samples, and makes the test INVALID with this reason.
    ///
    /// A second call gives up waiting. The first reason stays. [any thread; not for use inside a signal handler]
    pub fn stop(&self, reason: impl Into<String>) {
        self.lock().get_or_insert_with(|| reason.into());
        self.wake.stop();
    }

    /// Ends the issue of queries as [`stop`](Self::stop) does, but without a reason: the caller adds its own
    /// to the outcome. Outstanding samples are waited for. [any thread]
    pub fn end_issue(&self) {
        self.wake.stop();
    }

    /// Ends the test as two calls of [`stop`](Self::stop) do, but without a reason: the caller has one of its own, and
    /// adds it to the outcome. [any thread]
    pub fn give_up(&self) {
        self.wake.stop();
        self.wake.stop();
    }

    /// Returns whether the caller has stopped waiting for outstanding samples. [any thread]
    #[must_use]
    pub fn is_given_up(&self) -> bool {
        self.wake.stop_count() >= GIVEN_UP
    }

    /// Returns why the test was stopped, if it was.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.reason.lock().expect("no holder of this lock can panic")
    }
}
