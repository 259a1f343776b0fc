//! Every setting in effect is in `result.json`, whichever source gives it: from the settings there alone, the part of
//! LoadGen's detail log about settings is made again.

use std::fmt::Write as _;

use proctor_config::{Loader, keys};
use proctor_loadgen::{
    EffectiveSettings, SettingKind, SettingValue, TestSettings,
    config_file::{config_keys, is_builtin_only, setting_of_key},
    log::{DetailLog, LogIdentity},
};
use proctor_tests::{Bench, Run, SCENARIOS};
use proctor_vocabulary::Scenario;
use serde_json::Value;

/// A value for each key, which is not its default where a run with another value is still the same kind of run.
#[rustfmt::skip]
const GIVEN: &[(&str, &str)] = &[
    ("plugin", "mock"), ("benchmark", "digits-mlp"), ("mode", "PerformanceOnly"), ("preset", "official"),
    ("rules", "v5.1"), ("suite", "datacenter"), ("quality_target", "99.9"), ("server_run_count", "1"),
    ("arrivals", "gamma"), ("arrivals_cv", "1.5"), ("arrivals_on_ms", "50.5"), ("arrivals_off_ms", "60.5"),
    ("arrivals_off_share", "0.25"), ("arrivals_period_s", "30.5"), ("arrivals_amplitude", "0.25"),
    ("arrivals_trace", "trace.csv"), ("arrivals_speed", "2.5"),
    ("engine", "proctor"), ("loadgen", "build"), ("python", "python3.99"), ("dataset_folder", "folder"), ("plugin_path", "plugins"),
    ("precision", "f32"), ("device", "cpu"), ("cache_folder", "kept"), ("strict", "false"),
    ("enable_trace", "false"), ("copy_summary_to_stdout", "true"), ("copy_detail_to_stdout", "true"),
    ("virtual_time", "true"), ("isolate", "false"), ("isolate_memory_mib", "4096"), ("isolate_spin_us", "20"),
    ("isolate_read", "shared"), ("isolate_devices", "/dev/shm"), ("isolate_env", "HOME:USER"),
    ("isolate_network", "true"), ("watchdog_ms", "50000"), ("floor", "false"), ("noise", "false"),
    ("wait", "spin"), ("wait_spin_us", "40"), ("issue", "false"), ("policy", "size-or-timeout"),
    ("batch_size", "3"), ("instances", "2"), ("placement", "off"), ("slo_ms", "40.5"), ("tail", "90.5"),
    ("approach", "batching"), ("curves", "curves.json"), ("batch_timeout_us", "500"),
    ("queue_capacity", "4096"), ("warm_up_batches", "1"),
    ("single_stream_expected_latency_ns", "200000.5"), ("single_stream_target_latency_percentile", "0.95"),
    ("multi_stream_expected_latency_ns", "300000.5"), ("multi_stream_target_latency_percentile", "0.97"),
    ("multi_stream_samples_per_query", "4"), ("multi_stream_interval_ms", "40.5"),
    ("server_target_qps", "500.5"), ("server_target_latency_ns", "30000000"),
    ("server_target_latency_percentile", "0.98"), ("server_coalesce_queries", "true"),
    ("server_find_peak_qps_decimals_of_precision", "2"), ("server_find_peak_qps_boundary_step_size", "0.5"),
    ("server_max_async_queries", "5000"), ("server_num_issue_query_threads", "1"),
    ("offline_expected_qps", "300.5"), ("sample_concatenate_permutation", "true"),
    ("min_duration_ms", "500"), ("max_duration_ms", "60000"), ("min_query_count", "300"),
    ("max_query_count", "5000"), ("qsl_rng_seed", "11"), ("sample_index_rng_seed", "12"),
    ("schedule_rng_seed", "13"), ("accuracy_log_rng_seed", "14"), ("accuracy_log_probability", "0.25"),
    ("accuracy_log_sampling_target", "9"), ("response_arena_bytes", "33554432"), ("test05", "false"),
    ("test05_qsl_rng_seed", "21"),
    ("test05_sample_index_rng_seed", "22"), ("test05_schedule_rng_seed", "18446744073709551615"),
    ("print_timestamps", "true"), ("performance_issue_unique", "false"), ("performance_issue_same", "true"),
    ("performance_issue_same_index", "3"), ("performance_sample_count_override", "500"),
    ("accuracy_sample_count_override", "400"), ("use_token_latencies", "true"),
    ("server_ttft_latency", "40000000"), ("server_tpot_latency", "3000000"),
    ("infer_token_latencies", "true"), ("token_latency_scaling_factor", "7"),
];

