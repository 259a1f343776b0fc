//! Determines when each setting has an effect, and warns of each that the user gave in vain.

use proctor_config::{Effective, IssueMode, Origin, Settings, Value};
use proctor_loadgen::Wait;
use proctor_vocabulary::{
    Scenario::{self, MultiStream, Offline, Server, SingleStream},
    TestMode,
};

/// A condition for a setting to have an effect.
#[derive(Debug, Clone, Copy, PartialEq)]
enum When {
    /// Queries arrive as in this scenario.
    In(Scenario),
    /// The run searches for the peak rate.
    Search,
    /// This switch is on.
    With(&'static str),
    /// Bounds on tokens do not take the place of the bound on the latency.
    WithoutTokens,
    /// The round has MultiStream at fixed intervals.
    Intervals,
    /// The round has MultiStream without intervals.
    NoIntervals,
    /// The issuing thread waits asleep until shortly before.
    Hybrid,
    /// The run is in real time.
    RealTime,
    /// The host forms batches, as far as the settings say.
    Batches,
}

use self::When::{Batches, Hybrid, In, Intervals, NoIntervals, RealTime, Search, With, WithoutTokens};

/// Settings that have an effect only in some runs, with their conditions; the first that fails is reported.
const CONDITIONS: &[(&str, &[When])] = &[
    ("server_run_count", &[In(Server)]),
    ("isolate_memory_mib", &[With("isolate")]),
    ("isolate_spin_us", &[With("isolate")]),
    ("isolate_read", &[With("isolate")]),
    ("isolate_devices", &[With("isolate")]),
    ("isolate_env", &[With("isolate")]),
    ("isolate_network", &[With("isolate")]),
    ("wait", &[RealTime]),
    ("wait_spin_us", &[RealTime, Hybrid]),
    ("queue_capacity", &[Batches]),
    ("single_stream_expected_latency_ns", &[In(SingleStream)]),
    ("single_stream_target_latency_percentile", &[In(SingleStream)]),
    ("multi_stream_expected_latency_ns", &[In(MultiStream), NoIntervals]),
    ("multi_stream_target_latency_percentile", &[In(MultiStream)]),
    ("multi_stream_samples_per_query", &[In(MultiStream)]),
    ("multi_stream_interval_ms", &[In(MultiStream), Intervals]),
    ("server_target_qps", &[In(Server)]),
    ("server_target_latency_ns", &[In(Server), WithoutTokens]),
    ("server_target_latency_percentile", &[In(Server)]),
    ("server_find_peak_qps_decimals_of_precision", &[In(Server), Search]),
    ("server_find_peak_qps_boundary_step_size", &[In(Server), Search]),
    ("offline_expected_qps", &[In(Offline)]),
    ("test05_qsl_rng_seed", &[With("test05")]),
    ("test05_sample_index_rng_seed", &[With("test05")]),
    ("test05_schedule_rng_seed", &[With("test05")]),
    ("server_ttft_latency", &[In(Server), With("use_token_latencies")]),
    ("server_tpot_latency", &[In(Server), With("use_token_latencies")]),
    ("token_latency_scaling_factor", &[With("infer_token_latencies")]),
];

/// The warnings about settings that the user gave and that have no effect in a run with these settings.
///
/// A file or the environment may serve several runs: a setting in it that is for another scenario or mode is no
/// mistake, and lines of LoadGen's files are for many runs in any case.
pub fn of_conditions(settings: &Settings) -> Vec<String> {
    let warning = |(key, conditions): &(&str, &[When])| {
        let given = settings.effective.get(*key)?;
        let failed = conditions.iter().find(|when| !when.holds(settings))?;
        (failed.is_told_of(given) && asks_for_something(given) && !failed.is_as_asked(settings))
            .then(|| format!("{key} has no effect {}", failed.reason(settings)))
    };
    CONDITIONS.iter().filter_map(warning).collect()
}

/// Returns whether a value is another one than the default, and no switch that is off.
fn asks_for_something(given: &Effective) -> bool {
    let default = given.overridden.last().map(|overridden| &overridden.value);
    given.value != Value::Bool(false) && default != Some(&given.value)
}

impl When {
    fn holds(self, settings: &Settings) -> bool {
        let run = &settings.run;
        match self {
            In(scenario) => run.scenario.loadgen() == scenario,
            Search => run.mode == Some(TestMode::FindPeakPerformance),
            With(switch) => is_on(settings, switch),
            WithoutTokens => !settings.test.use_token_latencies,
            Intervals => run.rules.has_intervals,
            NoIntervals => !run.rules.has_intervals,
            Hybrid => run.wait == Wait::Hybrid,
            RealTime => !run.virtual_time,
            Batches => run.issue != IssueMode::Always,
        }
    }

