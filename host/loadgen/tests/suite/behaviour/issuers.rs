//! Several issuing threads of a Server: the same queries at the same instants, ended thread by thread.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex},
    thread::{self, ThreadId},
};

use crate::{
    behaviour::scripted::{Bench, MS, NotingLibrary, after, answer, respond},
    log_files::write_logs,
};
use proctor_loadgen::{
    EffectiveSettings, IssueEnd, LoadGen, LoadGenOptions, QueryGenerator, RealClock, SampleRecord,
    SystemUnderTest, TestOutcome, TestSettings, log::LogIdentity, phases,
};
use proctor_vocabulary::{CompletionSink, QuerySample, Scenario, TestMode};
use proptest::prelude::*;

fn settings() -> TestSettings {
    TestSettings {
        scenario: Scenario::Server,
        min_query_count: 20,
        min_duration_ms: 0,
        server_target_qps: 1000.0,
        ..TestSettings::default()
    }
}

fn with_issuers(issuer_count: u64, request: &TestSettings) -> TestSettings {
    TestSettings { server_num_issue_query_threads: issuer_count, ..request.clone() }
}

/// Sample `n` of a test takes so long.
fn takes_ns(n: u64) -> u64 {
    (n * 7 % 5) * 300_000
}

/// Everything that may not depend on the number of threads.
fn told(bench: &Bench, outcome: &TestOutcome) -> impl PartialEq + std::fmt::Debug + use<> {
    let phases = outcome.phases.iter().map(|phase| (phase.record.clone(), phase.issue_delay, phase.start_ns));
    (
        bench.issues(),
        bench.issued(),
        phases.collect::<Vec<_>>(),
        outcome.samples().collect::<Vec<_>>(),
        outcome.accuracy.clone(),
        outcome.peak_search.clone(),
        (outcome.is_valid(), outcome.reasons()),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_number_of_threads_makes_the_same_test(
        issuer_count in 1_u64..12,
        seed: u64,
        min_query_count in 1_u64..60,
        accuracy_log_probability in prop_oneof![Just(0.0), Just(0.4)],
        mode in prop_oneof![
            Just(TestMode::PerformanceOnly),
            Just(TestMode::SubmissionRun),
            Just(TestMode::AccuracyOnly),
        ],
        max_query_count in prop_oneof![Just(0_u64), 1_u64..60],
        sample_concatenate_permutation: bool,
    ) {
        let request = TestSettings {
            mode,
            min_query_count,
            accuracy_log_probability,
            sample_concatenate_permutation,
            // A limit that is below the number of threads still lets each of them issue one query.
            max_query_count: if max_query_count < issuer_count { 0 } else { max_query_count },
            schedule_rng_seed: seed,
            sample_index_rng_seed: seed ^ 1,
            ..settings()
        };
        let run = |issuer_count| {
            let bench = Bench::new(with_issuers(issuer_count, &request), |n, sample| after(takes_ns(n), sample));
            let outcome = bench.run();
            (told(&bench, &outcome), outcome)
        };
        let (one, _) = run(0);
        let (several, outcome) = run(issuer_count);
        prop_assert_eq!(one, several);
        for phase in &outcome.phases {
            let counts: Vec<_> = phase.issuers.iter().map(|issuer| issuer.query_count).collect();
            prop_assert_eq!(counts.len() as u64, issuer_count);
            prop_assert_eq!(counts.iter().sum::<u64>(), phase.record.issued_query_count);
            prop_assert!(counts[0] - counts[counts.len() - 1] <= 1);
        }
    }
}

#[test]
fn each_thread_has_its_share_of_a_limit_and_names_itself() {
    let outcome = run(TestSettings { max_query_count: 11, ..with_issuers(3, &settings()) });
    assert_eq!(outcome.phases[0].record.issued_query_count, 11);
    assert_eq!(
        outcome.errors(),
        [
            "IssueQueryThread 2 Ending early: Max query count reached. query_count 3",
            "IssueQueryThread 0 Ending early: Max query count reached. query_count 4",
            "IssueQueryThread 1 Ending early: Max query count reached. query_count 4",
        ]
    );
    // Threads beyond the limit have a share of none, and issue one query before they look.
    let outcome = run(TestSettings { max_query_count: 2, ..with_issuers(5, &settings()) });
    assert_eq!(outcome.phases[0].record.issued_query_count, 5);
}

#[test]
fn each_thread_ends_at_its_first_query_behind_the_longest_duration() {
    let outcome = run(TestSettings { max_duration_ms: 5, ..with_issuers(3, &settings()) });
    let samples: Vec<_> = outcome.samples().collect();
    let in_time = samples.iter().filter(|sample| sample.scheduled_ns <= 5 * MS).count();
    assert_eq!(samples.len(), in_time + 3);
    let durations = outcome.phases[0].issuers.iter().map(|issuer| match issuer.end {
        IssueEnd::MaxDuration { duration_ns } => duration_ns,
        end => panic!("{end}"),
    });
    let durations: BTreeSet<_> = durations.collect();
    assert_eq!(durations, samples[in_time..].iter().map(|sample| sample.scheduled_ns).collect());
}

#[test]
fn registered_threads_open_the_log_where_they_are_asked_for() {
    let texts = |issuer_count, scenario| {
        let outcome = run(TestSettings { scenario, ..with_issuers(issuer_count, &settings()) });
        let log = outcome.detail_log(&LogIdentity::default());
        let messages = log.entries.iter().take_while(|entry| entry.key == "generic_message");
        messages.map(|entry| format!("{:?}", entry.value)).collect::<Vec<_>>()
    };
    assert_eq!(
        texts(2, Scenario::Server),
        [
            "Text(\"Registered IssueQueryThread[0]. thread ID : 0\")",
            "Text(\"Registered IssueQueryThread[1]. thread ID : 0\")",
        ]
    );
    assert_eq!(texts(1, Scenario::Server).len(), 1);
    assert_eq!(texts(0, Scenario::Server), [""; 0]);
    assert_eq!(texts(2, Scenario::SingleStream), [""; 0]);
}

#[test]
fn a_thread_merges_its_own_overdue_queries() {
    let request = TestSettings { server_coalesce_queries: true, ..with_issuers(3, &settings()) };
    let mut bench = Bench::new(request, |_, sample| after(0, sample));
    // Everything that follows is overdue after the first call.
    bench.sut.issue_takes_ns = 10_000 * MS;
    let outcome = bench.run();
    assert!(outcome.errors().is_empty());
    let calls = bench.sut.issue_calls.lock().unwrap();
    let sequences: Vec<Vec<u64>> =
        calls.iter().map(|(_, samples)| samples.iter().map(|sample| sequence(*sample)).collect()).collect();
    let share = |from| (from..20).step_by(3).collect::<Vec<u64>>();
    assert_eq!(sequences, [vec![0], share(1), share(2), share(3)]);
    // The trace finds the samples of each call, and writes each once.
    let mut trace = Vec::new();
    outcome.write_trace(&LogIdentity::default(), &mut trace).unwrap();
    let trace: serde_json::Value = serde_json::from_slice(&trace).unwrap();
    let issued: BTreeMap<u64, u64> = trace["traceEvents"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["name"] == "Sample" && event["ph"] == "b")
        .map(|event| {
            let number = |name: &str| event["args"][name].as_u64().unwrap();
            (number("sample_seq"), number("issue_start_ns"))
        })
        .collect();
    let samples: Vec<_> = outcome.samples().collect();
    let expected = (0..20).map(|sequence| {
        let call = if sequence == 0 { 0 } else { 1 + (sequence - 1) % 3 };
        (sequence, call * 10_000 * MS - samples[usize::try_from(sequence).unwrap()].scheduled_ns)
    });
    assert_eq!(issued, expected.collect());
}

/// The second thread ends at its first query, because two queries are outstanding; the first one goes on.
fn one_thread_ends(mode: TestMode) -> TestOutcome {
    let request = TestSettings { mode, server_max_async_queries: 1, ..with_issuers(2, &settings()) };
    let effective = EffectiveSettings::new(&request, 4, 10).unwrap().0;
    let plans = phases(&effective);
    let mut queries = QueryGenerator::new(&effective, plans.last().unwrap());
    let second_ns = [(); 2].map(|()| queries.next_query().unwrap().offset_ns)[1];
    let first = if mode == TestMode::SubmissionRun { 10 } else { 0 };
    let takes_ns = move |n| match n {
        n if n == first => second_ns + 1,
        n if n == first + 1 => 1,
        _ => 0,
    };
    Bench::new(request, move |n, sample| after(takes_ns(n), sample)).run()
}

#[test]
fn queries_that_nobody_issues_are_no_samples() {
    let outcome = one_thread_ends(TestMode::PerformanceOnly);
    let phase = &outcome.phases[0];
    let end = IssueEnd::TooManyOutstanding { issued_count: 2, outstanding_count: 2 };
    assert_eq!(phase.end, end);
    assert_eq!(phase.issuers.iter().map(|issuer| issuer.end).collect::<Vec<_>>(), [IssueEnd::AllIssued, end]);
    assert_eq!(
        outcome.errors(),
        ["IssueQueryThread 1 Ending early: Too many outstanding queries. issued 2 outstanding 2"]
    );
    assert_eq!((phase.missing.as_ref(), outcome.violations.len()), (None, 0));

    // Queries 0, 1, 2, 4, 6, ... 18.
    let record = &phase.record;
    assert_eq!((record.issued_query_count, record.sample_latencies_ns.len()), (11, 11));
    let samples: Vec<_> = outcome.samples().collect();
    assert_eq!(samples.len(), 19);
    for (number, sample) in samples.iter().enumerate() {
        let is_issued = number < 3 || number % 2 == 0;
        assert_eq!(*sample != SampleRecord::NOT_ISSUED, is_issued, "{number}");
    }
    assert_eq!(record.final_query_scheduled_ns, samples[18].scheduled_ns);
    let result = outcome.performance.as_ref().unwrap();
    assert!(!outcome.is_valid() && !result.min_queries_met);
    assert_eq!(result.sample_latencies.min_ns, 0);

    let folder = tempfile::tempdir().unwrap();
    write_logs(&outcome, folder.path(), &LogIdentity::default()).unwrap();
    let trace = std::fs::read_to_string(folder.path().join("mlperf_log_trace.json")).unwrap();
    assert_eq!(trace.matches("\"name\":\"Sample\",\"cat\":\"default\",\"ph\":\"b\"").count(), 11);
}

#[test]
fn the_next_phase_begins_where_the_last_would_have_ended() {
    // The variates of a phase are drawn whether its samples were issued or not.
    let request = TestSettings { accuracy_log_probability: 0.5, ..settings() };
    let run = |issuer_count, max_query_count| {
        let request = TestSettings {
            mode: TestMode::FindPeakPerformance,
            max_query_count,
            ..with_issuers(issuer_count, &request)
        };
        Bench::new(request, |n, sample| after(takes_ns(n), sample)).run()
    };
    let (whole, cut) = (run(0, 0), run(3, 12));
    // The bound is met at every rate.
    assert!(whole.phases.len() == cut.phases.len() && cut.phases.len() > 9, "{:?}", whole.peak_search);
    let logged = |outcome: &TestOutcome| {
        let ids = outcome.accuracy.iter().map(|record| record.sample_id);
        ids.filter(|id| id % 20 < 12).collect::<Vec<_>>()
    };
    assert_eq!(logged(&whole), logged(&cut));
    assert!(logged(&cut).len() > 40);
}

/// Completes inside of the issue call, and notes which thread issued what.
struct Noting {
    sink: Arc<dyn CompletionSink>,
    issued: Mutex<HashMap<ThreadId, Vec<QuerySample>>>,
}

impl Noting {
    fn new(sink: Arc<dyn CompletionSink>) -> Self {
        Self { sink, issued: Mutex::default() }
    }
}

impl SystemUnderTest for Noting {
    fn name(&self) -> &str {
        "noting"
    }

    fn issue(&self, samples: &[QuerySample]) {
        self.issued.lock().unwrap().entry(thread::current().id()).or_default().extend_from_slice(samples);
        for sample in samples {
            respond(&*self.sink, answer(0, sample.id), sample.index);
        }
    }

    fn flush(&self) {}
}

fn run(request: TestSettings) -> TestOutcome {
    Bench::new(request, |_, sample| after(MS / 2, sample)).run()
}

/// The number of a sample in its phase.
fn sequence(sample: QuerySample) -> u64 {
    sample.id.0 & ((1 << 48) - 1)
}

fn real(request: TestSettings) -> LoadGen<RealClock> {
    LoadGen::new(request, Arc::new(RealClock::new()), LoadGenOptions::default())
}

#[test]
fn every_thread_issues_its_share_and_all_of_them_everything() {
    let request = TestSettings {
        mode: TestMode::SubmissionRun,
        min_query_count: 3000,
        server_target_qps: 100_000.0,
        server_target_latency_ns: 60_000_000_000,
        accuracy_log_probability: 0.1,
        ..settings()
    };
    let expected = Bench::new(request.clone(), |_, sample| after(0, sample));
    let expected_outcome = expected.run();

    let loadgen = real(with_issuers(4, &request));
    let sut = Noting::new(loadgen.sink());
    let outcome = loadgen.run(&sut, &NotingLibrary::new(10, 4)).unwrap();
    assert!(outcome.is_valid(), "{:?}", outcome.reasons());
    assert_eq!(outcome.errors(), [""; 0]);
    assert_eq!(outcome.accuracy, expected_outcome.accuracy);

    let by_thread = sut.issued.into_inner().unwrap();
    let mut all: Vec<_> = by_thread.values().flatten().copied().collect();
    all.sort_unstable_by_key(|sample| sample.id.0);
    let mut issued = expected.issued();
    issued.sort_unstable_by_key(|sample| sample.id.0);
    assert_eq!(all, issued);
    let schedule =
        |outcome: &TestOutcome| outcome.samples().map(|sample| sample.scheduled_ns).collect::<Vec<_>>();
    assert_eq!(schedule(&outcome), schedule(&expected_outcome));
    // The starting thread is the first issuer of every phase, the others are new ones in each; the last
    // accuracy set has two queries, so the third and the fourth thread issue none.
    assert_eq!(by_thread.len(), 1 + 3 + 3 + 1 + 3);
    for samples in by_thread.values() {
        assert!(samples.is_sorted_by_key(|sample| sample.id.0), "a thread issues in order");
        assert_eq!(samples.iter().map(|sample| sequence(*sample) % 4).collect::<BTreeSet<_>>().len(), 1);
    }
    for phase in &outcome.phases {
        let ids: BTreeSet<_> = phase.issuers.iter().map(|issuer| issuer.thread_id).collect();
        assert!(ids.len() == 4 || !cfg!(target_os = "linux"), "{ids:?}");
    }
}

#[test]
fn a_stop_wakes_every_thread() {
    // The queries are hours apart, and everybody sleeps.
    let request = TestSettings { server_target_qps: 0.0001, ..with_issuers(3, &settings()) };
    let loadgen = real(request);
    let sut = Noting::new(loadgen.sink());
    let (stop, progress) = (loadgen.stop_handle(), loadgen.progress());
    let stopper = thread::spawn(move || {
        while progress.current().is_none_or(|phase| phase.issued_count == 0) {
            thread::yield_now();
        }
        stop.stop("enough");
    });
    let outcome = loadgen.run(&sut, &NotingLibrary::new(10, 4)).unwrap();
    stopper.join().unwrap();
    assert_eq!(outcome.interrupted.as_deref(), Some("enough"));
    assert!(outcome.phases[0].issuers.iter().all(|issuer| issuer.end == IssueEnd::Stopped));
    assert_eq!(outcome.phases[0].record.issued_query_count, 1);
}

#[test]
fn outstanding_queries_are_those_of_all_threads() {
    struct Silent;

    impl SystemUnderTest for Silent {
        fn name(&self) -> &str {
            "silent"
        }

        fn issue(&self, _samples: &[QuerySample]) {}

        fn flush(&self) {}
    }

    let request = TestSettings {
        server_max_async_queries: 40,
        min_query_count: 10_000,
        server_target_qps: 100_000.0,
        ..with_issuers(4, &settings())
    };
    let options = LoadGenOptions { watchdog_ms: 20, ..LoadGenOptions::default() };
    let loadgen = LoadGen::new(request, Arc::new(RealClock::new()), options);
    let outcome = loadgen.run(&Silent, &NotingLibrary::new(10, 4)).unwrap();
    let phase = &outcome.phases[0];
    for issuer in &phase.issuers {
        let IssueEnd::TooManyOutstanding { issued_count, outstanding_count } = issuer.end else {
            panic!("{}", issuer.end)
        };
        assert!(issued_count > 40 && outstanding_count == issued_count);
    }
    // Whoever issues one more has to look then.
    assert!((41..=44).contains(&phase.record.issued_query_count), "{}", phase.record.issued_query_count);
    assert_eq!(phase.missing.as_ref().unwrap().count, phase.record.issued_query_count);
}

#[test]
fn a_panic_of_one_thread_ends_the_test_at_once() {
    struct Panicking(Arc<dyn CompletionSink>);

    impl SystemUnderTest for Panicking {
        fn name(&self) -> &str {
            "panicking"
        }

        fn issue(&self, samples: &[QuerySample]) {
            for sample in samples {
                assert!(sequence(*sample) != 1, "the second query");
                respond(&*self.0, answer(0, sample.id), sample.index);
            }
        }

        fn flush(&self) {}
    }

    // The third query comes in half an hour.
    let request =
        TestSettings { server_target_qps: 0.0005, schedule_rng_seed: early_second_query(), ..settings() };
    let loadgen = real(with_issuers(3, &request));
    let sut = Panicking(loadgen.sink());
    let run = || loadgen.run(&sut, &NotingLibrary::new(10, 4));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
}

/// A seed with which the second query of the test above comes within a second of the first, and the third much later.
fn early_second_query() -> u64 {
    let is_early = |seed: &u64| {
        let request = TestSettings { server_target_qps: 0.0005, schedule_rng_seed: *seed, ..settings() };
        let effective = EffectiveSettings::new(&request, 4, 10).unwrap().0;
        let mut queries = QueryGenerator::new(&effective, &phases(&effective)[0]);
        let offsets = [(); 3].map(|()| queries.next_query().unwrap().offset_ns);
        offsets[1] < 200 * MS && offsets[2] > 60_000 * MS
    };
    (0..1_000_000).find(is_early).unwrap()
}
