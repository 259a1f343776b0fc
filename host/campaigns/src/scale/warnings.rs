//! The settings of `host scale`, which has arrivals as in Server and none of LoadGen's tests: its settings without
//! effect, and the warnings about them.

use proctor_config::{Effective, Origin, QslCounts, Settings, Value, keys};
use proctor_loadgen::{ArrivalProcess, TestSettings};
use proctor_results::ScaleInput;
use proctor_run::warnings::{effect, of_arrivals, of_scheduler, refuse_if_strict};
use proctor_vocabulary::{Scenario, TestMode};
use proctor_words::HostError;

/// The setting that `--duration` gives, which has an effect by that flag alone.
const MIN_DURATION: &str = "min_duration_ms";

/// The seed of the arrivals.
const ARRIVALS_SEED: &str = "schedule_rng_seed";

/// Adds the warnings, which are errors with `strict`, and drops settings without effect. Each policy runs for
/// `duration_ms`.
///
/// # Errors
/// [`HostError::Usage`] with all warnings if there are any and the settings are `strict`.
pub(crate) fn check(
    settings: &mut Settings,
    counts: QslCounts,
    input: ScaleInput,
    duration_ms: u64,
) -> Result<(), HostError> {
    let mut found = vec![other_scenario(settings), idle_settings(settings)];
    found.push(match input {
        ScaleInput::Saturated => without_rate(settings),
        ScaleInput::Arrivals { .. } => of_arrivals(settings),
    });
    leave_out_idle(settings, input);
    let mut as_server = settings.clone();
    if as_server.run.scenario.loadgen() != Scenario::Server {
        as_server.run.scenario = Scenario::Server.into();
    }
    found.extend([
        of_load(settings, counts, input, duration_ms),
        effect::of_conditions(&as_server),
        of_scheduler(settings),
    ]);
    for warning in found.concat() {
        if !settings.warnings.contains(&warning) {
            settings.warnings.push(warning);
        }
    }
    refuse_if_strict(settings)
}

/// Settings that a test has and scaling does not: limits of its length, bounds, ways to issue queries, tokens, logs,
/// and measurements during the test.
fn idle() -> impl Iterator<Item = &'static str> {
    keys().iter().filter(|key| !key.in_scale).map(|key| key.name)
}

/// Leaves out the settings without effect, so that nothing obeys them, shows them, or is marked for them.
fn leave_out_idle(settings: &mut Settings, input: ScaleInput) {
    let is_duration = is_by_flag(settings, MIN_DURATION, |flag| flag == "--duration");
    let idle: Vec<_> = idle().filter(|key| *key != MIN_DURATION || !is_duration).collect();
    settings.leave_out(&idle);
    if input == ScaleInput::Saturated {
        settings.leave_out(&[ARRIVALS_SEED]);
    }
    // Nothing is scored.
    settings.run.mode = Some(TestMode::PerformanceOnly);
    settings.test.mode = TestMode::PerformanceOnly;
}

/// Returns whether the setting comes from a flag like this.
fn is_by_flag(settings: &Settings, key: &str, is_like: impl Fn(&str) -> bool) -> bool {
    matches!(settings.origin(key), Some(Origin::Flag { flag }) if is_like(flag))
}

/// Returns the scenario, if it differs from the scenario of the arrivals.
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

/// Returns the warnings of LoadGen about a load of this length without any limits.
fn of_load(settings: &Settings, counts: QslCounts, input: ScaleInput, duration_ms: u64) -> Vec<String> {
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
    let effective = counts.effective_settings(&test);
    effective.map(|effective| effective.warnings()).unwrap_or_default()
}

/// Returns the warnings about the settings without effect that were given for scaling.
fn idle_settings(settings: &Settings) -> Vec<String> {
    let meant = idle().filter(|key| is_meant(settings, key));
    meant.map(|key| format!("{key} has no effect in host scale{}", what_has(key))).collect()
}

/// Returns whether a setting without effect was intended to have one. A file or the environment may serve runs as well,
/// and there it is not a mistake. A switch that is off asks for nothing.
fn is_meant(settings: &Settings, key: &str) -> bool {
    let Some(Effective { value, origin, .. }) = settings.effective.get(key) else { return false };
    let is_flag = matches!(origin, Origin::Flag { .. });
    match key {
        MIN_DURATION => is_by_flag(settings, key, |flag| flag != "--duration"),
        "mode" => is_flag && settings.run.mode != Some(TestMode::PerformanceOnly),
        // A seed for all of them also seeds the arrivals.
        "qsl_rng_seed" | "sample_index_rng_seed" => is_flag && settings.origin(ARRIVALS_SEED) != Some(origin),
        // A user who names Offline may mean the rate of the arrivals.
        "offline_expected_qps" if settings.run.scenario.loadgen() == Scenario::Offline => {
            is_flag || matches!(origin, Origin::Environment { .. } | Origin::File { .. })
        }
        _ => is_flag && *value != Value::Bool(false),
    }
}

/// Returns the end of the sentence that a setting has no effect: the setting that has one, if that is not plain.
fn what_has(key: &str) -> &'static str {
    match key {
        MIN_DURATION | "preset" => ": give --duration",
        "mode" => ", which measures throughput and latency",
        "offline_expected_qps" => ": the rate of arrivals is server_target_qps",
        "batch_timeout_us" => ": all that waits goes at once",
        "server_target_latency_ns" => ": the target is slo_ms",
        _ => "",
    }
}

