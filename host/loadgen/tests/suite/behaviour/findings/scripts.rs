//! Findings of runs whose answers follow a script.

use std::fs;

use super::{broken, one_ms, run, server};
use crate::{
    behaviour::scripted::{Answer, Bench, MS, after, answer},
    log_files::write_logs,
};
use proctor_loadgen::{
    Finding, Remedy, Rule, Scope, SettingValue, TestOutcome, TestSettings, log::LogIdentity,
};
use proctor_vocabulary::{QuerySample, SampleStatus, Scenario};

/// Fails after a millisecond.
fn failed(sample: QuerySample) -> Vec<Answer> {
    vec![Answer { status: SampleStatus(42), ..after(MS, sample)[0] }]
}

#[test]
fn no_bound_is_met_where_samples_were_not_answered() {
    let rules = |script: fn(u64, QuerySample) -> Vec<Answer>| {
        let outcome = Bench::new(server(200.0), script).run();
        outcome.findings.iter().map(|finding| finding.rule.name()).collect::<Vec<_>>()
    };
    for rules in [
        rules(|_, sample| failed(sample)),
        rules(|n, sample| if n == 7 { failed(sample) } else { after(MS, sample) }),
        rules(|n, sample| if n == 7 { Vec::new() } else { after(MS, sample) }),
    ] {
        assert!(rules.contains(&"min_duration"), "{rules:?}");
        for rule in ["latency_bound", "early_stopping", "target_rate"] {
            assert!(!rules.contains(&rule), "{rules:?}");
        }
    }
    // A bound that the others break is a finding still.
    let slow =
        Bench::new(server(200.0), |n, sample| if n == 7 { failed(sample) } else { after(20 * MS, sample) });
    assert_eq!(broken(&slow.run())[0].rule.name(), "latency_bound");
}

#[test]
fn without_a_rate_no_limit_is_advised() {
    let stream = |scenario, max_query_count| TestSettings {
        scenario,
        min_duration_ms: 1000,
        min_query_count: 5,
        max_query_count,
        ..TestSettings::default()
    };
    for scenario in [Scenario::SingleStream, Scenario::MultiStream] {
        // A single query, and queries that take no time.
        for (max_query_count, service_ns) in [(1, MS), (2, 0), (60, 0)] {
            let request = stream(scenario, max_query_count);
            let outcome = Bench::new(request, move |_, sample| after(service_ns, sample)).run();
            assert!(!outcome.is_valid());
            for finding in broken(&outcome) {
                assert!(finding.lift.is_empty(), "{finding}");
                assert!(!matches!(finding.remedy, Some(Remedy::Set { .. })), "{finding}");
            }
        }
        // From two queries on, the last completion counts: 1000 a second. The limit is in the way of two rules, which
        // need different numbers.
        let outcome = Bench::new(stream(scenario, 2), |_, sample| after(MS, sample)).run();
        let short = broken(&outcome).into_iter().find(|it| it.rule == Rule::MinDuration).unwrap();
        let Some(Remedy::Set { setting: "max_query_count", value }) = short.remedy else { panic!("{short}") };
        assert_eq!(value, 0, "{short}");
    }
}

/// Every second eight samples fail, and take as long as the others.
#[test]
fn a_run_whose_samples_fail_becomes_as_long_as_its_advice_says() {
    let run = |settings: &TestSettings| {
        let is_offline = settings.scenario == Scenario::Offline;
        let script = move |n: u64, sample: QuerySample| {
            // Offline issues all samples at once, and they are worked off one after the other.
            let answered = answer(if is_offline { (n + 1) * MS } else { MS }, sample.id);
            match n / 8 % 2 {
                0 => vec![Answer { status: SampleStatus(42), ..answered }],
                _ => vec![answered],
            }
        };
        Bench::new(settings.clone(), script).run()
    };
    let too_short = |outcome: &TestOutcome| {
        broken(outcome).into_iter().find(|finding| finding.rule == Rule::MinDuration).cloned()
    };
    for scenario in [Scenario::SingleStream, Scenario::MultiStream, Scenario::Offline] {
        let settings = TestSettings {
            scenario,
            min_duration_ms: 10_000,
            min_query_count: 1,
            single_stream_expected_latency_ns: 100.0 * MS as f64,
            multi_stream_expected_latency_ns: 100.0 * MS as f64,
            offline_expected_qps: 100.0,
            ..TestSettings::default()
        };
        let finding = too_short(&run(&settings)).unwrap_or_else(|| panic!("{scenario} is long enough"));
        let Some(Remedy::Set { setting, value }) = finding.remedy else { panic!("{scenario}: {finding}") };
        let mut next = settings.clone();
        next.set(setting, SettingValue::Unsigned(value)).unwrap();
        let second = run(&next);
        assert_eq!(too_short(&second), None, "{scenario}: {finding}");
        let ratio = second.phases[0].duration_ns as f64 / finding.time_ns.unwrap() as f64;
        assert!((0.85..1.25).contains(&ratio), "{scenario}: {ratio} of {finding}");
    }
}

#[test]
fn misbehaviour_comes_with_advice() {
    let script = |n, sample: QuerySample| match n {
        5 => vec![answer(MS, sample.id), answer(2 * MS, sample.id)],
        _ => after(MS, sample),
    };
    let outcome = Bench::new(TestSettings { min_duration_ms: 10, ..TestSettings::default() }, script).run();
    let [finding] = broken(&outcome)[..] else { panic!("{:?}", outcome.findings) };
    assert_eq!(finding.rule.name(), "duplicate_samples");
    assert_eq!(outcome.reasons(), [finding.what()]);
    assert!(finding.to_string().ends_with(": complete each sample once, on one path through the system"));
}

#[test]
fn a_finding_of_the_caller_makes_the_test_invalid_in_every_log() {
    let mut outcome = run(&server(100.0), 1, one_ms);
    assert!(outcome.is_valid(), "{:?}", outcome.reasons());
    outcome.findings.push(Finding::of_run("the run was cut"));
    outcome.findings.push(Finding::of_caller("the cable was pulled", Some("put it back")));
    // A second look at the figures keeps the caller's observations.
    outcome.judge();
    assert_eq!(outcome.reasons(), ["the run was cut", "the cable was pulled"]);
    let of_run = outcome.findings.remove(outcome.findings.len() - 2);
    assert_eq!((of_run.rule, of_run.scope, of_run.to_string()), (Rule::Caller, Scope::Run, of_run.what()));
    let finding = outcome.findings.last().unwrap();
    assert_eq!((finding.rule, finding.scope), (Rule::Caller, Scope::Caller));
    assert_eq!(finding.to_string(), "the cable was pulled: put it back");
    let folder = tempfile::tempdir().unwrap();
    write_logs(&outcome, folder.path(), &LogIdentity::default()).unwrap();
    let log = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let summary = log("mlperf_log_summary.txt");
    assert!(summary.contains("Result is : INVALID\n") && summary.contains(" * the cable was pulled\n"));
    assert!(summary.contains("1 ERROR encountered"), "{summary}");
    let detail = log("mlperf_log_detail.txt");
    for entry in [
        "\"error_runtime\", \"value\": \"the cable was pulled\"",
        "\"result_validity\", \"value\": \"INVALID\"",
    ] {
        assert!(detail.contains(entry), "{detail}");
    }
}
