//! The completion side of a test: once-only slots of every phase, and the sink that any thread completes into.

use std::{
    collections::TryReserveError,
    fmt,
    ops::Range,
    sync::{
        Arc, OnceLock,
        atomic::{
            AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
};

use proctor_vocabulary::{CompletionSink, QuerySample, QuerySampleResponse, ResponseId, SampleStatus};

use crate::{
    record::{
        phase::{Phase, PhaseStart},
        response_id::{MAX_PHASE_COUNT, split},
        segments::{Pair, Segments},
        slots::{Completion, SampleRecord, Slot},
        violations::{Violation, ViolationKind, Violations},
    },
    time::{clock::Clock, wake::Wake},
};

/// The sink of a test.
pub(crate) struct Recorder<C> {
    clock: Arc<C>,
    wake: Arc<Wake>,
    phases: Segments<OnceLock<Arc<Phase>>>,
    phase_count: AtomicU64,
    /// Number of phases of earlier tests of the same system, whose ids may still arrive.
    earlier_phase_count: u64,
    violations: Violations,
    /// True if tokens are recorded, so that it matters since when the system has had a sample.
    records_tokens: bool,
}

impl<C: Clock> Recorder<C> {
    pub(crate) fn new(clock: Arc<C>, wake: Arc<Wake>, earlier_phase_count: u64) -> Self {
        Self {
            clock,
            wake,
            phases: Segments::new(),
            phase_count: AtomicU64::new(0),
            earlier_phase_count,
            violations: Violations::default(),
            records_tokens: false,
        }
    }

    /// Returns the same, for a token run if that is true.
    pub(crate) fn with_tokens(self, records_tokens: bool) -> Self {
        Self { records_tokens, ..self }
    }

    /// Begins the next phase; the previous ones are over. [issuing thread]
    ///
    /// # Errors
    /// If there is no memory for the responses that it keeps.
    pub(crate) fn open(&self, start: &PhaseStart) -> Result<Arc<Phase>, TryReserveError> {
        let index = self.phase_count.load(Relaxed);
        assert!(index < MAX_PHASE_COUNT, "the number of phases is checked before the test starts");
        let generation = self.earlier_phase_count + index + 1;
        let phase = Arc::new(Phase::new(start, index + 1, generation, self.wake.count())?);
        let place = self.phases.get_or_default(index);
        place.set(Arc::clone(&phase)).expect("only one thread opens phases, each once");
        self.phase_count.store(index + 1, Release);
        Ok(phase)
    }

    /// Returns the violations so far. [any thread]
    pub(crate) fn violations(&self) -> Vec<Violation> {
        self.violations.report(|id| {
            let (generation, sequence) = split(id);
            self.phase(generation).map(|phase| phase.first_sample_id + sequence)
        })
    }

    fn phase(&self, generation: u64) -> Option<&Arc<Phase>> {
        self.phases.get(generation.checked_sub(self.earlier_phase_count + 1)?)?.get()
    }

    /// Returns the kind of violation of a response whose generation is not a phase of this test.
    fn kind_without_phase(&self, generation: u64) -> ViolationKind {
        if (1..=self.earlier_phase_count).contains(&generation) {
            ViolationKind::Late
        } else {
            ViolationKind::UnknownId
        }
    }

    fn is_current(&self, phase: &Phase) -> bool {
        phase.number == self.phase_count.load(Acquire)
    }

    /// Completes samples, and wakes the waiting thread. With `BY_HOST` the host fails them itself: after the
    /// end of their phase that is not a violation. `note` gets each response that completed a sample, and its phase.
    #[inline(always)] // Into `complete`, through which nearly all come.
    pub(crate) fn complete_noting<'r, const BY_HOST: bool>(
        &self,
        now_ns: u64,
        responses: &'r [QuerySampleResponse<'r>],
        mut note: impl FnMut(&Phase, &QuerySampleResponse<'r>),
    ) {
        let mut place = None;
        let mut accepted_count = 0;
        for response in responses {
            let is_accepted = self.complete_one::<BY_HOST>(now_ns, &mut place, response);
            accepted_count += u64::from(is_accepted);
            if let Some(place) = place.as_ref().filter(|_| is_accepted) {
                note(place.phase, response);
            }
        }
        if accepted_count > 0 {
            self.wake.signal(accepted_count);
        }
    }

    /// Returns whether the response completed a sample. `place` is the place of the previous response.
    #[inline]
    fn complete_one<'a, const BY_HOST: bool>(
        &'a self,
        now_ns: u64,
        place: &mut Option<Place<'a>>,
        response: &QuerySampleResponse<'_>,
    ) -> bool {
        let (generation, sequence) = split(response.id);
        let note = |kind| self.violations.note(kind, response.id, response.status);
        if place.as_ref().is_none_or(|place| place.generation != generation) {
            *place = self.phase(generation).map(|phase| Place::new(generation, phase, now_ns));
        }
        let Some(place) = place else {
            let kind = self.kind_without_phase(generation);
            if !(BY_HOST && kind == ViolationKind::Late) {
                note(kind);
            }
            return false;
        };
        let failed = !response.status.is_ok();
        let phase = place.phase;
        let slot = place.slot(sequence);
        match slot.map_or(Completion::NotIssued, |slot| slot.complete(place.at_ns, failed)) {
            Completion::Accepted { logged } => {
                if failed {
                    note(ViolationKind::Failed);
                    return true;
                }
                if let Some(tokens) = &phase.tokens {
                    tokens.complete(sequence, response.token_count, response.data.len(), note);
                }
                if logged {
                    phase.responses.keep(sequence, response.data);
                }
                return true;
            }
            Completion::NotIssued => note(ViolationKind::NotIssued),
            Completion::Duplicate if self.is_current(phase) => note(ViolationKind::Duplicate),
            Completion::Duplicate | Completion::GivenUp if BY_HOST => {}
            Completion::Duplicate | Completion::GivenUp => note(ViolationKind::Late),
        }
        false
    }

    /// Checks a first token; outside of token runs it records nothing. Returns the phase if it was recorded.
    pub(crate) fn first_token_noting(
        &self,
        now_ns: u64,
        response: &QuerySampleResponse<'_>,
    ) -> Option<&Phase> {
        let note = |kind| self.violations.note(kind, response.id, response.status);
        let Some(issued) = self.issued(now_ns, response.id) else {
            note(ViolationKind::FirstTokenOfNoSample);
            return None;
        };
        if issued.is_complete {
            note(ViolationKind::FirstTokenAfterCompletion);
            return None;
        }
        let data = issued.slot.is_logged().then_some(response.data);
        let recorded = issued.phase.tokens.as_ref()?.first_token(issued.sequence, issued.at_ns, data);
        recorded.map_err(note).ok().map(|()| issued.phase)
    }

    /// Checks tokens; outside of token runs it records nothing. Returns the phase if the first token is among them.
    pub(crate) fn tokens_noting_first(
        &self,
        now_ns: u64,
        id: ResponseId,
        token_count: u32,
    ) -> Option<&Phase> {
        let note = |kind| self.violations.note(kind, id, SampleStatus::OK);
        let Some(issued) = self.issued(now_ns, id) else {
            note(ViolationKind::TokensOfNoSample);
            return None;
        };
        if issued.is_complete {
            note(ViolationKind::TokensAfterCompletion);
            return None;
        }
        let recorded = issued.phase.tokens.as_ref()?.tokens(issued.sequence, issued.at_ns, token_count);
        recorded.map_err(note).ok().filter(|is_first| *is_first).map(|_| issued.phase)
    }

    /// Returns the sample of the present phase that has this id, at an instant.
    fn issued(&self, now_ns: u64, id: ResponseId) -> Option<IssuedSample<'_>> {
        let (generation, sequence) = split(id);
        let phase = self.phase(generation).filter(|phase| self.is_current(phase))?;
        let (slot, at_ns) = (phase.slot(sequence)?, phase.elapsed_ns(now_ns)?);
        let is_complete = slot.read()?.completed_latency_ns().is_some();
        Some(IssuedSample { phase, sequence, slot, at_ns, is_complete })
    }
}

