//! The audit file and test 05 at the start of a test, against LoadGen's recordings.

use crate::golden_files;
use crate::{
    behaviour::scripted::{Answer, Bench, Tokens, after, answer},
    log_files::write_logs,
};
use proctor_loadgen::{LoadGenOptions, TestOutcome, TestSettings, log::LogIdentity};
use serde_json::Value;

fn entries(text: &str) -> Vec<Value> {
    let entries = text.lines().map(|line| line.strip_prefix(":::MLLOG ").unwrap());
    let mut entries: Vec<Value> = entries.map(|entry| serde_json::from_str(entry).unwrap()).collect();
    entries.retain(|entry| !entry["key"].as_str().unwrap().starts_with("loadgen_"));
    entries
}

fn detail(outcome: &TestOutcome) -> Vec<Value> {
    let mut text = Vec::new();
    let identity = LogIdentity::default();
    outcome.detail_log(&identity).write(&identity, &mut text).unwrap();
    entries(&String::from_utf8(text).unwrap())
}

/// Runs a recorded case, and compares everything that does not depend on the speed of the machine.
fn check(name: &str) -> TestOutcome {
    let case: Value = golden_files::read(&format!("runs/{name}/case.json"));
    let audit_config = case["audit_conf"].as_str().map(str::to_owned);
    let options = LoadGenOptions { audit_config, ..LoadGenOptions::default() };
    // Some recorded latency: it decides nothing that is compared.
    let bench = Bench::with_options(golden_files::settings(&case), options, |_, sample| after(5000, sample));
    let outcome = bench.run();

    let recorded = entries(&golden_files::text(&format!("runs/{name}/mlperf_log_detail.txt")));
    let written = detail(&outcome);
    let keys = |entries: &[Value]| entries.iter().map(|entry| entry["key"].clone()).collect::<Vec<_>>();
    assert_eq!(keys(&written), keys(&recorded), "{name}");
    for (got, expected) in written.iter().zip(&recorded) {
        let key = got["key"].as_str().unwrap();
        let of_settings = key.starts_with("requested_") || key.starts_with("effective_");
        let of_generation = key.starts_with("generated_") || key == "loaded_qsl_set";
        if of_settings || of_generation || key.contains("message") || key == "num_errors" {
            assert_eq!(got["value"], expected["value"], "{name}: {key}");
            assert_eq!(got["metadata"]["is_warning"], expected["metadata"]["is_warning"], "{name}: {key}");
        }
    }

    let folder = tempfile::tempdir().unwrap();
    write_logs(&outcome, folder.path(), &LogIdentity::default()).unwrap();
    let summary = std::fs::read_to_string(folder.path().join("mlperf_log_summary.txt")).unwrap();
    let expected = golden_files::text(&format!("runs/{name}/mlperf_log_summary.txt"));
    let parameters = |text: &str| text[text.find("Test Parameters Used").unwrap()..].to_owned();
    assert_eq!(parameters(&summary), parameters(&expected), "{name}: parameters and counts of warnings");
    outcome
}

#[test]
fn an_audit_file_changes_the_settings() {
    let outcome = check("audit_config");
    let applied: Vec<_> = outcome.audit.as_ref().unwrap().as_ref().unwrap().applied.iter().collect();
    assert!(applied.iter().any(|applied| applied.setting == "accuracy_log_sampling_target"), "{applied:?}");
    let recorded: Vec<Value> = golden_files::read("runs/audit_config/mlperf_log_accuracy.json");
    let logged = outcome.accuracy.iter().map(|record| (record.sample_id, record.index.0));
    let recorded = recorded
        .iter()
        .map(|record| (record["seq_id"].as_u64().unwrap(), record["qsl_idx"].as_u64().unwrap()));
    assert_eq!(logged.collect::<Vec<_>>(), recorded.collect::<Vec<_>>());
}

#[test]
fn test05_replaces_the_seeds_and_the_mode() {
    check("test05");
}

#[test]
fn an_audit_file_with_an_error_changes_nothing_and_is_told_of() {
    let case: Value = golden_files::read("runs/test05/case.json");
    let request = golden_files::settings(&case);
    let text = "*.*.min_query_count = 12\n*.*.max_query_count 5\n";
    let options = LoadGenOptions { audit_config: Some(text.to_owned()), ..LoadGenOptions::default() };
    let outcome = Bench::with_options(request.clone(), options, |_, sample| after(5000, sample)).run();
    assert_eq!(outcome.effective.request, request.with_test05_applied());
    let log = detail(&outcome);
    let error = log.iter().find(|entry| entry["key"] == "error_invalid_config").unwrap();
    assert_eq!(error["value"], "expected 'key=value', line=2");
}

#[test]
fn an_audit_file_may_switch_token_latencies_on() {
    let case: Value = golden_files::read("runs/test05/case.json");
    let audit_config = Some("*.*.use_token_latencies = 1\n".to_owned());
    let options = LoadGenOptions { audit_config, ..LoadGenOptions::default() };
    let bench = Bench::with_options(golden_files::settings(&case), options, |_, sample| {
        let first = Answer { tokens: Tokens::First, ..answer(1000, sample.id) };
        vec![first, Answer { tokens: Tokens::Count(5), ..answer(5000, sample.id) }]
    });
    let outcome = bench.run();
    let tokens = outcome.performance.as_ref().unwrap().token_latencies().unwrap();
    assert_eq!((tokens.first_token.min_ns, tokens.per_output_token.min_ns), (1000, 1000));
}

#[test]
fn a_mode_that_does_not_exist_is_an_error_in_the_log() {
    let audit_config = Some("*.*.mode = 9\n*.*.min_query_count = 3\n".to_owned());
    let options = LoadGenOptions { audit_config, ..LoadGenOptions::default() };
    let request = TestSettings { min_duration_ms: 0, ..TestSettings::default() };
    let outcome = Bench::with_options(request, options, |_, sample| after(5000, sample)).run();
    assert_eq!(outcome.effective.min_query_count, 3, "the rest of the file is applied");
    let errors: Vec<_> =
        detail(&outcome).into_iter().filter(|entry| entry["metadata"]["is_error"] == true).collect();
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0]["key"], "error_invalid_config");
    assert_eq!(errors[0]["value"], "Invalid value passed to Mode key in config.");
}
