//! The phases of a test, one after another: load, generate, issue, flush, wait, unload.

use std::sync::Arc;

use proctor_loadgen_settings::EffectiveSettings;
use proctor_vocabulary::{SampleIndex, Scenario, TestMode};

use crate::{
    error::{LoadError, LoadGenError},
    issue::{
        end::IssueEnd,
        issue_loop::IssueContext,
        stall::{StallGuard, Waited},
        threads::{PhaseIssue, issue_phase},
    },
    measure::{
        accuracy_record::{AccuracyRecord, accuracy_records},
        clock_check::{ClockCheck, Stopwatch},
        missing_samples::MissingSamples,
        phase_error::PhaseError,
        phase_outcome::{PhaseOutcome, PhaseTrace, UnloadError},
        phase_record::PhaseRecord,
    },
    plan::{
        accuracy_sampling::AccuracySampler,
        phases::{PhaseMode, PhasePlan},
        query_generator::QueryGenerator,
        schedule::GeneratedTotals,
    },
    record::{
        phase::{Phase, PhaseStart},
        recorder::Recorder,
        token_recorder::FirstTokens,
    },
    session::{console::Console, options::LoadGenOptions},
    system::{QuerySampleLibrary, SystemUnderTest},
    time::{clock::Clock, wake::Wake},
};

/// The state of a test from phase to phase.
pub(super) struct Run<'a, C: Clock> {
    pub clock: &'a C,
    pub wake: &'a Wake,
    pub recorder: &'a Recorder<C>,
    pub console: &'a Console,
    pub options: &'a LoadGenOptions,
    pub settings: &'a EffectiveSettings,
    pub sut: &'a dyn SystemUnderTest,
    pub qsl: &'a dyn QuerySampleLibrary,
    pub origin_ns: u64,
    pub sampler: AccuracySampler,
    pub next_sample_id: u64,
    /// Number of generated samples of the last phase that have not taken a variate of the sampler yet.
    pub undrawn_sample_count: u64,
    pub phases: Vec<PhaseOutcome>,
    pub accuracy: Vec<AccuracyRecord>,
    /// True if an engine issues the samples.
    pub is_driven: bool,
    /// True if the engine was left behind.
    pub is_left_behind: bool,
}

/// A phase that has begun.
pub(super) struct Begun {
    pub phase: Arc<Phase>,
    /// Generator in its state before the first query.
    pub queries: QueryGenerator,
    stopwatch: Option<Stopwatch>,
}