/// An issued sample, as a token of it finds it.
struct IssuedSample<'a> {
    phase: &'a Phase,
    sequence: u64,
    slot: Slot<'a>,
    /// The instant of the token, in ns from the start of the phase.
    at_ns: u64,
    is_complete: bool,
}

/// The place of a response, cached for the next one, which is usually adjacent.
struct Place<'a> {
    generation: u64,
    phase: &'a Phase,
    /// The instant of the completion, in ns from the start of the phase.
    at_ns: u64,
    /// True once samples count as issued; before that none does, not even one with a slot, as in Offline.
    is_started: bool,
    /// Positions of the slots at hand.
    positions: Range<u64>,
    slots: &'a [Pair],
}

impl<'a> Place<'a> {
    #[inline]
    fn new(generation: u64, phase: &'a Phase, now_ns: u64) -> Self {
        let elapsed_ns = phase.elapsed_ns(now_ns);
        let (at_ns, is_started) = (elapsed_ns.unwrap_or(0), elapsed_ns.is_some());
        Self { generation, phase, at_ns, is_started, positions: 0..0, slots: &[] }
    }

    #[inline]
    fn slot(&mut self, sequence: u64) -> Option<Slot<'a>> {
        let position = self.phase.position(sequence);
        if !self.positions.contains(&position) {
            if !self.is_started {
                return None;
            }
            (self.positions, self.slots) = self.phase.slots_around(position)?;
        }
        let index = usize::try_from(position - self.positions.start).ok()?;
        self.slots.get(index).map(Slot::from)
    }
}