/// Keys that are not among them.
const NOT_GIVEN: &[&str] = &[
    "scenario",
    // Given in place of `slo_ms`, and measured by `host scale` alone.
    "slo_x",
    // Settings that tests are started with.
    "data_root",
    "output_folder",
    // It has to be a file in a format that the plugin takes; the mock takes none.
    "model_file",
    // The mock lists no devices.
    "devices",
    // For data sets of clicks alone.
    "row_aggregation",
    // No run in virtual time is recorded.
    "record",
    // A source by itself.
    "audit_config",
];

/// A value for each key of LoadGen's files, in their units.
#[rustfmt::skip]
const CONF: &[(&str, &str)] = &[
    ("mode", "2"), ("qsl_rng_seed", "11"), ("sample_index_rng_seed", "12"), ("schedule_rng_seed", "13"),
    ("accuracy_log_probability", "5"), ("test05", "1"), ("test05_qsl_rng_seed", "21"),
    ("test05_sample_index_rng_seed", "22"), ("test05_schedule_rng_seed", "23"), ("use_token_latencies", "1"),
    ("ttft_latency", "4000"), ("tpot_latency", "300"), ("infer_token_latencies", "1"),
    ("token_latency_scaling_factor", "7"), ("target_latency_percentile", "95"), ("samples_per_query", "4"),
    ("target_latency", "30"), ("performance_issue_unique", "0"), ("performance_issue_same", "1"),
    ("performance_issue_same_index", "3"), ("sample_concatenate_permutation", "1"), ("coalesce_queries", "1"),
    ("max_async_queries", "5000"), ("min_duration", "500"), ("max_duration", "60000"),
    ("min_query_count", "300"), ("max_query_count", "5000"), ("performance_sample_count_override", "500"),
    ("accuracy_sample_count_override", "400"), ("target_qps", "400.5"), ("print_timestamps", "1"),
    ("accuracy_log_rng_seed", "14"), ("accuracy_log_sampling_target", "9"),
];

/// Flags of a run whose settings in question come from a file.
const MOCK: &str =
    "--plugin mock --benchmark digits-mlp --virtual-time --mode performance --set mock.tokens=4";

#[test]
fn every_key_has_a_value_here() {
    let given = |name| GIVEN.iter().any(|(key, _)| *key == name) || NOT_GIVEN.contains(&name);
    let missing: Vec<_> = keys().iter().map(|key| key.name).filter(|name| !given(name)).collect();
    assert_eq!(missing, [""; 0], "give it a value, or say why not");
    let missing: Vec<_> = config_keys().filter(|name| CONF.iter().all(|(key, _)| key != name)).collect();
    assert_eq!(missing, [""; 0], "give it a value");
}

#[test]
fn what_is_set_is_in_the_result_of_every_scenario() {
    let sets = GIVEN.iter().fold(String::new(), |mut sets, (key, value)| {
        write!(sets, " --set {key}={value}").unwrap();
        sets
    });
    for scenario in SCENARIOS {
        let run = Bench::new().run(&format!("--set scenario={scenario} --set mock.tokens=4 {sets}"));
        check_given(&run, |key| format!("--set {key}"));
        assert_eq!(run.result()["settings"]["mock.tokens"]["value"], "4");
        check_log(&run);
    }
}

