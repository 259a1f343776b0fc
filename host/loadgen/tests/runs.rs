//! Results and logs of recorded runs, computed again from the recorded times of their samples.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use proctor_loadgen::{
    AccuracyRecord, AccuracyTokens, EffectiveSettings, PerformanceResult, PhaseMode, PhasePlan, PhaseRecord,
    QueryGenerator, SampleTokens, TestSettings,
    log::{AccuracyLogWriter, DetailLog, LogIdentity, Summary, TestNames},
    phases,
};
use proctor_vocabulary::Scenario;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Samples {
    rows: Vec<Row>,
}

/// Sample id, query id, library index, scheduled ns after the first, issue delay in ns, latency in ns; in token runs also
/// the latency of the first token in ns (but not in Offline), and the number of tokens.
#[derive(Deserialize)]
struct Row(u64, u64, u64, u64, u64, u64, #[serde(default)] Option<u64>, #[serde(default)] u64);

struct Run {
    request: TestSettings,
    settings: EffectiveSettings,
    case: Value,
    record: PhaseRecord,
}

impl Run {
    fn read(name: &str) -> Self {
        let (request, settings, case) = read_case(name);
        let samples: Samples = common::read(&format!("runs/{name}/samples.json"));
        let plan = phases(&settings).remove(0);
        check_samples(&settings, &plan, &samples.rows);
        let record = record(&settings, plan, &samples.rows);
        Self { request, settings, case, record }
    }
}

fn read_case(name: &str) -> (TestSettings, EffectiveSettings, Value) {
    let case: Value = common::read(&format!("runs/{name}/case.json"));
    let request = common::settings(&case);
    let performance = case["qsl_performance_count"].as_u64().unwrap();
    let total = case["qsl_total_count"].as_u64().unwrap();
    let (settings, _) = EffectiveSettings::new(&request, performance, total).unwrap();
    (request, settings, case)
}

fn check_samples(settings: &EffectiveSettings, plan: &PhasePlan, rows: &[Row]) {
    let mut generator = QueryGenerator::new(settings, plan);
    let mut rows = rows.iter().peekable();
    while rows.peek().is_some() {
        let query = generator.next_query().unwrap();
        for index in generator.samples() {
            let row = rows.next().unwrap();
            assert_eq!(index.0, row.2, "sample {}", row.0);
            if settings.scenario == Scenario::Server {
                assert_eq!(query.offset_ns, row.3, "sample {}", row.0);
            }
        }
    }
}

fn record(settings: &EffectiveSettings, plan: PhasePlan, rows: &[Row]) -> PhaseRecord {
    let last = rows.last().unwrap();
    let mut query_latencies_ns = Vec::new();
    if settings.scenario == Scenario::MultiStream {
        for query in rows.chunk_by(|a, b| a.1 == b.1) {
            query_latencies_ns.push(query.iter().map(|row| row.5).max().unwrap());
        }
    }
    PhaseRecord {
        mode: PhaseMode::Performance,
        generated: QueryGenerator::new(settings, &plan).totals(),
        loaded_set: plan.set.indices,
        issued_query_count: last.1 + 1,
        issued_sample_count: rows.len() as u64,
        sample_latencies_ns: rows.iter().map(|row| row.5).collect(),
        query_latencies_ns,
        intervals: None,
        tokens: settings.use_token_latencies.then(|| {
            let sample = |row: &Row| SampleTokens {
                latency_ns: row.5,
                first_token_latency_ns: row.6,
                token_count: row.7,
            };
            rows.iter().map(sample).collect()
        }),
        max_latency_ns: rows.iter().map(|row| row.5).max().unwrap(),
        // The start of the phase was recorded only as far as it is the first scheduled instant: not for the streams.
        final_query_scheduled_ns: last.3,
        final_query_issued_ns: last.3 + last.4,
        final_query_all_samples_done_ns: last.3 + last.5,
        violations: Vec::new(),
    }
}

/// Figures that need the start of the phase, which the recordings of the streams do not have.
fn is_unknown(scenario: Scenario, text: &str) -> bool {
    let of_streams = [
        "QPS w/ loadgen overhead",
        "TPS w/ loadgen overhead",
        "result_qps_with_loadgen_overhead",
        "result_token_throughput_with_loadgen_overhead",
        "result_completed_tokens_per_second",
    ];
    matches!(scenario, Scenario::SingleStream | Scenario::MultiStream)
        && of_streams.iter().any(|known| text.starts_with(known))
}

fn check(name: &str) {
    let run = Run::read(name);
    let result = PerformanceResult::new(&run.record, &run.settings);
    let recorded: Vec<Value> = entries(&common::text(&format!("runs/{name}/mlperf_log_detail.txt")));
    let log = detail(&run, &result, &recorded);
    check_detail(name, run.settings.scenario, &log, &recorded);
    let summary = Summary {
        sut_name: "PySUT",
        settings: &run.settings,
        result: Some(&result),
        warning_count: log.warning_count(),
        error_count: log.error_count(),
    };
    let mut text = Vec::new();
    summary.write(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let expected = common::text(&format!("runs/{name}/mlperf_log_summary.txt"));
    for (line, (got, expected)) in text.lines().zip(expected.lines()).enumerate() {
        assert!(
            got == expected || is_unknown(run.settings.scenario, got),
            "{name}, line {line}: {got:?} not {expected:?}"
        );
    }
    assert_eq!(text.lines().count(), expected.lines().count(), "{name}: lines");
    assert!(text.ends_with('\n') && expected.ends_with('\n'));
}

/// The detail log of the run, with the recorded message about the end of issuing: it is not computed here.
fn detail(run: &Run, result: &PerformanceResult, recorded: &[Value]) -> DetailLog {
    let mut log = DetailLog::default();
    let names = TestNames {
        sut_name: "PySUT",
        get_sut_name_duration_ns: 1,
        qsl_name: "PyQSL",
        qsl_total_count: run.case["qsl_total_count"].as_u64().unwrap(),
        qsl_performance_count: run.case["qsl_performance_count"].as_u64().unwrap(),
    };
    log.start(0, &LogIdentity::default(), names);
    log.requested(0, &run.request);
    log.effective(0, &run.settings);
    log.message(0, "Starting performance mode");
    log.phase_start(0, &run.record);
    let end =
        recorded.iter().find(|entry| entry["value"].as_str().is_some_and(|text| text.contains("Ending")));
    if let Some(entry) = end {
        let text = entry["value"].as_str().unwrap();
        match entry["key"].as_str().unwrap() {
            "error_runtime" => log.error(0, "error_runtime", text),
            _ => log.message(0, text),
        }
    }
    log.phase_end(0, "", "");
    log.result(0, result);
    log
}

fn entries(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line.strip_prefix(":::MLLOG ").unwrap()).unwrap()).collect()
}

