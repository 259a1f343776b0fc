//! Token runs against a scripted system in virtual time: each scenario with latencies that can be computed by hand, and
//! systems that report tokens against the rules.

use std::fs;

use crate::{
    behaviour::scripted::{Answer, Bench, MS, Tokens, answer},
    log_files::write_logs,
};
use proctor_loadgen::{
    LoadGenOptions, Recommendation, Rule, TestOutcome, TestSettings, TokenCapacity, TokenLatencies,
    TokenlessSamples, ViolationKind, log::LogIdentity,
};
use proctor_vocabulary::{QuerySample, SampleStatus, Scenario, TestMode};

fn settings(scenario: Scenario) -> TestSettings {
    TestSettings {
        scenario,
        min_duration_ms: 100,
        server_target_qps: 5000.0,
        offline_expected_qps: 1000.0,
        multi_stream_samples_per_query: 2,
        use_token_latencies: true,
        ..TestSettings::default()
    }
}

fn first_token(after_ns: u64, sample: QuerySample) -> Answer {
    Answer { tokens: Tokens::First, ..answer(after_ns, sample.id) }
}

fn more(after_ns: u64, sample: QuerySample, token_count: u32) -> Answer {
    Answer { tokens: Tokens::More(token_count), ..answer(after_ns, sample.id) }
}

fn end(after_ns: u64, sample: QuerySample, token_count: u32) -> Answer {
    Answer { tokens: Tokens::Count(token_count), ..answer(after_ns, sample.id) }
}

/// The first token after 3 ms, and then nine more, one each millisecond.
fn ten_tokens(sample: QuerySample) -> Vec<Answer> {
    vec![first_token(3 * MS, sample), end(12 * MS, sample, 10)]
}

fn run(settings: TestSettings) -> TestOutcome {
    Bench::new(settings, |_, sample| ten_tokens(sample)).run()
}

/// The figures of a run whose samples all had ten tokens.
fn latencies(outcome: &TestOutcome) -> &TokenLatencies {
    let result = outcome.performance.as_ref().unwrap();
    let sample_count = result.sample_latencies.count;
    assert_eq!(result.tokens.as_ref().unwrap().token_count, sample_count * 10);
    let latencies = result.token_latencies().unwrap();
    for (statistics, expected_ns) in [(&latencies.first_token, 3 * MS), (&latencies.per_output_token, MS)] {
        assert_eq!(statistics.count, sample_count);
        assert_eq!((statistics.min_ns, statistics.max_ns), (expected_ns, expected_ns));
    }
    latencies
}

fn logs(outcome: &TestOutcome) -> [String; 3] {
    let folder = tempfile::tempdir().unwrap();
    write_logs(outcome, folder.path(), &LogIdentity::default()).unwrap();
    ["mlperf_log_summary.txt", "mlperf_log_detail.txt", "mlperf_log_accuracy.json"]
        .map(|name| fs::read_to_string(folder.path().join(name)).unwrap())
}

#[test]
fn single_stream_estimates_both_percentiles() {
    let outcome = run(TestSettings { min_query_count: 700, ..settings(Scenario::SingleStream) });
    assert!(outcome.is_valid(), "{:?}", outcome.reasons());
    let latencies = latencies(&outcome);
    // Ten tokens in 12 ms; the last query is issued 12 ms before the end.
    let without_overhead = latencies.tokens_per_second_without_loadgen_overhead;
    assert!((without_overhead - 10.0 / 0.012).abs() < 1e-9, "{without_overhead}");
    let with_overhead = latencies.tokens_per_second_with_loadgen_overhead;
    assert!((with_overhead - 7000.0 / (699.0 * 0.012)).abs() < 1e-9, "{with_overhead}");
    assert_eq!(latencies.tpot_early_stopping.estimate_ns, Some(MS));
    assert_eq!(latencies.ttft_early_stopping.as_ref().unwrap().estimate_ns_p99, Some(3 * MS));
    let result = outcome.performance.as_ref().unwrap();
    assert_eq!(result.early_stopping.estimate_ns, Some(3 * MS));
    let [summary, detail, _] = logs(&outcome);
    assert!(summary.contains("90.0th first token percentile latency (ns) : 3000000\n"), "{summary}");
    assert!(detail.contains("\"early_stopping_latency_ss\", \"value\": 3000000,"), "{detail}");
}

