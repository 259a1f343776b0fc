//! One test: instances made and warmed up, the load generator run over them, the logs written.

use std::{
    cell::Cell,
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use chrono::{DateTime, Local};
use proctor_config::{RunSettings, Settings};
use proctor_loadgen::{
    Clock, EffectiveSettings, Finding, LoadGen, LoadGenError, LoadGenOptions, LogOutputSettings, Progress,
    QuerySampleLibrary, RealClock, Remedy, Rule, TestOutcome, TestSettings, VirtualClock, WaitPolicy,
    config_file, log::LogIdentity,
};
use proctor_plugin_api::abi::ProctorStamps;
use proctor_plugin_host::Model;
use proctor_scheduler::{Instance, SchedulerConfig, SimulatedScheduler, ThreadedScheduler};
use proctor_vocabulary::{CompletionSink, SampleIndex, Scenario, TestMode};

use crate::{
    bed::{
        advice::advice,
        call_watchdog::{Call, Watchdog},
        placement::Placement,
        plugin::{Dispatch, Plugin},
        progress_line::ProgressLine,
        sample_library::Library,
        system::{PluginInstance, StampLog, System, SystemReport, WholeQueries},
        watch::{Watch, WatchedSystem},
    },
    error::HostError,
    files::{
        journal::{Journal, SAMPLES},
        run_folder::{output, write_whole},
    },
    interrupt::Interrupt,
};

/// How long a hung instance is waited for once the test has given it up.
const HUNG_LIMIT: Duration = Duration::from_secs(1);

type BoxedInstances = Vec<Box<dyn Instance>>;

/// The clock of a run.
#[derive(Clone)]
pub(crate) enum HostClock {
    Real(Arc<RealClock>),
    Virtual(Arc<VirtualClock>),
}

impl HostClock {
    /// A clock at 0. Only real time is waited for in the way of `policy`.
    pub(crate) fn new(is_virtual: bool, policy: WaitPolicy) -> Self {
        if is_virtual {
            Self::Virtual(Arc::default())
        } else {
            Self::Real(Arc::new(RealClock::with_policy(policy)))
        }
    }

    /// What plugins are told when they ask for the time.
    pub(crate) fn reader(&self) -> Arc<dyn Fn() -> u64 + Send + Sync> {
        match self.clone() {
            Self::Real(clock) => Arc::new(move || clock.now_ns()),
            Self::Virtual(clock) => Arc::new(move || clock.now_ns()),
        }
    }
}

/// Everything that a test needs, ready.
pub struct TestBed<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) clock: HostClock,
    pub(crate) plugin: Plugin,
    pub(crate) model: Model,
    pub(crate) library: Library,
    pub(crate) watchdog: Watchdog,
    pub(crate) interrupt: Interrupt,
    /// What overrides settings of the performance run.
    pub(crate) audit_config: Option<String>,
    /// Phases that the plugin has been through: its late responses must not be taken for those of a later test.
    pub(crate) phase_count: Cell<u64>,
    /// Where instances note what the plugin says of each batch, if somebody wants to know.
    pub(crate) stamps: Option<StampLog>,
}

/// A test that has been made.
pub(crate) struct Test {
    pub(crate) outcome: TestOutcome,
    /// Where its logs are; empty if there are none.
    pub(crate) folder: PathBuf,
    pub(crate) system: SystemReport,
    /// Whether the plugin is left alone: it hangs, or has not completed what it was given.
    pub(crate) is_abandoned: bool,
    /// What could not be written, if anything.
    pub(crate) write_error: Option<HostError>,
}

impl Test {
    /// Whether another test makes sense.
    pub(crate) fn may_go_on(&self) -> bool {
        self.outcome.interrupted.is_none() && !self.is_abandoned && self.write_error.is_none()
    }
}

