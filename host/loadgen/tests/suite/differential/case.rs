//! One case: settings, configuration files, and the script of the system under test. A line of JSON, which
//! can be run again.

use std::path::Path;

use proctor_loadgen::{SettingKind, SettingValue, TestSettings};
use proctor_test_needs::is_official_setting;
use proctor_vocabulary::Scenario;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Seconds after which the official program counts as hanging, in a case with few samples.
const LIMIT_S: u64 = 30;
/// Samples of the library that get another second: all of them may be issued.
const SAMPLES_PER_S: u64 = 500;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Number of samples in the library.
    pub total_count: u64,
    /// Number of samples that it says it can keep loaded.
    pub performance_count: u64,
    /// Settings that differ from the defaults, under our names.
    pub settings: Map<String, Value>,
    /// Calls of `FromConfig`, made with those settings.
    pub config_files: Vec<ConfigFile>,
    /// Settings made after that.
    pub settings_after: Map<String, Value>,
    /// Content of `audit.config`, if there is such a file.
    pub audit_config: Option<String>,
    pub script: Script,
    /// Compare the settings and run no test.
    pub only_configure: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConfigFile {
    /// `None`: there is no such file.
    pub text: Option<String>,
    pub model: String,
    pub scenario: String,
    /// LoadGen's `conf_type`.
    pub kind: u32,
}

/// The system's answers to the queries. Patterns repeat, looked up by the number of the sample in the test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct Script {
    /// Number of later queries after which a query is completed; the flush completes the others.
    pub hold: u64,
    /// Complete the newest of the held queries instead of the oldest.
    pub newest_first: bool,
    /// Complete the samples of a query from its end.
    pub reverse: bool,
    /// Number of samples in one completion call, 0 for the whole query.
    pub group: u64,
    /// Time to be busy before a completion call, in us.
    pub busy_us: Vec<u64>,
    /// Bytes in a response.
    pub response_len: Vec<u64>,
    /// Output tokens of a sample.
    pub tokens: Vec<u64>,
    /// Number of times to report the first token of a sample: once is right.
    pub first_tokens: Vec<u64>,
    /// Report first tokens at the issue, not right before the completion.
    pub early_tokens: bool,
    /// Complete a sample once more if it is not 0, which is against the rules.
    pub again: Vec<u64>,
    /// By how much to be busy longer before the first completion of each phase, in us; the last goes on.
    pub slow_phases: Vec<u64>,
}

impl ConfigFile {
    /// Returns whether the scenario's spelling differs in case from LoadGen's, which is case-sensitive.
    pub fn spells_its_scenario_otherwise(&self) -> bool {
        Scenario::ALL.iter().all(|scenario| scenario.name() != self.scenario)
    }
}

impl Case {
    /// A case without files, over a library that stays loaded as a whole.
    pub fn of(total_count: u64, settings: Map<String, Value>, script: Script) -> Self {
        Self {
            total_count,
            performance_count: total_count,
            settings,
            config_files: Vec::new(),
            settings_after: Map::new(),
            audit_config: None,
            script,
            only_configure: false,
        }
    }

    /// Returns the number of issuing threads that the official program has to register.
    pub fn issuing_threads(&self) -> u64 {
        self.settings.get("server_num_issue_query_threads").and_then(Value::as_u64).unwrap_or(0)
    }

    /// Returns whether samples are completed more than once.
    pub fn completes_again(&self) -> bool {
        self.script.again.iter().any(|again| *again > 0)
    }

    /// The case as the driver takes it.
    pub fn request(&self, folder: &Path) -> String {
        let mut request = serde_json::to_value(self).expect("a case is plain data");
        let fields: Vec<_> = fields().collect();
        request["folder"] = json!(folder);
        request["fields"] = json!(fields);
        request["limit_s"] = json!(LIMIT_S + self.total_count / SAMPLES_PER_S);
        request.to_string()
    }
}

/// Changes settings as the driver does.
pub fn apply(settings: &mut TestSettings, values: &Map<String, Value>) {
    for (name, value) in values {
        let field = TestSettings::FIELDS.iter().find(|field| field.name == name);
        let kind = field.unwrap_or_else(|| panic!("no setting {name}")).kind;
        let value = setting(kind, value).unwrap_or_else(|| panic!("{name} = {value} has the wrong type"));
        settings.set(name, value).expect("the kind is that of the field");
    }
}

fn setting(kind: SettingKind, value: &Value) -> Option<SettingValue> {
    Some(match kind {
        SettingKind::Bool => SettingValue::Bool(value.as_bool()?),
        SettingKind::Unsigned => SettingValue::Unsigned(value.as_u64()?),
        SettingKind::Signed => SettingValue::Signed(value.as_i64()?),
        SettingKind::Float => SettingValue::Float(value.as_f64()?),
        SettingKind::Scenario => SettingValue::Scenario(value.as_str()?.parse().ok()?),
        SettingKind::Mode => SettingValue::Mode(value.as_str()?.parse().ok()?),
        SettingKind::Rules => return None,
    })
}

/// The settings that the official LoadGen has, too.
fn fields() -> impl Iterator<Item = &'static str> {
    TestSettings::FIELDS.iter().map(|field| field.name).filter(|name| is_official_setting(name))
}

/// Settings as the driver reports them: a float by its bits, an enumerator by its name.
pub fn reported(settings: &TestSettings) -> Map<String, Value> {
    let value = |name| match settings.get(name).expect("the field is listed") {
        SettingValue::Bool(value) => json!(value),
        SettingValue::Unsigned(value) => json!(value),
        SettingValue::Signed(value) => json!(value),
        SettingValue::Float(value) => json!(value.to_bits()),
        SettingValue::Scenario(value) => json!(value.name()),
        SettingValue::Mode(value) => json!(value.name()),
        SettingValue::Rules(value) => json!(value.to_string()),
    };
    fields().map(|name| (name.to_owned(), value(name))).collect()
}
