//! The bed of a test: instances made and warmed up, the load generator run over them, the logs written.

mod batcher_wait;
mod engine_test;
mod instances;
mod length;
mod onlookers;
mod process_in_test;
mod scaled;
mod timeless;
mod told;

use std::{cell::Cell, collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use proctor_config::{Benchmark, Settings};
use proctor_datasets::DataRoot;
use proctor_loadgen::{
    Clock, LoadGen, LoadGenError, Progress, QuerySampleLibrary, RealClock, StopHandle, TestOutcome,
    TestSettings, TokenCapacity, VirtualClock, config_file, engine::EngineTest,
};
use proctor_plugin_host::{Model, PluginMetric, PluginStage, last_words_are_awaited};
use proctor_results::MachinePart;
use proctor_scheduler::{Instance, SchedulerConfig, SimulatedScheduler, ThreadedScheduler};
use proctor_vocabulary::{CompletionSink, SampleIndex, Scenario, TensorSpec, TestMode};
use proctor_words::{CacheFolder, HostError, PluginError, read_machine};

use crate::{
    call_watchdog::Watchdog,
    clock::HostClock,
    engine::{EngineFiles, EngineReport},
    fault::{Fault, FirstError},
    files::logs::Logs,
    interrupt::{Interrupt, RunningTest},
    placement::{Placement, allowed_cores},
    plugin::{
        Plugin,
        dispatch::Dispatch,
        isolated::{Isolated, loadgen_limit},
    },
    plugin_instance::{BatchStages, PluginInstance, StageLog, batch_log::BatchLog, scheduled},
    sample_library::{Data, SampleLibrary, published::Published},
    scaling::scaler_thread::ScalerThread,
    system::{
        System, SystemReport, scheduler_config,
        whole_queries::{QueryTest, WholeQueries},
    },
    test::{Test, TestRequest, blamed},
};

use batcher_wait::BatcherWait;
use onlookers::Onlookers;
use process_in_test::ProcessInTest;
use timeless::Timeless;

/// Maximum wait for a hung instance once the test has given it up.
const HUNG_LIMIT: Duration = Duration::from_secs(1);

/// Everything that a test needs, ready: the plugin with its model, the samples, the clock.
///
/// Dropped, it closes the plugin, unless a test has shown that the plugin hangs.
pub struct TestBed<'a> {
    settings: &'a Settings,
    /// The clock of the run.
    pub clock: HostClock,
    model: Model,
    /// The query sample library.
    pub library: SampleLibrary,
    /// Closed after the model, which the samples keep, too.
    pub plugin: Plugin,
    /// Folder of the data sets and models.
    pub data_root: DataRoot,
    /// State of the machine before the plugin was loaded.
    pub machine: MachinePart,
    interrupt: Interrupt,
    watchdog: Watchdog,
    placement: Placement,
    /// Overrides for the settings of performance runs.
    audit_config: Option<String>,
    /// Files of an engine.
    engine_files: EngineFiles,
    /// Number of phases so far, so that late responses do not count for a later test.
    phase_count: Cell<u64>,
    /// Log in which instances record the stages of each batch.
    stages: Option<StageLog>,
}

/// Equipment of a test bed besides the settings of a run.
pub struct Equipment {
    /// The clock of the run.
    pub clock: HostClock,
    /// Folder that the plugin keeps from run to run.
    pub cache: CacheFolder,
    /// Samples; `None` for the benchmark's own.
    pub data: Option<Data>,
    /// The data set of the benchmark, if it is a published one and open already.
    pub published: Option<Published>,
    /// Watchdog over the calls into the plugin.
    pub watchdog: Watchdog,
    /// Text of an audit file, for the performance runs.
    pub audit_config: Option<String>,
    /// Log of the stages of each batch.
    pub stages: Option<StageLog>,
}

impl Equipment {
    /// Creates the equipment with the clock and the cache of the settings, and nothing else.
    pub fn of(settings: &Settings) -> Self {
        let clock = HostClock::new(settings.run.virtual_time, settings.run.wait_policy());
        Self::new(clock, CacheFolder::open(settings))
    }

