//! The official LoadGen's settings, by the driver of the load generator's own comparison.

use proctor_loadgen::TestSettings;
use proctor_test_needs::{PythonPipe, is_official_setting};
use proctor_vocabulary::Scenario;
use serde_json::{Map, Value, json};

/// LoadGen's `conf_type` of a `user.conf`.
const USER: u32 = 1;

/// The settings after LoadGen's own file and this text, by their names: a float by its bits, an enumerator by its name.
pub(super) fn settings(
    loadgen: &mut PythonPipe,
    text: &str,
    model: &str,
    scenario: Scenario,
) -> Map<String, Value> {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let names = TestSettings::FIELDS.iter().map(|field| field.name);
    let request = json!({
        "folder": folder.path(),
        "settings": {"scenario": scenario.name()},
        "config_files": [{"text": text, "model": model, "scenario": scenario.name(), "kind": USER}],
        "settings_after": {},
        "fields": names.filter(|name| is_official_setting(name)).collect::<Vec<_>>(),
        "only_configure": true,
        "limit_s": 30,
    });
    let line = loadgen.ask(request).expect("the driver gives an outcome");
    let mut outcome: Value = serde_json::from_str(&line).expect("the outcome is JSON");
    assert_eq!(outcome["codes"], json!([0]), "{model} in {scenario}: {outcome}");
    match outcome["values"].take() {
        Value::Object(values) => values,
        values => panic!("{values}"),
    }
}