    /// Returns whether to report a value from this place that has no effect because of the condition.
    fn is_told_of(self, given: &Effective) -> bool {
        match self {
            In(_) | Search => matches!(given.origin, Origin::Flag { .. }),
            // The bound of older rounds has that name in their files.
            NoIntervals => given.origin.is_user(),
            _ => {
                given.origin.is_user()
                    && !matches!(given.origin, Origin::LoadGenConf { .. } | Origin::Audit { .. })
            }
        }
    }

    /// Returns whether another setting does what the user asked for.
    fn is_as_asked(self, settings: &Settings) -> bool {
        let test = &settings.test;
        self == NoIntervals
            && (test.multi_stream_expected_latency_ns - test.multi_stream_interval_ms * 1e6).abs() < 1.0
    }

    /// The end of the sentence that a setting has no effect.
    fn reason(self, settings: &Settings) -> String {
        let run = &settings.run;
        match self {
            In(_) => format!("in {}", run.scenario),
            Search => "without mode = FindPeakPerformance".to_owned(),
            With(switch) => format!("without {switch} = true"),
            WithoutTokens => {
                "with use_token_latencies: the bounds are server_ttft_latency and server_tpot_latency"
                    .to_owned()
            }
            Intervals => format!("under {}, whose MultiStream has no intervals", run.rules),
            NoIntervals => format!(
                "under {}: from one query to the next, and for the latency of each, there is \
                 multi_stream_interval_ms = {}",
                run.rules, settings.test.multi_stream_interval_ms
            ),
            Hybrid => "without wait = hybrid".to_owned(),
            RealTime => "in virtual time".to_owned(),
            Batches => "with issue = true: the plugin is given whole queries".to_owned(),
        }
    }
}

fn is_on(settings: &Settings, switch: &str) -> bool {
    settings.effective.get(switch).is_some_and(|effective| effective.value == Value::Bool(true))
}

#[cfg(test)]
mod tests {
    use proctor_config::{Loader, keys};

    use super::*;
    use crate::warnings::check;

    /// Settings that have an effect in every run, or that are reported in another way than by the table.
    #[rustfmt::skip]
    const ELSEWHERE: &[&str] = &[
        "plugin", "benchmark", "scenario", "mode", "preset", "rules", "suite", "quality_target", "arrivals",
        "arrivals_cv", "arrivals_on_ms", "arrivals_off_ms", "arrivals_off_share", "arrivals_period_s",
        "arrivals_amplitude", "arrivals_trace", "arrivals_speed", "data_root", "model_file", "dataset_folder",
        "row_aggregation", "output_folder", "record", "plugin_path", "precision", "device", "devices",
        "cache_folder", "audit_config", "strict", "enable_trace", "copy_summary_to_stdout",
        "copy_detail_to_stdout", "virtual_time", "isolate", "watchdog_ms", "response_arena_bytes",
        // On by default, and off in virtual time, as their help says.
        "floor", "noise",
        "issue", "policy", "batch_size", "instances", "placement", "slo_ms", "slo_x", "tail", "approach", "curves",
        "batch_timeout_us", "warm_up_batches", "server_coalesce_queries", "server_max_async_queries",
        "server_num_issue_query_threads", "sample_concatenate_permutation", "min_duration_ms", "max_duration_ms",
        "min_query_count", "max_query_count", "qsl_rng_seed", "sample_index_rng_seed", "schedule_rng_seed",
        "accuracy_log_rng_seed", "accuracy_log_probability", "accuracy_log_sampling_target", "test05",
        "print_timestamps", "performance_issue_unique", "performance_issue_same", "performance_issue_same_index",
        "performance_sample_count_override", "accuracy_sample_count_override", "use_token_latencies",
        "infer_token_latencies",
    ];

    fn warnings(assignments: &[&str]) -> Vec<String> {
        let loader = assignments.iter().fold(Loader::new(), |loader, text| loader.set(text));
        let mut settings = loader.load().unwrap();
        check(&mut settings).unwrap();
        settings.warnings
    }

    /// A value that no setting of the table has by default.
    fn value(key: &str) -> &'static str {
        match key {
            "wait" => "spin",
            "isolate_read" | "isolate_devices" => "/opt",
            "isolate_network" => "true",
            key if key.ends_with("_percentile") => "0.5",
            "server_find_peak_qps_decimals_of_precision" => "3",
            _ => "77",
        }
    }

    /// The scenario of a setting by its name alone.
    fn scenario_of(key: &str) -> Option<Scenario> {
        let prefixes = [
            ("single_stream_", SingleStream),
            ("multi_stream_", MultiStream),
            ("server_", Server),
            ("offline_", Offline),
        ];
        prefixes.into_iter().find(|(prefix, _)| key.starts_with(prefix)).map(|(_, scenario)| scenario)
    }

