//! Runs by the official LoadGen: `host run --engine official`.

mod audit;
mod endings;
mod refused;
mod scenarios;
mod sequences;

use proctor_test_needs::LOADGEN_PACKAGE;
use proctor_tests::{Bench, Run, short};
use serde_json::Value;

use super::bench_with;

/// Engine of the runs, and hints by which the package makes few queries: it makes all before the first is issued.
const OFFICIAL: &str = "--engine official --set single_stream_expected_latency_ns=2000 \
                        --set multi_stream_expected_latency_ns=10000";

/// Returns a bench whose programs find a Python with the official LoadGen.
fn bench() -> Option<Bench> {
    bench_with(&[LOADGEN_PACKAGE])
}

/// Runs a scenario shortly by the official LoadGen.
fn run(bench: &Bench, scenario: &str, flags: &str) -> Run {
    bench.run(&format!("{OFFICIAL} {} {flags}", short(scenario)))
}

/// Returns the entries of a detail log.
fn entries(log: &str) -> Vec<Value> {
    log.lines()
        .map(|line| line.strip_prefix(":::MLLOG ").unwrap_or_else(|| panic!("no entry: {line}")))
        .map(|entry| serde_json::from_str(entry).unwrap_or_else(|error| panic!("{error}: {entry}")))
        .collect()
}

/// Returns the first value of a key in a detail log.
fn logged(log: &str, key: &str) -> Value {
    let found = entries(log).into_iter().find(|entry| entry["key"] == key);
    found.unwrap_or_else(|| panic!("no {key} in {log}"))["value"].take()
}

/// Asserts that a detail log has no event that is an error.
fn assert_no_errors(run: &Run, log: &str) {
    let text = run.text(log);
    let errors: Vec<_> = text.lines().filter(|line| line.contains("\"is_error\": true")).collect();
    assert!(errors.is_empty(), "{log}: {errors:?}: {}", run.finished);
    assert!(text.contains("\"num_errors\"") || text.contains("\"loadgen_version\""), "{log}: {text}");
}
