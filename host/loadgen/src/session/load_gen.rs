//! One test from its settings to its outcome.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use proctor_loadgen_settings::{Contradiction, EffectiveSettings, TestSettings, config_file::apply_audit};
use proctor_vocabulary::{CompletionSink, Scenario, TestMode};

use crate::{
    engine::{Engine, EngineError, EngineTest},
    error::LoadGenError,
    plan::{
        accuracy_sampling::AccuracySampler,
        phases::{PhasePlan, phases},
    },
    record::{engine_sink::EngineSink, recorder::Recorder, response_id::MAX_PHASE_COUNT},
    session::{
        console::Console,
        driven::{Driven, drive},
        options::LoadGenOptions,
        progress::{Progress, StopHandle},
        run::Run,
    },
    system::{QuerySampleLibrary, SystemUnderTest},
    time::{clock::Clock, timer_slack::ExactTimers, wake::Wake},
    verdict::{
        outcome::{Audit, TestOutcome},
        peak_search::PeakSearch,
    },
};

/// Maximum number of completion counters: processors that could complete at the same time.
const COUNTERS_MAX: u64 = 64;

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
    /// Engine that issues the queries in place of this load generator.
    engine: Option<Arc<dyn Engine>>,
}

impl<C: Clock> LoadGen<C> {
    /// Creates a test that has not begun.
    #[must_use]
    pub fn new(settings: TestSettings, clock: Arc<C>, options: LoadGenOptions) -> Self {
        let signaller_count = match settings.scenario {
            Scenario::Server => settings.server_num_issue_query_threads.clamp(1, COUNTERS_MAX),
            _ => 1,
        };
        let wake = Arc::new(Wake::with_counters(signaller_count));
        let recorder = Recorder::new(Arc::clone(&clock), Arc::clone(&wake), options.earlier_phase_count);
        let (request, _) = audited(&settings, &options);
        let recorder = Arc::new(recorder.with_tokens(request.use_token_latencies));
        let stop = StopHandle::new(Arc::clone(&wake));
        let has_run = AtomicBool::new(false);
        let (console, engine) = (Console::default(), None);
        Self { settings, options, clock, wake, recorder, stop, console, has_run, engine }
    }

    /// Passes the output of `print_timestamps`, line by line, to `print` instead of stdout.
    #[must_use]
    pub fn with_console(self, print: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { console: Console::new(print), ..self }
    }

    /// Lets an engine issue the queries: its test is [`run_by_engine`](Self::run_by_engine).
    #[must_use]
    pub fn with_engine(self, engine: Arc<dyn Engine>) -> Self {
        Self { engine: Some(engine), ..self }
    }

    /// Returns the sink for completions of the system under test. [any thread]
    #[must_use]
    pub fn sink(&self) -> Arc<dyn CompletionSink> {
        let recorder = Arc::clone(&self.recorder);
        match &self.engine {
            None => recorder,
            Some(engine) => Arc::new(EngineSink::new(recorder, Arc::clone(engine))),
        }
    }

    /// Returns a view of the test for other threads.
    #[must_use]
    pub fn progress(&self) -> Progress {
        Progress::new(Arc::clone(&self.recorder) as _)
    }