fn check_detail(name: &str, scenario: Scenario, log: &DetailLog, recorded: &[Value]) {
    let mut text = Vec::new();
    log.write(&LogIdentity::default(), &mut text).unwrap();
    let written = entries(&String::from_utf8(text).unwrap());
    let of_the_run: Vec<&Value> =
        written.iter().filter(|entry| !entry["key"].as_str().unwrap().starts_with("loadgen_")).collect();
    let keys = |entry: &&Value| entry["key"].as_str().unwrap().to_owned();
    assert_eq!(
        of_the_run.iter().map(keys).collect::<Vec<_>>(),
        recorded.iter().collect::<Vec<_>>().iter().map(keys).collect::<Vec<_>>(),
        "{name}: keys"
    );
    for (got, expected) in of_the_run.into_iter().zip(recorded) {
        let key = got["key"].as_str().unwrap();
        let of_the_machine = ["test_datetime", "get_sut_name_duration_ns", "power_begin", "power_end"];
        if is_unknown(scenario, key) || of_the_machine.contains(&key) {
            continue;
        }
        assert_eq!(got["value"], expected["value"], "{name}: {key}");
        assert_eq!(got["metadata"]["is_error"], expected["metadata"]["is_error"], "{name}: {key}");
        let order = |entry: &Value| entry.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(order(got), order(expected), "{name}: {key}");
        assert_eq!(order(&got["metadata"]), order(&expected["metadata"]), "{name}: {key}");
    }
}

#[test]
fn single_stream() {
    check("singlestream_valid");
}

#[test]
fn multi_stream() {
    check("multistream_valid");
}

#[test]
fn server() {
    check("server_valid");
    check("server_max_query_count");
    check("inferred_tokens_server");
}

#[test]
fn offline() {
    check("offline_valid");
    check("offline_too_short");
    check("offline_equal_issue");
}

#[test]
fn tokens() {
    check("tokens_singlestream");
    check("tokens_multistream");
    check("tokens_server");
    check("tokens_server_fail");
    check("tokens_offline");
}

#[test]
fn accuracy() {
    check_accuracy("accuracy_offline");
    check_accuracy("accuracy_tokens_server");
}

fn check_accuracy(name: &str) {
    let (_, settings, _) = read_case(name);
    let mut log = AccuracyLogWriter::new(Vec::new()).unwrap();
    let mut ids = 0..;
    for plan in phases(&settings) {
        let mut generator = QueryGenerator::new(&settings, &plan);
        while generator.next_query().is_some() {
            for index in generator.samples() {
                // The null SUT answered with the index as a 32-bit number, in the first token, too.
                let data = u32::try_from(index.0).unwrap().to_le_bytes().to_vec();
                let tokens = settings.use_token_latencies.then(|| AccuracyTokens {
                    first_token_data: Some(data.clone()),
                    token_count: 5 + index.0 % 3,
                });
                let sample_id = ids.next().unwrap();
                log.record(&AccuracyRecord { sample_id, index, data, tokens }).unwrap();
            }
        }
    }
    let text = String::from_utf8(log.finish().unwrap()).unwrap();
    assert_eq!(text, common::text(&format!("runs/{name}/mlperf_log_accuracy.json")));

    let summary =
        Summary { sut_name: "PySUT", settings: &settings, result: None, warning_count: 0, error_count: 0 };
    let mut text = Vec::new();
    summary.write(&mut text).unwrap();
    let expected = common::text(&format!("runs/{name}/mlperf_log_summary.txt"));
    assert_eq!(String::from_utf8(text).unwrap(), expected);
}
