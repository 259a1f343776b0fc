//! One test from its settings to its outcome.

mod error;
mod explain;
mod find_peak;
mod options;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use proctor_vocabulary::{CompletionSink, Scenario, TestMode};

pub use error::LoadGenError;
pub use find_peak::{PeakEnd, PeakSearch, PeakStep};
pub use options::LoadGenOptions;

use explain::{explain, object};

use crate::{
    EffectiveSettings, PerformanceResult, TestSettings,
    accuracy_sampling::AccuracySampler,
    clock::Clock,
    clock_check::{ClockCheck, Stopwatch},
    config_file,
    console::Console,
    issue::Common,
    issue_end::IssueEnd,
    issuers::issue_phase,
    outcome::{AccuracyRecord, Audit, TestOutcome, Verdict},
    outcome_trace::PhaseTrace,
    phase::PhaseStart,
    phase_outcome::{Finished, PhaseOutcome},
    plan::{PhaseMode, PhasePlan, phases},
    progress::{Progress, StopHandle},
    query_generator::QueryGenerator,
    recorder::{MAX_PHASE_COUNT, Recorder},
    system::{QuerySampleLibrary, SystemUnderTest},
    timer_slack::ExactTimers,
    token_recorder::FirstTokens,
    violations::ViolationKind,
    wake::Wake,
    watchdog::{Waited, Watchdog},
};

/// One test: made with its settings, run once.
///
/// Hand [`sink`](Self::sink) to the system under test, keep [`progress`](Self::progress) and
/// [`stop_handle`](Self::stop_handle) for other threads, then [`run`](Self::run).
#[derive(Debug)]
pub struct LoadGen<C: Clock> {
    settings: TestSettings,
    options: LoadGenOptions,
    clock: Arc<C>,
    wake: Arc<Wake>,
    recorder: Arc<Recorder<C>>,
    stop: StopHandle,
    console: Console,
    has_run: AtomicBool,
}

impl<C: Clock> LoadGen<C> {
    /// A test that has not begun.
    #[must_use]
    pub fn new(settings: TestSettings, clock: Arc<C>, options: LoadGenOptions) -> Self {
        let wake = Arc::new(Wake::new());
        let recorder =
            Arc::new(Recorder::new(Arc::clone(&clock), Arc::clone(&wake), options.earlier_phase_count));
        let stop = StopHandle::new(Arc::clone(&wake));
        let has_run = AtomicBool::new(false);
        Self { settings, options, clock, wake, recorder, stop, console: Console::default(), has_run }
    }

    /// Hands what `print_timestamps` prints, line by line, to `print` instead of stdout.
    #[must_use]
    pub fn with_console(self, print: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { console: Console::new(print), ..self }
    }

    /// Where the system under test completes its samples. [any thread]
    #[must_use]
    pub fn sink(&self) -> Arc<dyn CompletionSink> {
        Arc::clone(&self.recorder) as Arc<dyn CompletionSink>
    }

    /// A view of the test for other threads.
    #[must_use]
    pub fn progress(&self) -> Progress {
        Progress::new(Arc::clone(&self.recorder) as _)
    }

