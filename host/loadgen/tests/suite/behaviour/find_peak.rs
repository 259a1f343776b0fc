//! The search for the peak rate: LoadGen's log of one, and searches whose result is known.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use crate::golden_files;
use crate::{
    behaviour::scripted::{Answer, Bench, MS, NotingLibrary, Tokens, after, answer, respond},
    log_files::write_logs,
};
use proctor_loadgen::{
    Clock, EffectiveSettings, LoadGen, LoadGenError, LoadGenOptions, PeakEnd, PeakStep, PhaseError,
    QueryGenerator, RateNotMet, RealClock, SystemUnderTest, TestOutcome, TestSettings, VirtualClock,
    log::LogIdentity, phases,
};
use proctor_vocabulary::{CompletionSink, QuerySample, SampleStatus, Scenario, TestMode};
use serde_json::Value;

fn entries(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line.strip_prefix(":::MLLOG ").unwrap()).unwrap()).collect()
}

fn detail(outcome: &TestOutcome) -> Vec<Value> {
    let mut text = Vec::new();
    let identity = LogIdentity::default();
    outcome.detail_log(&identity).write(&identity, &mut text).unwrap();
    let mut entries = entries(&String::from_utf8(text).unwrap());
    entries.retain(|entry| !entry["key"].as_str().unwrap().starts_with("loadgen_"));
    entries
}

/// The system meets the bound exactly in the runs in which the recorded one did. Then rates, loads, generated
/// schedules and messages match the recorded ones.
#[test]
fn the_search_is_that_of_loadgen() {
    const MET: [bool; 12] = [true, true, true, false, true, true, true, false, false, false, false, false];
    let case: Value = golden_files::read("runs/find_peak/case.json");
    let bench = Bench::new(golden_files::settings(&case), |n, sample| {
        after(if MET[n as usize / 120] { MS } else { 7 * MS }, sample)
    });
    let outcome = bench.run();
    let search = outcome.peak_search.as_ref().unwrap();
    assert_eq!((search.peak_qps(), search.boundaries_qps), (Some(750.0), Some((400.0, 800.0))));
    assert_eq!(bench.qsl.loads.lock().unwrap().len(), 5, "four runs of the widening, then all others");
    assert_eq!(*bench.qsl.loads.lock().unwrap(), *bench.qsl.unloads.lock().unwrap());

    let recorded = entries(&golden_files::text("runs/find_peak/mlperf_log_detail.txt"));
    let written = detail(&outcome);
    let keys = |entries: &[Value]| entries.iter().map(|entry| entry["key"].clone()).collect::<Vec<_>>();
    assert_eq!(keys(&written), keys(&recorded));
    for (got, expected) in written.iter().zip(&recorded) {
        let key = got["key"].as_str().unwrap();
        let of_the_machine =
            ["test_datetime", "sut_name", "qsl_name", "get_sut_name_duration_ns", "power_begin", "power_end"];
        let of_latencies = key.ends_with("latency_ns")
            || [
                "result_overlatency_query_count",
                "result_completed_samples_per_sec",
                "early_stopping_result",
            ]
            .contains(&key);
        if !of_the_machine.contains(&key) && (!of_latencies || key.starts_with("requested")) {
            assert_eq!(got["value"], expected["value"], "{key}");
            assert_eq!(got["metadata"]["is_error"], expected["metadata"]["is_error"], "{key}");
        }
    }

    let folder = tempfile::tempdir().unwrap();
    write_logs(&outcome, folder.path(), &LogIdentity::default()).unwrap();
    let summary = std::fs::read_to_string(folder.path().join("mlperf_log_summary.txt")).unwrap();
    let expected = golden_files::text("runs/find_peak/mlperf_log_summary.txt");
    let parameters = |text: &str| text[text.find("Test Parameters Used").unwrap()..].to_owned();
    assert_eq!(parameters(&summary), parameters(&expected));
    assert!(summary.contains("\nMode     : FindPeakPerformance\n"), "{summary}");
    assert_eq!(outcome.samples().count(), 120, "those of the reported run");
}

