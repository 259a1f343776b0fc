//! The real clock, and a system that completes from its own threads in any order.

use std::{
    sync::{Arc, Condvar, Mutex},
    thread::{self, JoinHandle},
};

use crate::behaviour::scripted::NotingLibrary;
use proctor_loadgen::{LoadGen, LoadGenOptions, RealClock, Rule, SystemUnderTest, TestOutcome, TestSettings};
use proctor_vocabulary::{
    CompletionSink, QuerySample, QuerySampleResponse, SampleStatus, Scenario, TestMode,
};

/// Threads that take anything queued, from either end in turn, and complete it in pieces of a few samples.
struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<(Vec<QuerySample>, bool)>,
    filled: Condvar,
}

impl Pool {
    fn new(sink: &Arc<dyn CompletionSink>) -> Self {
        let shared = Arc::<Shared>::default();
        let threads = (1..=3).map(|piece_len| {
            let (shared, sink) = (Arc::clone(&shared), Arc::clone(sink));
            thread::spawn(move || shared.work(&*sink, piece_len))
        });
        Self { threads: threads.collect(), shared }
    }
}

impl Shared {
    fn work(&self, sink: &dyn CompletionSink, piece_len: usize) {
        let mut from_front = false;
        while let Some(piece) = self.take(piece_len, from_front) {
            from_front = !from_front;
            let data: Vec<_> = piece.iter().map(|sample| sample.index.0.to_le_bytes()).collect();
            let responses: Vec<_> = piece
                .iter()
                .zip(&data)
                .map(|(sample, data)| QuerySampleResponse {
                    id: sample.id,
                    status: SampleStatus::OK,
                    data,
                    token_count: 2,
                })
                .collect();
            sink.first_token(&responses);
            sink.complete(&responses);
        }
    }

    /// A few queued samples, or `None` once the pool closes.
    fn take(&self, count: usize, from_front: bool) -> Option<Vec<QuerySample>> {
        let queue = self.queue.lock().expect("no thread panics with it");
        let waiting = |(queue, closed): &mut (Vec<QuerySample>, bool)| queue.is_empty() && !*closed;
        let mut queue = self.filled.wait_while(queue, waiting).expect("no thread panics with it");
        let len = queue.0.len();
        let count = count.min(len);
        let range = if from_front { 0..count } else { len - count..len };
        (len > 0).then(|| queue.0.drain(range).collect())
    }
}

impl SystemUnderTest for Pool {
    fn name(&self) -> &str {
        "pool"
    }

    fn issue(&self, samples: &[QuerySample]) {
        self.shared.queue.lock().expect("no thread panics with it").0.extend_from_slice(samples);
        self.shared.filled.notify_all();
    }

    fn flush(&self) {}
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.queue.lock().expect("no thread panics with it").1 = true;
        self.shared.filled.notify_all();
        for thread in self.threads.drain(..) {
            thread.join().expect("no thread panics");
        }
    }
}

fn run(scenario: Scenario, mode: TestMode) -> TestOutcome {
    run_with(TestSettings { scenario, mode, ..TestSettings::default() })
}

fn run_with(settings: TestSettings) -> TestOutcome {
    let settings = TestSettings {
        single_stream_expected_latency_ns: 1e6,
        multi_stream_expected_latency_ns: 1e6,
        server_target_qps: 20_000.0,
        // A machine may be busy: these tests are not about speed.
        server_target_latency_ns: 60_000_000_000,
        server_ttft_latency: 60_000_000_000,
        server_tpot_latency: 60_000_000_000,
        min_duration_ms: 0,
        min_query_count: 2000,
        accuracy_log_probability: 0.5,
        ..settings
    };
    let loadgen = LoadGen::new(settings, Arc::new(RealClock::new()), LoadGenOptions::default());
    let pool = Pool::new(&loadgen.sink());
    loadgen.run(&pool, &NotingLibrary::new(1000, 300)).expect("the settings make a test")
}

#[test]
fn every_scenario_is_valid_with_a_pool_of_threads() {
    for scenario in Scenario::ALL {
        let outcome = run(*scenario, TestMode::PerformanceOnly);
        assert!(outcome.is_valid(), "{scenario}: {:?}", outcome.reasons());
        assert!(outcome.errors().is_empty(), "{scenario}: {:?}", outcome.errors());
        let record = &outcome.phases[0].record;
        assert_eq!(record.sample_latencies_ns.len(), record.issued_sample_count);
        assert!(outcome.samples().all(|sample| sample.completed_latency_ns().is_some()));
        assert!(!outcome.accuracy.is_empty(), "half of the responses are logged");
        assert!(outcome.accuracy.iter().all(|record| record.data == record.index.0.to_le_bytes()));
    }
}

