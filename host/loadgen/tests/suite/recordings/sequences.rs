//! Every recorded sequence: effective settings, loaded sets, queries, schedule, and the choice for the accuracy log.

use crate::golden_files;
use crate::golden_files::Numbers;
use proctor_loadgen::{AccuracySampler, EffectiveSettings, PhaseMode, PhasePlan, QueryGenerator, phases};
use proctor_vocabulary::Scenario;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Case {
    id: String,
    qsl_total_count: u64,
    qsl_performance_count: u64,
    effective: Value,
    phases: Vec<Phase>,
    accuracy_log: Option<AccuracyLog>,
    accuracy_log_count: Option<u64>,
    #[serde(flatten)]
    request: Value,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum AccuracyLog {
    Pairs(Vec<[u64; 2]>),
    Abridged(Numbers),
}

#[derive(Deserialize)]
struct Phase {
    mode: String,
    load: Numbers,
    generated_query_count: u64,
    generated_samples_per_query: u64,
    generated_query_duration_ns: u64,
    issued: String,
    query_sizes: Vec<[u64; 2]>,
    samples: Numbers,
    first_sample_id: u64,
    first_query_id: u64,
    schedule_ns: Option<Numbers>,
}

#[test]
fn single_stream() {
    check_all("sequence_singlestream.json", 54);
}

#[test]
fn multi_stream() {
    check_all("sequence_multistream.json", 50);
}

#[test]
fn server() {
    check_all("sequence_server.json", 66);
}

#[test]
fn offline() {
    check_all("sequence_offline.json", 57);
}

fn check_all(file: &str, count: usize) {
    let cases: Vec<Case> = golden_files::read(file);
    assert_eq!(cases.len(), count);
    for case in cases {
        check(&case);
    }
}

fn check(case: &Case) {
    let request = golden_files::settings(&case.request);
    let (effective, errors) =
        EffectiveSettings::new(&request, case.qsl_performance_count, case.qsl_total_count)
            .unwrap_or_else(|error| panic!("{}: {error}", case.id));
    assert!(errors.is_empty(), "{}: {errors:?}", case.id);
    check_effective(&effective, case);

    let plan = phases(&effective);
    assert_eq!(plan.len(), case.phases.len(), "{}: phases", case.id);
    let mut sampler = AccuracySampler::new(&effective);
    let mut logged = Vec::new();
    let (mut sample_id, mut query_id) = (0, 0);
    for (position, (planned, expected)) in plan.iter().zip(&case.phases).enumerate() {
        let what = format!("{} phase {position}", case.id);
        assert_eq!((expected.first_sample_id, expected.first_query_id), (sample_id, query_id), "{what}");
        let samples = check_phase(&effective, planned, expected, &what);
        for (id, sample) in (sample_id..).zip(&samples) {
            if sampler.select(planned.mode) {
                logged.push([id, *sample]);
            }
        }
        let generated = expected.generated_query_count * expected.generated_samples_per_query;
        sampler.skip(generated - samples.len() as u64);
        sample_id += generated;
        query_id += expected.generated_query_count;
    }
    // If only a prefix of the issued queries is known, so is the log.
    if case.phases.iter().any(|phase| phase.issued == "prefix") {
        return;
    }
    match &case.accuracy_log {
        Some(AccuracyLog::Pairs(expected)) => assert_eq!(logged, *expected, "{}: accuracy log", case.id),
        Some(AccuracyLog::Abridged(expected)) => expected.check(logged.as_flattened(), &case.id),
        None => assert_eq!(logged.len() as u64, case.accuracy_log_count.unwrap(), "{}", case.id),
    }
}

/// Compares one phase and returns the library indices of its issued samples.
fn check_phase(effective: &EffectiveSettings, planned: &PhasePlan, expected: &Phase, what: &str) -> Vec<u64> {
    let mode = if planned.mode == PhaseMode::Accuracy { "accuracy" } else { "performance" };
    assert_eq!(mode, expected.mode, "{what}");
    let load: Vec<u64> = planned.set.indices.iter().map(|index| index.0).collect();
    expected.load.check(&load, &format!("{what}: load"));

    let mut generator = QueryGenerator::new(effective, planned);
    let totals = generator.totals();
    assert_eq!(totals.query_count, expected.generated_query_count, "{what}: query count");
    assert_eq!(totals.samples_per_query, expected.generated_samples_per_query, "{what}: query size");
    assert_eq!(totals.duration_ns, expected.generated_query_duration_ns, "{what}: duration");

    let mut samples = Vec::new();
    let mut schedule = Vec::new();
    for &[count, size] in &expected.query_sizes {
        for _ in 0..count {
            let query = generator.next_query().unwrap_or_else(|| panic!("{what}: too few queries"));
            assert_eq!(query.sample_count, size, "{what}: query size");
            schedule.push(query.offset_ns);
            // In pieces, as a caller with little memory would take them.
            for _ in 0..size.div_ceil(1000) {
                samples.extend(generator.samples().take(1000).map(|index| index.0));
            }
            assert_eq!(generator.samples().next(), None, "{what}: query too long");
        }
    }
    expected.samples.check(&samples, &format!("{what}: samples"));
    if let Some(expected) = &expected.schedule_ns {
        expected.check(&schedule, &format!("{what}: schedule"));
    }
    let paced = effective.request.scenario == Scenario::Server || planned.mode == PhaseMode::Accuracy;
    if expected.issued == "all" && paced {
        assert_eq!(generator.next_query(), None, "{what}: too many queries");
    }
    samples
}

fn check_effective(effective: &EffectiveSettings, case: &Case) {
    let got = json!({
        "scenario": effective.request.scenario.name(),
        "test_mode": effective.request.mode.name(),
        "samples_per_query": effective.samples_per_query,
        "target_qps": effective.target_qps,
        "target_latency_ns": effective.target_latency_ns,
        "target_latency_percentile": effective.target_latency_percentile,
        "max_async_queries": effective.max_async_queries,
        "target_duration_ms": effective.target_duration_ms,
        "min_duration_ms": effective.request.min_duration_ms,
        "max_duration_ms": effective.request.max_duration_ms,
        "min_query_count": effective.min_query_count,
        "max_query_count": effective.request.max_query_count,
        "min_sample_count": effective.min_sample_count,
        "qsl_rng_seed": effective.request.qsl_rng_seed,
        "sample_index_rng_seed": effective.request.sample_index_rng_seed,
        "schedule_rng_seed": effective.request.schedule_rng_seed,
        "accuracy_log_rng_seed": effective.request.accuracy_log_rng_seed,
        "accuracy_log_probability": effective.request.accuracy_log_probability,
        "accuracy_log_sampling_target": effective.request.accuracy_log_sampling_target,
        "print_timestamps": effective.request.print_timestamps,
        "performance_issue_unique": effective.request.performance_issue_unique,
        "performance_issue_same": effective.request.performance_issue_same,
        "performance_issue_same_index": effective.request.performance_issue_same_index,
        "performance_sample_count": effective.performance_sample_count,
        "accuracy_sample_count": effective.accuracy_sample_count,
        "sample_concatenate_permutation": effective.request.sample_concatenate_permutation,
    });
    for (name, expected) in case.effective.as_object().unwrap() {
        match (expected.as_f64(), got[name].as_f64()) {
            // Recorded from the detail log, which has six significant digits.
            (Some(expected), Some(got)) if expected.fract() != 0.0 || got.fract() != 0.0 => {
                assert!((got / expected - 1.0).abs() < 1e-5, "{}: {name}: {got} not {expected}", case.id);
            }
            (Some(expected), Some(got)) => assert_eq!(got, expected, "{}: {name}", case.id),
            _ => assert_eq!(got[name], *expected, "{}: {name}", case.id),
        }
    }
    assert_eq!(case.effective.as_object().unwrap().len(), 26);
}