    /// Returns a handle for other threads to end the test early.
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
        self.run_with(sut, qsl, |run, plans| {
            let mut peak_search = None;
            for plan in plans {
                if run.settings.request.mode == TestMode::FindPeakPerformance {
                    peak_search = Some(run.find_peak(&plan)?);
                } else if !run.is_broken() {
                    run.phase(&plan)?;
                }
            }
            Ok(peak_search)
        })
    }

    /// Runs the test by the engine of [`with_engine`](Self::with_engine), while the calling thread waits. `test` is the
    /// same test as the engine takes it. The outcome is as of [`run`](Self::run): each sample has its latency, from the
    /// scheduled instant in Server, and a sample that the engine issues against the order that the settings give makes
    /// the test INVALID.
    ///
    /// The engine runs on a thread of its own, on the processors that the calling thread has now. After a stop, or if
    /// the system has died, that thread is left behind: it waits for ever and holds nothing of the system. A search for
    /// the peak cannot be followed.
    ///
    /// # Errors
    /// As of [`run`](Self::run), and [`LoadGenError::Engine`] if there is no engine, time is virtual, or the engine
    /// does not run the test.
    pub fn run_by_engine(
        &self,
        test: EngineTest,
        sut: &Arc<dyn SystemUnderTest + Send>,
        qsl: &dyn QuerySampleLibrary,
    ) -> Result<TestOutcome, LoadGenError> {
        let refused = |text: &str| Err(LoadGenError::Engine(EngineError(text.to_owned())));
        let Some(engine) = self.engine.clone() else { return refused("there is none") };
        if self.clock.is_virtual() {
            return refused("it knows no virtual time");
        }
        if self.settings.mode == TestMode::FindPeakPerformance {
            return refused("its search for the peak cannot be followed");
        }
        let (clock, wake) = (Arc::clone(&self.clock), Arc::clone(&self.wake));
        let driven = Driven { engine, test, clock, wake, sut: Arc::clone(sut) };
        self.run_with(&**sut, qsl, |run, plans| drive(run, plans, driven).map(|()| None))
    }

    /// Runs a test whose phases this function runs.
    fn run_with(
        &self,
        sut: &dyn SystemUnderTest,
        qsl: &dyn QuerySampleLibrary,
        run_phases: impl FnOnce(&mut Run<'_, C>, Vec<PhasePlan>) -> Result<Option<PeakSearch>, LoadGenError>,
    ) -> Result<TestOutcome, LoadGenError> {
        let sut_name_duration_ns = {
            let asked_ns = self.clock.now_ns();
            sut.name();
            self.clock.now_ns() - asked_ns
        };
        let (request, audit) = audited(&self.settings, &self.options);
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
            clock: &*self.clock,
            wake: &self.wake,
            recorder: &self.recorder,
            console: &self.console,
            options: &self.options,
            settings: &effective,
            sut,
            qsl,
            origin_ns: self.clock.now_ns(),
            sampler: AccuracySampler::new(&effective),
            next_sample_id: 0,
            undrawn_sample_count: 0,
            phases: Vec::new(),
            accuracy: Vec::new(),
            is_driven: self.engine.is_some(),
            is_left_behind: false,
        };
        let peak_search = run_phases(&mut run, plans)?;
        let (phases, accuracy, is_left_behind) = (run.phases, run.accuracy, run.is_left_behind);
        let mut outcome = TestOutcome {
            audit,
            effective,
            sut_name: sut.name().to_owned(),
            sut_name_duration_ns,
            qsl_name: qsl.name().to_owned(),
            qsl_performance_count: qsl.performance_sample_count(),
            phases,
            performance: None,
            answered: None,
            peak_search,
            findings: Vec::new(),
            config_errors: self.options.config_errors.clone(),
            setting_errors,
            violations: self.recorder.violations(),
            interrupted: self.stop.reason(),
            is_left_behind,
            accuracy,
        };
        outcome.judge();
        Ok(outcome)
    }

    /// Adds the system's violations of the completion rules since the run to its outcome, and judges that again: after
    /// the last phase the test is over, but the system may continue. [any number of times]
    pub fn add_late_violations(&self, outcome: &mut TestOutcome) {
        let violations = self.recorder.violations();
        if violations != outcome.violations {
            outcome.violations = violations;
            outcome.judge();
        }
    }

    fn resolve(
        request: &TestSettings,
        qsl: &dyn QuerySampleLibrary,
    ) -> Result<(EffectiveSettings, Vec<Contradiction>), LoadGenError> {
        let (performance_count, total_count) = (qsl.performance_sample_count(), qsl.total_sample_count());
        let (effective, errors) = EffectiveSettings::new(request, performance_count, total_count)?;
        if effective.request.mode == TestMode::FindPeakPerformance
            && effective.request.scenario != Scenario::Server
        {
            return Err(LoadGenError::FindPeakNeedsServer { scenario: effective.request.scenario });
        }
        Ok((effective, errors))
    }
}

/// Returns the settings after the audit file, and its report. A file with a line in error changes nothing.
fn audited(settings: &TestSettings, options: &LoadGenOptions) -> (TestSettings, Option<Audit>) {
    let mut request = settings.clone();
    let audit = options.audit_config.as_ref().map(|text| apply_audit(text, &mut request));
    (request, audit)
}