#[test]
fn what_flags_say_is_in_the_result() {
    let of_flag = |(key, value): &(&'static str, &'static str)| {
        let flag = keys().iter().find(|other| other.name == *key)?.flag?;
        (*value != "false").then_some((*key, flag.long, *value))
    };
    let of_flags: Vec<_> = GIVEN.iter().filter_map(of_flag).collect();
    let flags = of_flags.iter().fold(String::new(), |mut flags, (_, long, value)| {
        match *value {
            "true" => write!(flags, " --{long}").unwrap(),
            value => write!(flags, " --{long} {value}").unwrap(),
        }
        flags
    });
    let run = Bench::new().run(&format!("--scenario Offline --set mock.tokens=4 {flags}"));
    for (key, long, value) in of_flags {
        let setting = &run.result()["settings"][key];
        assert!(is_same(&setting["value"], value), "{key} = {value}: {setting}");
        assert_eq!(setting["origin"]["flag"], format!("--{long}"));
    }
    check_log(&run);
}

#[test]
fn what_the_environment_says_is_in_the_result() {
    let mut bench = Bench::new();
    for (key, value) in GIVEN {
        bench.set_variable(&variable(key), *value);
    }
    let run = bench.run("--set scenario=Server --set mock.tokens=4");
    check_given(&run, variable);
    check_log(&run);
}

#[test]
fn what_the_configuration_file_says_is_in_the_result() {
    let bench = Bench::new();
    let line = |(key, value): &(&str, &str)| match json(value) {
        Value::String(text) => format!("{key} = \"{text}\"\n"),
        _ => format!("{key} = {value}\n"),
    };
    let text: String = GIVEN.iter().map(line).collect();
    bench.write("proctor.toml", format!("scenario = \"MultiStream\"\n{text}[mock]\ntokens = 4\n"));
    let run = bench.run("");
    check_given(&run, |_| "proctor.toml".to_owned());
    for (index, (key, _)) in GIVEN.iter().enumerate() {
        assert_eq!(run.result()["settings"][*key]["origin"]["line"], index + 2, "{key}");
    }
    check_log(&run);
}

#[test]
fn what_loadgens_files_say_is_in_the_result_of_every_scenario() {
    for scenario in SCENARIOS {
        let bench = Bench::new();
        let lines = |wanted: fn(&str) -> bool| {
            let lines = CONF.iter().filter(|(key, _)| wanted(key));
            lines.map(|(key, value)| format!("*.{scenario}.{key} = {value}\n")).collect::<String>()
        };
        let user = bench.write("user.conf", lines(|key| !is_builtin_only(key)));
        let mlperf = bench.write("mlperf.conf", lines(is_builtin_only));
        let (user, mlperf) = (user.display(), mlperf.display());
        // Not `--mode`, which would go before the files.
        let flags = MOCK.replace("--mode performance", "");
        let run =
            bench.run(&format!("{flags} --scenario {scenario} --mlperf-conf {mlperf} --user-conf {user}"));
        check_conf(&run, scenario, "load-gen-conf", |_| true);
        check_log(&run);
    }
}

#[test]
fn what_an_audit_file_says_is_in_the_result_of_every_scenario() {
    for scenario in SCENARIOS {
        let bench = Bench::new();
        let lines = CONF.iter().map(|(key, value)| format!("*.{scenario}.{key} = {value}\n"));
        let audit = bench.write("given.config", lines.collect::<String>());
        let run = bench.run(&format!("{MOCK} --scenario {scenario} --set audit_config={}", audit.display()));
        check_conf(&run, scenario, "audit", |key| !is_builtin_only(key));
        check_log(&run);
    }
}

fn variable(key: &str) -> String {
    format!("PROCTOR_{}", key.to_ascii_uppercase())
}

/// A number or a switch as such, anything else as a text.
fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

fn is_same(ours: &Value, given: &str) -> bool {
    match ours {
        Value::String(text) => text == given,
        Value::Number(number) => number.as_f64() == json(given).as_f64(),
        other => *other == json(given),
    }
}