impl TestBed<'_> {
    /// Makes a test in this mode, with its logs in `folder`, which exists.
    ///
    /// # Errors
    /// If it could not begin. What goes wrong later is in the outcome.
    pub(crate) fn test(&self, mode: TestMode, folder: &Path) -> Result<Test, HostError> {
        let settings = TestSettings { mode, ..self.settings.test.clone() };
        self.test_with(settings, Some(folder), None)
    }

    /// Makes a test that leaves nothing on the disk or the screen, only its outcome. `follow` gets its progress before it
    /// starts.
    ///
    /// # Errors
    /// If it could not begin.
    pub(crate) fn test_silently(&self, mode: TestMode, follow: &dyn Fn(Progress)) -> Result<Test, HostError> {
        let settings = TestSettings { mode, ..self.settings.test.clone() };
        self.test_in(Wanted { settings, folder: None, watch: None, warms_up: true }, follow)
    }

    /// Makes a test with other settings; without logs if there is no folder for them. The `watch` may end it early.
    ///
    /// # Errors
    /// As of [`test`](Self::test).
    pub(crate) fn test_with(
        &self,
        settings: TestSettings,
        folder: Option<&Path>,
        watch: Option<&dyn Watch>,
    ) -> Result<Test, HostError> {
        self.test_in(Wanted { settings, folder, watch, warms_up: true }, &|_| ())
    }

    /// Makes a test that leaves nothing on the disk; `warms_up` says whether instances run a batch before it.
    ///
    /// # Errors
    /// If it could not begin.
    pub fn measure(&self, settings: TestSettings, warms_up: bool) -> Result<TestOutcome, HostError> {
        let wanted = Wanted { settings, folder: None, watch: None, warms_up };
        Ok(self.test_in(wanted, &|_| ())?.outcome)
    }

    /// The model that the plugin has loaded.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The samples.
    #[must_use]
    pub fn library(&self) -> &dyn QuerySampleLibrary {
        &self.library
    }

    /// The figures of the plugin's own.
    #[must_use]
    pub fn plugin_metrics(&self) -> BTreeMap<String, f64> {
        self.plugin.backend.metrics()
    }

    /// The stamps of the batches since the last call. Room is kept for `room` further ones.
    #[must_use]
    pub fn take_stamps(&self, room: usize) -> Vec<ProctorStamps> {
        self.stamps.as_ref().map_or_else(Vec::new, |stamps| stamps.take(room))
    }

    fn test_in(&self, wanted: Wanted<'_>, follow: &dyn Fn(Progress)) -> Result<Test, HostError> {
        let folder = wanted.folder;
        match &self.clock {
            HostClock::Real(clock) => self.test_on(clock, wanted, |make| {
                follow(make.progress.clone());
                let journal =
                    folder.map(|folder| Journal::start(folder, make.progress.clone())).transpose()?;
                Ok((self.real_system(clock, make)?, journal))
            }),
            // A journal would be written by the wall clock.
            HostClock::Virtual(clock) => {
                self.test_on(clock, wanted, |make| Ok((self.virtual_system(clock, make)?, None)))
            }
        }
    }

    fn test_on<C: Clock>(
        &self,
        clock: &Arc<C>,
        wanted: Wanted<'_>,
        make_system: impl FnOnce(Make) -> Result<(System, Option<Journal>), HostError>,
    ) -> Result<Test, HostError> {
        let Wanted { settings, folder, watch, warms_up } = wanted;
        // An accuracy run is the same in an audit, or there would be nothing to compare.
        let audit_config = self.audit_config.clone().filter(|_| settings.mode != TestMode::AccuracyOnly);
        let config = self.scheduler_config(&settings, audit_config.as_deref())?;
        let placement = self.placement(&settings);
        let instances = self.instances(&placement)?;
        let (instances, mut problems) = self.warm_up(instances, warms_up)?;
        let options = LoadGenOptions {
            watchdog_ms: self.settings.run.watchdog_ms,
            earlier_phase_count: self.phase_count.get(),
            audit_config,
            enable_trace: self.settings.run.enable_trace && folder.is_some(),
            ..LoadGenOptions::default()
        };
        let issuer_count = settings.server_num_issue_query_threads;
        let loadgen = LoadGen::new(settings, Arc::clone(clock), options);
        let progress = loadgen.progress();
        let identity = identity(clock.is_virtual());
        self.plugin.backend.set_sink(Some(loadgen.sink()));
        self.library.watch(progress.clone());
        self.watchdog.follow(progress.clone());
        let make = Make { config, instances, sink: loadgen.sink(), progress: progress.clone(), issuer_count };
        let (system, journal) = make_system(make)?;
        let is_shown = folder.is_some() || watch.is_some();
        let line = is_shown.then(|| ProgressLine::start(progress.clone(), self.settings.run.scenario));
        let fault_count = self.plugin.backend.faults().len();
        self.interrupt.testing(loadgen.stop_handle());

        // Only now: threads that were started before are none of the issuing thread's.
        let held = placement.hold_issuer();
        let outcome = match watch {
            None => loadgen.run(system.sut(), &self.library),
            Some(watch) => {
                let stop = loadgen.stop_handle();
                loadgen.run(&WatchedSystem { system: system.sut(), watch, progress, stop }, &self.library)
            }
        };

        drop(held);
        self.interrupt.writing();
        if let Some(line) = line {
            line.stop();
        }
        if let Some(journal) = journal {
            journal.stop();
        }
        let mut outcome = outcome?;
        self.phase_count.update(|count| count + outcome.phases.len() as u64);
        let is_abandoned = self.library.is_abandoned();
        let limit = if is_abandoned { HUNG_LIMIT } else { self.watchdog_limit() };
        let system = system.end(limit);
        problems.extend(problems_of(&system, &outcome));
        problems.extend(self.plugin.backend.faults().into_iter().skip(fault_count));
        for problem in problems {
            make_invalid(&mut outcome, problem);
        }
        let write_error =
            folder.and_then(|folder| write_logs(&outcome, folder, &identity, &self.settings.run).err());
        let is_abandoned = is_abandoned || system.hangs;
        let folder = folder.map(Path::to_owned).unwrap_or_default();
        Ok(Test { outcome, folder, system, is_abandoned, write_error })
    }

    /// Where instances and the issuing thread are to be; nowhere in particular for a plugin that takes whole queries.
    fn placement(&self, settings: &TestSettings) -> Placement {
        let issuer_count = usize::try_from(settings.server_num_issue_query_threads).unwrap_or(usize::MAX);
        match self.plugin.dispatch {
            Dispatch::Batches => Placement::new(self.settings, self.settings.run.instances, issuer_count),
            Dispatch::WholeQueries => Placement::default(),
        }
    }

    fn real_system(&self, clock: &Arc<RealClock>, make: Make) -> Result<System, HostError> {
        let name = self.plugin.title();
        match self.plugin.dispatch {
            Dispatch::Batches => {
                let clock = Arc::clone(clock);
                Ok(System::Threaded(ThreadedScheduler::start(
                    name,
                    &make.config,
                    make.instances,
                    make.sink,
                    clock,
                )?))
            }
            Dispatch::WholeQueries => {
                let (model, flush) = (self.model.clone(), self.library.flush().clone());
                let watchdog = self.watchdog.clone();
                let Make { sink, progress, issuer_count, .. } = make;
                let queries = WholeQueries::new(name, model, sink, progress, flush, watchdog, issuer_count);
                Ok(System::Whole(queries))
            }
        }
    }

    fn virtual_system(&self, clock: &Arc<VirtualClock>, make: Make) -> Result<System, HostError> {
        let (name, clock) = (self.plugin.title(), Arc::clone(clock));
        let scheduler = SimulatedScheduler::new(name, &make.config, make.instances, make.sink, clock)?;
        Ok(System::Simulated(scheduler))
    }

    fn instances(&self, placement: &Placement) -> Result<Vec<PluginInstance>, HostError> {
        let count = match self.plugin.dispatch {
            Dispatch::Batches => u32::try_from(self.settings.run.instances).expect("settings allow 1024"),
            Dispatch::WholeQueries => 0,
        };
        let make = |number| {
            let cpus = placement.of_instance(number as usize).to_vec();
            let create = || self.model.create_instance_on(number, &cpus);
            let instance = self.watchdog.during(Call::CreateInstance, create)?;
            Ok(PluginInstance {
                instance,
                watchdog: self.watchdog.clone(),
                cpus,
                stamps: self.stamps.clone(),
            })
        };
        (0..count).map(make).collect()
    }

    /// Has each instance run some batches, and returns what went wrong: the test is made all the same, and tells more.
    /// In virtual time there is nothing to warm up.
    fn warm_up(
        &self,
        mut instances: Vec<PluginInstance>,
        warms_up: bool,
    ) -> Result<(BoxedInstances, Vec<String>), HostError> {
        let RunSettings { warm_up_batches, batch_size, .. } = self.settings.run;
        let mut problems = Vec::new();
        if warms_up
            && warm_up_batches > 0
            && !instances.is_empty()
            && matches!(self.clock, HostClock::Real(_))
        {
            let sample_count = self.library.performance_sample_count();
            let samples: Vec<_> = (0..sample_count).take(batch_size).map(SampleIndex).collect();
            let warm_up = |instance: &mut PluginInstance| {
                for _ in 0..warm_up_batches {
                    self.watchdog.during(Call::WarmUp, || instance.instance.warm_up(&samples))?;
                }
                Ok::<_, proctor_plugin_host::PluginHostError>(())
            };
            let prepared = self.library.with_prepared(&samples, || {
                let failed = instances.iter_mut().filter_map(|instance| warm_up(instance).err());
                problems.extend(failed.map(|error| format!("an instance failed to warm up: {error}")));
            });
            let sample_count = samples.len();
            let library = self.library.name().to_owned();
            prepared.map_err(|source| LoadGenError::Load { library, sample_count, source })?;
        }
        let boxed = instances.into_iter().map(|instance| Box::new(instance) as Box<dyn Instance>);
        Ok((boxed.collect(), problems))
    }

    /// The scheduler's settings. For Offline the queue has to hold the one query.
    fn scheduler_config(
        &self,
        test: &TestSettings,
        audit_config: Option<&str>,
    ) -> Result<SchedulerConfig, HostError> {
        let mut test = test.clone();
        if let Some(text) = audit_config {
            config_file::apply_audit(text, &mut test).expect("it was checked when it was read");
        }
        let mut config = scheduler_config(&self.settings.run)?;
        if test.scenario == Scenario::Offline {
            let (performance, total) =
                (self.library.performance_sample_count(), self.library.total_sample_count());
            let (effective, _) =
                EffectiveSettings::new(&test, performance, total).map_err(LoadGenError::Settings)?;
            let samples = usize::try_from(effective.samples_per_query.max(total)).unwrap_or(usize::MAX);
            config.queue_capacity = config.queue_capacity.max(samples);
            config.validate()?;
        }
        Ok(config)
    }

    fn watchdog_limit(&self) -> Duration {
        Duration::from_millis(self.settings.run.watchdog_ms)
    }
}

