//! Warnings about settings before a run; errors with `strict`.

pub mod effect;

use proctor_bed::{SCHEDULER_KEYS, scaling::settings::scales};
use proctor_config::{IssueMode, QslCounts, Settings};
use proctor_loadgen::{ArrivalKind, TestSettings};
use proctor_vocabulary::{Scenario, TestMode};
use proctor_words::{HostError, UsageError, text::duration};

/// Adds warnings about settings whose effect in the tests, over a library of these sizes, is not the apparent one.
pub(crate) fn add(settings: &mut Settings, counts: QslCounts) {
    let found = [
        of_tests(settings, counts),
        effect::of_conditions(settings),
        of_arrivals(settings),
        of_scheduler(settings),
        of_scaling(settings),
    ];
    settings.warnings.extend(found.concat());
}

/// Reports the same as errors with `strict`.
///
/// # Errors
/// [`HostError::Usage`] with all warnings if there are any and the settings are `strict`.
pub(crate) fn check(settings: &mut Settings, counts: QslCounts) -> Result<(), HostError> {
    add(settings, counts);
    refuse_if_strict(settings)
}

/// Refuses settings with warnings, if they are `strict`.
///
/// # Errors
/// [`HostError::Usage`] with all warnings.
pub fn refuse_if_strict(settings: &Settings) -> Result<(), HostError> {
    if settings.run.strict && !settings.warnings.is_empty() {
        return Err(UsageError::Strict(settings.warnings.clone()).into());
    }
    Ok(())
}

