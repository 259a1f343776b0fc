//! One test from its settings to its outcome.

use crate::verdict::outcome::{Audit, TestOutcome};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use proctor_loadgen_settings::{Contradiction, EffectiveSettings, TestSettings, config_file::apply_audit};
use proctor_vocabulary::{CompletionSink, Scenario, TestMode};

use crate::{
    error::LoadGenError,
    plan::{accuracy_sampling::AccuracySampler, phases::phases},
    record::{recorder::Recorder, response_id::MAX_PHASE_COUNT},
    session::{
        console::Console,
        options::LoadGenOptions,
        progress::{Progress, StopHandle},
        run::Run,
    },
    system::{QuerySampleLibrary, SystemUnderTest},
    time::{clock::Clock, timer_slack::ExactTimers, wake::Wake},
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
        Self { settings, options, clock, wake, recorder, stop, console: Console::default(), has_run }
    }

    /// Passes the output of `print_timestamps`, line by line, to `print` instead of stdout.
    #[must_use]
    pub fn with_console(self, print: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { console: Console::new(print), ..self }
    }

    /// Returns the sink for completions of the system under test. [any thread]
    #[must_use]
    pub fn sink(&self) -> Arc<dyn CompletionSink> {
        Arc::clone(&self.recorder) as Arc<dyn CompletionSink>
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
        };
        let mut peak_search = None;
        for plan in plans {
            if effective.request.mode == TestMode::FindPeakPerformance {
                peak_search = Some(run.find_peak(&plan)?);
            } else if !run.is_broken() {
                run.phase(&plan)?;
            }
        }
        let (phases, accuracy) = (run.phases, run.accuracy);
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
