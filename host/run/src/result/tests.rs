//! Results of simulated tests: a model that takes 1 ms for each sample.

use std::sync::Arc;

use proctor_bed::SystemReport;
use proctor_config::Loader;
use proctor_loadgen::{
    BareLibrary, Clock, LoadGen, LoadGenOptions, SystemUnderTest, TestSettings, VirtualClock,
};
use proctor_results::{SearchStep, TestPart};
use proctor_scheduler::{BatchError, Instance, SchedulerConfig, SimulatedScheduler};
use proctor_vocabulary::{CompletionSink, QuerySample, QuerySampleResponse, SampleStatus, TestMode};

use super::*;
use super::{breach::RunFault, energy::energy_of_plugin};

/// With this number of output tokens for each sample, all at its end.
struct OneMs {
    token_count: u32,
    /// Index of the first sample with tokens.
    first_with_tokens: u64,
}

impl Instance for OneMs {
    fn execute(&mut self, _: &[QuerySample]) -> Result<(), BatchError> {
        Ok(())
    }

    fn execute_virtual(&mut self, batch: &[QuerySample], _: u32) -> Result<u64, BatchError> {
        Ok(1_000_000 * batch.len() as u64)
    }

    fn complete(&mut self, batch: &[QuerySample], sink: &dyn CompletionSink) {
        for sample in batch {
            let has_tokens = sample.index.0 >= self.first_with_tokens;
            let (status, token_count) = (SampleStatus::OK, if has_tokens { self.token_count } else { 0 });
            let response = QuerySampleResponse { id: sample.id, status, data: &[], token_count };
            if token_count > 0 {
                sink.first_token(&[response]);
            }
            sink.complete(&[response]);
        }
    }
}

fn settings() -> Settings {
    let loader = Loader::new().set("scenario=Server").set("target_qps=200").set("virtual_time=true");
    loader.set("output_folder=here").set("mock.sigma=1").load().unwrap()
}

fn test(settings: &Settings, mode: TestMode, interrupted: bool) -> Test {
    let token_count = if settings.test.use_token_latencies { 5 } else { 0 };
    test_of(OneMs { token_count, first_with_tokens: 0 }, settings, mode, interrupted)
}

fn test_of(instance: OneMs, settings: &Settings, mode: TestMode, interrupted: bool) -> Test {
    let clock = Arc::new(VirtualClock::new());
    let request = TestSettings { mode, ..settings.test.clone() };
    let loadgen = LoadGen::new(request, Arc::clone(&clock), LoadGenOptions::default());
    let config = SchedulerConfig::default();
    let system =
        SimulatedScheduler::new("one ms", &config, vec![Box::new(instance)], loadgen.sink(), clock, None)
            .unwrap();
    if interrupted {
        loadgen.stop_handle().stop("Ctrl-C or SIGTERM");
    }
    let outcome = loadgen.run(&system as &dyn SystemUnderTest, &BareLibrary::of(600)).unwrap();
    let system = SystemReport { statistics: Some(system.statistics()), ..SystemReport::default() };
    Test {
        engine: None,
        outcome,
        metric_kind: settings.metric_kind(),
        logs: None,
        system,
        batches: None,
        is_abandoned: false,
        sample_failures: Vec::new(),
        energy_joules: None,
        package_energy: None,
        noise: None,
        write_error: None,
        is_settled: true,
    }
}

pub(crate) fn plugin() -> PluginPart {
    PluginPart {
        name: "one-ms".into(),
        vendor: "nobody".into(),
        version: "1.0.0".into(),
        license: "Apache-2.0".into(),
        source: "linked in".into(),
        sha256: None,
        abi_version: "1.0".into(),
        layout_checked: true,
        precision: "f32".into(),
        sample_memory: vec!["host".into()],
        inputs: Vec::new(),
        network: false,
        devices: Vec::new(),
        instance_devices: Vec::new(),
        dispatch: "batches".into(),
        isolation: None,
        options: BTreeMap::from([("sigma".to_owned(), "1".to_owned())]),
        model_files: Vec::new(),
        metrics: None,
        stages: None,
    }
}

fn machine() -> MachinePart {
    MachinePart {
        cpu_model: Some("Some CPU".into()),
        cpu_count: Some(2),
        memory_bytes: Some(1 << 30),
        os: None,
        kernel: None,
        architecture: Some("x86_64".into()),
        load_average: Some([0.5, 0.0, 0.0]),
    }
}

