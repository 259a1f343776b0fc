//! Advice of findings, followed: the next run is VALID, and takes as long as was said.

mod scripts;

use std::sync::{Arc, Mutex};

use crate::behaviour::scripted::{Answer, Bench, MS, NotingLibrary, Tokens, after, answer, respond};
use proctor_loadgen::{
    Clock, Finding, Limit, LoadGen, LoadGenOptions, Measure, Remedy, Rule, SettingValue, Status,
    SystemUnderTest, TestOutcome, TestSettings, VirtualClock,
};
use proctor_vocabulary::{CompletionSink, QuerySample, Scenario};

/// A queue with one or more servers. The n-th query takes `service_ns(n)`; its first token comes after half of that.
struct Servers {
    clock: Arc<VirtualClock>,
    sink: Arc<dyn CompletionSink>,
    /// Instants at which each server is free, and number of queries.
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

/// Service time of the n-th query, in ns.
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
    outcome.findings.iter().filter(|finding| finding.status == Status::Broken).collect()
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
        for setting in &finding.lift {
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

/// Returns 1 to 22 ms: almost every tenth query takes longer than 20 ms, regardless of concurrency.
fn up_to_22_ms(n: u64) -> u64 {
    MS + (uniform(n) * 21.0 * MS as f64) as u64
}

#[test]
fn where_queries_that_do_not_wait_are_too_slow_no_rate_is_advised() {
    let of_latency = |qps| TestSettings { server_target_latency_ns: 20 * MS, ..server(qps) };
    let of_tokens = |qps| TestSettings {
        use_token_latencies: true,
        server_ttft_latency: 10 * MS,
        server_tpot_latency: 1000 * MS,
        ..server(qps)
    };
    // At the first rates some find the system empty, at the last ones only the first does.
    for qps in [15.0, 425.0, 2000.0] {
        for (settings, bound_ns) in [(of_latency(qps), 20 * MS), (of_tokens(qps), 10 * MS)] {
            let outcome = run(&settings, 64, up_to_22_ms);
            let remedies: Vec<_> = broken(&outcome).iter().filter_map(|it| it.remedy.clone()).collect();
            let is_right = match remedies[0] {
                Remedy::FasterSystem { alone_ns } => alone_ns > bound_ns && qps < 2000.0,
                Remedy::Do(advice) => advice.contains("does not tell") && qps > 15.0,
                _ => false,
            };
            assert!(is_right, "{qps} queries/s: {remedies:?}");
        }
    }
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
    // Result of the official program.
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
fn a_run_that_came_to_nothing_is_given_no_number_of_queries() {
    for (scenario, min_query_count) in
        [(Scenario::SingleStream, 50), (Scenario::SingleStream, 1000), (Scenario::MultiStream, 1000)]
    {
        let settings =
            TestSettings { scenario, min_query_count, min_duration_ms: 0, ..TestSettings::default() };
        // The system drops a sample.
        let drop_one = |n: u64, sample| if n == 17 { Vec::new() } else { after(MS, sample) };
        let outcome = Bench::new(settings, drop_one).run();
        let remedy_of = |name: &str| {
            let finding = broken(&outcome).into_iter().find(|finding| finding.rule.name() == name);
            finding.unwrap_or_else(|| panic!("{name}: {:?}", outcome.findings)).remedy.clone()
        };
        assert_eq!(remedy_of("early_stopping"), None, "{scenario}");
        let stalled = broken(&outcome).into_iter().find(|finding| finding.rule == Rule::Stalled).unwrap();
        assert!(stalled.to_string().contains("did not complete: find out why"), "{stalled}");
    }
}

#[test]
fn an_offline_query_that_takes_no_time_is_told_so() {
    let settings = TestSettings { scenario: Scenario::Offline, ..TestSettings::default() };
    let outcome = Bench::new(settings, |_, sample| after(0, sample)).run();
    let finding = broken(&outcome).into_iter().find(|finding| finding.rule == Rule::MinDuration).unwrap();
    assert!(finding.to_string().contains("has to take some virtual time"), "{finding}");
}

#[test]
fn a_limit_is_given_one_value() {
    // The duration ends the run before it has its queries, and early stopping needs yet more of them.
    let settings =
        TestSettings { min_duration_ms: 2000, max_duration_ms: 1000, min_query_count: 1, ..server(20.0) };
    let outcome = run(&settings, 1, one_ms);
    let set = broken(&outcome).into_iter().filter_map(|finding| match finding.remedy {
        Some(Remedy::Set { setting: "max_duration_ms", value }) => Some(value),
        _ => None,
    });
    let lifts = broken(&outcome).iter().any(|finding| finding.lift.contains(&"max_duration_ms"));
    let set: Vec<_> = set.collect();
    assert!(lifts && !set.is_empty() && set.iter().all(|value| *value == 0), "{:?}", outcome.reasons());
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

/// Equal issue takes its number of queries from the latency that is expected, and no limit or least count changes that.
#[test]
fn a_count_that_equal_issue_has_raised_is_met_with_the_latency_that_raises_it() {
    let settings = TestSettings {
        scenario: Scenario::SingleStream,
        sample_concatenate_permutation: true,
        single_stream_expected_latency_ns: 1000.0,
        min_duration_ms: 100,
        max_query_count: 300,
        ..TestSettings::default()
    };
    let outcome = run(&settings, 1, one_ms);
    let count = broken(&outcome).into_iter().find(|finding| finding.rule == Rule::MinQueryCount);
    let count = count.expect("200,004 queries are wanted");
    match &count.remedy {
        Some(Remedy::Set { setting: "single_stream_expected_latency_ns", value }) => {
            assert!((900_000..=1_100_000).contains(value), "{count}");
        }
        _ => panic!("{count}"),
    }
    // Any limit may have ended the run, and may or may not be in the way of the next one.
    for (max_query_count, max_duration_ms) in [(300, 0), (150, 0), (50, 0), (0, 300), (0, 150), (150, 150)] {
        let settings = TestSettings { max_query_count, max_duration_ms, ..settings.clone() };
        check_advice(&settings, |settings| run(settings, 1, one_ms));
    }
}

/// The latency that is advised to plan for more queries makes equal issue want twice as many as there is time for.
#[test]
fn limits_below_the_count_that_the_advice_raises_are_lifted_with_equal_issue() {
    let settings = TestSettings {
        scenario: Scenario::SingleStream,
        sample_concatenate_permutation: true,
        single_stream_expected_latency_ns: 50.0 * MS as f64,
        min_duration_ms: 1000,
        ..TestSettings::default()
    };
    let run = |settings: &TestSettings| run(settings, 1, one_ms);
    for (max_query_count, max_duration_ms, lift) in [
        (0, 0, None),
        (1200, 0, Some("max_query_count")),
        (0, 1200, Some("max_duration_ms")),
        (5000, 5000, None),
    ] {
        let settings = TestSettings { max_query_count, max_duration_ms, ..settings.clone() };
        let first = run(&settings);
        let [finding] = broken(&first)[..] else { panic!("{:?}", first.reasons()) };
        assert_eq!(finding.lift.first().copied(), lift, "{finding}");
        assert!(finding.time_ns.is_some_and(|ns| (2000 * MS..2100 * MS).contains(&ns)), "{finding}");
        check_advice(&settings, run);
    }
}

/// LoadGen plans an Offline run a tenth longer than it has to be.
#[test]
fn the_time_of_an_offline_run_counts_all_its_samples() {
    let settings = TestSettings {
        scenario: Scenario::Offline,
        offline_expected_qps: 100.0,
        min_duration_ms: 1000,
        ..TestSettings::default()
    };
    let first = run(&settings, 1, one_ms);
    let said_ns: Vec<_> = broken(&first).iter().filter_map(|finding| finding.time_ns).collect();
    assert!(!said_ns.is_empty() && said_ns.iter().all(|ns| *ns >= 1099 * MS), "{:?}", first.reasons());
    check_advice(&settings, |settings| run(settings, 1, one_ms));
}

/// The limit on outstanding queries of a run that it has ended is named with each rule that the run broke.
fn assert_names_outstanding(outcome: &TestOutcome, value: u64) {
    let limit = Some(Limit { setting: "server_max_async_queries", value });
    assert!(!broken(outcome).is_empty());
    for finding in broken(outcome) {
        assert_eq!(finding.ended_by, limit, "{finding}");
        let (text, named) = (finding.to_string(), format!("server_max_async_queries = {value}"));
        let advice = text.find(": ").unwrap_or_else(|| panic!("no advice: {text}"));
        assert!(text.find(&named).is_some_and(|place| place < advice), "{text}");
    }
}

#[test]
fn a_queue_that_grew_over_its_limit_asks_for_a_lower_rate() {
    let settings = TestSettings { server_max_async_queries: 200, ..server(1500.0) };
    let run = |settings: &TestSettings| run(settings, 1, one_ms);
    let first = run(&settings);
    assert_names_outstanding(&first, 200);
    let short = broken(&first).into_iter().find(|finding| finding.rule == Rule::MinDuration).unwrap();
    let text = short.to_string();
    assert!(
        text.contains(" of at least 8 s, ended by server_max_async_queries = 200: lower the rate to about "),
        "{text}"
    );
    // At that rate the queue is far below the limit.
    let next = check_advice(&settings, run);
    assert_eq!(next.server_max_async_queries, 200);
    assert!((600.0..900.0).contains(&next.server_target_qps), "{}", next.server_target_qps);
}

#[test]
fn a_limit_that_few_queries_reach_is_to_be_lifted_before_anything_else() {
    let run = |settings: &TestSettings| run(settings, 1, one_ms);
    // One rate that the system keeps, and one that it does not: the run without the limit shows which it keeps.
    for (qps, limit, is_kept) in [(500.0, 1, true), (1500.0, 3, false)] {
        let settings = TestSettings { server_max_async_queries: limit, ..server(qps) };
        let first = run(&settings);
        assert_names_outstanding(&first, limit);
        let no_limit = Remedy::Set { setting: "server_max_async_queries", value: 0 };
        let remedies = broken(&first).into_iter().filter_map(|finding| finding.remedy.as_ref());
        assert!(remedies.clone().any(|remedy| *remedy == no_limit), "{:?}", first.reasons());
        assert!(
            remedies.clone().all(|remedy| [&no_limit, &Remedy::MeetBoundFirst].contains(&remedy)),
            "{:?}",
            first.reasons()
        );
        let next = followed(&settings, &first);
        assert_eq!((next.server_target_qps, next.server_max_async_queries), (qps, 0));
        if is_kept {
            assert!(run(&next).is_valid(), "{:?}", run(&next).reasons());
        } else {
            check_advice(&next, run);
        }
    }
}

#[test]
fn a_limit_below_the_queue_at_the_advised_rate_is_lifted_with_it() {
    let settings = TestSettings { server_max_async_queries: 5000, ..server(1050.0) };
    let run = |settings: &TestSettings| run(settings, 1, one_ms);
    assert!(broken(&run(&settings)).iter().all(|finding| finding.lift.is_empty()), "so many there never are");
    let long =
        TestSettings { server_target_latency_ns: 100 * MS, server_max_async_queries: 30, ..server(1200.0) };
    let first = run(&long);
    assert_names_outstanding(&first, 30);
    let lifted = |finding: &&Finding| finding.lift.contains(&"server_max_async_queries");
    assert!(broken(&first).iter().any(lifted), "{:?}", first.reasons());
    check_advice(&long, run);
}

/// A system whose batches take 18 ms, and a query alone 3: the run has full batches, but for the first.
fn in_batches(n: u64) -> u64 {
    match n {
        0 => 3 * MS,
        n if n % 32 == 1 => 18 * MS,
        _ => 0,
    }
}

#[test]
fn a_system_in_batches_is_not_said_to_be_too_slow_at_any_rate() {
    let settings = TestSettings { server_target_latency_ns: 10 * MS, ..server(3000.0) };
    let outcome = run(&settings, 1, in_batches);
    let bound = broken(&outcome).into_iter().find(|finding| finding.rule.name() == "latency_bound").unwrap();
    assert!(!matches!(bound.remedy, Some(Remedy::FasterSystem { .. })), "{bound}");
}

#[test]
fn samples_that_are_issued_once_are_not_to_be_more() {
    let settings = TestSettings {
        performance_issue_unique: true,
        min_duration_ms: 0,
        min_query_count: 1,
        ..TestSettings::default()
    };
    let outcome = Bench::new(settings, |_, sample| after(MS, sample)).run();
    let [finding] = broken(&outcome)[..] else { panic!("{:?}", outcome.findings) };
    assert_eq!(finding.rule.name(), "early_stopping");
    assert!(
        finding.to_string().ends_with(
            ": performance_issue_unique issues each sample of the performance set once, which \
        is not enough: turn it off"
        ),
        "{finding}"
    );
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
        let lifts: Vec<_> = broken(&first).iter().flat_map(|finding| &finding.lift).copied().collect();
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
        let limiting = outcome.findings.iter().filter(|finding| finding.status == Status::Limiting);
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
