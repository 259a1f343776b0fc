//! Every recorded sequence through a whole test in virtual time: what is loaded, issued and logged is what LoadGen
//! loaded, issued and logged.

use crate::golden_files;
use crate::golden_files::Numbers;
use crate::scripted::{Bench, NotingLibrary, after};
use proctor_loadgen::{LoadGenOptions, TestOutcome, TestSettings};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Case {
    id: String,
    qsl_total_count: u64,
    qsl_performance_count: u64,
    phases: Vec<Phase>,
    accuracy_log: Option<Value>,
    accuracy_log_count: Option<u64>,
    #[serde(flatten)]
    request: Value,
}

#[derive(Deserialize)]
struct Phase {
    load: Numbers,
    issued: String,
    samples: Numbers,
    first_sample_id: u64,
    schedule_ns: Option<Numbers>,
}

#[test]
fn single_stream() {
    check_all("sequence_singlestream.json");
}

#[test]
fn multi_stream() {
    check_all("sequence_multistream.json");
}

#[test]
fn server() {
    check_all("sequence_server.json");
}

#[test]
fn offline() {
    check_all("sequence_offline.json");
}

fn check_all(file: &str) {
    let cases: Vec<Case> = golden_files::read(file);
    assert!(!cases.is_empty());
    for case in cases {
        check(&case, 0);
    }
}

/// However many threads issue them, the queries are the same, and in virtual time they leave in the same order.
#[test]
fn server_with_several_issuing_threads() {
    for case in golden_files::read::<Vec<Case>>("sequence_server.json") {
        // The limits are those of a whole run, of which each thread has its share.
        for issuer_count in [1, 2, 3, 8] {
            check(&case, issuer_count);
        }
    }
}

/// Runs a case with a system that completes inside the issue call, like the one that was recorded.
fn check(case: &Case, issuer_count: u64) {
    let options = LoadGenOptions::default();
    let settings = TestSettings {
        server_num_issue_query_threads: issuer_count,
        ..golden_files::settings(&case.request)
    };
    let mut bench = Bench::with_options(settings, options, |_, sample| after(0, sample));
    bench.qsl = NotingLibrary::new(case.qsl_total_count, case.qsl_performance_count);
    let outcome = bench.run();
    assert_eq!(outcome.phases.len(), case.phases.len(), "{}", case.id);

    let issued: Vec<_> = bench.issued().iter().map(|sample| sample.index.0).collect();
    let mut rest = &issued[..];
    let loads = bench.qsl.loads.into_inner().unwrap();
    assert_eq!(loads, bench.qsl.unloads.into_inner().unwrap());
    for ((phase, loaded), expected) in outcome.phases.iter().zip(&loads).zip(&case.phases) {
        let loaded: Vec<_> = loaded.iter().map(|index| index.0).collect();
        expected.load.check(&loaded, &case.id);
        assert_eq!(phase.first_sample_id, expected.first_sample_id, "{}", case.id);
        let count = usize::try_from(phase.record.issued_sample_count).unwrap();
        let (samples, others) = rest.split_at(count);
        rest = others;
        match &expected.samples {
            // Here no time passes, so the number of queries may differ where it depended on time.
            Numbers::Whole(prefix) if expected.issued == "prefix" => {
                assert!(samples.starts_with(prefix), "{}", case.id);
            }
            expected => expected.check(samples, &case.id),
        }
        if let ([_], Some(expected)) = (&case.phases[..], &expected.schedule_ns) {
            let scheduled: Vec<_> = outcome.samples().map(|sample| sample.scheduled_ns).collect();
            expected.check(&scheduled, &case.id);
        }
    }
    assert!(rest.is_empty(), "{}", case.id);
    check_accuracy_log(case, &outcome);
}

fn check_accuracy_log(case: &Case, outcome: &TestOutcome) {
    if case.phases.iter().any(|phase| phase.issued == "prefix") {
        return;
    }
    for record in &outcome.accuracy {
        assert_eq!(record.data, record.index.0.to_le_bytes(), "{}", case.id);
    }
    let logged: Vec<_> = outcome.accuracy.iter().map(|record| [record.sample_id, record.index.0]).collect();
    match (&case.accuracy_log, case.accuracy_log_count) {
        (Some(Value::Array(pairs)), _) => {
            let expected: Vec<[u64; 2]> = serde_json::from_value(Value::from(pairs.clone())).unwrap();
            assert_eq!(logged, expected, "{}", case.id);
        }
        (Some(abridged), _) => {
            let expected: Numbers = serde_json::from_value(abridged.clone()).unwrap();
            expected.check(logged.as_flattened(), &case.id);
        }
        (None, count) => assert_eq!(logged.len() as u64, count.unwrap(), "{}", case.id),
    }
}