    /// A handle for other threads to end the test early.
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// Runs the test on the calling thread.
    ///
    /// A run that went wrong is a value, an INVALID [`TestOutcome`], not an error.
    ///
    /// # Errors
    /// [`LoadGenError`] if the test cannot take place as asked, or the library fails to load.
    pub fn run(
        &self,
        sut: &dyn SystemUnderTest,
        qsl: &dyn QuerySampleLibrary,
    ) -> Result<TestOutcome, LoadGenError> {
        let sut_name_duration_ns = {
            let asked_ns = self.clock.now_ns();
            sut.name();
            self.clock.now_ns() - asked_ns
        };
        let (request, audit) = self.request();
        let (effective, setting_errors) = Self::resolve(&request, qsl)?;
        let plans = phases(&effective);
        if (plans.len() as u64).saturating_add(self.options.earlier_phase_count) > MAX_PHASE_COUNT {
            return Err(LoadGenError::TooManyPhases { count: plans.len() });
        }
        if self.has_run.swap(true, Ordering::Relaxed) {
            return Err(LoadGenError::AlreadyRun);
        }
        let _exact_timers = (!self.clock.is_virtual()).then(ExactTimers::set);
        let mut run = Run {
            test: self,
            request: &request,
            settings: &effective,
            sut,
            qsl,
            origin_ns: self.clock.now_ns(),
            sampler: AccuracySampler::new(&effective),
            next_sample_id: 0,
            undrawn_sample_count: 0,
            phases: Vec::new(),
            accuracy: Vec::new(),
        };
        let mut peak_search = None;
        for plan in plans {
            if effective.mode == TestMode::FindPeakPerformance {
                peak_search = Some(run.find_peak(&plan)?);
            } else if !run.is_broken() {
                run.phase(&plan)?;
            }
        }
        let (phases, accuracy) = (run.phases, run.accuracy);
        let made = Made { request, audit, sut_name_duration_ns, phases, accuracy, peak_search };
        Ok(self.conclude(effective, setting_errors, sut, qsl, made))
    }

    /// The settings as the audit file leaves them, and what it did. One with a line in error changes nothing.
    fn request(&self) -> (TestSettings, Option<Audit>) {
        let mut request = self.settings.clone();
        let text = self.options.audit_config.as_ref();
        let audit = text.map(|text| config_file::apply_audit(text, &mut request));
        (request, audit)
    }

    fn resolve(
        request: &TestSettings,
        qsl: &dyn QuerySampleLibrary,
    ) -> Result<(EffectiveSettings, Vec<String>), LoadGenError> {
        let (performance_count, total_count) = (qsl.performance_sample_count(), qsl.total_sample_count());
        let (effective, errors) = EffectiveSettings::new(request, performance_count, total_count)?;
        if effective.mode == TestMode::FindPeakPerformance && effective.scenario != Scenario::Server {
            return Err(LoadGenError::FindPeakNeedsServer { scenario: effective.scenario });
        }
        Ok((effective, errors))
    }

    /// Turns phases into an outcome. What cannot be ascribed to a phase is told at the last one.
    fn conclude(
        &self,
        effective: EffectiveSettings,
        setting_errors: Vec<String>,
        sut: &dyn SystemUnderTest,
        qsl: &dyn QuerySampleLibrary,
        made: Made,
    ) -> TestOutcome {
        let Made { request: requested, audit, sut_name_duration_ns, mut phases, accuracy, peak_search } =
            made;
        let peak_found = peak_search.as_ref().is_some_and(|search| search.peak_qps().is_some());
        let violations = self.recorder.violations();
        let interrupted = self.stop.reason();
        // Samples that fail above the peak are what the search looks for, and errors of their runs.
        let counted = violations.iter().filter(|it| !(peak_found && it.kind == ViolationKind::Failed));
        let mut general: Vec<_> = counted.map(ToString::to_string).collect();
        general.extend(interrupted.iter().map(|reason| format!("interrupted: {reason}")));
        let mut reasons = Vec::new();
        match phases.last_mut() {
            Some(last) => last.record.violations.extend(general),
            None => reasons = general,
        }
        let timed = match &peak_search {
            Some(search) => search.reported_step,
            None => phases.iter().position(|phase| phase.record.mode == PhaseMode::Performance),
        };
        let others = phases.iter().enumerate().filter(|(number, _)| Some(*number) != timed);
        let mut of_others: Vec<_> =
            others.flat_map(|(_, phase)| phase.record.violations.iter().cloned()).collect();
        let mut performance = timed.map(|number| PerformanceResult::new(&phases[number].record, &effective));
        let mut findings = Vec::new();
        if let (Some(number), Some(result)) = (timed, &mut performance) {
            findings = explain(result, &phases[number], peak_search.as_ref(), &effective);
        }
        if let (Some(search), Some(result)) = (&peak_search, &mut performance) {
            // The runs of a search make one result.
            result.violations.extend(of_others.iter().cloned());
            if !peak_found {
                let end = search.end.to_string();
                // A first rate that misses the bound is INVALID by its figures, and LoadGen's summary says no more.
                if result.perf_constraints_met || !matches!(search.end, PeakEnd::BaseNotMet { .. }) {
                    result.violations.push(end.clone());
                }
                of_others.push(end);
            }
            result.reasons.append(&mut of_others);
            result.valid = result.reasons.is_empty();
        }
        reasons.extend(of_others);
        findings.extend(object(&reasons, performance.as_ref(), &phases, &violations));
        reasons.extend(performance.iter().flat_map(|result| result.reasons.clone()));
        TestOutcome {
            requested,
            audit,
            effective,
            sut_name: sut.name().to_owned(),
            sut_name_duration_ns,
            qsl_name: qsl.name().to_owned(),
            qsl_performance_count: qsl.performance_sample_count(),
            phases,
            performance,
            peak_search,
            verdict: Verdict { valid: reasons.is_empty(), reasons },
            findings,
            config_errors: self.options.config_errors.clone(),
            setting_errors,
            violations,
            interrupted,
            accuracy,
        }
    }
}

