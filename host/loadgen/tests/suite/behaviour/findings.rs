//! Advice of findings, followed: the next run is VALID, and takes as long as was said.

use std::{
    fs,
    sync::{Arc, Mutex},
};

use crate::{
    behaviour::scripted::{Answer, Bench, MS, NotingLibrary, Tokens, after, answer, respond},
    log_files::write_logs,
};
use proctor_loadgen::{
    Clock, Finding, Limit, LoadGen, LoadGenOptions, Measure, Remedy, Rule, Scope, SettingValue, Standing,
    SystemUnderTest, TestOutcome, TestSettings, VirtualClock, log::LogIdentity,
};
use proctor_vocabulary::{CompletionSink, QuerySample, SampleStatus, Scenario};

/// A queue with one or more servers. The n-th query takes `service_ns(n)`; its first token comes after half of that.
struct Servers {
    clock: Arc<VirtualClock>,
    sink: Arc<dyn CompletionSink>,
    /// When each server is free, and how many queries there were.
    state: Mutex<(Vec<u64>, u64)>,
    service_ns: Service,
    has_tokens: bool,
}

impl SystemUnderTest for Servers {
    fn name(&self) -> &str {
        "servers"
    }

    fn issue(&self, samples: &[QuerySample]) {
        let mut state = self.state.lock().expect("one thread");
        let (free_ns, count) = &mut *state;
        for QuerySample { id, index } in samples.iter().copied() {
            let server = free_ns.iter_mut().min().expect("there is a server");
            let start_ns = (*server).max(self.clock.now_ns());
            let service_ns = (self.service_ns)(*count);
            *count += 1;
            *server = start_ns + service_ns;
            let respond_at = |at_ns, answer: Answer| {
                let sink = Arc::clone(&self.sink);
                self.clock.schedule(at_ns, move || respond(&*sink, answer, index));
            };
            if self.has_tokens {
                respond_at(start_ns + service_ns / 2, Answer { tokens: Tokens::First, ..answer(0, id) });
                respond_at(start_ns + service_ns, Answer { tokens: Tokens::Count(10), ..answer(0, id) });
            } else {
                respond_at(start_ns + service_ns, answer(0, id));
            }
        }
    }

    fn flush(&self) {}
}

/// How long the n-th query takes, in ns.
type Service = fn(u64) -> u64;

fn run(settings: &TestSettings, server_count: usize, service_ns: Service) -> TestOutcome {
    let clock = Arc::new(VirtualClock::new());
    let loadgen = LoadGen::new(settings.clone(), Arc::clone(&clock), LoadGenOptions::default());
    let state = Mutex::new((vec![0; server_count], 0));
    let has_tokens = settings.use_token_latencies;
    let sut = Servers { clock, sink: loadgen.sink(), state, service_ns, has_tokens };
    loadgen.run(&sut, &NotingLibrary::new(10, 4)).expect("the settings make a test")
}

fn one_ms(_: u64) -> u64 {
    MS
}

fn eight_ms(_: u64) -> u64 {
    8 * MS
}