    pub(crate) fn new(clock: HostClock, cache: CacheFolder) -> Self {
        Self {
            clock,
            cache,
            data: None,
            published: None,
            watchdog: Watchdog::default(),
            audit_config: None,
            stages: None,
        }
    }
}

struct SystemParts {
    config: SchedulerConfig,
    instances: Vec<PluginInstance>,
    sink: Arc<dyn CompletionSink>,
    progress: Progress,
    stop: StopHandle,
    /// Number of threads that issue.
    issuer_count: usize,
}

impl<'a> TestBed<'a> {
    /// Opens the plugin and the data, and loads the model.
    ///
    /// # Errors
    /// If any of them is missing, damaged, or does not fit the others.
    pub fn open(
        settings: &'a Settings,
        equipment: Equipment,
        interrupt: &Interrupt,
    ) -> Result<Self, HostError> {
        let Equipment { clock, cache, data, published, watchdog, audit_config, stages } = equipment;
        let engine_files = EngineFiles::of(settings);
        // Save processors and working folder, which a plugin may change, before there is one.
        allowed_cores();
        let machine = read_machine();
        let data_root = DataRoot::new(settings.run.data_root.as_deref());
        let observer = interrupt.observer();
        let plugin = Plugin::open(settings, &data_root, &clock, cache, &watchdog, observer.as_ref())?;
        let data = data.map_or_else(|| Data::open(settings, &data_root, &machine, published), Ok)?;
        let placement = Placement::new(settings, plugin.dispatch);
        let model = plugin.load_model(settings, data.counts(), &placement, observer.as_ref())?;
        let data = match plugin.input_forms.get() {
            Some(forms) => data.in_forms(forms)?,
            None => data,
        };
        // Nothing of the host's own may run during a test.
        let _ = plugin.library.sha256();
        Ok(Self {
            settings,
            clock,
            library: SampleLibrary::new(data, model.clone()),
            model,
            plugin,
            data_root,
            machine,
            interrupt: interrupt.clone(),
            watchdog,
            placement,
            audit_config,
            engine_files,
            phase_count: Cell::new(0),
            stages,
        })
    }

    /// Opens everything for tests that leave nothing on the disk. Instances note the stages of their batches.
    ///
    /// # Errors
    /// If plugin, data or model are missing, damaged, or do not fit each other.
    pub fn open_for_bench(settings: &'a Settings, interrupt: &Interrupt) -> Result<Self, HostError> {
        let stages = Some(StageLog::default());
        Self::open(settings, Equipment { stages, ..Equipment::of(settings) }, interrupt)
    }

