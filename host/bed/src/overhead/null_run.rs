//! Runs the null plugin on the test bed of a run: the same path from the load generator through the plugin
//! table and back, with nothing at its end, so that only the harness is measured.

use std::{borrow::Cow, collections::BTreeMap};

use proctor_config::{Benchmark, IssueMode, Loader, Model as BenchmarkModel, QslCounts, Settings};
use proctor_datasets::{Dataset, DatasetError, RawSample};
use proctor_loadgen::{Progress, TestOutcome, TestSettings, WaitPolicy};
use proctor_noise::Noise;
// The plugin registers itself; the linker keeps it only if it is referenced.
use proctor_null as _;
use proctor_preprocess::{Pipeline, PreprocessError};
use proctor_vocabulary::{ElementType, SampleIndex, TensorSpec, TestMode};
use proctor_words::{CacheFolder, HostError, PluginError};

use crate::{
    clock::HostClock,
    interrupt::Interrupt,
    plugin::dispatch::Dispatch,
    sample_library::Data,
    test::TestRequest,
    test_bed::{Equipment, TestBed},
};

/// Number of samples in the library. Enough for a choice to cost as much as in a run.
pub(super) const SAMPLE_COUNT: u64 = 1024;
const NAME: &str = "null";

/// Performance run of the null plugin.
#[derive(Debug, Clone)]
pub struct NullRun {
    /// Settings of the load generator.
    pub settings: TestSettings,
    /// Way in which the plugin is given its work.
    pub dispatch: Dispatch,
    /// True if a thread of the plugin completes issued samples, instead of the issue call.
    pub on_thread: bool,
    /// Way in which the issuing thread waits.
    pub wait: WaitPolicy,
    /// Largest number of samples in a batch. Nothing waits for a batch to fill.
    pub batch_size: usize,
    /// Number of instances.
    pub instances: usize,
    /// True if the plugin has its own process.
    pub isolate: bool,
    /// With `isolate`: how long threads of both processes wait awake for each other, in us; `None` as in a run.
    pub isolate_spin_us: Option<u64>,
}

impl NullRun {
    /// Creates a run with these settings in which whole queries are completed inside the issue call.
    #[must_use]
    pub fn inline(settings: TestSettings) -> Self {
        Self {
            settings,
            dispatch: Dispatch::WholeQueries,
            on_thread: false,
            wait: WaitPolicy::default(),
            batch_size: 1,
            instances: 1,
            isolate: false,
            isolate_spin_us: None,
        }
    }

    /// Runs it, in real time.
    ///
    /// # Errors
    /// If it could not begin, or was interrupted, or a sample did not complete as it should.
    pub fn run(&self, interrupt: &Interrupt) -> Result<TestOutcome, HostError> {
        self.run_watched(interrupt, None)
    }

    /// Does the same as [`run`](Self::run); `follow` gets the progress of the run before it starts.
    pub fn run_watched(
        &self,
        interrupt: &Interrupt,
        follow: Option<&dyn Fn(Progress)>,
    ) -> Result<TestOutcome, HostError> {
        self.make(interrupt, TestRequest { follow, ..self.request() }).map(|(outcome, _)| outcome)
    }

    /// Does the same as [`run`](Self::run) with the noise guard running, and returns the guard's observations too.
    ///
    /// # Errors
    /// Same as [`run`](Self::run).
    pub fn run_guarded(&self, interrupt: &Interrupt) -> Result<(TestOutcome, Option<Noise>), HostError> {
        self.make(interrupt, TestRequest { is_guarded: true, ..self.request() })
    }

    fn request<'a>(&self) -> TestRequest<'a> {
        TestRequest::new(TestSettings { mode: TestMode::PerformanceOnly, ..self.settings.clone() })
    }

    fn make(
        &self,
        interrupt: &Interrupt,
        request: TestRequest<'_>,
    ) -> Result<(TestOutcome, Option<Noise>), HostError> {
        let test = self.on_bed(interrupt, |bed| bed.test(request))?;
        let (outcome, noise) = (test.outcome, test.noise);
        if outcome.interrupted.is_some() {
            return Err(HostError::Interrupted("the harness was measured"));
        }
        match outcome.violations.first() {
            Some(violation) => Err(PluginError::of(NAME, violation.to_string()).into()),
            None => Ok((outcome, noise)),
        }
    }