/// One queue, one server, a fixed service time; a sample that would wait too long may be refused.
struct Queue {
    clock: Arc<VirtualClock>,
    sink: Arc<dyn CompletionSink>,
    free_at_ns: AtomicU64,
    longest_wait_ns: u64,
}

const SERVICE_NS: u64 = 2 * MS;

impl SystemUnderTest for Queue {
    fn name(&self) -> &str {
        "queue"
    }

    fn issue(&self, samples: &[QuerySample]) {
        for QuerySample { id, index } in samples.iter().copied() {
            let now_ns = self.clock.now_ns();
            let start_ns = self.free_at_ns.load(Relaxed).max(now_ns);
            if start_ns - now_ns > self.longest_wait_ns {
                respond(&*self.sink, Answer { status: SampleStatus::FAILED, ..answer(0, id) }, index);
                continue;
            }
            self.free_at_ns.store(start_ns + SERVICE_NS, Relaxed);
            let sink = Arc::clone(&self.sink);
            self.clock.schedule(start_ns + SERVICE_NS, move || respond(&*sink, answer(0, id), index));
        }
    }

    fn flush(&self) {}
}

fn request() -> TestSettings {
    TestSettings {
        scenario: Scenario::Server,
        mode: TestMode::FindPeakPerformance,
        server_target_qps: 50.0,
        server_target_latency_ns: 10 * MS,
        server_find_peak_qps_decimals_of_precision: 1,
        min_duration_ms: 0,
        min_query_count: 2000,
        sample_index_rng_seed: 2,
        schedule_rng_seed: 3,
        ..TestSettings::default()
    }
}

fn run_queue(request: TestSettings, longest_wait_ns: u64) -> TestOutcome {
    let clock = Arc::new(VirtualClock::new());
    let loadgen = LoadGen::new(request, Arc::clone(&clock), LoadGenOptions::default());
    let sink = loadgen.sink();
    let sut = Queue { clock, sink, free_at_ns: AtomicU64::new(0), longest_wait_ns };
    loadgen.run(&sut, &NotingLibrary::new(10, 4)).unwrap()
}

/// The 99th percentile of the latency of the queue at a rate, from the arrivals alone.
fn queue_latency_ns_p99(qps: f64) -> u64 {
    let request = TestSettings { server_target_qps: qps, ..request() };
    let settings = EffectiveSettings::new(&request, 4, 10).unwrap().0;
    let mut queries = QueryGenerator::new(&settings, &phases(&settings)[0]);
    let mut free_at_ns = 0;
    let latency_ns = |at_ns: u64| {
        free_at_ns = at_ns.max(free_at_ns) + SERVICE_NS;
        free_at_ns - at_ns
    };
    let offsets_ns = std::iter::from_fn(|| queries.next_query()).map(|query| query.offset_ns);
    let mut latencies_ns: Vec<_> = offsets_ns.map(latency_ns).collect();
    latencies_ns.sort_unstable();
    latencies_ns[latencies_ns.len() * 99 / 100]
}

#[test]
fn the_peak_of_a_queue_is_where_its_latency_reaches_the_bound() {
    let outcome = run_queue(request(), u64::MAX);
    let search = outcome.peak_search.as_ref().unwrap();
    let peak_qps = search.peak_qps().unwrap();
    // The server does 500 a second at most, and half of that makes no long queue.
    assert!((250.0..500.0).contains(&peak_qps), "{peak_qps}");
    assert!(queue_latency_ns_p99(peak_qps) <= 10 * MS);
    assert!(queue_latency_ns_p99(peak_qps + 0.2) > 10 * MS, "two units of the last decimal above");
    assert_eq!(search.steps[0], PeakStep::Base { qps: 50.0 });
    assert_eq!(search.steps[1], PeakStep::Boundary { lower_qps: 50.0, upper_qps: 100.0 });
    assert_eq!(search.boundaries_qps.unwrap().1, search.boundaries_qps.unwrap().0 * 2.0);

    let result = outcome.performance.as_ref().unwrap();
    assert_eq!(result.sample_latencies.target_ns, queue_latency_ns_p99(peak_qps));
    assert_eq!(outcome.reported_settings().target_qps, peak_qps);
    assert_eq!(outcome.effective.target_qps, 50.0);
    assert_eq!(detail(&outcome), detail(&run_queue(request(), u64::MAX)), "the same again");
}

