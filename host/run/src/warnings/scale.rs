//! Warnings about the settings of `host scale`, which has arrivals as in Server, and none of LoadGen's tests.

use proctor_config::{Origin, Settings};
use proctor_loadgen::{ArrivalProcess, TestSettings};
use proctor_vocabulary::{Scenario, TestMode};

use super::{effect, of_arrivals, of_scaling, of_scheduler, refuse_if_strict};
use crate::{bed::plugin::is_given, error::HostError, scale::input::ScaleInput};

/// The settings that a test has and scaling has not: limits of its length, bounds, and ways to issue queries.
const OF_TESTS: &[&str] = &[
    "min_query_count",
    "max_query_count",
    "max_duration_ms",
    "server_target_latency_ns",
    "server_target_latency_percentile",
    "server_run_count",
    "server_coalesce_queries",
    "server_max_async_queries",
    "server_num_issue_query_threads",
];

/// Adds the warnings, which are errors with `strict`. Each policy runs for `duration_ms`.
///
/// # Errors
/// [`HostError::Usage`] with all warnings if there are any and the settings are `strict`.
pub(crate) fn check(settings: &mut Settings, input: ScaleInput, duration_ms: u64) -> Result<(), HostError> {
    let mut as_server = settings.clone();
    if as_server.run.scenario.loadgen() != Scenario::Server {
        as_server.run.scenario = Scenario::Server.into();
    }
    let found = [
        other_scenario(settings),
        of_load(settings, input, duration_ms),
        idle_flags(settings),
        effect::of_conditions(&as_server),
        if input == ScaleInput::Saturated { without_rate(settings) } else { of_arrivals(settings) },
        of_scheduler(settings),
        of_scaling(settings),
    ];
    for warning in found.concat() {
        if !settings.warnings.contains(&warning) {
            settings.warnings.push(warning);
        }
    }
    refuse_if_strict(settings)
}

/// The scenario, if it is not that of the arrivals.
fn other_scenario(settings: &Settings) -> Vec<String> {
    if settings.run.scenario.loadgen() == Scenario::Server {
        return Vec::new();
    }
    let name = settings.run.scenario.name();
    vec![format!(
        "scenario = {name} has no effect in host scale: samples arrive as in Server where a rate is given, and else there \
         is always another one"
    )]
}

/// Warnings of LoadGen about a load of this length without any limits.
fn of_load(settings: &Settings, input: ScaleInput, duration_ms: u64) -> Vec<String> {
    let defaults = TestSettings::default();
    let mut test = TestSettings {
        scenario: Scenario::Server,
        mode: TestMode::PerformanceOnly,
        min_duration_ms: duration_ms,
        max_duration_ms: 0,
        min_query_count: 1,
        max_query_count: 0,
        server_num_issue_query_threads: defaults.server_num_issue_query_threads,
        ..settings.test.clone()
    };
    if input == ScaleInput::Saturated {
        test.arrivals = ArrivalProcess::Poisson;
    }
    let effective = settings.benchmark.qsl.effective_settings(&test);
    effective.map(|effective| effective.warnings()).unwrap_or_default()
}

/// The settings of tests that flags give. A file or the environment may serve runs as well.
fn idle_flags(settings: &Settings) -> Vec<String> {
    let flag = |key: &str| match settings.origin(key) {
        Some(Origin::Flag { flag }) => Some(flag.as_str()),
        _ => None,
    };
    let idle = OF_TESTS.iter().filter(|key| flag(key).is_some());
    let mut warnings: Vec<_> = idle.map(|key| format!("{key} has no effect in host scale")).collect();
    if flag("min_duration_ms").is_some_and(|flag| flag != "--duration") {
        warnings.push("min_duration_ms has no effect in host scale: give --duration".to_owned());
    }
    if flag("mode").is_some() && settings.run.mode.is_some_and(|mode| mode != TestMode::PerformanceOnly) {
        warnings.push("mode has no effect in host scale, which measures throughput and latency".to_owned());
    }
    let rate_of_offline = settings.origin("offline_expected_qps");
    if settings.run.scenario.loadgen() == Scenario::Offline
        && matches!(rate_of_offline, Some(Origin::Environment { .. } | Origin::File { .. }))
    {
        warnings.push(
            "offline_expected_qps has no effect in host scale: the rate of arrivals is server_target_qps"
                .to_owned(),
        );
    }
    warnings
}

/// The settings of arrivals that the user gave where nothing arrives.
fn without_rate(settings: &Settings) -> Vec<String> {
    let parameters = settings.arrival_parameters().iter().copied().chain(settings.idle_arrival_parameters());
    let idle = std::iter::once("arrivals").chain(parameters).filter(|key| is_given(settings, key));
    let mut warnings: Vec<_> = idle
        .map(|key| format!("{key} has no effect without a rate of arrivals: give --target-qps"))
        .collect();
    if let Some(Origin::LoadGenConf { path, line, .. }) = settings.origin("server_target_qps") {
        warnings.push(format!(
            "{}: line {line}: a target_qps of 1 is the placeholder of mlperf.conf, and no rate of arrivals: give \
             --target-qps 1 if it is meant",
            path.display()
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use proctor_config::Loader;

    use super::*;

    fn warnings(assignments: &[&str]) -> Vec<String> {
        let loader = Loader::new().set("policy=joint").set("scenario=Server");
        let loader = assignments.iter().fold(loader, |loader, assignment| loader.set(assignment));
        let mut settings = loader.load().unwrap();
        let input = ScaleInput::of(&settings);
        check(&mut settings, input, 60_000).unwrap();
        settings.warnings
    }

    #[test]
    fn settings_of_tests_are_told_to_have_no_effect_and_to_end_no_run() {
        assert_eq!(warnings(&["strict=true"]), [""; 0]);
        assert_eq!(warnings(&["max_duration_ms=1000"]), ["max_duration_ms has no effect in host scale"]);
        assert_eq!(warnings(&["max_query_count=5"]), ["max_query_count has no effect in host scale"]);
        assert_eq!(warnings(&["mode=performance"]), [""; 0]);
        assert_eq!(
            warnings(&["mode=accuracy"]),
            ["mode has no effect in host scale, which measures throughput and latency"]
        );
    }

    #[test]
    fn arrivals_without_a_rate_are_told_to_have_no_effect() {
        let gamma = ["arrivals=gamma", "arrivals_cv=4"];
        assert_eq!(
            warnings(&gamma),
            [
                "arrivals has no effect without a rate of arrivals: give --target-qps",
                "arrivals_cv has no effect without a rate of arrivals: give --target-qps"
            ]
        );
        assert_eq!(warnings(&[&gamma[..], &["server_target_qps=300"]].concat()), [""; 0]);
    }

    #[test]
    fn a_rate_that_may_be_a_placeholder_is_told_of() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("user.conf");
        std::fs::write(&path, "*.Server.target_qps = 1.0\n").unwrap();
        let loader = Loader::new().set("policy=joint").set("scenario=Server").user_conf(path);
        let mut settings = loader.load().unwrap();
        let input = ScaleInput::of(&settings);
        check(&mut settings, input, 60_000).unwrap();
        assert_eq!(input, ScaleInput::Saturated);
        assert!(
            settings.warnings[0].contains("user.conf: line 1: a target_qps of 1"),
            "{:?}",
            settings.warnings
        );
    }

    #[test]
    fn the_rate_has_an_effect_in_every_scenario() {
        for scenario in ["scenario=SingleStream", "scenario=MultiStream", "scenario=Offline"] {
            assert_eq!(warnings(&[scenario, "server_target_qps=300"]), [""; 0], "{scenario}");
        }
    }
}