fn accuracy(passed: bool) -> AccuracyResult {
    AccuracyResult {
        metric: "top1".into(),
        value: 0.975,
        correct_count: Some(585),
        interval_95: Some([0.959_164, 0.984_792]),
        judged_count: 600,
        sample_count: 600,
        target: 0.96525,
        passed,
        reasons: if passed { Vec::new() } else { vec!["too low".to_owned()] },
        line: None,
        missing_samples: Vec::new(),
        malformed_samples: Vec::new(),
        response_defects: Vec::new(),
        cut_after_record_count: None,
        duplicate_samples: Vec::new(),
        unknown_samples: Vec::new(),
        details: BTreeMap::new(),
        wrong_samples: Vec::new(),
    }
}

/// The result of tests over as many samples as the benchmark has.
fn combined(settings: &Settings, tests: Tests<'_>) -> RunResult {
    let samples = SamplesPart { count: 600, sha256: "5e".repeat(32) };
    RunResult::new(settings, settings.benchmark.qsl, plugin(), machine(), tests).with_samples(Some(samples))
}

fn result(accuracy_passed: bool) -> RunResult {
    let settings = settings();
    let accuracy_run = test(&settings, TestMode::AccuracyOnly, false);
    let performance_run = test(&settings, TestMode::PerformanceOnly, false);
    let tests = Tests {
        accuracy_run: Some(&accuracy_run),
        performance_runs: &PerformanceRuns::of(performance_run),
        accuracy: Some(accuracy(accuracy_passed)),
        of_run: Vec::new(),
    };
    combined(&settings, tests)
}

pub(crate) fn server_result() -> RunResult {
    result(true)
}

/// A performance run alone, with these settings of the load generator changed.
fn performance_result(change: impl FnOnce(&mut TestSettings), mode: TestMode) -> RunResult {
    let mut settings = settings();
    change(&mut settings.test);
    let performance_runs = PerformanceRuns::of(test(&settings, mode, false));
    let tests = Tests::of_performance(&performance_runs);
    combined(&settings, tests)
}

/// A run that is a tenth faster than the model.
pub(crate) fn too_fast_result() -> RunResult {
    performance_result(|test| test.server_target_qps = 1100.0, TestMode::PerformanceOnly)
}

pub(crate) fn interrupted_result() -> RunResult {
    let settings = settings();
    let performance_run = test(&settings, TestMode::PerformanceOnly, true);
    let performance_runs = PerformanceRuns::of(performance_run);
    let tests = Tests::of_performance(&performance_runs);
    combined(&settings, tests)
}

/// The model does 1000 samples a second one after the other, and may take 20 ms for one.
#[test]
fn the_metric_of_a_search_is_the_peak_rate() {
    let mut settings = settings();
    settings.test.min_duration_ms = 1000;
    let performance_run = test(&settings, TestMode::FindPeakPerformance, false);
    let search = performance_run.outcome.peak_search.clone().unwrap();
    let performance_runs = PerformanceRuns::of(performance_run);
    let tests = Tests::of_performance(&performance_runs);
    let result = combined(&settings, tests);
    let metric = result.file.metric.unwrap();
    assert_eq!((metric.name.as_str(), metric.unit.as_str()), ("peak rate", "queries/s"));
    assert_eq!(Some(metric.value), search.peak_qps());
    let reported = &performance_runs.tests[0].outcome.phases[search.reported_step.unwrap()];
    let part = result.file.performance_run.unwrap();
    assert_eq!(part.mode, "FindPeakPerformance");
    assert_eq!(part.issued_query_count, reported.record.issued_query_count);
}

#[test]
fn a_test_of_both_counts_its_performance_phase_alone() {
    let alone = performance_result(|_| {}, TestMode::PerformanceOnly).file.performance_run.unwrap();
    let accuracy = performance_result(|_| {}, TestMode::AccuracyOnly).file.performance_run.unwrap();
    let both = performance_result(|_| {}, TestMode::SubmissionRun).file.performance_run.unwrap();
    assert!(alone.accuracy_phases.is_none() && alone.scheduler.is_some());
    let counts = |part: &TestPart| (part.issued_query_count, part.issued_sample_count);
    assert_eq!(counts(&both), counts(&alone));
    assert_eq!(both.issued_sample_count, both.figures.as_ref().unwrap().sample_latency.count);
    let beside = both.accuracy_phases.as_ref().unwrap();
    assert_eq!((beside.issued_query_count, beside.issued_sample_count), counts(&accuracy));
    assert_eq!((beside.failed_sample_count, beside.missing_sample_count), (0, 0));
    assert!(beside.duration_ns > 0 && both.duration_ns < beside.duration_ns + alone.duration_ns);
    assert!(both.scheduler.is_none(), "its batches are of all phases");
}