#[test]
fn a_queue_that_refuses_samples_does_not_meet_the_rate() {
    // Whatever is served is served within 8 ms.
    let outcome = run_queue(request(), 6 * MS);
    let peak_qps = outcome.peak_search.as_ref().unwrap().peak_qps().unwrap();
    assert!(peak_qps < run_queue(request(), u64::MAX).peak_search.unwrap().peak_qps().unwrap());
    let failed =
        |outcome: &TestOutcome| outcome.errors().iter().any(|error| error.contains("samples failed at"));
    assert!(failed(&outcome), "the log tells of it: {:?}", outcome.errors());
    assert!(outcome.is_valid(), "no sample failed at the peak: {:?}", outcome.reasons());
}

/// LoadGen looks at the latencies alone, which are good as long as queries are no longer issued.
#[test]
fn too_many_outstanding_queries_do_not_meet_the_rate() {
    let request = TestSettings { server_max_async_queries: 3, min_query_count: 200, ..request() };
    let outcome = Bench::new(request, |_, sample| after(2 * MS, sample)).run();
    let search = outcome.peak_search.as_ref().unwrap();
    let peak_qps = search.peak_qps().unwrap();
    // Two of them are outstanding all the time at 1000 a second.
    assert!((50.0..1000.0).contains(&peak_qps), "{peak_qps}");
    let is_about_them = |error: &String| error.contains("Ending early: Too many outstanding queries.");
    assert!(outcome.errors().iter().any(is_about_them), "{:?}", outcome.errors());
    assert_eq!(outcome.performance.as_ref().unwrap().issued_query_count, 200, "that of the peak is whole");
}

/// LoadGen crashes there, because it has no run to report.
#[test]
fn bounds_that_agree_at_once_are_the_peak() {
    let request = TestSettings {
        server_target_qps: 5.0,
        server_find_peak_qps_boundary_step_size: 0.1,
        server_find_peak_qps_decimals_of_precision: 0,
        min_query_count: 10,
        ..request()
    };
    let outcome = Bench::new(request, |n, sample| after(if n < 10 { MS } else { 20 * MS }, sample)).run();
    let search = outcome.peak_search.as_ref().unwrap();
    assert_eq!((search.steps.len(), search.peak_qps(), search.reported_step), (2, Some(5.0), Some(0)));
    assert_eq!(search.boundaries_qps, Some((5.0, 5.5)));
    assert_eq!(outcome.performance.as_ref().unwrap().sample_latencies.max_ns, MS);
}

#[test]
fn a_base_that_misses_both_bounds_of_tokens_says_so_in_two_lines() {
    let request = TestSettings {
        use_token_latencies: true,
        server_ttft_latency: 1,
        server_tpot_latency: 1,
        ..request()
    };
    let tokens = |after_ns, sample: QuerySample, tokens| Answer { tokens, ..answer(after_ns, sample.id) };
    let outcome = Bench::new(request, move |_, sample| {
        vec![tokens(MS, sample, Tokens::First), tokens(5 * MS, sample, Tokens::Count(5))]
    })
    .run();
    let log = detail(&outcome);
    let error = log.iter().find(|entry| entry["key"] == "error_runtime").unwrap();
    assert_eq!(
        error["value"],
        "FindPeakPerformance: Initial lower bound does not satisfy performance constraints, msg: TTFT constrain not \
         met: Reduce target QPS to improve latency.\n * TPOT constrain not met: Reduce target QPS to improve latency."
    );
}

#[test]
fn a_system_that_knows_no_tokens_meets_no_rate() {
    let request = TestSettings { use_token_latencies: true, ..request() };
    let outcome = Bench::new(request, |_, sample| after(MS, sample)).run();
    let search = outcome.peak_search.as_ref().unwrap();
    let error = PhaseError::TokenlessSamples { count: outcome.samples().count() as u64, qps: 50.0 };
    assert_eq!(search.end, PeakEnd::BaseNotMet(RateNotMet::Failed(error)));
    assert_eq!(
        outcome.reasons().last().unwrap(),
        "FindPeakPerformance: Initial lower bound does not satisfy performance constraints, msg: 2000 samples were \
         completed without their tokens at 50.000000 queries per second"
    );
}