/// What was made of a test.
struct Made {
    request: TestSettings,
    audit: Option<Audit>,
    sut_name_duration_ns: u64,
    phases: Vec<PhaseOutcome>,
    accuracy: Vec<AccuracyRecord>,
    peak_search: Option<PeakSearch>,
}

/// The state of a test from phase to phase.
struct Run<'a, C: Clock> {
    test: &'a LoadGen<C>,
    request: &'a TestSettings,
    settings: &'a EffectiveSettings,
    sut: &'a dyn SystemUnderTest,
    qsl: &'a dyn QuerySampleLibrary,
    origin_ns: u64,
    sampler: AccuracySampler,
    next_sample_id: u64,
    /// Samples of the last phase that were generated and took no variate of the sampler yet.
    undrawn_sample_count: u64,
    phases: Vec<PhaseOutcome>,
    accuracy: Vec<AccuracyRecord>,
}

impl<C: Clock> Run<'_, C> {
    /// Load, generate, issue, flush, wait, unload.
    fn phase(&mut self, plan: &PhasePlan) -> Result<(), LoadGenError> {
        self.load(plan)?;
        self.measure(self.settings, plan)?;
        self.unload(plan);
        Ok(())
    }

    fn load(&self, plan: &PhasePlan) -> Result<(), LoadGenError> {
        self.qsl.load(&plan.set.indices).map_err(|source| LoadGenError::Load {
            library: self.qsl.name().to_owned(),
            sample_count: plan.set.indices.len(),
            source,
        })
    }

    /// A failure is told at the last phase.
    fn unload(&mut self, plan: &PhasePlan) {
        if let (Err(error), Some(last)) = (self.qsl.unload(&plan.set.indices), self.phases.last_mut()) {
            let name = self.qsl.name();
            last.record.violations.push(format!("library {name} failed to unload its samples: {error}"));
        }
    }

    /// What lies between load and unload.
    ///
    /// # Errors
    /// If there are too few threads to be had.
    fn measure(&mut self, settings: &EffectiveSettings, plan: &PhasePlan) -> Result<(), LoadGenError> {
        let test = self.test;
        let queries = QueryGenerator::new(settings, plan);
        let phase = test.recorder.open(&PhaseStart {
            mode: plan.mode,
            first_sample_id: self.next_sample_id,
            issuer_count: settings.issuer_count,
            arena_bytes: if self.logs_responses() { test.options.response_arena_bytes } else { 0 },
            first_tokens: self.settings.use_token_latencies.then_some(match self.settings.scenario {
                Scenario::Offline => FirstTokens::Optional,
                _ => FirstTokens::Required,
            }),
        });

        let watchdog = Watchdog {
            clock: &*test.clock,
            wake: &test.wake,
            timeout_ns: test.options.watchdog_ms.saturating_mul(1_000_000),
        };
        self.sampler.skip(std::mem::take(&mut self.undrawn_sample_count));
        self.sampler.go_on(settings);
        let stopwatch = self.start_stopwatch(plan.mode);
        let is_traced = test.options.enable_trace;
        let issued = issue_phase(&Common {
            settings,
            sut: self.sut,
            watchdog: &watchdog,
            phase: &phase,
            queries: &queries,
            sampler: &self.sampler,
            is_traced,
        })?;
        self.sut.flush();
        // After a stall there is nothing to wait for, beyond what the flush itself brought. A first stop has only
        // ended the issuing; the second ends this wait.
        let waited = match issued.end {
            IssueEnd::Stalled => Waited::Stalled,
            _ => watchdog.wait_all(&phase, 2),
        };
        phase.end(test.clock.now_ns());
        let clock_check = self.stop_stopwatch(stopwatch);
        let missing = if waited == Waited::Complete { Vec::new() } else { phase.give_up() };

        // The generator has drawn most of it by now, so this takes no time; before the start it would.
        let generated = issued.queries.totals();
        let sample_count = generated.query_count.saturating_mul(generated.samples_per_query);
        self.next_sample_id += sample_count;
        self.undrawn_sample_count = sample_count - issued.drawn_sample_count;
        self.sampler.clone_from(&issued.sampler);
        let start_ns = phase.start_ns() - self.origin_ns;
        let plan = plan.clone();
        let trace = is_traced.then(|| PhaseTrace {
            spans: issued.spans.clone(),
            issuer_count: settings.issuer_count,
            queries: queries.clone(),
            first_query_id: self.phases.iter().map(|phase| phase.record.generated.query_count).sum(),
        });
        let finished = Finished {
            settings,
            plan,
            queries,
            phase,
            issued,
            generated,
            clock_check,
            trace,
            start_ns,
            missing,
        };
        self.accuracy.extend(finished.accuracy_records());
        let mut outcome = finished.into_outcome();
        outcome.errors = self.errors_of(&outcome);
        self.phases.push(outcome);
        Ok(())
    }

    /// Reads both clocks before a performance phase, and prints the time if that is wanted. The runs of a search are not
    /// checked, as in LoadGen.
    fn start_stopwatch(&self, mode: PhaseMode) -> Option<Stopwatch> {
        let is_checked =
            mode == PhaseMode::Performance && self.settings.mode != TestMode::FindPeakPerformance;
        let stopwatch = Stopwatch::start(&*self.test.clock).filter(|_| is_checked)?;
        if self.settings.print_timestamps {
            self.test.console.print(&stopwatch.console_line());
        }
        Some(stopwatch)
    }

    fn stop_stopwatch(&self, stopwatch: Option<Stopwatch>) -> Option<ClockCheck> {
        let check = stopwatch?.stop(&*self.test.clock)?;
        if self.settings.print_timestamps {
            check.console_lines().iter().for_each(|line| self.test.console.print(line));
        }
        Some(check)
    }

    /// Whether a performance phase logs any responses.
    fn logs_responses(&self) -> bool {
        self.settings.accuracy_log_probability > 0.0 || self.settings.accuracy_log_sampling_target > 0
    }

    /// Whether the next phase would be pointless.
    fn is_broken(&self) -> bool {
        self.test.wake.is_stopped() || self.phases.iter().any(|phase| phase.missing.is_some())
    }

    fn errors_of(&self, outcome: &PhaseOutcome) -> Vec<String> {
        let mut errors = Vec::new();
        let mut ended: Vec<_> = (0..).zip(&outcome.issuers).filter(|(_, it)| it.end.is_error()).collect();
        ended.sort_by_key(|(_, issuer)| issuer.last_issued_ns);
        errors.extend(ended.iter().map(|(index, issuer)| issuer.end.text(*index)));
        let lost_count = outcome.phase.lost_response_count();
        if lost_count > 0 {
            errors.push(format!(
                "{lost_count} responses did not fit into the accuracy log: raise response_arena_bytes = {}",
                self.test.options.response_arena_bytes
            ));
        }
        errors
    }
}
