//! Reading of the golden data.

use std::{fs, path::Path};

use proctor_loadgen::{SettingKind, SettingValue, TestSettings};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Reads a file of the golden folder.
pub fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Reads a JSON file of the golden folder.
pub fn read<T: DeserializeOwned>(name: &str) -> T {
    serde_json::from_str(&text(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A recorded list of numbers, abridged if it is long.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Numbers {
    Whole(Vec<u64>),
    Abridged { n: usize, head: Vec<u64>, tail: Vec<u64>, sha256: String },
}

impl Numbers {
    pub fn check(&self, got: &[u64], what: &str) {
        match self {
            Self::Whole(expected) => assert_eq!(got, expected, "{what}"),
            Self::Abridged { n, head, tail, sha256 } => {
                assert_eq!(got.len(), *n, "{what}: length");
                assert_eq!(got[..head.len()], head[..], "{what}: head");
                assert_eq!(got[n - tail.len()..], tail[..], "{what}: tail");
                let text = got.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
                let digest: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
                assert_eq!(digest, *sha256, "{what}: digest");
            }
        }
    }
}

/// The settings of a recorded case: the defaults, changed.
pub fn settings(case: &Value) -> TestSettings {
    settings_from(TestSettings::default(), case)
}

/// The settings of a recorded case that changed these.
pub fn settings_from(mut settings: TestSettings, case: &Value) -> TestSettings {
    let mut set = |name: &str, value: &Value| {
        // Two fields have another name in LoadGen's Python module, with which the cases were recorded.
        let name = match name {
            "ttft_latency" => "server_ttft_latency",
            "tpot_latency" => "server_tpot_latency",
            name => name,
        };
        let kind = TestSettings::FIELDS.iter().find(|field| field.name == name).unwrap().kind;
        settings.set(name, setting(kind, value)).unwrap();
    };
    set("scenario", &case["scenario"]);
    set("mode", &case["mode"]);
    for (name, value) in case["settings"].as_object().unwrap() {
        set(name, value);
    }
    settings
}

fn setting(kind: SettingKind, value: &Value) -> SettingValue {
    match kind {
        SettingKind::Bool => SettingValue::Bool(value.as_bool().unwrap()),
        SettingKind::Unsigned => SettingValue::Unsigned(value.as_u64().unwrap()),
        SettingKind::Signed => SettingValue::Signed(value.as_i64().unwrap()),
        SettingKind::Float => SettingValue::Float(value.as_f64().unwrap()),
        SettingKind::Scenario => SettingValue::Scenario(value.as_str().unwrap().parse().unwrap()),
        SettingKind::Mode => SettingValue::Mode(value.as_str().unwrap().parse().unwrap()),
        SettingKind::Rules => SettingValue::Rules(value.as_str().unwrap().parse().unwrap()),
    }
}