impl<C> fmt::Debug for Recorder<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("phase_count", &self.phase_count).finish_non_exhaustive()
    }
}

impl<C: Clock> CompletionSink for Recorder<C> {
    fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
        self.complete_at(self.clock.now_ns(), responses);
    }

    fn first_token(&self, responses: &[QuerySampleResponse<'_>]) {
        self.first_token_at(self.clock.now_ns(), responses);
    }

    fn tokens(&self, now_ns: u64, id: ResponseId, token_count: u32) {
        self.tokens_noting_first(now_ns, id, token_count);
    }

    fn watches_hand_over(&self) -> bool {
        self.records_tokens
    }

    /// Notes that samples were passed on. Earlier tokens are treated like tokens of an unissued sample: the system
    /// cannot have made them.
    fn handed_over(&self, samples: &[QuerySample]) {
        for QuerySample { id, .. } in samples {
            let (generation, sequence) = split(*id);
            let tokens = self.phase(generation).and_then(|phase| phase.tokens.as_ref());
            if let Some(kind) = tokens.and_then(|tokens| tokens.too_early(sequence)) {
                self.violations.note(kind, *id, SampleStatus::OK);
            }
        }
    }

    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn latency_begins_ns(&self, id: ResponseId) -> Option<u64> {
        let (generation, sequence) = split(id);
        let phase = self.phase(generation)?;
        // Before the start no sample counts as issued, not even one with a slot.
        phase.elapsed_ns(0)?;
        Some(phase.start_ns() + phase.sample(sequence)?.scheduled_ns)
    }

    #[inline(always)] // Into `complete`, through which nearly all come.
    fn complete_at(&self, now_ns: u64, responses: &[QuerySampleResponse<'_>]) {
        self.complete_noting::<false>(now_ns, responses, |_, _| ());
    }

    fn fail_at(&self, now_ns: u64, responses: &[QuerySampleResponse<'_>]) {
        self.complete_noting::<true>(now_ns, responses, |_, _| ());
    }

    fn first_token_at(&self, now_ns: u64, responses: &[QuerySampleResponse<'_>]) {
        responses.iter().for_each(|response| _ = self.first_token_noting(now_ns, response));
    }
}

/// Everything that a display reads while the test runs, with any clock.
pub(crate) trait Observed: Send + Sync {
    fn now_ns(&self) -> u64;
    fn current_phase(&self) -> Option<&Arc<Phase>>;
    fn signal_count(&self) -> u64;
    fn sample(&self, id: ResponseId) -> Option<(u64, SampleRecord)>;
    fn is_logged(&self, id: ResponseId) -> bool;
}

impl<C: Clock> Observed for Recorder<C> {
    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn current_phase(&self) -> Option<&Arc<Phase>> {
        self.phases.get(self.phase_count.load(Acquire).checked_sub(1)?)?.get()
    }

    fn signal_count(&self) -> u64 {
        self.wake.count()
    }

    fn sample(&self, id: ResponseId) -> Option<(u64, SampleRecord)> {
        let (generation, sequence) = split(id);
        let phase = self.current_phase().filter(|phase| phase.generation == generation)?;
        Some((sequence, phase.sample(sequence)?))
    }

    fn is_logged(&self, id: ResponseId) -> bool {
        let (generation, sequence) = split(id);
        let phase = self.current_phase().filter(|phase| phase.generation == generation);
        phase.and_then(|phase| phase.slot(sequence)).is_some_and(Slot::is_logged)
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