/// Returns the warnings of each test, each once. Settings that no test can be made of are reported later.
fn of_tests(settings: &Settings, counts: QslCounts) -> Vec<String> {
    let both = [TestMode::AccuracyOnly, TestMode::PerformanceOnly];
    let modes = settings.run.mode.as_ref().map_or(&both[..], std::slice::from_ref);
    let of_scenario = settings.without_other_scenarios();
    let mut warnings: Vec<String> = Vec::new();
    for mode in modes {
        let test = TestSettings { mode: *mode, ..of_scenario.clone() };
        let effective = counts.effective_settings(&test);
        let found = effective.map(|effective| effective.warnings()).unwrap_or_default();
        for warning in found {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    warnings
}

/// Returns the warnings about parameters of an arrival process that is not in use, and about a speed given together
/// with a rate.
pub fn of_arrivals(settings: &Settings) -> Vec<String> {
    let process = settings.run.arrivals.name();
    let idle = settings.idle_arrival_parameters().filter(|key| settings.is_given(key));
    let mut warnings: Vec<_> =
        idle.map(|key| format!("{key} has no effect with arrivals = {process}")).collect();
    let rate = settings.origin("server_target_qps").filter(|origin| origin.is_user());
    if settings.run.arrivals == ArrivalKind::Trace
        && settings.is_given("arrivals_speed")
        && let Some(rate) = rate
    {
        warnings.push(format!(
            "arrivals_speed has no effect: the trace is played at server_target_qps = {} ({rate})",
            settings.test.server_target_qps
        ));
    }
    warnings
}

/// Returns the settings of the scheduler that the user gave for a plugin that is given whole queries in any case.
pub fn of_scheduler(settings: &Settings) -> Vec<String> {
    if settings.run.issue != IssueMode::Always {
        return Vec::new();
    }
    let keys = SCHEDULER_KEYS.iter().filter(|key| settings.is_given(key));
    keys.map(|key| format!("{key} has no effect with issue = true: the plugin is given whole queries"))
        .collect()
}

/// Returns the settings of scaling policies if the policy does not scale, and vice versa.
fn of_scaling(settings: &Settings) -> Vec<String> {
    let policy = &settings.run.policy;
    let idle: &[&str] = match scales(policy) {
        true => &["batch_timeout_us"],
        false => &["slo_ms", "slo_x", "tail", "approach", "curves"],
    };
    let keys = idle.iter().filter(|key| settings.is_given(key));
    keys.map(|key| format!("{key} has no effect with policy = {policy}")).collect()
}

/// Returns the warnings about a run in which a policy scales, but may not lead where it should. They are for a run
/// only: `host scale` has neither modes nor the latency bound of Server.
pub(crate) fn of_scaled_run(settings: &Settings) -> Vec<String> {
    let run = &settings.run;
    let policy = &run.policy;
    if !scales(policy) {
        return Vec::new();
    }
    if run.mode == Some(TestMode::AccuracyOnly) {
        return vec![format!(
            "policy {policy} has no effect in mode accuracy: there is no latency target for answers"
        )];
    }
    let bound_ns = settings.test.server_target_latency_ns;
    let is_server = run.scenario.loadgen() == Scenario::Server;
    let is_above = |slo_ms: &f64| is_server && slo_ms * 1e6 > bound_ns as f64;
    let slo_ms = run.slo_ms.filter(is_above);
    let warning = slo_ms.map(|slo_ms| {
        format!(
            "slo_ms = {slo_ms} is above the latency bound of Server, {}: where the policy rests the run may be INVALID",
            duration(bound_ns)
        )
    });
    warning.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use proctor_config::Loader;

    use super::*;

    fn settings(assignments: &[&str]) -> Settings {
        let loader = Loader::new().set_all(assignments);
        loader.load().unwrap()
    }

    /// Checks the settings of a run over all samples of the benchmark.
    pub(in crate::warnings) fn check(settings: &mut Settings) -> Result<(), HostError> {
        let counts = settings.benchmark.qsl;
        super::check(settings, counts)
    }

    #[test]
    fn the_defaults_are_quiet_and_strict_lets_them_pass() {
        for scenario in ["SingleStream", "MultiStream", "Server", "Offline"] {
            let mut settings = settings(&["strict=true", &format!("scenario={scenario}")]);
            check(&mut settings).unwrap();
            assert_eq!(settings.warnings, [""; 0], "{scenario}");
        }
    }

    #[test]
    fn each_warning_is_kept_once() {
        let mut settings = settings(&["server_coalesce_queries=true"]);
        check(&mut settings).unwrap();
        assert_eq!(settings.warnings, ["server_coalesce_queries has no effect in SingleStream"]);
    }

    #[test]
    fn a_line_for_another_scenario_is_not_told_to_have_no_effect() {
        let folder = tempfile::tempdir().unwrap();
        let conf = folder.path().join("user.conf");
        let lines =
            "*.Server.coalesce_queries = 1\n*.*.max_async_queries = 5\n*.Offline.min_query_count = 70\n";
        std::fs::write(&conf, lines).unwrap();
        let warnings = |assignments: &[&str]| {
            let loader = Loader::new().user_conf(&conf).set("scenario=Offline");
            let loader = loader.set_all(assignments);
            let mut settings = loader.load().unwrap();
            check(&mut settings).unwrap();
            settings.warnings
        };
        assert_eq!(warnings(&["strict=true"]), [""; 0]);
        assert_eq!(
            warnings(&["server_coalesce_queries=true"]),
            ["server_coalesce_queries has no effect in Offline"]
        );
    }

    #[test]
    fn settings_of_a_scheduler_that_there_is_not_are_named() {
        let mut unheeded = settings(&["issue=true", "policy=fixed", "instances=2", "batch_size=4"]);
        check(&mut unheeded).unwrap();
        assert_eq!(
            unheeded.warnings,
            ["policy has no effect with issue = true: the plugin is given whole queries"]
        );
        let mut heeded = settings(&["issue=false", "policy=fixed"]);
        check(&mut heeded).unwrap();
        assert!(heeded.warnings.is_empty());
    }

    #[test]
    fn settings_of_policies_of_the_other_kind_are_named() {
        let mut fixed = settings(&["slo_ms=5", "batch_timeout_us=7"]);
        check(&mut fixed).unwrap();
        assert_eq!(fixed.warnings, ["slo_ms has no effect with policy = fixed"]);
        let mut scaled = settings(&["policy=joint", "slo_ms=5", "batch_timeout_us=7"]);
        check(&mut scaled).unwrap();
        assert_eq!(scaled.warnings, ["batch_timeout_us has no effect with policy = joint"]);
    }

    #[test]
    fn a_run_in_which_a_policy_may_not_lead_where_it_should_is_warned_of() {
        let warnings = |assignments: &[&str]| {
            of_scaled_run(&settings(&[&["policy=joint", "scenario=Server"], assignments].concat()))
        };
        let bound = "server_target_latency_ns=15000000";
        assert_eq!(warnings(&["slo_ms=15", bound]), [""; 0]);
        assert_eq!(warnings(&["slo_ms=15.5", bound, "policy=fixed"]), [""; 0]);
        assert_eq!(warnings(&["slo_ms=15.5", bound, "scenario=Offline"]), [""; 0]);
        assert_eq!(
            warnings(&["slo_ms=15.5", bound]),
            [
                "slo_ms = 15.5 is above the latency bound of Server, 15.00 ms: where the policy rests the run may be INVALID"
            ]
        );
        assert_eq!(
            warnings(&["slo_ms=15", "mode=accuracy"]),
            ["policy joint has no effect in mode accuracy: there is no latency target for answers"]
        );
    }

    #[test]
    fn parameters_of_other_arrivals_are_named() {
        let warnings = |assignments: &[&str]| {
            let mut settings = settings(&[&["scenario=Server"], assignments].concat());
            check(&mut settings).unwrap();
            settings.warnings
        };
        assert_eq!(warnings(&["arrivals_cv=3"]), ["arrivals_cv has no effect with arrivals = poisson"]);
        assert_eq!(
            warnings(&["arrivals=gamma", "arrivals_cv=3", "arrivals_speed=2", "arrivals_trace=none.csv"]),
            [
                "arrivals_trace has no effect with arrivals = gamma",
                "arrivals_speed has no effect with arrivals = gamma"
            ]
        );
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.csv");
        std::fs::write(&path, "0\n1\n").unwrap();
        let trace = format!("arrivals_trace={}", path.display());
        let played = ["arrivals=trace", &trace, "arrivals_speed=2"];
        assert_eq!(warnings(&played), [""; 0]);
        assert_eq!(
            warnings(&[&played[..], &["target_qps=5"]].concat()),
            [
                "arrivals_speed has no effect: the trace is played at server_target_qps = 5 (flag --set target_qps)"
            ]
        );
    }

    #[test]
    fn strict_makes_warnings_errors() {
        let mut settings = settings(&["server_coalesce_queries=true", "strict=true"]);
        let error = check(&mut settings).unwrap_err();
        assert_eq!(
            error.to_string(),
            "server_coalesce_queries has no effect in SingleStream\nwith strict = true, these warnings are errors"
        );
    }
}