/// Runs of Server at these rates, in queries per second. The model does 1000 of them.
fn several(rates_qps: &[f64]) -> RunResult {
    let loader = Loader::new().set("scenario=Server").set("rules=v0.5").set("virtual_time=true");
    let mut settings = loader.load().unwrap();
    let runs = rates_qps.iter().map(|rate_qps| {
        settings.test.server_target_qps = *rate_qps;
        test(&settings, TestMode::PerformanceOnly, false)
    });
    let performance_runs = PerformanceRuns { tests: runs.collect(), planned_count: 5 };
    let tests = Tests::of_performance(&performance_runs);
    combined(&settings, tests)
}

#[test]
fn the_lowest_of_several_runs_is_the_result() {
    let rates_qps = [250.0, 220.0, 180.0, 210.0, 240.0];
    let result = several(&rates_qps);
    assert!(result.file.verdict.valid, "{:?}", result.file.verdict.reasons);
    assert_eq!((result.file.rules.as_str(), result.file.performance_runs.len()), ("v0.5", 5));
    let rate = |test: &TestPart| test.figures.as_ref().unwrap().scheduled_samples_per_second.unwrap();
    let metric = result.file.metric.unwrap();
    assert_eq!(metric.name, "rate of scheduled samples, lowest of 5 runs");
    assert_eq!(metric.value, rate(result.file.performance_run.as_ref().unwrap()));
    assert_eq!(metric.value, rate(&result.file.performance_runs[2]));
    assert!(result.file.performance_runs.iter().all(|test| rate(test) >= metric.value));
}

#[test]
fn an_invalid_one_of_several_runs_makes_the_result_invalid() {
    // At twice the model's rate, latencies grow over the bound.
    let result = several(&[200.0, 2000.0]);
    assert!(!result.file.verdict.valid);
    assert_eq!(result.file.verdict.reasons.len(), 1);
    assert!(
        result.file.verdict.reasons[0].starts_with("run 2 of 5: p99 latency "),
        "{:?}",
        result.file.verdict
    );
    assert_eq!(result.conclusion(), Conclusion::Bad);
    assert!(!result.file.performance_run.unwrap().valid);
}

#[test]
fn runs_that_were_not_made_make_the_result_invalid() {
    let result = several(&[200.0, 210.0]);
    assert!(!result.file.verdict.valid);
    assert_eq!(result.file.verdict.reasons, ["only 2 of 5 runs were made"]);
}

fn bytes(result: &RunResult) -> Vec<u8> {
    serde_json::to_vec_pretty(result).unwrap()
}

/// Returns the paths of all keys, without settings by name and elements of lists.
fn key_paths(value: &serde_json::Value, path: &str, paths: &mut Vec<String>) {
    let serde_json::Value::Object(fields) = value else { return };
    for (key, value) in fields {
        let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        paths.push(below.clone());
        if !matches!(key.as_str(), "settings" | "options" | "batch_sizes") {
            key_paths(value, &below, paths);
        }
    }
}

#[test]
fn no_key_disappears_without_a_new_version() {
    let value = serde_json::from_slice(&bytes(&server_result())).unwrap();
    let mut paths = Vec::new();
    key_paths(&value, "", &mut paths);
    let golden = include_str!("../../tests/golden/result-keys-1.txt");
    assert_eq!(paths.join("\n") + "\n", golden, "schema version {SCHEMA_VERSION}");
}

#[test]
fn a_result_that_is_read_and_written_again_is_the_same() {
    for result in [server_result(), too_fast_result(), several(&[200.0, 2000.0])] {
        let read: ResultFile = serde_json::from_slice(&bytes(&result)).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), serde_json::to_string(&result).unwrap());
    }
    let file: ResultFile = serde_json::from_slice(&bytes(&interrupted_result())).unwrap();
    assert!(file.verdict.interrupted && !file.verdict.valid);
}

#[test]
fn in_virtual_time_the_bytes_are_the_same_again() {
    let (first, second) = (server_result(), server_result());
    assert_eq!(bytes(&first), bytes(&second));
    assert_eq!((first.file.finished_at_utc, first.file.machine.load_average), (None, None));
    assert!(!second.file.settings.contains_key("output_folder"));
    assert_eq!(second.file.settings["mock.sigma"].origin.to_string(), "flag --set mock.sigma");
}