/// Asserts that each given value is in the result, from a source that is named so.
fn check_given(run: &Run, source: impl Fn(&str) -> String) {
    let settings = &run.result()["settings"];
    for (key, value) in GIVEN {
        let setting = &settings[*key];
        assert!(is_same(&setting["value"], value), "{key} = {value}: {setting}");
        let origin = setting["origin"].to_string();
        assert!(origin.contains(&format!("{}\"", source(key))), "{key}: {origin}");
    }
    for key in keys().iter().map(|key| key.name).filter(|key| *key != "output_folder") {
        assert!(settings[key].is_object(), "no {key}");
    }
}

/// Asserts that each setting that a key of LoadGen's files stands for has an origin of this kind.
fn check_conf(run: &Run, scenario: &str, kind: &str, is_read: fn(&str) -> bool) {
    let scenario: Scenario = scenario.parse().unwrap();
    for (key, _) in CONF.iter().filter(|(key, _)| is_read(key)) {
        let Some((setting, _)) = setting_of_key(key, scenario) else { continue };
        let told = &run.result()["settings"][setting];
        assert_eq!(told["origin"]["kind"], kind, "{key} in {scenario}: {told}, {}", run.finished);
    }
}

/// Asserts that LoadGen's log has the settings that follow from the result, and no others.
fn check_log(run: &Run) {
    let result = run.result();
    let settings = &result["settings"];
    let mut test = TestSettings::default();
    for field in TestSettings::FIELDS {
        let value = setting(field.kind, &settings[field.name]["value"]);
        let value = value.unwrap_or_else(|| panic!("{} is {}", field.name, settings[field.name]));
        test.set(field.name, value).unwrap();
    }
    let arrivals = ["scenario", "arrivals", "arrivals_cv"];
    let arrivals = arrivals.iter().fold(Loader::new(), |loader, key| {
        let value = &settings[*key]["value"];
        loader.set(&format!("{key}={}", value.as_str().map_or(value.to_string(), str::to_owned)))
    });
    test.arrivals = arrivals.load().unwrap().test.arrivals;
    let count = |name: &str| result["benchmark"][name].as_u64().unwrap();
    let (performance, total) = (count("performance_sample_count"), count("total_sample_count"));
    let (effective, _) = EffectiveSettings::new(&test, performance, total).unwrap();
    let mut log = DetailLog::default();
    log.requested(0, &effective.request);
    log.effective(0, &effective);
    let mut text = Vec::new();
    log.write(&LogIdentity::default(), &mut text).unwrap();
    let expected = of_settings(&String::from_utf8(text).unwrap());
    assert!(expected.len() > 40, "{expected:?}");
    assert_eq!(of_settings(&run.text("mlperf_log_detail.txt")), expected, "{}", run.finished);
    // The seeds once more, as they are in effect.
    for (key, value) in result["seeds"].as_object().unwrap() {
        assert!(expected.contains(&(format!("effective_{key}"), value.clone())), "{key}");
    }
}

/// Key and value of each entry about settings.
fn of_settings(log: &str) -> Vec<(String, Value)> {
    let entries = log.lines().map(|line| {
        let entry: Value = serde_json::from_str(line.strip_prefix(":::MLLOG ").unwrap()).unwrap();
        (entry["key"].as_str().unwrap().to_owned(), entry["value"].clone())
    });
    entries.filter(|(key, _)| key.starts_with("requested_") || key.starts_with("effective_")).collect()
}

fn setting(kind: SettingKind, value: &Value) -> Option<SettingValue> {
    Some(match kind {
        SettingKind::Bool => SettingValue::Bool(value.as_bool()?),
        SettingKind::Unsigned => SettingValue::Unsigned(value.as_u64()?),
        SettingKind::Signed => SettingValue::Signed(value.as_i64()?),
        SettingKind::Float => SettingValue::Float(value.as_f64()?),
        SettingKind::Scenario => SettingValue::Scenario(value.as_str()?.parse().ok()?),
        SettingKind::Mode => SettingValue::Mode(value.as_str()?.parse().ok()?),
        SettingKind::Rules => SettingValue::Rules(value.as_str()?.parse().ok()?),
    })
}
