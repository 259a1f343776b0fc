//! The trace of a long run: bounded, JSON, and with the worst in it.

use std::fs;

use crate::{
    behaviour::scripted::{Answer, Bench, MS, Tokens, after, answer},
    log_files::write_logs,
};
use proctor_loadgen::{LoadGenOptions, TestOutcome, TestSettings, log::LogIdentity};
use proctor_vocabulary::{Scenario, TestMode};
use serde_json::Value;

const SLOW_SAMPLE: u64 = 23_456;

fn request(scenario: Scenario) -> TestSettings {
    TestSettings {
        scenario,
        min_query_count: 40_000,
        min_duration_ms: 0,
        single_stream_expected_latency_ns: 1e6,
        server_target_qps: 10_000.0,
        ..TestSettings::default()
    }
}

fn run(request: TestSettings, enable_trace: bool) -> TestOutcome {
    let options = LoadGenOptions { enable_trace, ..LoadGenOptions::default() };
    let takes = |n| if n == SLOW_SAMPLE { 50 * MS } else { MS / 10 + n % 10 };
    Bench::with_options(request, options, move |n, sample| after(takes(n), sample)).run()
}

fn trace(outcome: &TestOutcome) -> String {
    let folder = tempfile::tempdir().unwrap();
    write_logs(outcome, folder.path(), &LogIdentity::default()).unwrap();
    fs::read_to_string(folder.path().join("mlperf_log_trace.json")).unwrap()
}

fn events(text: &str, name: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(text).unwrap();
    let all = all["traceEvents"].as_array().unwrap().clone();
    all.into_iter().filter(|event| event["name"] == name).collect()
}

#[test]
fn a_long_run_has_a_short_trace_with_the_slowest_sample() {
    for scenario in Scenario::ALL {
        let text = trace(&run(request(*scenario), true));
        assert!(text.len() < 2_000_000, "{scenario}: {} bytes", text.len());
        let samples = events(&text, "Sample");
        let ids: Vec<_> = samples.iter().filter_map(|event| event["args"]["sample_seq"].as_u64()).collect();
        assert!(ids.contains(&SLOW_SAMPLE), "{scenario}");
        assert!((2000..4200).contains(&ids.len()), "{scenario}: {}", ids.len());
        // In the order of the issue, from the first to nearly the last.
        assert!(ids.is_sorted() && ids[0] == 0 && *ids.last().unwrap() > 38_000, "{scenario}");
        let calls = events(&text, "IssueQuery");
        let expected = if *scenario == Scenario::Offline { 1..2 } else { 500..1600 };
        assert!(expected.contains(&calls.len()), "{scenario}: {}", calls.len());
        assert_eq!(events(&text, "Latency").is_empty(), *scenario != Scenario::Server);
    }
}

#[test]
fn numbers_count_over_all_phases() {
    let request = TestSettings {
        mode: TestMode::SubmissionRun,
        min_query_count: 20,
        ..request(Scenario::SingleStream)
    };
    let samples = events(&trace(&run(request, true)), "Sample");
    let numbers =
        |name: &str| samples.iter().filter_map(|event| event["args"][name].as_u64()).collect::<Vec<_>>();
    // Ten samples of accuracy, twenty of performance.
    assert_eq!(numbers("sample_seq"), (0..30).collect::<Vec<_>>());
    assert_eq!(numbers("query_seq"), (0..30).collect::<Vec<_>>());
    assert!(samples.windows(2).all(|pair| pair[0]["ts"].as_f64() <= pair[1]["ts"].as_f64()));
}

#[test]
fn without_a_trace_its_file_is_empty_and_the_rest_the_same() {
    let request = TestSettings { min_query_count: 100, ..request(Scenario::Server) };
    let (with, without) = (run(request.clone(), true), run(request, false));
    assert_eq!(trace(&without), "");
    assert!(!trace(&with).is_empty());
    assert_eq!(with.phases[0].record, without.phases[0].record);
}

#[test]
fn first_tokens_of_streams_are_shown_like_samples() {
    let request =
        TestSettings { use_token_latencies: true, min_query_count: 1, ..request(Scenario::SingleStream) };
    let outcome = Bench::new(request, |_, sample| {
        let first = Answer { tokens: Tokens::First, ..answer(39_314, sample.id) };
        vec![first, Answer { tokens: Tokens::Count(5), ..answer(45_827, sample.id) }]
    })
    .run();
    let text = trace(&outcome);
    let lines: Vec<_> = text.lines().filter(|line| line.contains("\"cat\"")).collect();
    let index = outcome.phases[0]
        .record
        .loaded_set
        .iter()
        .map(|index| index.0)
        .find(|index| lines[0].contains(&format!("\"sample_idx\":{index},")));
    let index = index.unwrap();
    let args = format!("\"sample_seq\":0,\"query_seq\":0,\"sample_idx\":{index},\"issue_start_ns\":0");
    let start = "\"cat\":\"default\",\"ph\":\"b\",\"pid\":0,\"id\":0,\"ts\":0.000";
    let end = "\"cat\":\"default\",\"ph\":\"e\", \"pid\":0,\"id\":0";
    assert_eq!(
        lines,
        [
            format!("{{\"name\":\"Token\",{start},\"args\":{{{args},\"complete_ns\":39314}}}},"),
            format!("{{\"name\":\"Token\",{end},\"ts\":39.314}},"),
            format!("{{\"name\":\"Sample\",{start},\"args\":{{{args},\"complete_ns\":45827}}}},"),
            format!("{{\"name\":\"Sample\",{end},\"ts\":45.827}},"),
        ]
    );
}