/// Returns the settings of arrivals that the user gave without a rate.
fn without_rate(settings: &Settings) -> Vec<String> {
    let parameters = settings.arrival_parameters().iter().copied().chain(settings.idle_arrival_parameters());
    let idle = std::iter::once("arrivals").chain(parameters).filter(|key| settings.is_given(key));
    let mut warnings: Vec<_> = idle
        .map(|key| format!("{key} has no effect without a rate of arrivals: give --target-qps"))
        .collect();
    if is_by_flag(settings, ARRIVALS_SEED, |_| true) {
        warnings.push(format!("{ARRIVALS_SEED} has no effect without a rate of arrivals: give --target-qps"));
    }
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
    use proctor_config::{Key, Kind, Loader};

    use super::*;
    use crate::scale::input::scale_input;

    fn check_for_a_minute(settings: &mut Settings) {
        let (counts, input) = (settings.benchmark.qsl, scale_input(settings));
        check(settings, counts, input, 60_000).unwrap();
    }

    fn warnings(assignments: &[&str]) -> Vec<String> {
        let loader = Loader::new().set("policy=joint").set("scenario=Server");
        let loader = loader.set_all(assignments);
        let mut settings = loader.load().unwrap();
        check_for_a_minute(&mut settings);
        settings.warnings
    }

    /// A value of a setting that is not its default.
    fn value(key: &Key) -> String {
        match (key.name, key.kind) {
            ("mode", _) => "FindPeakPerformance".to_owned(),
            ("preset", _) => "official".to_owned(),
            ("audit_config", _) => "audit.config".to_owned(),
            (name, _) if name.ends_with("_percentile") => "0.5".to_owned(),
            ("accuracy_log_probability", _) => "0.5".to_owned(),
            ("server_find_peak_qps_decimals_of_precision", _) => "3".to_owned(),
            (_, Kind::Bool) => "true".to_owned(),
            _ => "77".to_owned(),
        }
    }

    /// Settings with one more, from a flag or, if that is false, from a file.
    fn checked(key: &Key, is_flag: bool) -> Settings {
        let value = value(key);
        let loader = Loader::new().set("policy=joint").set("scenario=Server").set("server_target_qps=300");
        let loader = match is_flag {
            true => loader.set(&format!("{}={value}", key.name)),
            false => {
                let is_plain = matches!(key.kind, Kind::Bool | Kind::Integer { .. } | Kind::Number { .. });
                let value = if is_plain { value } else { format!("{value:?}") };
                loader.config_text("proctor.toml", format!("{} = {value}\n", key.name))
            }
        };
        let mut settings = loader.load().unwrap();
        check_for_a_minute(&mut settings);
        settings
    }

    #[test]
    fn a_setting_without_effect_is_told_of_if_a_flag_gives_it_and_is_not_among_those_in_effect() {
        let plain = checked(keys().iter().find(|key| key.name == "batch_timeout_us").unwrap(), false);
        // The loader reports a quality target that the benchmark does not have.
        let told = |settings: &Settings| {
            let told = settings.warnings.iter().filter(|text| !text.contains("is no benchmark of"));
            told.cloned().collect::<Vec<_>>()
        };
        for key in keys().iter().filter(|key| !key.in_scale) {
            let (by_flag, by_file) = (checked(key, true), checked(key, false));
            let warnings = told(&by_flag);
            let text = format!("{} has no effect in host scale", key.name);
            assert!(warnings.len() == 1 && warnings[0].starts_with(&text), "{}: {warnings:?}", key.name);
            assert_eq!(told(&by_file), [""; 0], "{}", key.name);
            for settings in [by_flag, by_file] {
                assert_eq!(settings.origin(key.name), None);
                assert_eq!(settings.run, plain.run, "{}", key.name);
                // The lengths of a preset stay where nothing reads them.
                assert!(settings.test == plain.test || key.name == "preset", "{}", key.name);
                assert_eq!(settings.deviations("f32"), plain.deviations("f32"), "{}", key.name);
            }
        }
    }

    #[test]
    fn settings_of_tests_are_told_to_have_no_effect_and_to_end_no_run() {
        assert_eq!(warnings(&["strict=true"]), [""; 0]);
        assert_eq!(warnings(&["max_duration_ms=1000"]), ["max_duration_ms has no effect in host scale"]);
        assert_eq!(warnings(&["mode=performance", "floor=false", "noise=false"]), [""; 0]);
        assert_eq!(
            warnings(&["mode=accuracy"]),
            ["mode has no effect in host scale, which measures throughput and latency"]
        );
        let timeout = "batch_timeout_us has no effect in host scale: all that waits goes at once";
        assert_eq!(warnings(&["batch_timeout_us=7"]), [timeout]);
    }

    #[test]
    fn one_seed_for_all_is_that_of_the_arrivals() {
        let rate = "server_target_qps=300";
        assert_eq!(warnings(&[rate, "seed=7"]), [""; 0]);
        let own = "qsl_rng_seed has no effect in host scale";
        assert_eq!(warnings(&[rate, "qsl_rng_seed=7"]), [own]);
        let none = "schedule_rng_seed has no effect without a rate of arrivals: give --target-qps";
        assert_eq!(warnings(&["seed=7"]), [none]);
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
        assert_eq!(scale_input(&settings), ScaleInput::Saturated);
        check_for_a_minute(&mut settings);
        assert!(
            settings.warnings[0].contains("user.conf: line 1: a target_qps of 1"),
            "{:?}",
            settings.warnings
        );
    }

    #[test]
    fn the_rate_has_an_effect_in_every_scenario() {
        for scenario in ["scenario=SingleStream", "scenario=MultiStream", "scenario=Offline"] {
            let warnings = warnings(&[scenario, "server_target_qps=300"]);
            let is_of_rate =
                |text: &&String| !text.contains("has no effect in host scale: samples arrive as in Server");
            assert_eq!(warnings.iter().filter(is_of_rate).count(), 0, "{warnings:?}");
        }
    }
}
