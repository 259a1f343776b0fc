//! Tests that another engine drives: one that draws as the official LoadGen does, and takes each id once.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

use proctor_loadgen::{
    BareLibrary, EffectiveSettings, LoadGen, LoadGenError, LoadGenOptions, PhaseMode, QueryGenerator,
    RealClock, Rule, SystemUnderTest, TestOutcome, TestSettings, ViolationKind,
    engine::{Engine, EngineCalls, EngineError, EngineResponse, EngineTest},
    phases,
};
use proctor_vocabulary::{
    CompletionSink, QuerySample, QuerySampleResponse, ResponseId, SampleStatus, Scenario, TestMode,
};

/// Limit of everything that should end: far longer than it takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// An engine that issues what the settings give.
#[derive(Debug, Default)]
struct PlainEngine {
    /// Data that each outstanding sample got, by its id; `None` before.
    samples: Mutex<HashMap<u64, Option<Vec<u8>>>>,
    changed: Condvar,
    next_id: AtomicU64,
    /// Completions of ids that were unknown, or complete: the official LoadGen would crash.
    wrong_count: AtomicU64,
    /// True if the fourth sample of a phase is another than the settings give.
    swaps: bool,
    has_ended: AtomicBool,
    refusal: Option<&'static str>,
    /// Samples whose first token it has.
    first_tokens: Mutex<HashSet<u64>>,
    race: Option<Arc<Race>>,
}

/// A first token that the engine takes as long as the same sample is completed on another thread.
#[derive(Debug, Default)]
struct Race {
    begun_count: AtomicU64,
    completed_count: AtomicU64,
}

impl Race {
    /// Waits until as many samples were completed as first tokens were begun.
    fn wait_for_completion(&self) {
        let number = self.begun_count.fetch_add(1, SeqCst) + 1;
        wait_until(|| self.completed_count.load(SeqCst) >= number);
    }

    /// Reports the first token on a thread of its own, and meanwhile the completion.
    fn run(&self, sink: &dyn CompletionSink, response: QuerySampleResponse<'_>) {
        let number = self.begun_count.load(SeqCst);
        thread::scope(|scope| {
            scope.spawn(|| sink.first_token(&[response]));
            wait_until(|| self.begun_count.load(SeqCst) > number);
            sink.complete(&[response]);
            self.completed_count.store(number + 1, SeqCst);
        });
    }
}

fn wait_until(condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < PATIENCE, "it does not come");
        thread::yield_now();
    }
}

impl PlainEngine {
    fn wait_for_all(&self) {
        let samples = self.samples.lock().unwrap();
        let is_open = |samples: &mut HashMap<u64, Option<Vec<u8>>>| samples.values().any(Option::is_none);
        drop(self.changed.wait_while(samples, is_open).unwrap());
    }

    /// The data of all samples, in the order of their issue.
    fn data(&self) -> Vec<Vec<u8>> {
        let samples = self.samples.lock().unwrap();
        let mut all: Vec<_> = samples.iter().collect();
        all.sort_by_key(|(id, _)| **id);
        all.into_iter().map(|(_, data)| data.clone().expect("it is complete")).collect()
    }
}

