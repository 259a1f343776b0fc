//! Values of settings.

use std::fmt;

use proctor_loadgen::SettingValue;
use serde::{Deserialize, Serialize};

/// The value of a setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// The setting is the host's own, as its help explains.
    Unset,
    /// A switch.
    Bool(bool),
    /// A count, a seed, or a whole number of a unit.
    Integer(u64),
    /// A rate, a fraction, or a time.
    Number(f64),
    /// A name, a path, or the value of a plugin option.
    Text(String),
}

impl Value {
    /// Returns the value as the load generator takes it; `None` for text, which it takes in no setting but the two
    /// names.
    pub(crate) fn to_setting(&self) -> Option<SettingValue> {
        Some(match self {
            Self::Bool(value) => SettingValue::Bool(*value),
            Self::Integer(value) => SettingValue::Unsigned(*value),
            Self::Number(value) => SettingValue::Float(*value),
            Self::Text(_) | Self::Unset => return None,
        })
    }
}

impl From<SettingValue> for Value {
    fn from(value: SettingValue) -> Self {
        match value {
            SettingValue::Bool(value) => Self::Bool(value),
            SettingValue::Unsigned(value) => Self::Integer(value),
            // The one signed setting counts decimals, and its range starts at 0.
            SettingValue::Signed(value) => Self::Integer(value.unsigned_abs()),
            SettingValue::Float(value) => Self::Number(value),
            SettingValue::Scenario(value) => Self::Text(value.name().to_owned()),
            SettingValue::Mode(value) => Self::Text(value.name().to_owned()),
            SettingValue::Rules(value) => Self::Text(value.name.to_owned()),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unset => f.pad("-"),
            Self::Bool(value) => value.fmt(f),
            Self::Integer(value) => value.fmt(f),
            Self::Number(value) => value.fmt(f),
            Self::Text(value) => f.pad(value),
        }
    }
}