#[test]
fn the_conclusion_tells_the_verdict() {
    assert_eq!(server_result().conclusion(), Conclusion::Good);
    assert_eq!(result(false).conclusion(), Conclusion::Bad);
    let interrupted = interrupted_result();
    assert_eq!(interrupted.conclusion(), Conclusion::Interrupted);
    assert_eq!(interrupted.file.verdict.accuracy_passed, None);
}

#[test]
fn the_virtual_clock_is_the_one_that_counts() {
    assert!(VirtualClock::new().is_virtual());
    let result = server_result();
    let test = result.file.performance_run.unwrap();
    assert!(test.valid && test.duration_ns > 2_000_000_000, "{:?}", test.reasons);
    assert_eq!(test.figures.unwrap().query_latency.min_ns, 1_000_000);
    assert_eq!(test.scheduler.unwrap().batch_sizes.into_keys().collect::<Vec<_>>(), [1]);
}

#[test]
fn without_an_answered_sample_there_is_no_energy_of_one() {
    let mut test = test(&settings(), TestMode::PerformanceOnly, true);
    test.energy_joules = Some(5.0);
    let energy = energy_of_plugin(&test).unwrap();
    assert_eq!(
        (energy.joules, energy.joules_per_sample, energy.samples_per_second_per_watt),
        (5.0, None, None)
    );
}

#[test]
fn a_run_is_valid_only_if_no_finding_of_it_or_of_its_tests_is_broken() {
    let settings = settings();
    let reasons = |runs: &PerformanceRuns, of_run| {
        let tests = Tests::of_performance(runs).with_findings(of_run);
        let VerdictPart { valid, reasons, .. } = combined(&settings, tests).file.verdict;
        assert!(!valid);
        reasons
    };
    let first_of_two = |is_interrupted| PerformanceRuns {
        planned_count: 2,
        ..PerformanceRuns::of(test(&settings, TestMode::PerformanceOnly, is_interrupted))
    };
    assert_eq!(reasons(&first_of_two(false), Vec::new()), ["only 1 of 2 runs were made"]);
    let lost = Finding::of_run(RunFault::Failed(vec!["the plugin ended".to_owned(), "again".to_owned()]));
    let told = reasons(&first_of_two(true), vec![lost]);
    assert_eq!(told[0], "run 1 of 2: interrupted: Ctrl-C or SIGTERM");
    assert_eq!(told[told.len() - 1], "the plugin ended: again");
    let text = "there was no performance run, because the accuracy run did not come to its end";
    assert_eq!(reasons(&PerformanceRuns::default(), Vec::new()), [text]);
}

#[test]
fn findings_are_data_and_sentences() {
    let value: serde_json::Value = serde_json::from_slice(&bytes(&too_fast_result())).unwrap();
    let findings = value["performance_run"]["findings"].as_array().unwrap();
    let rules: Vec<_> = findings.iter().map(|it| (it["rule"].as_str(), it["standing"].as_str())).collect();
    let broken = |rule| (Some(rule), Some("broken"));
    assert_eq!(rules[0], broken("latency_bound"));
    assert!(
        rules.contains(&(Some("min_duration"), Some("met"))) && rules.contains(&broken("early_stopping"))
    );
    let bound = &findings[0];
    assert_eq!((bound["bound"].as_f64(), bound["unit"].as_str()), (Some(20e6), Some("ns")));
    assert!(bound["measured"].as_f64() > bound["bound"].as_f64());
    assert_eq!(bound["remedy"]["kind"], "set");
    assert_eq!(bound["remedy"]["setting"], "server_target_qps");
    assert!((700.0..1000.0).contains(&bound["remedy"]["value"].as_f64().unwrap()), "{bound}");
    assert!(bound["time_s"].as_f64().unwrap() >= 2.0);
    assert_eq!(value["verdict"]["reasons"][0], bound["text"]);
}