    /// Returns the settings of a run, which its tests share except for the mode.
    pub fn settings(&self) -> &'a Settings {
        self.settings
    }

    /// Returns the signals that end a test early, and the user's side.
    pub fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// Returns the model that the plugin has loaded.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Prepares samples and starts the model, then runs `act`. Not part of a test.
    ///
    /// # Errors
    /// Returns the error of `act`, or why the plugin could not begin or end.
    pub fn with_started<T>(
        &self,
        samples: &[SampleIndex],
        act: impl FnOnce() -> Result<T, HostError>,
    ) -> Result<T, HostError> {
        let (done, faults) = self.while_started(samples, act)?;
        match faults.first() {
            Some(fault) => Err(HostError::plugin(fault.to_string())),
            None => Ok(done),
        }
    }

    /// Returns the same, with faults of the plugin meanwhile or at its end.
    fn while_started<T>(
        &self,
        samples: &[SampleIndex],
        act: impl FnOnce() -> Result<T, HostError>,
    ) -> Result<(T, Vec<Fault>), HostError> {
        self.library.load(samples).map_err(HostError::data)?;
        let done = act();
        self.library.unload(samples).map_err(HostError::data)?;
        let faults = self.end_phase();
        Ok((done?, faults))
    }

    /// Returns the figures of the plugin's own.
    #[must_use]
    pub fn plugin_metrics(&self) -> BTreeMap<String, PluginMetric> {
        self.plugin.backend.host_side().metrics()
    }

    /// Returns the stages that the plugin's work was made of, by name.
    #[must_use]
    pub fn plugin_stages(&self) -> BTreeMap<String, PluginStage> {
        self.plugin.backend.host_side().stages()
    }

    /// Returns the stages of the batches since the last call. Keeps room for `room` further ones.
    #[must_use]
    pub fn take_stages(&self, room: usize) -> Vec<BatchStages> {
        self.stages.as_ref().map_or_else(Vec::new, |stages| stages.take(room))
    }

    /// Runs a test that leaves nothing on the disk; `warms_up` says whether instances run some batches before it.
    ///
    /// # Errors
    /// If it could not begin.
    pub fn measure(&self, settings: TestSettings, warms_up: bool) -> Result<TestOutcome, HostError> {
        Ok(self.test(TestRequest { warms_up, ..TestRequest::new(settings) })?.outcome)
    }

    /// Runs a test, and ends the plugin's part of it.
    ///
    /// # Errors
    /// If it could not begin. What goes wrong later is in the outcome.
    pub fn test(&self, request: TestRequest<'_>) -> Result<Test, HostError> {
        let mut test = self.test_unsettled(&request)?;
        self.settle(&mut test);
        Ok(test)
    }

    /// Makes a test up to its last completion and writes the measurements. In the outcome the plugin has not
    /// finished, so the test is INVALID until it is settled, which has to be done before the next one.
    ///
    /// # Errors
    /// If it could not begin. What goes wrong later is in the outcome.
    pub fn test_unsettled(&self, request: &TestRequest<'_>) -> Result<Test, HostError> {
        let _span = told::span_of(request.settings.mode);
        let made = self.attempt(request);
        if made.is_ok() || !self.process_has_ended() {
            return made;
        }
        // The test is INVALID, but says more than no test. The samples may or may not have been prepared.
        let _ = self.library.release();
        self.attempt(request)
    }

    /// Returns whether the plugin's process of its own has ended, and none has taken its place.
    pub fn process_has_ended(&self) -> bool {
        self.plugin.isolated.as_ref().is_some_and(Isolated::has_ended)
    }

    fn attempt(&self, request: &TestRequest<'_>) -> Result<Test, HostError> {
        match &self.clock {
            HostClock::Real(clock) => self.test_on(clock, request, |parts| self.real_system(clock, parts)),
            HostClock::Virtual(clock) => {
                self.test_on(clock, request, |parts| self.virtual_system(clock, parts))
            }
        }
    }

    /// Returns a test in this mode with the settings of the run, with its logs in `folder`, which exists.
    pub fn request_in_mode<'f>(&self, mode: TestMode, folder: &'f Path) -> TestRequest<'f> {
        let settings = TestSettings { mode, ..self.settings.test.clone() };
        TestRequest { is_guarded: self.settings.run.noise, ..TestRequest::in_folder(settings, folder) }
    }

    /// Ends the plugin's part of a test: flush, stop, release. Errors go to the outcome and the logs.
    pub fn settle(&self, test: &mut Test) {
        let faults = self.end_phase();
        let energy_joules = self.plugin.backend.host_side().take_energy_joules();
        let energy_joules = energy_joules.filter(|_| !self.settings.run.virtual_time);
        test.settle(faults, energy_joules, self.interrupt.observer().as_ref());
    }

    /// Ends the plugin's part of the last phase, and returns its faults there and since the last test.
    pub fn end_phase(&self) -> Vec<Fault> {
        self.library.end_phase();
        let mut faults = self.library.take_faults();
        faults.extend(Fault::noticed(self.plugin.backend.host_side()));
        faults
    }

    fn test_on<C: Clock>(
        &self,
        clock: &Arc<C>,
        request: &TestRequest<'_>,
        make_system: impl FnOnce(SystemParts) -> Result<System, HostError>,
    ) -> Result<Test, HostError> {
        // An accuracy run is the same in an audit, or there would be nothing to compare.
        let is_audited = request.settings.mode != TestMode::AccuracyOnly;
        let audit_config = self.audit_config.clone().filter(|_| is_audited);
        let audited = audited(&request.settings, audit_config.as_deref());
        let (config, issuer_count) = (self.scheduler_config(&audited)?, issuer_count(&audited));
        let is_scaled = self.is_scaled(&audited);
        let first_error = FirstError::default();
        let (mut instances, mut faults) = self.ready_instances(request, &audited, is_scaled, &first_error)?;
        let (loadgen, driven) = self.loadgen(clock, request, audit_config)?;
        let is_virtual = clock.is_virtual();
        let logs =
            request.folder.map(|folder| Logs::new(folder, &self.settings.run, is_virtual, driven.is_some()));
        let (sink, progress, stop) = (loadgen.sink(), loadgen.progress(), loadgen.stop_handle());
        let batches = (self.keeps_batches(request) && !is_scaled).then(BatchLog::default);
        if let Some(log) = &batches {
            for instance in &mut instances {
                let number = instance.instance.index();
                instance.batches = Some(log.of_instance(number, progress.clone(), self.clock.reader()));
            }
        }
        let batcher_wait = BatcherWait::of(&config, is_scaled);
        let parts = SystemParts { config, instances, sink, progress, stop, issuer_count };
        let system = match is_scaled {
            true => self.scaled_system(&audited, parts, &first_error)?,
            false => make_system(parts)?,
        };
        self.connect(&loadgen);
        let thread_count = issuer_count + usize::from(driven.is_some());
        let mut onlookers = self.onlookers(request, &audited, thread_count, &loadgen.progress())?;

        let process = ProcessInTest::begin(self.plugin.isolated.as_ref(), loadgen.stop_handle());
        let origin_ns = clock.now_ns();
        let scaler_thread = self.scaler_thread(&system, request)?;
        let (outcome, change) = self.run_loadgen(&loadgen, &system, &onlookers, driven.as_ref());
        scaler_thread.into_iter().for_each(ScalerThread::stop);
        onlookers.stop();
        process.end(&self.library);
        faults.extend(change);
        let mut outcome = outcome?;
        let (package_energy, noise) = onlookers.measured(origin_ns, &outcome);

        let (system, is_abandoned) = self.wind_up(system, &first_error, origin_ns, &outcome);
        loadgen.add_late_violations(&mut outcome);
        let engine = driven.map(|test| EngineReport::read(&test.folder, &mut outcome));
        if let Some(wait) = batcher_wait {
            let lasted_ns = outcome.phases.iter().map(|phase| phase.duration_ns).sum();
            wait.advise(&mut outcome, &system, lasted_ns);
        }
        if is_virtual {
            timeless::explain(&mut outcome);
        }
        let sample_failures = self.show_failures();
        faults.extend(self.faults_at_end(&system, &outcome, is_abandoned));
        Fault::add_all(blamed(faults, &outcome), &mut outcome.findings);
        let batches = batches.and_then(|log| log.file(&outcome));
        self.tell_timed_parts(&outcome, batches.as_ref());
        let write_error = logs.as_ref().and_then(|logs| logs.write(&outcome).err());
        Ok(Test {
            batches,
            metric_kind: self.settings.metric_kind(),
            outcome,
            logs,
            system,
            is_abandoned,
            sample_failures,
            energy_joules: None,
            package_energy,
            noise,
            engine,
            write_error,
            is_settled: false,
        })
    }

    /// Ends the system after the last completion; later ones do not count. Returns its report, and whether the plugin
    /// was abandoned.
    fn wind_up(
        &self,
        system: System,
        first_error: &FirstError,
        origin_ns: u64,
        outcome: &TestOutcome,
    ) -> (SystemReport, bool) {
        self.phase_count.update(|count| count + outcome.phases.len() as u64);
        let is_incomplete = self.library.is_abandoned();
        let limit = if is_incomplete { HUNG_LIMIT } else { self.hang_limit() };
        let begun_ns = outcome.phases.first().map_or(0, |phase| origin_ns + phase.start_ns);
        let lasted_ns = outcome.phases.iter().map(|phase| phase.duration_ns).sum();
        let system = system.end(limit, first_error, (begun_ns, lasted_ns));
        // Completions from here on are too late.
        self.plugin.backend.set_sink(None);
        let is_abandoned = is_incomplete || system.hangs;
        (system, is_abandoned)
    }

    /// Returns the faults that only the host has seen in a test. An abandoned plugin keeps its samples; any other one
    /// has yet to end.
    fn faults_at_end(&self, system: &SystemReport, outcome: &TestOutcome, is_abandoned: bool) -> Vec<Fault> {
        let mut faults: Vec<_> = faults_of(system, outcome).collect();
        faults.extend(self.library.take_faults());
        faults.extend(Fault::noticed(self.plugin.backend.host_side()));
        if is_abandoned {
            self.library.leave();
            self.model.abandon();
        }
        if !is_abandoned || last_words_are_awaited() {
            faults.push(Fault::NotEnded { plugin: self.plugin.library.manifest().name.clone() });
        }
        faults
    }

    /// Turns the marking of output buffers on or off. Where answers are scored, an unwritten output must not
    /// look like the output of an earlier batch.
    fn mark_outputs(&self, are_marked: bool) -> Result<(), HostError> {
        self.model.mark_outputs(are_marked);
        let plugin = &self.plugin.library.manifest().name;
        self.plugin.isolated.as_ref().map_or(Ok(()), |isolated| isolated.mark_outputs(are_marked, plugin))
    }

    /// Returns whether some of the test's batches are kept next to its trace.
    fn keeps_batches(&self, request: &TestRequest<'_>) -> bool {
        let is_measured = request.settings.mode != TestMode::AccuracyOnly;
        is_measured && self.settings.run.enable_trace && request.folder.is_some()
    }

    /// Connects completions to the load generator, and the library and the watchdog to its progress.
    fn connect<C: Clock>(&self, loadgen: &LoadGen<C>) {
        let sink = loadgen.sink();
        self.plugin.backend.set_sink(Some(match &self.clock {
            HostClock::Real(_) => sink,
            HostClock::Virtual(_) => Arc::new(Timeless(sink)) as Arc<dyn CompletionSink>,
        }));
        self.library.watch(loadgen.progress());
        self.watchdog.follow(loadgen.progress(), loadgen.stop_handle());
    }

    /// Runs the load generator on the processors of the issuing thread, and returns changes of this process by the
    /// plugin's.
    fn run_loadgen<C: Clock>(
        &self,
        loadgen: &LoadGen<C>,
        system: &System,
        onlookers: &Onlookers<'_>,
        driven: Option<&EngineTest>,
    ) -> (Result<TestOutcome, LoadGenError>, Option<Fault>) {
        let (progress, stop) = (loadgen.progress(), loadgen.stop_handle());
        let plugin = self.plugin.library.manifest().name.clone();
        self.interrupt.testing(RunningTest { stop, progress, plugin: plugin.clone() });
        let earlier = self.change_of_host();
        // Only now: a thread inherits the processors of the one that starts it.
        let _held = self.placement.hold_issuer();
        let run = || onlookers.run(loadgen, system, &self.library, driven);
        // Lasts until this thread has its own processors back, whatever was done to it.
        let (outcome, change) = match &self.plugin.isolated {
            Some(isolated) => isolated.watch_host(&plugin, run),
            None => (run(), None),
        };
        self.interrupt.writing();
        (outcome, earlier.or(change))
    }

    /// Returns a change to this process that the plugin's process made during a test.
    fn change_of_host(&self) -> Option<Fault> {
        let plugin = &self.plugin.library.manifest().name;
        self.plugin.isolated.as_ref()?.change_of_host(plugin, self.placement.of_issuer())
    }

    fn real_system(&self, clock: &Arc<RealClock>, parts: SystemParts) -> Result<System, HostError> {
        let name = self.plugin.title();
        let SystemParts { config, instances, sink, progress, stop, issuer_count } = parts;
        Ok(match self.plugin.dispatch {
            Dispatch::Batches => {
                let (instances, owners) = scheduled(instances)?;
                let config = SchedulerConfig { instances: instances.len(), ..config };
                let clock = Arc::clone(clock);
                let scheduler = ThreadedScheduler::start(name, &config, instances, sink, clock, None)?;
                System::Threaded(Arc::new(scheduler), owners)
            }
            Dispatch::WholeQueries => {
                let issuers = self.model.issuers(issuer_count)?;
                let (flush, busy_limit) = (self.library.flush().clone(), self.watchdog_limit());
                let test = QueryTest { sink, progress, stop, busy_limit };
                System::Whole(Arc::new(WholeQueries::new(name, self.model.clone(), issuers, test, flush)))
            }
        })
    }

    fn virtual_system(&self, clock: &Arc<VirtualClock>, parts: SystemParts) -> Result<System, HostError> {
        let SystemParts { config, instances, sink, .. } = parts;
        let (name, clock) = (self.plugin.title(), Arc::clone(clock));
        Ok(System::Simulated(SimulatedScheduler::new(name, &config, boxed(instances), sink, clock, None)?))
    }

    /// Returns the scheduler's settings. For Offline the queue of batches has to hold the one query.
    fn scheduler_config(&self, test: &TestSettings) -> Result<SchedulerConfig, HostError> {
        let mut config = scheduler_config(&self.settings.run)?;
        if test.scenario == Scenario::Offline && self.plugin.dispatch == Dispatch::Batches {
            let effective = self.library.counts().effective_settings(test)?;
            let samples = effective.samples_per_query.max(self.library.total_sample_count());
            let samples = usize::try_from(samples).unwrap_or(usize::MAX);
            let limit = SchedulerConfig::QUEUE_CAPACITY_MAX;
            if samples > limit {
                return Err(PluginError::QueryTooLong { samples, limit }.into());
            }
            config.queue_capacity = config.queue_capacity.max(samples);
        }
        Ok(config)
    }

    /// Returns the maximum wait for a hanging plugin. It is longer for an isolated one, which is ended first.
    fn hang_limit(&self) -> Duration {
        let limit = self.watchdog_limit();
        if self.plugin.isolated.is_some() { loadgen_limit(limit) } else { limit }
    }

    fn watchdog_limit(&self) -> Duration {
        Duration::from_millis(self.settings.run.watchdog_ms)
    }
}