/// The scheduler's settings as they were given, checked.
///
/// # Errors
/// If the policy is unknown or a number is out of range.
pub(crate) fn scheduler_config(run: &RunSettings) -> Result<SchedulerConfig, HostError> {
    let config = SchedulerConfig {
        policy: run.policy.clone(),
        batch_size: run.batch_size,
        instances: run.instances,
        batch_timeout_us: run.batch_timeout_us,
        queue_capacity: run.queue_capacity.max(run.batch_size),
    };
    config.validate()?;
    Ok(config)
}

/// What kind of test it is to be.
struct Wanted<'a> {
    settings: TestSettings,
    folder: Option<&'a Path>,
    watch: Option<&'a dyn Watch>,
    /// Whether instances run some batches before it.
    warms_up: bool,
}

/// What a system is made of.
struct Make {
    config: SchedulerConfig,
    instances: BoxedInstances,
    sink: Arc<dyn CompletionSink>,
    progress: Progress,
    /// How many threads issue, as it is set.
    issuer_count: u64,
}

/// What the system's own figures say against the test. Samples that it failed above the peak that a search found are
/// not among it: no sample of the reported run failed.
fn problems_of(system: &SystemReport, outcome: &TestOutcome) -> Vec<String> {
    let peak_found = outcome.peak_search.as_ref().is_some_and(|search| search.peak_qps().is_some());
    let excused = system.statistics.as_ref().filter(|_| peak_found).map(|statistics| statistics.problems());
    let excused = excused.unwrap_or_default();
    system.problems.iter().filter(|problem| !excused.contains(problem)).cloned().collect()
}