    /// Runs an action with the test bed of the run.
    ///
    /// # Errors
    /// Returns the errors of `act`, or why the plugin could not be opened.
    pub(super) fn on_bed<T>(
        &self,
        interrupt: &Interrupt,
        act: impl FnOnce(&TestBed<'_>) -> Result<T, HostError>,
    ) -> Result<T, HostError> {
        let settings = self.all_settings()?;
        let equipment = Equipment {
            data: Some(data(&settings.benchmark)),
            ..Equipment::new(HostClock::new(false, self.wait), CacheFolder::Absent)
        };
        act(&TestBed::open(&settings, equipment, interrupt)?)
    }

    /// Returns the settings of a run of the null plugin, independent of the user's.
    fn all_settings(&self) -> Result<Settings, HostError> {
        let mut settings = Loader::new().load()?;
        settings.benchmark = benchmark(&settings.benchmark);
        settings.test = self.settings.clone();
        settings.run.scenario = self.settings.scenario.into();
        NAME.clone_into(&mut settings.run.plugin);
        settings.run.issue = match self.dispatch {
            Dispatch::Batches => IssueMode::Never,
            Dispatch::WholeQueries => IssueMode::Always,
        };
        (settings.run.batch_size, settings.run.instances) = (self.batch_size, self.instances);
        settings.run.isolate = self.isolate;
        settings.run.isolate_spin_us = self.isolate_spin_us.unwrap_or(settings.run.isolate_spin_us);
        let complete = if self.on_thread { "thread" } else { "inline" };
        settings.plugin_options = BTreeMap::from([(format!("{NAME}.complete"), complete.to_owned())]);
        Ok(settings)
    }
}

/// Returns the benchmark of a model without a file that has one small input and one small output.
fn benchmark(benchmark: &Benchmark) -> Benchmark {
    Benchmark {
        model: BenchmarkModel { id: NAME.to_owned(), ..BenchmarkModel::default() },
        inputs: vec![number("input")],
        outputs: vec![number("output")],
        qsl: QslCounts { total_sample_count: SAMPLE_COUNT, performance_sample_count: SAMPLE_COUNT },
        ..benchmark.clone()
    }
}

fn number(name: &str) -> TensorSpec {
    TensorSpec { name: name.to_owned(), element_type: ElementType::F32, shape: vec![1] }
}

fn data(benchmark: &Benchmark) -> Data {
    let inputs = benchmark.inputs.clone();
    Data::made(Box::new(Zeros), Box::new(Copied(inputs.clone())), inputs, benchmark.qsl)
}

/// Data set of identical samples.
struct Zeros;

impl Dataset for Zeros {
    fn name(&self) -> &str {
        NAME
    }

    fn sample_count(&self) -> u64 {
        SAMPLE_COUNT
    }

    fn read(&self, _index: SampleIndex) -> Result<RawSample<'_>, DatasetError> {
        const BYTES: &[u8] = &[0; 4];
        Ok(RawSample {
            element_type: ElementType::F32,
            shape: Cow::Borrowed(&[1]),
            bytes: Cow::Borrowed(BYTES),
        })
    }
}

/// Pipeline that copies the sample unchanged.
struct Copied(Vec<TensorSpec>);

impl Pipeline for Copied {
    fn outputs(&self) -> &[TensorSpec] {
        &self.0
    }

    fn run(&self, sample: &RawSample<'_>, tensors: &mut [&mut [u8]]) -> Result<(), PreprocessError> {
        tensors.iter_mut().for_each(|tensor| tensor.copy_from_slice(&sample.bytes));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fmt::Debug,
        sync::{
            Arc,
            atomic::{AtomicU64, Ordering::Relaxed},
        },
    };

    use parking_lot::Mutex;
    use proctor_loadgen::{Clock, RealClock};
    use proctor_vocabulary::Scenario;
    use proctor_words::spans::{BEGIN_NS, END_NS};
    use tracing::{
        Event, Metadata, Subscriber,
        field::{Field, Visit},
        span::{Attributes, Id, Record},
    };

    use super::*;
    use crate::overhead::floor::tests::Nobody;

    /// Notes each call of `tracing`, of any thread and level, with its instant on the clock of spans.
    #[derive(Debug, Clone, Default)]
    struct Witness {
        clock: Arc<RealClock>,
        span_count: Arc<AtomicU64>,
        seen: Arc<Mutex<Seen>>,
    }

    #[derive(Debug, Default)]
    struct Seen {
        calls: Vec<(u64, String)>,
        /// Beginnings and ends of the timed parts.
        timed_parts: Vec<(u64, u64)>,
    }

    #[derive(Default)]
    struct Instants {
        begin_ns: u64,
        end_ns: u64,
    }