impl Engine for PlainEngine {
    fn run(&self, test: &EngineTest, calls: Arc<dyn EngineCalls>) -> Result<(), EngineError> {
        if let Some(refusal) = self.refusal {
            return Err(EngineError(refusal.to_owned()));
        }
        let counts = (test.performance_sample_count, test.total_sample_count);
        let (settings, _) = EffectiveSettings::new(&test.settings, counts.0, counts.1).unwrap();
        for plan in phases(&settings) {
            let indices: Vec<_> = plan.set.indices.iter().map(|index| index.0).collect();
            calls.load(&indices);
            let mut queries = QueryGenerator::new(&settings, &plan);
            let start = Instant::now();
            let (mut issued, mut sequence) = (0, 0);
            while let Some(query) = queries.next_query() {
                match settings.request.scenario {
                    Scenario::Server => {
                        let due = start + Duration::from_nanos(query.offset_ns);
                        thread::sleep(due.saturating_duration_since(Instant::now()));
                    }
                    Scenario::SingleStream | Scenario::MultiStream => self.wait_for_all(),
                    Scenario::Offline => {}
                }
                let mut indices: Vec<_> = queries.samples().map(|index| index.0).collect();
                if self.swaps && (sequence..sequence + indices.len()).contains(&3) {
                    indices[3 - sequence] = (indices[3 - sequence] + 1) % counts.1;
                }
                sequence += indices.len();
                let first = self.next_id.fetch_add(indices.len() as u64, SeqCst);
                let ids: Vec<_> = (first..).take(indices.len()).map(|number| 0x7000 + 64 * number).collect();
                self.samples.lock().unwrap().extend(ids.iter().map(|id| (*id, None)));
                calls.issue(&ids, &indices);
                issued += 1;
                let is_performance = plan.mode == PhaseMode::Performance;
                let is_long_enough = start.elapsed().as_millis() as u64 >= settings.target_duration_ms;
                let may_end = settings.request.scenario != Scenario::Server && is_performance;
                if may_end && is_long_enough && issued >= settings.min_query_count {
                    break;
                }
            }
            calls.flush();
            self.wait_for_all();
            calls.unload(&indices);
        }
        self.has_ended.store(true, SeqCst);
        Ok(())
    }

    fn complete(&self, responses: &[EngineResponse<'_>]) {
        let mut samples = self.samples.lock().unwrap();
        for response in responses {
            if self.race.is_some() && !self.first_tokens.lock().unwrap().contains(&response.id) {
                self.wrong_count.fetch_add(1, SeqCst);
            }
            match samples.get_mut(&response.id) {
                Some(data @ None) => *data = Some(response.data.to_vec()),
                _ => _ = self.wrong_count.fetch_add(1, SeqCst),
            }
        }
        drop(samples);
        self.changed.notify_all();
    }

    fn first_tokens(&self, responses: &[EngineResponse<'_>]) {
        if let Some(race) = &self.race {
            race.wait_for_completion();
        }
        self.first_tokens.lock().unwrap().extend(responses.iter().map(|response| response.id));
    }
}

/// Treatment of a sample by a system.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Manner {
    Once,
    Twice,
    /// And another one with an id that nobody gave.
    Invented,
    /// The sample with this index fails.
    Fails(u64),
    /// The sample with this sequence number is never completed.
    Keeps(u64),
}

struct Direct {
    sink: Arc<dyn CompletionSink>,
    manner: Manner,
    flush_count: AtomicU64,
    race: Option<Arc<Race>>,
}

impl SystemUnderTest for Direct {
    fn name(&self) -> &str {
        "direct"
    }

    fn issue(&self, samples: &[QuerySample]) {
        for sample in samples {
            let data = sample.index.0.to_le_bytes();
            let status = match self.manner {
                Manner::Fails(index) if index == sample.index.0 => SampleStatus::FAILED,
                _ => SampleStatus::OK,
            };
            let token_count = if self.race.is_some() { 5 } else { 0 };
            let response = QuerySampleResponse { id: sample.id, status, data: &data, token_count };
            match self.manner {
                _ if self.race.is_some() => self.race.iter().for_each(|race| race.run(&*self.sink, response)),
                Manner::Keeps(sequence) if sample.id.0 & 0xffff == sequence => {}
                Manner::Twice => self.sink.complete(&[response, response]),
                Manner::Invented => {
                    self.sink.complete(&[response]);
                    self.sink.complete(&[QuerySampleResponse { id: ResponseId(0x7000), ..response }]);
                }
                _ => self.sink.complete(&[response]),
            }
        }
    }

