//! Warns of each setting that the user gave in vain, because a condition in its row does not hold.

use proctor_config::{Effective, EngineChoice, IssueMode, Key, Origin, Settings, Value, When, keys};
use proctor_loadgen::Wait;
use proctor_vocabulary::TestMode;

/// Returns the warnings about settings that the user gave and that have no effect in a run with these settings.
///
/// A file or the environment may serve several runs: a setting in it that is for another scenario or mode is not a
/// mistake, and lines of LoadGen's files are for many runs in any case.
pub fn of_conditions(settings: &Settings) -> Vec<String> {
    let warning = |key: &Key| {
        let given = settings.effective.get(key.name)?;
        let failed = *key.only.iter().find(|when| !holds(**when, settings))?;
        (is_told_of(failed, given) && asks_for_something(given) && !is_as_asked(failed, settings))
            .then(|| format!("{} has no effect {}", key.name, reason(failed, settings)))
    };
    keys().iter().filter_map(warning).collect()
}

/// Returns whether a value is another one than the default, and no switch that is off.
fn asks_for_something(given: &Effective) -> bool {
    let default = given.overridden.last().map(|overridden| &overridden.value);
    given.value != Value::Bool(false) && default != Some(&given.value)
}

/// Returns whether the condition is met.
fn holds(when: When, settings: &Settings) -> bool {
    let run = &settings.run;
    match when {
        When::In(scenario) => run.scenario.loadgen() == scenario,
        When::Search => run.mode == Some(TestMode::FindPeakPerformance),
        When::With(switch) => is_on(settings, switch),
        When::WithoutTokens => !settings.test.use_token_latencies,
        When::Intervals => run.rules.has_intervals,
        When::NoIntervals => !run.rules.has_intervals,
        When::Hybrid => run.wait == Wait::Hybrid,
        When::RealTime => !run.virtual_time,
        When::Batches => run.issue != IssueMode::Always,
        When::OwnEngine => run.engine != EngineChoice::Official,
        When::OfficialEngine => run.engine.has_official(),
    }
}

/// Returns whether to report a value from this place that has no effect because of the condition.
fn is_told_of(when: When, given: &Effective) -> bool {
    match when {
        When::In(_) | When::Search => matches!(given.origin, Origin::Flag { .. }),
        // The bound of older rounds has that name in their files.
        When::NoIntervals => given.origin.is_user(),
        _ => {
            given.origin.is_user()
                && !matches!(given.origin, Origin::LoadGenConf { .. } | Origin::Audit { .. })
        }
    }
}

/// Returns whether another setting does what the user asked for.
fn is_as_asked(when: When, settings: &Settings) -> bool {
    let test = &settings.test;
    when == When::NoIntervals
        && (test.multi_stream_expected_latency_ns - test.multi_stream_interval_ms * 1e6).abs() < 1.0
}

/// Returns the end of the sentence that a setting has no effect.
fn reason(when: When, settings: &Settings) -> String {
    let run = &settings.run;
    match when {
        When::In(_) => format!("in {}", run.scenario),
        When::Search => "without mode = FindPeakPerformance".to_owned(),
        When::With(switch) => format!("without {switch} = true"),
        When::WithoutTokens => {
            "with use_token_latencies: the bounds are server_ttft_latency and server_tpot_latency".to_owned()
        }
        When::Intervals => format!("under {}, whose MultiStream has no intervals", run.rules),
        When::NoIntervals => format!(
            "under {}: from one query to the next, and for the latency of each, there is \
             multi_stream_interval_ms = {}",
            run.rules, settings.test.multi_stream_interval_ms
        ),
        When::Hybrid => "without wait = hybrid".to_owned(),
        When::RealTime => "in virtual time".to_owned(),
        When::Batches => "with issue = true: the plugin is given whole queries".to_owned(),
        When::OwnEngine => "with engine = official, which issues the queries and writes the logs".to_owned(),
        When::OfficialEngine => "without engine = official".to_owned(),
    }
}

fn is_on(settings: &Settings, switch: &str) -> bool {
    settings.effective.get(switch).is_some_and(|effective| effective.value == Value::Bool(true))
}

#[cfg(test)]
mod tests {
    use proctor_config::{Kind, Loader};
    use proctor_vocabulary::Scenario::{self, MultiStream, Offline, Server, SingleStream};

    use super::*;
    use crate::warnings::tests::check;

    /// Settings of Server that the load generator itself reports elsewhere.
    const REPORTED_BY_LOADGEN: &[&str] =
        &["server_coalesce_queries", "server_max_async_queries", "server_num_issue_query_threads"];

    fn warnings(assignments: &[&str]) -> Vec<String> {
        let loader = Loader::new().set_all(assignments);
        let mut settings = loader.load().unwrap();
        check(&mut settings).unwrap();
        settings.warnings
    }

    /// A value that no setting with conditions has by default.
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
    fn a_setting_that_another_one_switches_on_names_a_switch() {
        for key in keys() {
            for when in key.only {
                let When::With(switch) = when else { continue };
                let named = keys().iter().find(|key| key.name == *switch);
                assert_eq!(named.map(|key| key.kind), Some(Kind::Bool), "{}", key.name);
            }
        }
    }

    #[test]
    fn a_setting_for_another_scenario_is_told_in_every_scenario_and_round() {
        for Key { name: key, only, .. } in keys() {
            if REPORTED_BY_LOADGEN.contains(key) {
                continue;
            }
            let of = only.iter().find_map(|when| if let When::In(of) = when { Some(*of) } else { None });
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
            ("wait", "engine=both", "engine=official", "with engine = official"),
            ("loadgen", "engine=official", "engine=proctor", "without engine = official"),
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