#[test]
fn multi_stream_estimates_its_queries() {
    let outcome = run(TestSettings { min_query_count: 662, ..settings(Scenario::MultiStream) });
    assert!(outcome.is_valid(), "{:?}", outcome.reasons());
    let latencies = latencies(&outcome);
    assert_eq!(latencies.tpot_early_stopping.estimate_ns, Some(12 * MS));
    assert_eq!(latencies.ttft_early_stopping.as_ref().unwrap().estimate_ns, Some(12 * MS));
}

#[test]
fn server_judges_tokens_instead_of_samples() {
    let request = TestSettings {
        // Every sample is over this.
        server_target_latency_ns: 0,
        server_ttft_latency: 3 * MS,
        server_tpot_latency: MS,
        ..settings(Scenario::Server)
    };
    let outcome = run(request.clone());
    assert!(outcome.is_valid(), "{:?}", outcome.reasons());
    latencies(&outcome);

    let outcome = run(TestSettings { server_ttft_latency: 3 * MS - 1, ..request.clone() });
    assert_eq!(
        outcome.reasons()[0],
        "p99 time to first token 3 ms, over the 2.999999 ms bound: no rate is low enough, for without any queue it is \
         about 3 ms, so the system has to be faster"
    );
    let result = outcome.performance.as_ref().unwrap();
    assert_eq!(result.recommendations, [Recommendation::ReduceTargetQpsForTtft]);
    assert!(latencies(&outcome).tpot_early_stopping.met && !result.early_stopping.met);

    let outcome = run(TestSettings { server_tpot_latency: MS - 1, ..request });
    assert_eq!(
        outcome.reasons()[0],
        "p99 time per output token 1 ms, over the 999.999 us bound: no rate is low enough, for without any queue it is \
         about 1 ms, so the system has to be faster"
    );
    assert_eq!(latencies(&outcome).ttft_early_stopping, None, "not judged once the other has failed");
    let reason = "\"value\": \"TPOT constrain not met: Reduce target QPS to improve latency. \"";
    assert!(logs(&outcome)[1].contains(reason));
}

#[test]
fn server_counts_the_first_token_from_the_schedule() {
    let request = TestSettings { server_target_qps: 1000.0, ..settings(Scenario::Server) };
    // Each issue call takes 3 ms, which is too slow: samples wait for their issue.
    let script = |_, sample| vec![first_token(0, sample), end(9 * MS, sample, 10)];
    let mut bench = Bench::new(request, script);
    bench.sut.issue_takes_ns = 3 * MS;
    let outcome = bench.run();
    let record = &outcome.phases[0].record;
    let tokens = record.tokens.as_ref().unwrap();
    assert!(*tokens.first_token_latencies_ns.last().unwrap() > 100 * MS);
    for (ttft_ns, latency_ns) in tokens.first_token_latencies_ns.iter().zip(record.sample_latencies_ns.iter())
    {
        assert_eq!(ttft_ns + 9 * MS, latency_ns);
    }
    assert_eq!(tokens.times_per_output_token_ns, vec![MS; record.sample_latencies_ns.len() as usize]);
}

#[test]
fn offline_counts_tokens_and_needs_no_first() {
    // One sample each millisecond, and the last after 110 ms.
    let outcome =
        Bench::new(settings(Scenario::Offline), |n, sample| vec![end((n + 1) * MS, sample, 7)]).run();
    assert!(outcome.is_valid(), "{:?}", outcome.reasons());
    let tokens = outcome.performance.as_ref().unwrap().tokens.as_ref().unwrap();
    assert_eq!((tokens.token_count, &tokens.latencies), (770, &None));
    assert_eq!(tokens.completed_tokens_per_second, 7000.0);
    let [summary, detail, _] = logs(&outcome);
    assert!(summary.contains("Tokens per second: 7000\nResult is : VALID\n"), "{summary}");
    assert!(detail.contains("\"result_tokens_per_second\", \"value\": 7000,"), "{detail}");
}