    #[test]
    fn every_setting_is_in_the_table_or_has_an_effect_in_every_run() {
        let is_listed = |name: &str| CONDITIONS.iter().any(|(key, _)| *key == name);
        for key in keys() {
            assert_ne!(is_listed(key.name), ELSEWHERE.contains(&key.name), "{}", key.name);
        }
        let known = |name: &str| keys().iter().any(|key| key.name == name);
        assert!(CONDITIONS.iter().all(|(key, _)| known(key)));
        assert!(ELSEWHERE.iter().all(|key| known(key)));
    }

    #[test]
    fn a_setting_for_another_scenario_is_told_in_every_scenario_and_round() {
        for (key, conditions) in CONDITIONS {
            let of = conditions.iter().find_map(|when| if let In(of) = when { Some(*of) } else { None });
            assert_eq!(of, scenario_of(key), "{key}");
            let Some(of) = of else { continue };
            for scenario in Scenario::ALL {
                for rules in ["v0.5", "v0.7", "v5.0", "v6.1"] {
                    let [scenario_set, rules_set] =
                        [format!("scenario={scenario}"), format!("rules={rules}")];
                    let told = warnings(&[&scenario_set, &rules_set, &format!("{key}={}", value(key))]);
                    let text = format!("{key} has no effect in {scenario}");
                    assert_eq!(told.contains(&text), *scenario != of, "{rules}: {told:?}");
                }
            }
        }
    }

    #[test]
    fn the_other_conditions_are_told_where_they_fail_and_not_where_they_hold() {
        for (key, holding, failing, reason) in [
            (
                "multi_stream_interval_ms",
                "rules=v0.7",
                "rules=v5.0",
                "under v5.0, whose MultiStream has no intervals",
            ),
            (
                "multi_stream_expected_latency_ns",
                "rules=v5.0",
                "rules=v0.5",
                "under v0.5: from one query to the next",
            ),
            (
                "server_ttft_latency",
                "use_token_latencies=true",
                "use_token_latencies=false",
                "without use_token",
            ),
            (
                "server_tpot_latency",
                "use_token_latencies=true",
                "use_token_latencies=false",
                "without use_token",
            ),
            (
                "server_target_latency_ns",
                "use_token_latencies=false",
                "use_token_latencies=true",
                "with use_token",
            ),
            (
                "server_find_peak_qps_decimals_of_precision",
                "mode=FindPeakPerformance",
                "mode=performance",
                "without mode",
            ),
            (
                "token_latency_scaling_factor",
                "infer_token_latencies=true",
                "infer_token_latencies=false",
                "without infer",
            ),
            ("test05_qsl_rng_seed", "test05=true", "test05=false", "without test05 = true"),
            ("isolate_read", "isolate=true", "isolate=false", "without isolate = true"),
            ("isolate_network", "isolate=true", "isolate=false", "without isolate = true"),
            ("wait", "virtual_time=false", "virtual_time=true", "in virtual time"),
            ("wait_spin_us", "wait=hybrid", "wait=spin", "without wait = hybrid"),
            ("queue_capacity", "issue=false", "issue=true", "with issue = true"),
        ] {
            let scenario = scenario_of(key).unwrap_or(Server);
            let told = |condition: &str| {
                let told =
                    warnings(&[&format!("scenario={scenario}"), condition, &format!("{key}={}", value(key))]);
                told.into_iter().find(|text| text.starts_with(&format!("{key} has no effect")))
            };
            assert_eq!(told(holding), None);
            let text = told(failing).unwrap_or_else(|| panic!("{key} with {failing}"));
            assert!(text.starts_with(&format!("{key} has no effect {reason}")), "{text}");
        }
    }

    #[test]
    fn the_bound_of_multi_stream_in_a_file_is_told_with_the_interval_unless_they_agree() {
        let folder = tempfile::tempdir().unwrap();
        let conf = folder.path().join("user.conf");
        let told = |ms: u64, rules: &str| {
            std::fs::write(&conf, format!("*.MultiStream.target_latency = {ms}\n")).unwrap();
            let loader = Loader::new().user_conf(&conf).set("scenario=MultiStream").set(rules);
            let mut settings = loader.set("multi_stream_interval_ms=50").load().unwrap();
            check(&mut settings).unwrap();
            settings.warnings
        };
        for rules in ["rules=v0.5", "rules=v0.7"] {
            let warnings = told(200, rules);
            assert_eq!(warnings.len(), 1, "{warnings:?}");
            assert!(warnings[0].ends_with("there is multi_stream_interval_ms = 50"), "{warnings:?}");
            assert_eq!(told(50, rules), [""; 0]);
        }
        assert_eq!(told(200, "rules=v5.0"), [""; 0]);
    }

    #[test]
    fn a_file_that_serves_several_runs_is_not_blamed_for_other_scenarios() {
        let text = "server_target_qps = 5.0\nmulti_stream_interval_ms = 20.0\nserver_run_count = 3\n";
        let mut settings = Loader::new().config_text("proctor.toml", text).load().unwrap();
        check(&mut settings).unwrap();
        assert_eq!(settings.warnings, [""; 0]);
    }
}