#[test]
fn a_token_run_has_its_figures() {
    let result = performance_result(
        |test| {
            test.use_token_latencies = true;
            test.server_ttft_latency = 20_000_000;
            test.server_tpot_latency = 1_000_000;
        },
        TestMode::PerformanceOnly,
    );
    assert!(result.file.verdict.valid, "{:?}", result.file.verdict.reasons);
    let test = result.file.performance_run.unwrap();
    let tokens = test.figures.unwrap().tokens.unwrap();
    assert_eq!(tokens.token_count, Some(test.issued_sample_count * 5));
    assert_eq!(tokens.time_to_first_token.unwrap().min_ns, 1_000_000);
    assert_eq!(tokens.time_per_output_token.unwrap().max_ns, 0);
    assert!(tokens.tokens_per_second.unwrap() > 900.0);
    assert_eq!((tokens.ttft_bound_met, tokens.inferred_tokens_per_second), (Some(true), None));
}

#[test]
fn samples_without_tokens_are_counted_apart_and_in_no_figure_of_tokens() {
    let mut settings = settings();
    settings.test.use_token_latencies = true;
    settings.test.server_ttft_latency = 20_000_000;
    settings.test.server_tpot_latency = 1_000_000;
    let result = |first_with_tokens| {
        let instance = OneMs { token_count: 5, first_with_tokens };
        let mut test = test_of(instance, &settings, TestMode::PerformanceOnly, false);
        test.metric_kind = MetricKind::CompletedTokens;
        let runs = PerformanceRuns::of(test);
        combined(&settings, Tests::of_performance(&runs))
    };

    let some = result(300);
    let test = some.file.performance_run.as_ref().unwrap();
    let tokens = test.figures.as_ref().unwrap().tokens.as_ref().unwrap();
    let without = tokens.no_first_token_sample_count.unwrap();
    assert!((1..test.issued_sample_count).contains(&without), "{without} of {}", test.issued_sample_count);
    let first = tokens.time_to_first_token.as_ref().unwrap();
    assert_eq!((first.count, first.min_ns), (test.issued_sample_count - without, 1_000_000));
    assert_eq!(tokens.token_count, Some(first.count * 5));
    assert_eq!((tokens.ttft_bound_met, tokens.tpot_bound_met), (Some(false), Some(false)));
    let left_out = ("left out", format!("{without} samples without a first token"));
    let rows = tokens::rows(test);
    assert_eq!(rows.last(), Some(&left_out));
    assert!(!rows.iter().any(|(_, text)| text.contains("over the bound")), "{rows:?}");
    let metric = some.file.metric.unwrap();
    assert!(metric.value.is_nan());
    assert_eq!(metric.name, "throughput of output tokens, withheld: not every sample has its tokens");

    // Nothing is shown as 0.
    let none = result(600);
    let test = none.file.performance_run.unwrap();
    let tokens = test.figures.as_ref().unwrap().tokens.as_ref().unwrap();
    assert!(tokens.time_to_first_token.is_none() && tokens.time_per_output_token.is_none());
    let left_out = format!("{} samples without a first token", test.issued_sample_count);
    let unknown = "p50 not known   p99 not known".to_owned();
    let rows = [
        ("tokens", "not known (tokens/s)".to_owned()),
        ("TTFT", unknown.clone()),
        ("TPOT", unknown),
        ("left out", left_out),
    ];
    assert_eq!(tokens::rows(&test), rows);
    assert!(test.finding("ttft_bound").is_none() && test.finding("tpot_bound").is_none());
}

#[test]
fn inferred_tokens_are_only_a_rate() {
    let result = performance_result(
        |test| {
            test.infer_token_latencies = true;
            test.token_latency_scaling_factor = 7;
        },
        TestMode::PerformanceOnly,
    );
    let figures = result.file.performance_run.unwrap().figures.unwrap();
    let tokens = figures.tokens.unwrap();
    let expected = figures.completed_samples_per_second.unwrap() * 7.0;
    assert!((tokens.inferred_tokens_per_second.unwrap() / expected - 1.0).abs() < 1e-9);
    assert!(tokens.token_count.is_none() && tokens.time_to_first_token.is_none());
}

#[test]
fn a_search_tells_its_steps() {
    let result = performance_result(|test| test.min_duration_ms = 1000, TestMode::FindPeakPerformance);
    let search = result.file.performance_run.unwrap().search.unwrap();
    let peak_qps = search.peak_qps.unwrap();
    assert_eq!(search.steps[0], SearchStep { rate_qps: 200.0, met: Some(true) });
    assert!(search.steps.iter().all(|step| step.met == Some(step.rate_qps <= peak_qps)));
    assert_eq!(search.steps[search.reported_step.unwrap()].rate_qps, peak_qps);
    assert!(search.end.contains("Found peak performance field"));
}