#[test]
fn accuracy_runs_log_first_tokens_and_counts() {
    for scenario in Scenario::ALL {
        let request = TestSettings { mode: TestMode::AccuracyOnly, ..settings(*scenario) };
        let outcome = run(request);
        assert!(outcome.is_valid(), "{scenario}: {:?}", outcome.reasons());
        assert_eq!(outcome.accuracy.len(), 10);
        for record in &outcome.accuracy {
            let tokens = record.tokens.as_ref().unwrap();
            assert_eq!(tokens.token_count, 10);
            let expected = vec![record.index.0.to_le_bytes()[0]];
            assert_eq!(tokens.first_token_data, (*scenario != Scenario::Offline).then_some(expected));
        }
    }
}

#[test]
fn performance_runs_log_the_first_tokens_of_the_chosen_samples() {
    let request = TestSettings { accuracy_log_probability: 0.3, ..settings(Scenario::Server) };
    let outcome = run(request.clone());
    let logged_count = outcome.accuracy.len();
    assert!(logged_count > 100, "three in ten");
    for record in &outcome.accuracy {
        let tokens = record.tokens.as_ref().unwrap();
        assert_eq!(tokens.first_token_data, Some(vec![record.index.0.to_le_bytes()[0]]));
    }
    // An arena for ten responses of 8 bytes, and as many first tokens.
    let options = LoadGenOptions { response_arena_bytes: 240, ..LoadGenOptions::default() };
    let outcome = Bench::with_options(request, options, |_, sample| ten_tokens(sample)).run();
    assert_eq!(outcome.accuracy.len(), 10);
    let lost_count = 2 * (logged_count - 10);
    let expected =
        format!("{lost_count} responses did not fit into the accuracy log: raise response_arena_bytes = 240");
    assert_eq!(outcome.errors(), [expected]);
}

#[test]
fn more_tokens_than_the_data_can_hold_are_in_no_figure_that_is_shown() {
    // Eight bytes of data are two tokens; each fourth sample claims a million.
    let script = |n: u64, sample: QuerySample| {
        let token_count = if n.is_multiple_of(4) { 1_000_000 } else { 2 };
        vec![first_token(3 * MS, sample), end(12 * MS, sample, token_count)]
    };
    let token_capacity = Some(TokenCapacity { before_bytes: 0, element_bits: 32 });
    for scenario in [Scenario::SingleStream, Scenario::Server] {
        let options = LoadGenOptions { token_capacity, ..LoadGenOptions::default() };
        let request = TestSettings { min_query_count: 700, ..settings(scenario) };
        let outcome = Bench::with_options(request, options, script).run();
        let sample_count = outcome.samples().count() as u64;
        let too_many_tokens_count = sample_count.div_ceil(4);
        assert_eq!(outcome.violation_count(ViolationKind::TooManyTokens), too_many_tokens_count);
        assert!(!outcome.is_valid(), "{scenario}");
        let shown = outcome.figures().unwrap().tokens.as_ref().unwrap();
        let left_out = TokenlessSamples { too_many_tokens_count, ..TokenlessSamples::default() };
        assert_eq!(shown.left_out, left_out, "{scenario}");
        assert_eq!(shown.token_count, 2 * (sample_count - too_many_tokens_count), "{scenario}");
        assert_eq!(shown.latencies.as_ref().unwrap().per_output_token.max_ns, 9 * MS, "{scenario}");
        // LoadGen's logs have the system's values.
        let logged = outcome.performance.as_ref().unwrap().tokens.as_ref().unwrap();
        assert_eq!(logged.token_count, shown.token_count + 1_000_000 * too_many_tokens_count, "{scenario}");
    }
}

