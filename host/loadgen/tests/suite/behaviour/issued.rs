//! Runs every recorded sequence through a whole test in virtual time: the loaded, issued and logged samples
//! match LoadGen's. And a query that is too large for one call.

use std::sync::{Arc, Mutex};

use crate::behaviour::scripted::{Bench, NotingLibrary, after, answer, respond};
use crate::golden_files;
use crate::golden_files::Numbers;
use proctor_loadgen::{
    IssueEnd, LoadGen, LoadGenOptions, RealClock, StopHandle, SystemUnderTest, TestOutcome, TestSettings,
};
use proctor_vocabulary::{CompletionSink, QueryPart, QuerySample, ResponseId, Scenario};
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
        // The limits apply to a whole run; each thread has its share.
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
            // No time passes here, so the number of queries may differ if it depended on time.
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

/// Notes the parts of Offline's query and the samples in them, which it completes at once. Stops the test in the first
/// part if it has the means.
struct Parts {
    sink: Arc<dyn CompletionSink>,
    stop: Option<StopHandle>,
    /// Samples, offset and total of each part.
    parts: Mutex<Vec<(usize, u64, u64)>>,
    samples: Mutex<Vec<QuerySample>>,
}

impl SystemUnderTest for Parts {
    fn name(&self) -> &str {
        "parts"
    }

    fn issue(&self, _: &[QuerySample]) {
        panic!("the load generator hands over parts");
    }

    fn issue_part(&self, part: QueryPart<'_>) {
        self.parts.lock().unwrap().push((part.samples.len(), part.offset, part.total));
        self.samples.lock().unwrap().extend_from_slice(part.samples);
        for sample in part.samples {
            respond(&*self.sink, answer(0, sample.id), sample.index);
        }
        if let Some(stop) = &self.stop {
            stop.stop("enough");
        }
    }

    fn flush(&self) {}
}

/// More samples than are made before the start.
const MANY: u64 = 4_400_000;
const PART: u64 = 65_536;

/// An Offline test of [`MANY`] samples.
fn in_parts(stops: bool) -> (Parts, TestOutcome) {
    let request = TestSettings {
        scenario: Scenario::Offline,
        min_query_count: MANY,
        min_duration_ms: 0,
        ..TestSettings::default()
    };
    let loadgen = LoadGen::new(request, Arc::new(RealClock::new()), LoadGenOptions::default());
    let (parts, samples) = (Mutex::default(), Mutex::default());
    let stop = stops.then(|| loadgen.stop_handle());
    let sut = Parts { sink: loadgen.sink(), stop, parts, samples };
    let outcome = loadgen.run(&sut, &NotingLibrary::new(10, 4)).unwrap();
    (sut, outcome)
}

#[test]
fn a_large_query_comes_in_parts_that_follow_each_other() {
    let (sut, outcome) = in_parts(false);
    let mut next = 0;
    for (count, offset, total) in sut.parts.into_inner().unwrap() {
        assert_eq!((count as u64, offset, total), (PART.min(MANY - next), next, MANY));
        next += count as u64;
    }
    assert_eq!(next, MANY);
    let samples = sut.samples.into_inner().unwrap();
    let set: Vec<_> = samples[..4].iter().map(|sample| sample.index).collect();
    for (sequence, sample) in (0..).zip(&samples) {
        assert_eq!(sample.id, ResponseId(1 << 48 | sequence));
        assert_eq!(sample.index, set[sequence as usize % 4], "sample {sequence}");
    }
    let record = &outcome.phases[0].record;
    assert_eq!((record.issued_query_count, record.issued_sample_count), (1, MANY));
    assert!(outcome.is_valid(), "{:?}", outcome.reasons());
}

#[test]
fn a_stop_leaves_out_the_parts_that_are_not_made_yet() {
    let (sut, outcome) = in_parts(true);
    let handed_over: usize = sut.parts.into_inner().unwrap().iter().map(|(count, ..)| count).sum();
    let record = &outcome.phases[0].record;
    assert_eq!(record.issued_sample_count, handed_over as u64);
    assert!(record.issued_sample_count < MANY);
    assert_eq!(outcome.phases[0].end, IssueEnd::Stopped);
    assert!(outcome.phases[0].missing.is_none());
    assert!(outcome.reasons().contains(&"interrupted: enough".to_owned()), "{:?}", outcome.reasons());
}