/// Adds a reason that the load generator does not know of, so that its logs say the same as the verdict.
fn make_invalid(outcome: &mut TestOutcome, reason: String) {
    outcome.verdict.valid = false;
    outcome.verdict.reasons.push(reason.clone());
    outcome.findings.push(Finding::stated(Rule::Other, reason.clone(), advice(&reason).map(Remedy::Do)));
    if let Some(phase) = outcome.phases.last_mut() {
        phase.record.violations.push(reason.clone());
    }
    if let Some(result) = &mut outcome.performance {
        result.valid = false;
        result.reasons.push(reason.clone());
        result.violations.push(reason);
    }
}

/// Writes what it can: the samples even if there is no room for the logs.
fn write_logs(
    outcome: &TestOutcome,
    folder: &Path,
    identity: &LogIdentity,
    run: &RunSettings,
) -> Result<(), HostError> {
    let samples = write_whole(&folder.join(SAMPLES), |out| outcome.write_samples(out));
    // Names and place are fixed: whoever reads a run folder looks for them.
    let settings = LogOutputSettings {
        outdir: folder.to_owned(),
        copy_summary_to_stdout: run.copy_summary_to_stdout,
        copy_detail_to_stdout: run.copy_detail_to_stdout,
        ..LogOutputSettings::default()
    };
    let written = outcome.write_logs_as(&settings, identity, &mut std::io::stdout());
    let logs = written.map_err(|source| output(folder, source));
    logs.and(samples)
}

/// Who wrote the logs and when; nobody and never in virtual time, so that they are the same again.
fn identity(is_virtual: bool) -> LogIdentity {
    let (pid, now) = match is_virtual {
        true => (0, DateTime::UNIX_EPOCH.naive_utc()),
        false => (std::process::id(), Local::now().naive_local()),
    };
    let since_1970 = if is_virtual { Duration::ZERO } else { since_1970() };
    LogIdentity {
        pid,
        // The load generator runs on the main thread, whose id is that of the process.
        tid: pid.into(),
        test_datetime: now.format("%Y-%m-%dT%H:%M:%SZ").to_string(),
        start_unix_ms: u64::try_from(since_1970.as_millis()).unwrap_or(0),
    }
}

/// Zero on a machine whose clock stands before 1970.
fn since_1970() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}