#[test]
fn reported_tokens_have_the_times_between_them_and_change_no_log() {
    // Nine further tokens of each sample: after 1 ms, after 2 ms four at once, and after 6 ms the rest.
    let further = |sample| vec![more(4 * MS, sample, 1), more(6 * MS, sample, 4), more(12 * MS, sample, 4)];
    let by_itself = move |_, sample| {
        [vec![first_token(3 * MS, sample)], further(sample), vec![end(12 * MS, sample, 10)]].concat()
    };
    let in_a_report = move |_, sample| {
        [vec![more(3 * MS, sample, 1)], further(sample), vec![end(12 * MS, sample, 10)]].concat()
    };
    for scenario in Scenario::ALL {
        let request = TestSettings { min_query_count: 100, ..settings(*scenario) };
        let silent = run(request.clone());
        let outcomes = [Bench::new(request.clone(), by_itself).run(), Bench::new(request, in_a_report).run()];
        for outcome in outcomes {
            assert!(outcome.violations.is_empty(), "{scenario}: {:?}", outcome.reasons());
            assert_eq!(logs(&outcome), logs(&silent), "{scenario}");
            let tokens = outcome.performance.as_ref().unwrap().tokens.as_ref().unwrap();
            let between = tokens.between.as_ref().unwrap();
            assert_eq!(
                (between.count, between.mean_ns, between.max_ns),
                (tokens.token_count / 10 * 3, 3 * MS, 6 * MS)
            );
            let [p50_ns, p90_ns, ..] = between.percentiles_ns;
            assert!((2 * MS..2 * MS + MS / 10).contains(&p50_ns) && p90_ns == 6 * MS, "{between:?}");
        }
        let tokens = silent.performance.unwrap().tokens.unwrap();
        assert_eq!(tokens.between, None, "{scenario}");
    }
}

#[test]
fn tokens_against_the_rules_are_named() {
    type Special = fn(QuerySample) -> Vec<Answer>;
    let cases: [(ViolationKind, &str, Special); 7] = [
        (ViolationKind::NoFirstToken, "completed before their first token", |sample| {
            vec![end(MS, sample, 10)]
        }),
        (ViolationKind::FirstTokenTwice, "given a first token more than once", |sample| {
            [vec![first_token(MS, sample)], ten_tokens(sample)].concat()
        }),
        (ViolationKind::FirstTokenAfterCompletion, "given a first token after their completion", |sample| {
            [ten_tokens(sample), vec![first_token(12 * MS, sample)]].concat()
        }),
        (ViolationKind::TokensAfterCompletion, "given tokens after their completion", |sample| {
            [ten_tokens(sample), vec![more(12 * MS, sample, 1)]].concat()
        }),
        (
            ViolationKind::TokenCountDiffers,
            "completed with another number of tokens than were reported",
            |sample| [vec![more(MS, sample, 11)], vec![end(MS, sample, 10)]].concat(),
        ),
        (ViolationKind::NoTokenCount, "completed without a number of tokens", |sample| {
            vec![first_token(MS, sample), end(MS, sample, 0)]
        }),
        (ViolationKind::SingleToken, "completed with one token where at least two are needed", |sample| {
            vec![first_token(MS, sample), end(MS, sample, 1)]
        }),
    ];
    for (kind, text, special) in cases {
        for scenario in [Scenario::SingleStream, Scenario::MultiStream, Scenario::Server] {
            let request = TestSettings { min_query_count: 700, ..settings(scenario) };
            let bench = Bench::new(
                request,
                move |n, sample| if n == 5 { special(sample) } else { ten_tokens(sample) },
            );
            let outcome = bench.run();
            let id = bench.issued()[5].id;
            let kinds: Vec<_> = outcome.violations.iter().map(|violation| violation.kind).collect();
            assert_eq!(kinds, [kind], "{scenario}");
            let reason = format!("1 sample {text}: sample 5 (response id {id})");
            assert_eq!(outcome.reasons(), [&*reason], "{scenario}");
            assert!(logs(&outcome)[1].contains(&reason), "{scenario}: the detail log says so");
            // Everything that could be measured is there.
            let tokens = outcome.phases[0].record.tokens.as_ref().unwrap();
            let is_whole = !matches!(
                kind,
                ViolationKind::NoFirstToken | ViolationKind::NoTokenCount | ViolationKind::SingleToken
            );
            let sample_count = bench.issued().len();
            assert_eq!(tokens.times_per_output_token_ns.len(), sample_count - usize::from(!is_whole));
        }
    }
}

