//! The samples that the official LoadGen issues, one by one, beside those of the host's own load generator.

use proctor_tests::{Bench, Run, SCENARIOS};
use serde_json::Value;

use super::{bench, logged};

/// Flags of a test with a fixed number of queries, all of whose responses are logged.
const FLAGS: &str = "--plugin mock --set rules=v6.1 --set floor=false --set accuracy_log_probability=1 \
                     --set min_duration_ms=0 --set min_query_count=300 --set server_target_qps=2000 \
                     --set offline_expected_qps=1 --set server_target_latency_ns=600000000000";

/// The logged responses of a test in the order of their samples: number, index and answer of each.
fn responses(run: &Run, log: &str) -> Vec<(u64, u64, String)> {
    let records: Vec<Value> = serde_json::from_str(&run.text(log)).expect("the accuracy log is JSON");
    let number = |record: &Value, key: &str| record[key].as_u64().expect("a number");
    let mut responses: Vec<_> = records
        .iter()
        .map(|record| {
            let data = record["data"].as_str().expect("a text").to_owned();
            (number(record, "seq_id"), number(record, "qsl_idx"), data)
        })
        .collect();
    responses.sort();
    responses
}

fn assert_same_samples(scenario: &str, flags: &str) {
    let Some(bench) = bench() else { return };
    let flags = format!("{FLAGS} --scenario {scenario} {flags}");
    let official = bench.run(&format!("--engine official {flags}"));
    let ours = Bench::new().run(&flags);
    for log in ["accuracy/mlperf_log_accuracy.json", "mlperf_log_accuracy.json"] {
        let (theirs, ours) = (responses(&official, log), responses(&ours, log));
        assert!(theirs.len() >= 300, "{log}: {}: {}", theirs.len(), official.finished);
        assert_eq!(theirs.len(), ours.len(), "{scenario}, {log}");
        for (theirs, ours) in theirs.iter().zip(&ours) {
            assert_eq!(theirs, ours, "{scenario}, {log}");
        }
    }
    let log = "mlperf_log_detail.txt";
    for key in ["loaded_qsl_set", "generated_query_count", "generated_query_duration"] {
        assert_eq!(logged(&official.text(log), key), logged(&ours.text(log), key), "{scenario}, {key}");
    }
    assert_eq!(official.samples().len(), ours.samples().len(), "{scenario}");
}

#[test]
fn each_sample_and_its_answer_are_the_same() {
    for scenario in SCENARIOS {
        assert_same_samples(scenario, "");
    }
}

#[test]
fn each_sample_is_the_same_with_equal_issue_and_a_small_set() {
    for scenario in SCENARIOS {
        assert_same_samples(
            scenario,
            "--set sample_concatenate_permutation=true --set performance_sample_count_override=64",
        );
    }
}
