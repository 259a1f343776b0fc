//! The golden cases of LoadGen's configuration files.
//!
//! Recorded from the official LoadGen 6.0.17: `calls` are the `FromConfig` calls made on one fresh settings object
//! (`text` is the content of the file, null a file that does not exist), `changed_from_default` the attributes that
//! then differ from the defaults. Attributes are named as in the Python module.

use proctor_loadgen::{SettingValue, TestSettings, config_file::ConfigFileKind};
use proctor_vocabulary::Scenario;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::from_config::ConfigFiles;

#[derive(Deserialize)]
struct Case {
    calls: Vec<Call>,
    return_codes: Vec<i32>,
    changed_from_default: Map<String, Value>,
}

#[derive(Deserialize)]
struct Call {
    model: String,
    scenario: String,
    conf_type: u32,
    text: Option<String>,
}

/// The name that LoadGen's Python module gives to a field.
fn python_name(field: &str) -> &str {
    match field {
        "server_ttft_latency" => "ttft_latency",
        "server_tpot_latency" => "tpot_latency",
        same => same,
    }
}

fn to_json(value: SettingValue) -> Value {
    match value {
        SettingValue::Bool(value) => value.into(),
        SettingValue::Unsigned(value) => value.into(),
        SettingValue::Signed(value) => value.into(),
        SettingValue::Float(value) => value.into(),
        SettingValue::Scenario(value) => value.name().into(),
        SettingValue::Mode(value) => value.name().into(),
        SettingValue::Rules(value) => value.name.into(),
    }
}

fn changed_from_default(settings: &TestSettings) -> Map<String, Value> {
    let defaults = TestSettings::default();
    let changed =
        TestSettings::FIELDS.iter().filter(|field| settings.get(field.name) != defaults.get(field.name));
    changed
        .map(|field| (python_name(field.name).to_owned(), to_json(settings.get(field.name).unwrap())))
        .collect()
}

fn run(case: &Case, process: &mut ConfigFiles) {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = TestSettings::default();
    let mut codes = Vec::new();
    for (number, call) in case.calls.iter().enumerate() {
        let path = folder.path().join(format!("{number}.conf"));
        if let Some(text) = &call.text {
            std::fs::write(&path, text).unwrap();
        }
        let kind = match call.conf_type {
            0 => ConfigFileKind::Builtin,
            1 => ConfigFileKind::User,
            _ => ConfigFileKind::Other,
        };
        let scenario = call.scenario.parse().unwrap();
        codes.push(process.apply_file(&path, &call.model, scenario, kind, &mut settings).code);
    }
    assert_eq!(codes, case.return_codes);
    let call = &case.calls[0];
    assert_eq!(
        changed_from_default(&settings),
        case.changed_from_default,
        "{} {}",
        call.model,
        call.scenario
    );
}

fn cases(text: &str) -> Vec<Case> {
    serde_json::from_str(text).unwrap()
}

#[test]
fn the_built_in_values_are_loadgens_for_every_model_and_scenario() {
    let cases = cases(include_str!("../../golden/config_builtin.json"));
    assert_eq!(cases.len(), 80);
    for case in cases {
        run(&case, &mut ConfigFiles::default());
    }
}

#[test]
fn user_files_are_read_as_loadgen_reads_them() {
    let cases = cases(include_str!("../../golden/config_user.json"));
    assert_eq!(cases.len(), 33);
    for case in cases {
        run(&case, &mut ConfigFiles::default());
    }
}

#[test]
fn a_second_user_file_in_one_process_gets_no_built_in_values() {
    let mut process = ConfigFiles::default();
    for case in cases(include_str!("../../golden/config_two_objects_one_process.json")) {
        run(&case, &mut process);
    }
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_of_the_log() {
    let mut settings = TestSettings::default();
    let path = "no/such.conf".as_ref();
    let applied =
        ConfigFiles::default().apply_file(path, "m", Scenario::Server, ConfigFileKind::User, &mut settings);
    let texts: Vec<_> = applied.errors.iter().map(ToString::to_string).collect();
    assert_eq!((applied.code, texts.join("\n")), (-2, "can't open file no/such.conf".to_owned()));
    assert_eq!(settings.min_duration_ms, 600_000, "the built-in values stay");
}

/// LoadGen takes the name as it is, so that one in another case finds no key of the scenario.
#[test]
fn a_scenario_is_a_scenario_in_any_case() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("user.conf");
    std::fs::write(&path, "*.Server.min_query_count = 7\n").unwrap();
    let mut settings = TestSettings::default();
    let scenario = "server".parse().unwrap();
    let applied =
        ConfigFiles::default().apply_file(&path, "m", scenario, ConfigFileKind::User, &mut settings);
    assert_eq!(applied.code, 0);
    assert_eq!(settings.min_query_count, 7);
}