#[test]
fn token_runs_are_valid_with_a_pool_of_threads() {
    for scenario in Scenario::ALL {
        let settings =
            TestSettings { scenario: *scenario, use_token_latencies: true, ..TestSettings::default() };
        let outcome = run_with(settings);
        assert!(outcome.is_valid(), "{scenario}: {:?}", outcome.reasons());
        let record = &outcome.phases[0].record;
        let tokens = record.tokens.as_ref().expect("a token run");
        assert_eq!(tokens.token_count, record.issued_sample_count * 2);
        if *scenario != Scenario::Offline {
            assert_eq!(tokens.times_per_output_token_ns.len() as u64, record.issued_sample_count);
            let sums = tokens.first_token_latencies_ns.iter().zip(&tokens.times_per_output_token_ns);
            // With two tokens, the time to the first and the time per output token make the latency.
            assert!(sums.map(|(ttft_ns, tpot_ns)| ttft_ns + tpot_ns).eq(record.sample_latencies_ns.iter()));
        }
        for record in &outcome.accuracy {
            let logged = record.tokens.as_ref().expect("a token run");
            assert_eq!(logged.token_count, 2);
            assert!(logged.first_token_data.as_ref().is_none_or(|data| *data == record.data));
        }
    }
}

#[test]
fn queries_at_fixed_intervals_are_on_the_grid_however_the_threads_run() {
    let settings = TestSettings {
        scenario: Scenario::MultiStream,
        rules: "v0.5".parse().expect("it is a round"),
        multi_stream_interval_ms: 0.2,
        ..TestSettings::default()
    };
    let outcome = run_with(settings);
    let record = outcome.phases[0].record.intervals.expect("it has intervals");
    assert_eq!(record.query_count, 2000);
    assert_eq!(record.elapsed_interval_count, record.query_count + record.skipped_interval_count);
    let samples: Vec<_> = outcome.samples().collect();
    let queries: Vec<_> = samples.chunk_by(|a, b| a.scheduled_ns == b.scheduled_ns).collect();
    assert_eq!(queries.len(), 2000, "no interval has two queries");
    for (query, next) in queries.iter().zip(&queries[1..]) {
        assert_eq!((query.len(), query[0].scheduled_ns % 200_000), (8, 0));
        // The next leaves at the first interval by whose start this one is complete.
        let latency_ns = query.iter().filter_map(|sample| sample.completed_latency_ns()).max();
        let interval_count = latency_ns.expect("it is complete").div_ceil(200_000).max(1);
        assert_eq!(next[0].scheduled_ns, query[0].scheduled_ns + interval_count * 200_000);
    }
}

#[test]
fn every_accuracy_run_answers_for_the_whole_library() {
    for scenario in Scenario::ALL {
        let outcome = run(*scenario, TestMode::AccuracyOnly);
        assert!(outcome.is_valid(), "{scenario}: {:?}", outcome.reasons());
        let mut indices: Vec<_> = outcome.accuracy.iter().map(|record| record.index.0).collect();
        indices.sort_unstable();
        indices.dedup();
        assert_eq!(indices.len(), 1000, "{scenario}");
        assert!(outcome.accuracy.iter().all(|record| record.data == record.index.0.to_le_bytes()));
    }
}

#[test]
fn a_dead_system_is_given_up_and_a_stop_ends_the_wait() {
    struct Dead;

    impl SystemUnderTest for Dead {
        fn name(&self) -> &str {
            "dead"
        }

        fn issue(&self, _samples: &[QuerySample]) {}

        fn flush(&self) {}
    }

    for scenario in Scenario::ALL {
        let settings = TestSettings {
            scenario: *scenario,
            server_target_qps: 1e6,
            min_duration_ms: 0,
            ..TestSettings::default()
        };
        let options = LoadGenOptions { watchdog_ms: 20, ..LoadGenOptions::default() };
        let loadgen = LoadGen::new(settings.clone(), Arc::new(RealClock::new()), options);
        let outcome = loadgen.run(&Dead, &NotingLibrary::new(10, 4)).unwrap();
        assert!(outcome.phases[0].missing.is_some(), "{scenario}");
        assert!(!outcome.is_given_up(), "{scenario}");
        let advice = |outcome: &TestOutcome| {
            let finding = outcome.findings.iter().find(|finding| finding.rule == Rule::Missing);
            finding.expect("samples are missing").to_string()
        };
        assert!(advice(&outcome).ends_with("raise watchdog_ms"), "{}", advice(&outcome));

        let loadgen = LoadGen::new(settings, Arc::new(RealClock::new()), LoadGenOptions::default());
        let (stop, progress) = (loadgen.stop_handle(), loadgen.progress());
        let stopper = thread::spawn(move || {
            while progress.current().is_none_or(|phase| phase.issued_count == 0) {
                thread::yield_now();
            }
            stop.stop("first");
            stop.stop("second");
        });
        let outcome = loadgen.run(&Dead, &NotingLibrary::new(10, 4)).unwrap();
        stopper.join().unwrap();
        assert_eq!(outcome.interrupted.as_deref(), Some("first"));
        assert!(outcome.phases[0].missing.is_some(), "{scenario}");
        assert!(outcome.is_given_up(), "{scenario}");
        assert!(
            advice(&outcome).ends_with(": given up by a second Ctrl-C or SIGTERM"),
            "{}",
            advice(&outcome)
        );
    }
}