#[test]
fn samples_that_lack_tokens_are_left_out_of_the_figures_that_are_shown() {
    // Of ten samples one has no first token, and one no number of tokens.
    let script = |n: u64, sample: QuerySample| match n % 10 {
        0 => vec![end(MS, sample, 7)],
        1 => vec![first_token(2 * MS, sample), end(3 * MS, sample, 0)],
        _ => ten_tokens(sample),
    };
    for scenario in Scenario::ALL {
        let request = TestSettings { min_query_count: 700, ..settings(*scenario) };
        let outcome = Bench::new(request, script).run();
        assert!(!outcome.is_valid(), "{scenario}");
        let sample_count = outcome.samples().count() as u64;
        let [no_first_token_count, too_few_tokens_count] = [0, 1].map(|n| (sample_count + 9 - n) / 10);
        let whole_count = sample_count - no_first_token_count - too_few_tokens_count;
        let [logged, shown] = [outcome.performance.as_ref(), outcome.figures()]
            .map(|result| result.unwrap().tokens.as_ref().unwrap());
        let logged_token_count = whole_count * 10 + no_first_token_count * 7;
        assert_eq!((logged.token_count, logged.left_out.count()), (logged_token_count, 0), "{scenario}");
        let (Some(in_log), Some(on_show)) = (&logged.latencies, &shown.latencies) else {
            // Offline asks for no first token.
            let left_out = TokenlessSamples { too_few_tokens_count, ..TokenlessSamples::default() };
            assert_eq!((shown.token_count, shown.left_out), (logged_token_count, left_out), "{scenario}");
            continue;
        };
        let left_out =
            TokenlessSamples { no_first_token_count, too_few_tokens_count, too_many_tokens_count: 0 };
        assert_eq!((shown.token_count, shown.left_out), (whole_count * 10, left_out), "{scenario}");
        let ratio = shown.completed_tokens_per_second / logged.completed_tokens_per_second;
        let expected = shown.token_count as f64 / logged.token_count as f64;
        assert!((ratio - expected).abs() < 1e-9, "{scenario}: {ratio}");
        // The first token of the others came, and is measured.
        let first_count = sample_count - no_first_token_count;
        assert_eq!((on_show.first_token.count, on_show.per_output_token.count), (first_count, whole_count));
        assert_eq!(in_log.first_token, on_show.first_token, "{scenario}");
        assert_eq!(in_log.per_output_token, on_show.per_output_token, "{scenario}");
        let is_kept_bound = |rule| matches!(rule, Rule::Bound { .. } | Rule::EarlyStopping { .. });
        assert!(!outcome.findings.iter().any(|it| is_kept_bound(it.rule) && !it.is_broken()), "{scenario}");
    }
}

#[test]
fn a_system_that_knows_no_tokens_gets_an_invalid_result() {
    for scenario in Scenario::ALL {
        let bench = Bench::new(settings(*scenario), |_, sample| vec![end(MS, sample, 0)]);
        let outcome = bench.run();
        assert!(!outcome.is_valid());
        let reason = format!("{} samples completed without a number of tokens", bench.issued().len());
        let named = outcome.reasons().iter().any(|text| text.starts_with(&reason));
        assert!(named, "{scenario}: {:?}", outcome.reasons());
        logs(&outcome);
    }
}

#[test]
fn first_tokens_outside_of_token_runs_do_no_harm() {
    let request = TestSettings { use_token_latencies: false, ..settings(Scenario::SingleStream) };
    let twice = |_, sample| [vec![first_token(MS, sample)], ten_tokens(sample)].concat();
    let outcome = Bench::new(request, twice).run();
    assert!(outcome.is_valid(), "{:?}", outcome.reasons());
    assert!(outcome.phases[0].record.tokens.is_none() && outcome.violations.is_empty());
}

#[test]
fn a_failed_sample_is_only_failed() {
    let request = TestSettings { min_query_count: 700, ..settings(Scenario::SingleStream) };
    let fail = |sample| vec![Answer { status: SampleStatus(3), ..end(MS, sample, 0) }];
    let outcome =
        Bench::new(request, move |n, sample| if n == 5 { fail(sample) } else { ten_tokens(sample) }).run();
    assert_eq!(outcome.reasons(), ["1 sample failed: sample 5 (status 3)"]);
}