#[test]
fn a_base_that_is_too_fast_is_reported_as_it_is() {
    let outcome = run_queue(TestSettings { server_target_qps: 600.0, ..request() }, u64::MAX);
    let search = outcome.peak_search.as_ref().unwrap();
    assert_eq!((search.steps.len(), search.peak_qps()), (1, None));
    assert_eq!(
        outcome.reasons().last().unwrap(),
        "FindPeakPerformance: Initial lower bound does not satisfy performance constraints, msg: Reduce target QPS to \
         improve latency."
    );
    assert!(!outcome.is_valid() && !outcome.performance.as_ref().unwrap().perf_constraints_met);
    let log = detail(&outcome);
    let error = log.iter().find(|entry| entry["key"] == "error_runtime").unwrap();
    assert_eq!(error["value"], *outcome.reasons().last().unwrap());
}

#[test]
fn a_base_that_ends_at_a_limit_says_which_to_raise() {
    let request = TestSettings { server_target_qps: 600.0, server_max_async_queries: 1, ..request() };
    let outcome = run_queue(request, u64::MAX);
    let text = outcome.findings.last().unwrap().to_string();
    assert!(text.contains("msg: IssueQueryThread 0 Ending early: Too many outstanding queries."), "{text}");
    let advice = ": raise server_max_async_queries, or lower server_target_qps, at which the search begins";
    assert!(text.ends_with(advice), "{text}");
}

#[test]
fn a_stop_ends_the_search_and_keeps_the_best_run() {
    let request = TestSettings { min_query_count: 100, ..request() };
    let stopper = Arc::new(std::sync::OnceLock::<proctor_loadgen::StopHandle>::new());
    let handle = Arc::clone(&stopper);
    // In the third run.
    let bench = Bench::new(request, move |n, sample| {
        if n == 250 {
            handle.get().unwrap().stop("Ctrl-C");
        }
        after(MS, sample)
    });
    stopper.set(bench.loadgen.stop_handle()).unwrap();
    let outcome = bench.run();
    let search = outcome.peak_search.as_ref().unwrap();
    assert_eq!((search.steps.len(), &search.end, search.reported_step), (3, &PeakEnd::Broken, Some(1)));
    assert_eq!(outcome.samples().count(), 100);
    assert!(outcome.reasons().contains(&"interrupted: Ctrl-C".to_owned()), "{:?}", outcome.reasons());
    assert!(!outcome.is_valid(), "the summary says the same as the verdict");
}

/// Samples that were generated but not issued take their variate, as in LoadGen.
#[test]
fn the_choice_of_logged_responses_goes_on_from_run_to_run() {
    let request = TestSettings {
        min_query_count: 100,
        accuracy_log_probability: 0.1,
        max_query_count: 60,
        server_find_peak_qps_decimals_of_precision: 0,
        ..request()
    };
    let outcome =
        Bench::new(request.clone(), |n, sample| after(if n < 120 { MS } else { 20 * MS }, sample)).run();
    assert_eq!(outcome.peak_search.as_ref().unwrap().peak_qps(), Some(100.0));
    let settings = EffectiveSettings::new(&request, 4, 10).unwrap().0;
    let mut sampler = proctor_loadgen::AccuracySampler::new(&settings);
    let mut expected = Vec::new();
    for id in 0..outcome.phases.len() as u64 * 100 {
        if sampler.select(proctor_loadgen::PhaseMode::Performance) && id % 100 < 60 {
            expected.push(id);
        }
    }
    let logged: Vec<_> = outcome.accuracy.iter().map(|record| record.sample_id).collect();
    assert_eq!(logged, expected);
}

/// Completes inside of the call.
struct AtOnce(Arc<dyn CompletionSink>);

impl SystemUnderTest for AtOnce {
    fn name(&self) -> &str {
        "at once"
    }

    fn issue(&self, samples: &[QuerySample]) {
        for sample in samples {
            respond(&*self.0, answer(0, sample.id), sample.index);
        }
    }

    fn flush(&self) {}
}