    fn flush(&self) {
        self.flush_count.fetch_add(1, SeqCst);
    }
}

struct Bed {
    loadgen: LoadGen<RealClock>,
    engine: Arc<PlainEngine>,
    system: Arc<Direct>,
    test: EngineTest,
    library: BareLibrary,
}

impl Bed {
    fn new(settings: TestSettings, manner: Manner) -> Self {
        Self::with(settings, manner, PlainEngine::default())
    }

    fn with(settings: TestSettings, manner: Manner, engine: PlainEngine) -> Self {
        let library = BareLibrary { performance_sample_count: 4, ..BareLibrary::of(10) };
        let engine = Arc::new(engine);
        let options = LoadGenOptions { watchdog_ms: 300, ..LoadGenOptions::default() };
        let loadgen = LoadGen::new(settings.clone(), Arc::new(RealClock::new()), options);
        let loadgen = loadgen.with_engine(Arc::clone(&engine) as Arc<dyn Engine>);
        let race = engine.race.clone();
        let system = Arc::new(Direct { sink: loadgen.sink(), manner, flush_count: AtomicU64::new(0), race });
        let test = EngineTest {
            settings,
            user_configs: Vec::new(),
            model: "none".to_owned(),
            audit_config: None,
            module: None,
            total_sample_count: library.total_sample_count,
            performance_sample_count: library.performance_sample_count,
            folder: "nowhere".into(),
            enable_trace: false,
        };
        Self { loadgen, engine, system, test, library }
    }

    fn run(&self) -> Result<TestOutcome, LoadGenError> {
        let system = Arc::clone(&self.system) as Arc<dyn SystemUnderTest + Send>;
        self.loadgen.run_by_engine(self.test.clone(), &system, &self.library)
    }