/// Returns the settings as an audit file leaves them.
fn audited(test: &TestSettings, audit_config: Option<&str>) -> TestSettings {
    let mut test = test.clone();
    if let Some(text) = audit_config {
        config_file::apply_audit(text, &mut test).expect("it was checked when it was read");
    }
    test
}

/// Returns the maximum number of tokens in the data of a response. Says nothing about tokens if all answers have one
/// length.
fn token_capacity(benchmark: &Benchmark) -> Option<TokenCapacity> {
    let (last, before) = benchmark.outputs.split_last().filter(|_| benchmark.last_output_varies)?;
    let before_bytes = before.iter().map(TensorSpec::size_bytes).sum();
    Some(TokenCapacity { before_bytes, element_bits: last.element_type.bits() })
}

/// Returns the number of threads that issue.
fn issuer_count(test: &TestSettings) -> usize {
    match test.scenario {
        Scenario::Server => usize::try_from(test.server_num_issue_query_threads.max(1)).unwrap_or(usize::MAX),
        _ => 1,
    }
}

fn boxed(instances: Vec<PluginInstance>) -> Vec<Box<dyn Instance>> {
    instances.into_iter().map(|instance| Box::new(instance) as Box<dyn Instance>).collect()
}

/// Returns the faults of the system. Samples that it failed above the peak that a search found are not among them: no
/// sample of the reported run failed.
fn faults_of<'a>(system: &'a SystemReport, outcome: &TestOutcome) -> impl Iterator<Item = Fault> + use<'a> {
    let peak_found = outcome.peak_search.as_ref().is_some_and(|search| search.peak_qps().is_some());
    let is_excused = move |fault: &Fault| peak_found && matches!(fault, Fault::Scheduler(..));
    system.faults.iter().filter(move |fault| !is_excused(fault)).cloned()
}
