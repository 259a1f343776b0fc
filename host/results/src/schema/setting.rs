//! The settings of a run with their origins, and the rules of the round that the run does not keep.

use std::fmt;

use proctor_config::{Deviation, Effective};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::or_default;

/// A setting, or a value that it replaced.
///
/// A run fills it from [`Effective`], and readers take origins by their kind alone: those of later versions, and of
/// files that were made by hand, need not have the parts that this version writes.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct SettingPart {
    /// Value of the setting.
    pub value: Value,
    /// Origin of the value.
    pub origin: Origin,
    /// The values that it replaced, the nearest first; `None` if they are unknown.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub overridden: Option<Vec<Self>>,
}

impl SettingPart {
    /// Creates a value and its origin.
    #[must_use]
    pub fn new(value: &proctor_config::Value, origin: &proctor_config::Origin) -> Self {
        let (kind, parts) = kind_and_parts(origin);
        Self { value: json!(value), origin: Origin { kind, parts }, overridden: None }
    }
}

impl From<&Effective> for SettingPart {
    fn from(Effective { value, origin, overridden }: &Effective) -> Self {
        let overridden = overridden.iter().map(|it| Self::new(&it.value, &it.origin));
        Self { overridden: Some(overridden.collect()), ..Self::new(value, origin) }
    }
}

/// The origin of a setting: its kind, and whatever names it.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct Origin {
    /// The kind, such as `flag`.
    pub kind: String,
    /// Parts by name, such as a file and a line.
    #[serde(flatten)]
    pub parts: Map<String, Value>,
}

impl fmt::Display for Origin {
    /// Writes the kind and its parts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        self.parts.values().try_for_each(|part| match part {
            Value::String(text) => write!(f, " {text}"),
            other => write!(f, " {other}"),
        })
    }
}

/// A rule of the round that a run does not keep.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct DeviationPart {
    /// Name of its kind.
    pub kind: String,
    /// Parts by name, such as a setting and its value.
    #[serde(flatten)]
    pub parts: Map<String, Value>,
    /// The deviation in words.
    pub text: String,
}

impl From<&Deviation> for DeviationPart {
    fn from(deviation: &Deviation) -> Self {
        let (kind, parts) = kind_and_parts(deviation);
        Self { kind, parts, text: deviation.to_string() }
    }
}

/// Returns the kind of a value that has one, and its other fields. One with a path that is not text has its words as
/// the kind.
fn kind_and_parts(value: &(impl Serialize + fmt::Display)) -> (String, Map<String, Value>) {
    let mut parts = match serde_json::to_value(value) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    match parts.shift_remove("kind") {
        Some(Value::String(kind)) => (kind, parts),
        _ => (value.to_string(), parts),
    }
}