/// A number in (0, 1) that looks random.
fn uniform(n: u64) -> f64 {
    let mixed = (n ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
}

fn exponential(n: u64) -> u64 {
    (-(uniform(n).ln()) * MS as f64) as u64 + 1
}

fn server(qps: f64) -> TestSettings {
    TestSettings {
        scenario: Scenario::Server,
        server_target_qps: qps,
        server_target_latency_ns: 10 * MS,
        min_duration_ms: 8_000,
        min_query_count: 1000,
        schedule_rng_seed: 3,
        ..TestSettings::default()
    }
}

fn broken(outcome: &TestOutcome) -> Vec<&Finding> {
    outcome.findings.iter().filter(|finding| finding.standing == Standing::Broken).collect()
}

/// The settings with all advice followed.
fn followed(settings: &TestSettings, outcome: &TestOutcome) -> TestSettings {
    let mut next = settings.clone();
    for finding in broken(outcome) {
        match finding.remedy {
            Some(Remedy::LowerRate { qps }) => next.server_target_qps = qps,
            Some(Remedy::MoreQueries { total, .. }) => next.min_query_count = total,
            Some(Remedy::Set { setting, value }) => {
                next.set(setting, SettingValue::Unsigned(value)).expect("the advice names a setting");
            }
            Some(Remedy::MeetBoundFirst) => {}
            _ => panic!("nothing to follow: {finding}"),
        }
        for setting in finding.lift {
            next.set(setting, SettingValue::Unsigned(0)).expect("the advice names a setting");
        }
    }
    next
}

/// Follows the advice of an INVALID run, and checks that it leads to a VALID one of the length that was said.
fn check_advice(settings: &TestSettings, run: impl Fn(&TestSettings) -> TestOutcome) -> TestSettings {
    let first = run(settings);
    assert!(!first.is_valid());
    let said_ns = broken(&first).iter().filter_map(|finding| finding.time_ns).max();
    let next = followed(settings, &first);
    let second = run(&next);
    assert!(second.is_valid(), "{:?}, then {:?}", first.reasons(), second.reasons());
    let is_more = broken(&first).iter().any(|it| matches!(it.remedy, Some(Remedy::MoreQueries { .. })));
    let before_ns = if is_more { first.phases[0].record.final_query_issued_ns } else { 0 };
    let took_ns = second.phases[0].duration_ns - before_ns;
    let said_ns = said_ns.expect("the advice says how long it takes");
    let ratio = took_ns as f64 / said_ns as f64;
    assert!((0.85..1.25).contains(&ratio), "{said_ns} ns was said, but it took {took_ns} ns");
    next
}

/// A run at this rate, with as many queries as one at a lower rate has at least.
fn is_valid_at(settings: &TestSettings, qps: f64, run: impl Fn(&TestSettings) -> TestOutcome) -> bool {
    run(&TestSettings { server_target_qps: qps, ..settings.clone() }).is_valid()
}

#[test]
fn the_lower_rate_is_valid_and_not_much_too_low() {
    let systems: [(usize, Service); 4] = [(1, one_ms), (1, exponential), (4, eight_ms), (3, exponential)];
    for (server_count, service_ns) in systems {
        let run = |settings: &TestSettings| run(settings, server_count, service_ns);
        let bound_ns = if service_ns(0) == 8 * MS { 20 * MS } else { 10 * MS };
        // From hopelessly overloaded to slightly too fast.
        for qps in [3000.0, 1050.0].map(|qps| qps * capacity(server_count, service_ns) / 1000.0) {
            let settings = TestSettings { server_target_latency_ns: bound_ns, ..server(qps) };
            if run(&settings).is_valid() {
                continue;
            }
            let next = check_advice(&settings, run);
            assert!(next.server_target_qps < qps);
            let much_more = next.server_target_qps * 1.25;
            assert!(
                !is_valid_at(&settings, much_more, run),
                "{server_count} servers: {} was advised, but {much_more} is VALID",
                next.server_target_qps
            );
        }
    }
}

/// Queries per second that the servers can do.
fn capacity(server_count: usize, service_ns: Service) -> f64 {
    let mean_ns = (0..10_000).map(service_ns).sum::<u64>() as f64 / 1e4;
    server_count as f64 * 1e9 / mean_ns
}

#[test]
fn what_no_rate_can_mend_is_said() {
    let settings = TestSettings { server_target_latency_ns: 7 * MS, ..server(100.0) };
    let outcome = run(&settings, 1, eight_ms);
    let [bound, early] = broken(&outcome)[..] else { panic!("{:?}", outcome.findings) };
    assert_eq!(bound.remedy, Some(Remedy::FasterSystem { alone_ns: 8 * MS }));
    assert_eq!(early.remedy, Some(Remedy::MeetBoundFirst));
    assert_eq!(outcome.reasons(), [bound.to_string(), early.to_string()]);
}

/// Every 125th query is too slow, 0.8 %: the percentile is met, but 1,000 queries are too few to believe it.
fn now_and_then_slow(n: u64) -> u64 {
    if n % 125 == 40 { 10 * MS + 1 } else { 10_000 }
}

#[test]
fn so_many_more_queries_are_enough_for_early_stopping() {
    let settings = TestSettings { min_duration_ms: 1000, ..server(100.0) };
    let next = check_advice(&settings, |settings| run(settings, 1, now_and_then_slow));
    assert!(next.min_query_count > 1000 && next.server_target_qps == 100.0);
    let outcome = run(&settings, 1, now_and_then_slow);
    let [finding] = broken(&outcome)[..] else { panic!("{:?}", outcome.findings) };
    assert_eq!(finding.rule, Rule::EarlyStopping { measure: Measure::Latency });
    // What the official program says.
    let Some(Remedy::MoreQueries { fewest, total }) = finding.remedy else { panic!("{finding}") };
    let text = &outcome.performance.as_ref().expect("there was one").early_stopping.text;
    assert!(text.contains(&format!("at least {fewest} more queries")), "{text}");
    assert!(total > outcome.phases[0].record.issued_query_count + fewest);
}

#[test]
fn a_stream_needs_as_many_queries_as_the_rules_state() {
    for (scenario, expected) in [(Scenario::SingleStream, 64), (Scenario::MultiStream, 662)] {
        let settings =
            TestSettings { scenario, min_duration_ms: 0, min_query_count: 50, ..TestSettings::default() };
        let run = |settings: &TestSettings| Bench::new(settings.clone(), |_, sample| after(MS, sample)).run();
        assert_eq!(check_advice(&settings, run).min_query_count, expected);
        let reason = &run(&settings).reasons()[0];
        let start = format!("early stopping needs {} more queries, ", expected - 50);
        let end = format!(" ms at this rate: set min_query_count = {expected}");
        assert!(reason.starts_with(&start) && reason.ends_with(&end), "{reason}");
    }
}

#[test]
fn what_kept_a_run_short_is_named() {
    let stream = |scenario| TestSettings { scenario, min_duration_ms: 3000, ..TestSettings::default() };
    let expected_ns = 100.0 * MS as f64;
    let cases = [
        (
            TestSettings { single_stream_expected_latency_ns: expected_ns, ..stream(Scenario::SingleStream) },
            "single_stream_expected_latency_ns",
        ),
        (
            TestSettings {
                multi_stream_expected_latency_ns: expected_ns,
                min_duration_ms: 20_000,
                min_query_count: 700,
                ..stream(Scenario::MultiStream)
            },
            "multi_stream_expected_latency_ns",
        ),
        (TestSettings { offline_expected_qps: 100.0, ..stream(Scenario::Offline) }, "offline_expected_qps"),
        (TestSettings { max_query_count: 700, ..server(500.0) }, "max_query_count"),
        (TestSettings { max_duration_ms: 7000, ..server(500.0) }, "max_duration_ms"),
        (TestSettings { max_duration_ms: 700, ..stream(Scenario::SingleStream) }, "max_duration_ms"),
    ];
    for (settings, setting) in cases {
        // Offline samples come one after the other, too.
        let next = check_advice(&settings, |settings| run(settings, 1, one_ms));
        assert_ne!(next.get(setting), settings.get(setting), "{setting}");
    }
}

#[test]
fn a_queue_that_grew_over_its_limit_asks_for_a_lower_rate() {
    let settings = TestSettings { server_max_async_queries: 12, ..server(1500.0) };
    let run = |settings: &TestSettings| run(settings, 1, one_ms);
    let first = run(&settings);
    let short = broken(&first).into_iter().find(|finding| finding.rule == Rule::MinDuration).unwrap();
    assert_eq!(short.ended_by, Some(Limit { setting: "server_max_async_queries", value: 12 }));
    let text = short.to_string();
    assert!(text.contains(" of at least 8 s, ended by server_max_async_queries = 12: "), "{text}");
    // The first run is too short to see the longest queue of a whole one, so the advice may have to be followed twice.
    let next = followed(&settings, &first);
    let second = run(&next);
    if !second.is_valid() {
        assert!(run(&followed(&next, &second)).is_valid(), "{:?}", second.reasons());
    }
}

#[test]
fn limits_that_would_end_the_next_run_are_lifted() {
    // Early stopping needs 64 queries, and the limit is 60; at the rate that is advised 10,000 queries take longer than
    // 9 s.
    let stream = TestSettings {
        min_duration_ms: 0,
        min_query_count: 50,
        max_query_count: 60,
        ..TestSettings::default()
    };
    let fast = TestSettings { min_query_count: 10_000, max_duration_ms: 9000, ..server(3000.0) };
    let run = |settings: &TestSettings| run(settings, 1, one_ms);
    for (settings, setting) in [(stream, "max_query_count"), (fast, "max_duration_ms")] {
        let first = run(&settings);
        let lifts: Vec<_> = broken(&first).iter().flat_map(|finding| finding.lift).copied().collect();
        assert_eq!(lifts, [setting], "{:?}", first.reasons());
        let end = format!("; set {setting} = 0, which is no limit");
        assert!(first.reasons().iter().any(|reason| reason.ends_with(&end)), "{:?}", first.reasons());
        let next = check_advice(&settings, run);
        assert_eq!((next.max_query_count, next.max_duration_ms), (0, 0));
        // Without the limit there is nothing to lift.
        let unlimited = TestSettings { max_query_count: 0, max_duration_ms: 0, ..settings };
        assert!(broken(&run(&unlimited)).iter().all(|finding| finding.lift.is_empty()));
    }
}

#[test]
fn bounds_of_tokens_have_rates_of_their_own() {
    let tokens = TestSettings {
        use_token_latencies: true,
        server_ttft_latency: 10 * MS,
        server_tpot_latency: 10 * MS,
        ..server(1500.0)
    };
    check_advice(&tokens, |settings| run(settings, 1, one_ms));
    let outcome = run(&tokens, 1, one_ms);
    let rules: Vec<_> = broken(&outcome).iter().map(|finding| finding.rule.name()).collect();
    assert_eq!(rules, ["ttft_bound", "ttft_early_stopping"]);
}

#[test]
fn a_valid_run_says_what_limits_it() {
    let limits = |outcome: &TestOutcome| {
        assert!(outcome.is_valid(), "{:?}", outcome.reasons());
        let limiting = outcome.findings.iter().filter(|finding| finding.standing == Standing::Limiting);
        limiting.map(ToString::to_string).collect::<Vec<_>>()
    };
    let near = limits(&run(&server(740.0), 1, one_ms));
    assert!(near[0].starts_with("p99 latency ") && near[0].ends_with(" ms of 10 ms"), "{near:?}");
    assert!(
        near[1].starts_with("early stopping: ") || near[1].starts_with("the minimum duration: 8"),
        "{near:?}"
    );
    let far = limits(&run(&server(100.0), 1, one_ms));
    assert_eq!(far[0], "the rate asked for: 100 queries/s");
    let stream = TestSettings { min_duration_ms: 500, min_query_count: 64, ..TestSettings::default() };
    let slow = Bench::new(stream, |_, sample| after(MS, sample)).run();
    assert_eq!(limits(&slow), ["the minimum duration: 500 ms of at least 500 ms"]);
}

/// Fails after a millisecond.
fn failed(sample: QuerySample) -> Vec<Answer> {
    vec![Answer { status: SampleStatus(42), ..after(MS, sample)[0] }]
}

#[test]
fn no_bound_is_met_where_samples_were_not_answered() {
    let rules = |script: fn(u64, QuerySample) -> Vec<Answer>| {
        let outcome = Bench::new(server(200.0), script).run();
        outcome.findings.iter().map(|finding| finding.rule.name()).collect::<Vec<_>>()
    };
    for rules in [
        rules(|_, sample| failed(sample)),
        rules(|n, sample| if n == 7 { failed(sample) } else { after(MS, sample) }),
        rules(|n, sample| if n == 7 { Vec::new() } else { after(MS, sample) }),
    ] {
        assert!(rules.contains(&"min_duration"), "{rules:?}");
        for rule in ["latency_bound", "early_stopping", "target_rate"] {
            assert!(!rules.contains(&rule), "{rules:?}");
        }
    }
    // A bound that the others break is a finding still.
    let slow =
        Bench::new(server(200.0), |n, sample| if n == 7 { failed(sample) } else { after(20 * MS, sample) });
    assert_eq!(broken(&slow.run())[0].rule.name(), "latency_bound");
}

#[test]
fn without_a_rate_no_limit_is_advised() {
    let stream = |scenario, max_query_count| TestSettings {
        scenario,
        min_duration_ms: 1000,
        min_query_count: 5,
        max_query_count,
        ..TestSettings::default()
    };
    for scenario in [Scenario::SingleStream, Scenario::MultiStream] {
        // A single query, and queries that take no time.
        for (max_query_count, service_ns) in [(1, MS), (2, 0), (60, 0)] {
            let request = stream(scenario, max_query_count);
            let outcome = Bench::new(request, move |_, sample| after(service_ns, sample)).run();
            assert!(!outcome.is_valid());
            for finding in broken(&outcome) {
                assert!(finding.lift.is_empty(), "{finding}");
                assert!(!matches!(finding.remedy, Some(Remedy::Set { .. })), "{finding}");
            }
        }
        // From two queries on, the last completion counts: 1000 a second.
        let outcome = Bench::new(stream(scenario, 2), |_, sample| after(MS, sample)).run();
        let short = broken(&outcome).into_iter().find(|it| it.rule == Rule::MinDuration).unwrap();
        let Some(Remedy::Set { setting: "max_query_count", value }) = short.remedy else { panic!("{short}") };
        assert!((1100..=1101).contains(&value), "{short}");
    }
}

#[test]
fn misbehaviour_comes_with_advice() {
    let script = |n, sample: QuerySample| match n {
        5 => vec![answer(MS, sample.id), answer(2 * MS, sample.id)],
        _ => after(MS, sample),
    };
    let outcome = Bench::new(TestSettings { min_duration_ms: 10, ..TestSettings::default() }, script).run();
    let [finding] = broken(&outcome)[..] else { panic!("{:?}", outcome.findings) };
    assert_eq!(finding.rule.name(), "duplicate_samples");
    assert_eq!(outcome.reasons(), [finding.what()]);
    assert!(finding.to_string().ends_with(": complete each sample once, on one path through the system"));
}

#[test]
fn a_finding_of_the_caller_makes_the_test_invalid_in_every_log() {
    let mut outcome = run(&server(100.0), 1, one_ms);
    assert!(outcome.is_valid(), "{:?}", outcome.reasons());
    outcome.findings.push(Finding::of_caller("the cable was pulled", Some("put it back")));
    // A second look at the figures keeps what the caller has seen.
    outcome.judge();
    assert_eq!(outcome.reasons(), ["the cable was pulled"]);
    let finding = outcome.findings.last().unwrap();
    assert_eq!((finding.rule, finding.scope), (Rule::Caller, Scope::Caller));
    assert_eq!(finding.to_string(), "the cable was pulled: put it back");
    let folder = tempfile::tempdir().unwrap();
    write_logs(&outcome, folder.path(), &LogIdentity::default()).unwrap();
    let log = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let summary = log("mlperf_log_summary.txt");
    assert!(summary.contains("Result is : INVALID\n") && summary.contains(" * the cable was pulled\n"));
    assert!(summary.contains("1 ERROR encountered"), "{summary}");
    let detail = log("mlperf_log_detail.txt");
    for entry in [
        "\"error_runtime\", \"value\": \"the cable was pulled\"",
        "\"result_validity\", \"value\": \"INVALID\"",
    ] {
        assert!(detail.contains(entry), "{detail}");
    }
}