    fn outcome(&self) -> TestOutcome {
        let outcome = self.run().unwrap();
        assert_eq!(self.engine.wrong_count.load(SeqCst), 0, "the official LoadGen would have crashed");
        outcome
    }
}

fn settings(scenario: Scenario) -> TestSettings {
    TestSettings {
        scenario,
        min_duration_ms: 0,
        min_query_count: 50,
        multi_stream_samples_per_query: 3,
        server_target_qps: 5000.0,
        // Far above what a busy machine needs.
        server_target_latency_ns: 10_000_000_000,
        ..TestSettings::default()
    }
}

fn rules(outcome: &TestOutcome) -> Vec<Rule> {
    outcome.broken().iter().map(|finding| finding.rule).collect()
}

#[test]
fn a_test_of_each_scenario_has_every_sample_once() {
    for scenario in Scenario::ALL {
        let bed = Bed::new(settings(*scenario), Manner::Once);
        let outcome = bed.outcome();
        let phase = &outcome.phases[0];
        let record = &phase.record;
        assert!(bed.engine.has_ended.load(SeqCst) && !outcome.is_left_behind, "{scenario}");
        assert_eq!(phase.wrong_samples, None, "{scenario}");
        let sample_count = record.issued_query_count * record.generated.samples_per_query;
        assert_eq!(
            (record.issued_sample_count, outcome.samples().count() as u64),
            (sample_count, sample_count)
        );
        assert!(outcome.samples().all(|sample| sample.answered_latency_ns().is_some()), "{scenario}");
        let of_figures = |rule: &Rule| !rule.is_about_length();
        assert!(rules(&outcome).iter().all(|rule| !of_figures(rule)), "{scenario}: {:?}", outcome.reasons());
        assert_eq!(bed.system.flush_count.load(SeqCst), 1);
        assert_eq!(bed.engine.data().len() as u64, sample_count);
    }
}

#[test]
fn latency_of_server_counts_from_the_scheduled_instant() {
    let bed = Bed::new(settings(Scenario::Server), Manner::Once);
    let outcome = bed.outcome();
    let plans = phases(&outcome.effective);
    let mut queries = QueryGenerator::new(&outcome.effective, &plans[0]);
    let offsets = std::iter::from_fn(|| queries.next_query()).map(|query| query.offset_ns);
    assert!(outcome.samples().map(|sample| sample.scheduled_ns).eq(offsets));
    // Each was completed after it was due, whatever the first query has taken.
    assert!(
        outcome.samples().all(|sample| sample.answered_latency_ns().is_some_and(|ns| ns < 10_000_000_000))
    );
}

#[test]
fn an_accuracy_run_answers_for_every_set() {
    for (mode, phase_count) in [(TestMode::AccuracyOnly, 3), (TestMode::SubmissionRun, 4)] {
        let bed = Bed::new(TestSettings { mode, ..settings(Scenario::SingleStream) }, Manner::Once);
        let outcome = bed.outcome();
        assert_eq!(outcome.phases.len(), phase_count);
        let accuracy = &outcome.accuracy[..10];
        assert!(accuracy.iter().all(|record| record.data == record.index.0.to_le_bytes()));
        let mut indices: Vec<_> = accuracy.iter().map(|record| record.index.0).collect();
        let answers: Vec<_> = indices.iter().map(|index| index.to_le_bytes().to_vec()).collect();
        assert_eq!(bed.engine.data()[..10], answers, "the engine has the same, in the same order");
        indices.sort_unstable();
        assert!(indices.into_iter().eq(0..10));
        assert!(outcome.phases.iter().all(|phase| phase.wrong_samples.is_none()));
    }
}

#[test]
fn completions_against_the_rules_do_not_reach_the_engine() {
    for (manner, kind) in
        [(Manner::Twice, ViolationKind::Duplicate), (Manner::Invented, ViolationKind::UnknownId)]
    {
        let bed = Bed::new(settings(Scenario::SingleStream), manner);
        let outcome = bed.outcome();
        assert_eq!(outcome.violation_count(kind), outcome.samples().count() as u64);
        assert!(!outcome.is_valid());
    }
}

#[test]
fn a_first_token_reaches_the_engine_before_the_completion_that_meets_it() {
    let engine = PlainEngine { race: Some(Arc::default()), ..PlainEngine::default() };
    let settings = TestSettings { use_token_latencies: true, ..settings(Scenario::SingleStream) };
    let bed = Bed::with(settings, Manner::Once, engine);
    let outcome = bed.outcome();
    let answered = outcome.samples().filter(|sample| sample.answered_latency_ns().is_some()).count();
    assert_eq!((answered, bed.engine.data().len()), (50, 50));
    assert_eq!(bed.engine.first_tokens.lock().unwrap().len(), 50);
    assert!(bed.engine.data().iter().all(|data| data.len() == 8), "what was left has its data");
    assert_eq!(outcome.violation_count(ViolationKind::NoFirstToken), 0);
}

#[test]
fn a_failed_sample_is_an_empty_response_of_the_engine() {
    let settings = TestSettings { mode: TestMode::AccuracyOnly, ..settings(Scenario::Offline) };
    let bed = Bed::new(settings, Manner::Fails(7));
    let outcome = bed.outcome();
    assert_eq!(outcome.violation_count(ViolationKind::Failed), 1);
    let empty_count = bed.engine.data().iter().filter(|data| data.is_empty()).count();
    assert_eq!((empty_count, bed.engine.data().len(), outcome.accuracy.len()), (1, 10, 9));
}

#[test]
fn a_sample_out_of_order_is_named() {
    let engine = PlainEngine { swaps: true, ..PlainEngine::default() };
    let bed = Bed::with(settings(Scenario::MultiStream), Manner::Once, engine);
    let outcome = bed.outcome();
    assert!(rules(&outcome).contains(&Rule::Order), "{:?}", outcome.reasons());
    let wrong = outcome.phases[0].wrong_samples.as_ref().unwrap();
    assert_eq!((wrong.count, wrong.first.map(|(sample_id, ..)| sample_id)), (1, Some(3)));
    assert!(
        outcome.reasons().iter().any(|reason| reason.contains("against the order")),
        "{:?}",
        outcome.reasons()
    );
}

#[test]
fn a_sample_that_never_completes_is_named() {
    for scenario in Scenario::ALL {
        let bed = Bed::new(settings(*scenario), Manner::Keeps(5));
        let outcome = bed.outcome();
        let missing = outcome.phases[0].missing.as_ref().unwrap();
        assert!(outcome.is_left_behind && missing.count >= 1, "{scenario}");
        assert_eq!(missing.first[0].0, 5, "{scenario}");
        assert!(rules(&outcome).contains(&Rule::Missing), "{scenario}");
        is_let_go_of(&bed);
    }
}

#[test]
fn a_stop_leaves_the_engine_behind() {
    let settings = TestSettings { min_duration_ms: 3_600_000, ..settings(Scenario::SingleStream) };
    let bed = Bed::new(settings, Manner::Once);
    let (progress, stop) = (bed.loadgen.progress(), bed.loadgen.stop_handle());
    let outcome = thread::scope(|scope| {
        scope.spawn(|| {
            let begun = Instant::now();
            while progress.current().is_none_or(|now| now.completed_count < 100) {
                assert!(begun.elapsed() < PATIENCE);
                thread::yield_now();
            }
            stop.stop("enough");
        });
        bed.outcome()
    });
    assert_eq!(outcome.interrupted.as_deref(), Some("enough"));
    assert!(rules(&outcome).contains(&Rule::Interrupted) && outcome.is_left_behind);
    assert_eq!(outcome.phases[0].missing, None);
    assert!(!bed.engine.has_ended.load(SeqCst));
    is_let_go_of(&bed);
}

#[test]
fn a_second_stop_gives_up_what_is_outstanding() {
    let mut bed = Bed::new(settings(Scenario::Offline), Manner::Keeps(2));
    let options = LoadGenOptions { watchdog_ms: 3_600_000, ..LoadGenOptions::default() };
    let loadgen = LoadGen::new(bed.test.settings.clone(), Arc::new(RealClock::new()), options);
    bed.loadgen = loadgen.with_engine(Arc::clone(&bed.engine) as Arc<dyn Engine>);
    let (sink, manner) = (bed.loadgen.sink(), Manner::Keeps(2));
    bed.system = Arc::new(Direct { sink, manner, flush_count: AtomicU64::new(0), race: None });
    let stop = bed.loadgen.stop_handle();
    let outcome = thread::scope(|scope| {
        scope.spawn(|| {
            let begun = Instant::now();
            while bed.system.flush_count.load(SeqCst) == 0 {
                assert!(begun.elapsed() < PATIENCE);
                thread::yield_now();
            }
            stop.stop("enough");
            stop.stop("at once");
        });
        bed.outcome()
    });
    assert!(outcome.is_given_up() && outcome.is_left_behind, "{:?}", outcome.reasons());
}

#[test]
fn what_the_engine_refuses_is_an_error() {
    let engine = PlainEngine { refusal: Some("no such module"), ..PlainEngine::default() };
    let bed = Bed::with(settings(Scenario::Offline), Manner::Once, engine);
    let error = bed.run().unwrap_err().to_string();
    assert_eq!(error, "the engine did not run the test: no such module");
    let search = TestSettings { mode: TestMode::FindPeakPerformance, ..settings(Scenario::Server) };
    let error = Bed::new(search, Manner::Once).run().unwrap_err().to_string();
    assert!(error.contains("cannot be followed"), "{error}");
}

/// Waits until the engine that was left behind no longer holds anything of the system.
fn is_let_go_of(bed: &Bed) {
    let begun = Instant::now();
    while Arc::strong_count(&bed.system) > 1 {
        assert!(begun.elapsed() < PATIENCE, "the system is still held");
        thread::yield_now();
    }
}