impl<C: Clock> Run<'_, C> {
    /// Loads, generates, issues, flushes, waits and unloads.
    pub(super) fn phase(&mut self, plan: &PhasePlan) -> Result<(), LoadGenError> {
        self.load(plan)?;
        self.measure(self.settings, plan)?;
        self.unload(plan);
        Ok(())
    }

    pub(super) fn load(&self, plan: &PhasePlan) -> Result<(), LoadGenError> {
        self.load_samples(&plan.set.indices)
    }

    pub(super) fn load_samples(&self, indices: &[SampleIndex]) -> Result<(), LoadGenError> {
        self.qsl.load(indices).map_err(|error| {
            let (library, sample_count) = (self.qsl.name().to_owned(), indices.len());
            LoadError { library, sample_count, error }.into()
        })
    }

    /// Unloads, and keeps a failure with the last phase.
    pub(super) fn unload(&mut self, plan: &PhasePlan) {
        if let (Err(error), Some(last)) = (self.qsl.unload(&plan.set.indices), self.phases.last_mut()) {
            last.unload_error =
                Some(UnloadError { library: self.qsl.name().to_owned(), message: error.to_string() });
        }
    }

    /// Issues and measures a phase whose set is loaded.
    ///
    /// # Errors
    /// If there are too few threads to be had, or too little memory for the responses that are logged.
    pub(super) fn measure(
        &mut self,
        settings: &EffectiveSettings,
        plan: &PhasePlan,
    ) -> Result<(), LoadGenError> {
        let begun = self.begin(settings, plan)?;
        let stall_guard = StallGuard {
            clock: self.clock,
            wake: self.wake,
            timeout_ns: self.options.watchdog_ms.saturating_mul(1_000_000),
        };
        let issued = issue_phase(&IssueContext {
            settings,
            sut: self.sut,
            stall_guard: &stall_guard,
            phase: &begun.phase,
            queries: &begun.queries,
            sampler: &self.sampler,
            is_traced: self.options.enable_trace,
        })?;
        self.sut.flush();
        // After a stall there is nothing to wait for, beyond completions from the flush itself. A first stop
        // has only ended the issuing; the second ends this wait.
        let waited = match issued.end {
            IssueEnd::Stalled => Waited::Stalled,
            _ => stall_guard.wait_all(&begun.phase, 2),
        };
        self.conclude(settings, plan, begun, issued, waited);
        Ok(())
    }

    /// Opens a phase whose set is loaded.
    ///
    /// # Errors
    /// If there is too little memory for the responses that are logged.
    pub(super) fn begin(
        &mut self,
        settings: &EffectiveSettings,
        plan: &PhasePlan,
    ) -> Result<Begun, LoadGenError> {
        self.sut.end_flush();
        let queries = QueryGenerator::new(settings, plan);
        let phase = self.open(plan.mode, settings.issuer_count)?;
        self.sampler.skip(std::mem::take(&mut self.undrawn_sample_count));
        self.sampler.go_on(settings);
        let stopwatch = self.start_stopwatch(plan.mode);
        Ok(Begun { phase, queries, stopwatch })
    }

    /// Ends a phase of which no more is waited for, and keeps what is read off it.
    pub(super) fn conclude(
        &mut self,
        settings: &EffectiveSettings,
        plan: &PhasePlan,
        begun: Begun,
        issued: PhaseIssue,
        waited: Waited,
    ) {
        let Begun { phase, queries, stopwatch } = begun;
        let is_traced = self.options.enable_trace && !self.is_driven;
        if phase.begun_ns().is_none() {
            // It was ended before the first query.
            phase.start(self.clock.now_ns());
        }
        phase.end(self.clock.now_ns());
        let clock_check = self.stop_stopwatch(stopwatch);
        let missing = if waited == Waited::Complete { Vec::new() } else { phase.give_up() };

        let completions = phase.completions();
        let record = PhaseRecord::new(settings, plan, &phase, &issued, completions);
        let GeneratedTotals { query_count, samples_per_query, .. } = record.generated;
        let sample_count = query_count.saturating_mul(samples_per_query);
        self.next_sample_id += sample_count;
        self.undrawn_sample_count = sample_count - issued.drawn_sample_count;
        self.sampler = issued.sampler;
        self.accuracy.extend(accuracy_records(&phase, &queries));
        let mut outcome = PhaseOutcome {
            record,
            start_ns: phase.start_ns() - self.origin_ns,
            duration_ns: completions.last_ns,
            end: issued.end,
            issue_delay: issued.delay,
            issuers: issued.issuers,
            clock_check,
            missing: MissingSamples::of(&phase, &queries, &missing),
            is_awaited: waited != Waited::Stalled,
            wrong_samples: issued.wrong_samples,
            first_sample_id: phase.first_sample_id,
            unload_error: None,
            errors: Vec::new(),
            phase,
            trace: is_traced.then(|| PhaseTrace {
                spans: issued.spans,
                issuer_count: settings.issuer_count,
                queries,
                first_query_id: self.phases.iter().map(|phase| phase.record.generated.query_count).sum(),
            }),
        };
        outcome.errors = self.errors_of(&outcome);
        self.phases.push(outcome);
    }

    /// Opens the next phase for completions.
    fn open(&self, mode: PhaseMode, issuer_count: u64) -> Result<Arc<Phase>, LoadGenError> {
        let request = &self.settings.request;
        let first_tokens = match request.scenario {
            Scenario::Offline => FirstTokens::Optional,
            _ => FirstTokens::Required,
        };
        let arena_bytes = if self.logs_responses() { self.options.response_arena_bytes } else { 0 };
        let phase = self.recorder.open(&PhaseStart {
            mode,
            first_sample_id: self.next_sample_id,
            issuer_count,
            arena_bytes,
            first_tokens: request.use_token_latencies.then_some(first_tokens),
            token_capacity: self.options.token_capacity,
            is_driven: self.is_driven,
        });
        phase.map_err(|error| LoadGenError::ResponseMemory { arena_bytes, error })
    }

    /// Reads both clocks before a performance phase, and prints the time if that is wanted. The runs of a search are
    /// not checked, as in LoadGen.
    fn start_stopwatch(&self, mode: PhaseMode) -> Option<Stopwatch> {
        let is_checked =
            mode == PhaseMode::Performance && self.settings.request.mode != TestMode::FindPeakPerformance;
        let stopwatch = Stopwatch::start(self.clock).filter(|_| is_checked)?;
        if self.prints_timestamps() {
            self.console.print(&stopwatch.console_line());
        }
        Some(stopwatch)
    }

    fn stop_stopwatch(&self, stopwatch: Option<Stopwatch>) -> Option<ClockCheck> {
        let check = stopwatch?.stop(self.clock)?;
        if self.prints_timestamps() {
            check.console_lines().iter().for_each(|line| self.console.print(line));
        }
        Some(check)
    }

    /// Returns whether the times of a phase are printed; an engine prints them itself.
    fn prints_timestamps(&self) -> bool {
        self.settings.request.print_timestamps && !self.is_driven
    }

    /// Returns whether a performance phase logs any responses.
    fn logs_responses(&self) -> bool {
        self.settings.request.accuracy_log_probability > 0.0
            || self.settings.request.accuracy_log_sampling_target > 0
    }

    /// Returns whether the next phase would be pointless.
    pub(super) fn is_broken(&self) -> bool {
        self.wake.is_stopped() || self.phases.iter().any(|phase| phase.missing.is_some())
    }

    fn errors_of(&self, outcome: &PhaseOutcome) -> Vec<PhaseError> {
        let mut ended: Vec<_> = (0..).zip(&outcome.issuers).filter(|(_, it)| it.end.is_error()).collect();
        ended.sort_by_key(|(_, issuer)| issuer.last_issued_ns);
        let ended = ended.iter().map(|(issuer, it)| PhaseError::EndedEarly { issuer: *issuer, end: it.end });
        let (count, arena_bytes) = (outcome.phase.lost_response_count(), self.options.response_arena_bytes);
        let lost = (count > 0).then_some(PhaseError::LostResponses { count, arena_bytes });
        ended.chain(lost).collect()
    }
}