/// Completes inside of the call, fails from the third phase on, and records its calls.
struct NotesFlushes {
    sink: Arc<dyn CompletionSink>,
    clock: Arc<VirtualClock>,
    calls: Mutex<Vec<&'static str>>,
}

impl NotesFlushes {
    fn note(&self, call: &'static str) {
        let mut calls = self.calls.lock().expect("one thread");
        if calls.last() != Some(&call) {
            calls.push(call);
        }
    }

    fn flush_count(&self) -> usize {
        self.calls.lock().expect("one thread").iter().filter(|call| **call == "flush").count()
    }
}

impl SystemUnderTest for NotesFlushes {
    fn name(&self) -> &str {
        "notes flushes"
    }

    fn issue(&self, samples: &[QuerySample]) {
        self.note("issue");
        let status = if self.flush_count() < 2 { SampleStatus::OK } else { SampleStatus::FAILED };
        for QuerySample { id, index } in samples.iter().copied() {
            let sink = Arc::clone(&self.sink);
            let complete = move || respond(&*sink, Answer { status, ..answer(0, id) }, index);
            self.clock.schedule(self.clock.now_ns() + 1, complete);
        }
    }

    fn flush(&self) {
        self.note("flush");
    }

    fn end_flush(&self) {
        self.note("end_flush");
    }
}

#[test]
fn a_flush_is_over_before_the_next_phase_begins() {
    let clock = Arc::new(VirtualClock::new());
    let loadgen = LoadGen::new(request(), Arc::clone(&clock), LoadGenOptions::default());
    let sut = NotesFlushes { sink: loadgen.sink(), clock, calls: Mutex::default() };
    let outcome = loadgen.run(&sut, &NotingLibrary::new(10, 4)).unwrap();
    let steps = &outcome.peak_search.as_ref().unwrap().steps;
    assert!(steps.iter().filter(|step| matches!(step, PeakStep::Middle { .. })).count() > 2, "{steps:?}");
    let phase = ["end_flush", "issue", "flush"];
    assert_eq!(sut.calls.into_inner().unwrap(), phase.repeat(steps.len()));
}

#[test]
fn on_the_real_clock_too_a_search_that_nothing_bounds_ends() {
    let request = TestSettings {
        server_target_qps: 1e8,
        // An hour, so that no machine is too slow.
        server_target_latency_ns: 3_600_000_000_000,
        min_query_count: 500,
        ..request()
    };
    let loadgen = LoadGen::new(request, Arc::new(RealClock::default()), LoadGenOptions::default());
    let outcome = loadgen.run(&AtOnce(loadgen.sink()), &NotingLibrary::new(10, 4)).unwrap();
    let search = outcome.peak_search.as_ref().unwrap();
    assert_eq!(search.end, PeakEnd::MaxRate { next_qps: 1.6e9 });
    assert_eq!(search.reported_qps(), Some(8e8));
    assert_eq!(outcome.reasons().len(), 1, "{:?}", outcome.reasons());
    assert!(outcome.reasons()[0].contains("above the largest server_target_qps, 1000000000:"));
}

#[test]
fn in_virtual_time_a_system_that_takes_none_has_no_peak() {
    let outcome = Bench::new(request(), |_, sample| after(0, sample)).run();
    let search = outcome.peak_search.as_ref().unwrap();
    assert_eq!((&search.end, search.reported_step), (&PeakEnd::Timeless, Some(0)));
    assert!(!outcome.is_valid());
}

#[test]
fn settings_that_no_search_can_follow_are_refused() {
    let refused = |request| {
        let bench = Bench::new(request, |_, sample| after(MS, sample));
        let error = bench.loadgen.run(&bench.sut, &bench.qsl).unwrap_err();
        assert!(matches!(error, LoadGenError::Settings(_)));
        error.to_string()
    };
    let error = refused(TestSettings { server_find_peak_qps_boundary_step_size: 0.0, ..request() });
    assert!(error.starts_with("setting server_find_peak_qps_boundary_step_size = 0"), "{error}");
    let error = refused(TestSettings { server_find_peak_qps_decimals_of_precision: -1, ..request() });
    assert!(error.ends_with("= -1 is out of range: give a whole number from 0 to 9"), "{error}");
}