    impl Witness {
        fn note(&self, call: String) {
            let now_ns = self.clock.origin_ns() + self.clock.now_ns();
            self.seen.lock().calls.push((now_ns, call));
        }
    }

    impl Subscriber for Witness {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, attributes: &Attributes<'_>) -> Id {
            let name = attributes.metadata().name();
            self.note(format!("new span {name}"));
            if name == "timed part" {
                let mut instants = Instants::default();
                attributes.record(&mut instants);
                self.seen.lock().timed_parts.push((instants.begin_ns, instants.end_ns));
            }
            Id::from_u64(1 + self.span_count.fetch_add(1, Relaxed))
        }

        fn record(&self, span: &Id, _: &Record<'_>) {
            self.note(format!("record of {span:?}"));
        }

        fn record_follows_from(&self, span: &Id, _: &Id) {
            self.note(format!("predecessor of {span:?}"));
        }

        fn event(&self, event: &Event<'_>) {
            self.note(format!("{event:?}"));
        }

        fn enter(&self, span: &Id) {
            self.note(format!("enter {span:?}"));
        }

        fn exit(&self, span: &Id) {
            self.note(format!("exit {span:?}"));
        }

        fn try_close(&self, span: Id) -> bool {
            self.note(format!("close {span:?}"));
            true
        }
    }

    impl Visit for Instants {
        fn record_u64(&mut self, field: &Field, value: u64) {
            match field.name() {
                BEGIN_NS => self.begin_ns = value,
                END_NS => self.end_ns = value,
                _ => {}
            }
        }

        fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}
    }

    // The only one of this process, as tests have one each, so that it hears all threads.
    #[test]
    fn no_span_or_event_comes_while_queries_are_under_way() {
        let witness = Witness::default();
        tracing::subscriber::set_global_default(witness.clone()).unwrap();
        let ways = [
            (Scenario::SingleStream, Dispatch::Batches, false),
            (Scenario::SingleStream, Dispatch::WholeQueries, true),
            (Scenario::MultiStream, Dispatch::Batches, false),
            (Scenario::Server, Dispatch::Batches, false),
            (Scenario::Server, Dispatch::WholeQueries, true),
            (Scenario::Offline, Dispatch::Batches, false),
        ];
        for (scenario, dispatch, on_thread) in ways {
            let settings = TestSettings {
                scenario,
                min_query_count: 200,
                min_duration_ms: 20,
                server_target_qps: 5000.0,
                ..TestSettings::default()
            };
            let null_run =
                NullRun { dispatch, on_thread, batch_size: 4, instances: 2, ..NullRun::inline(settings) };
            let folder = tempfile::tempdir().unwrap();
            // Includes everything that accompanies a real run.
            let test = |bed: &TestBed<'_>| {
                bed.test(TestRequest { folder: Some(folder.path()), is_guarded: true, ..null_run.request() })
            };
            let interrupt = Interrupt::never(Arc::new(Nobody));
            let outcome = null_run.on_bed(&interrupt, test).unwrap().outcome;
            assert!(outcome.phases[0].record.issued_query_count > 0, "{scenario}");
        }
        let seen = witness.seen.lock();
        assert_eq!(seen.timed_parts.len(), ways.len());
        for (begin_ns, end_ns) in &seen.timed_parts {
            assert!(begin_ns < end_ns);
            let during = seen.calls.iter().filter(|(at_ns, _)| (begin_ns..=end_ns).contains(&at_ns));
            assert_eq!(during.collect::<Vec<_>>(), Vec::<&(u64, String)>::new());
            assert!(seen.calls.iter().any(|(at_ns, _)| at_ns < begin_ns));
            assert!(seen.calls.iter().any(|(at_ns, _)| at_ns > end_ns));
        }
    }

    #[test]
    fn whole_queries_of_offline_may_be_longer_than_any_queue() {
        let settings = TestSettings {
            scenario: Scenario::Offline,
            min_query_count: 1_000_000_000,
            min_duration_ms: 0,
            ..TestSettings::default()
        };
        let run = |dispatch| {
            // Asked to stop before it starts, it issues nothing, but is prepared.
            let interrupt = Interrupt::never(Arc::new(Nobody));
            interrupt.measuring();
            interrupt.signal();
            let null_run = NullRun { dispatch, ..NullRun::inline(settings.clone()) };
            null_run.run(&interrupt).unwrap_err().to_string()
        };
        assert_eq!(run(Dispatch::WholeQueries), "interrupted while the harness was measured");
        let refused = run(Dispatch::Batches);
        assert!(refused.starts_with("the Offline query of 1000000000 samples is longer than"), "{refused}");
    }
}
