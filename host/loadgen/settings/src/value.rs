//! Values of settings whose type is known only at run time.

use std::fmt;

use proctor_vocabulary::{Scenario, TestMode};

use crate::rules::Rules;

/// The kind of values that a setting takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingKind {
    /// `true` or `false`.
    Bool,
    /// A whole number from 0 to 2^64 - 1.
    Unsigned,
    /// A whole number from -2^31 to 2^31 - 1.
    Signed,
    /// A binary64 number.
    Float,
    /// The name of a scenario.
    Scenario,
    /// The name of a mode.
    Mode,
    /// The name of a round of rules.
    Rules,
}

/// The value of a setting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SettingValue {
    /// A switch.
    Bool(bool),
    /// A count, seed, or whole number of a unit.
    Unsigned(u64),
    /// A whole number that may be negative.
    Signed(i64),
    /// A rate, a fraction, or a time.
    Float(f64),
    /// A scenario.
    Scenario(Scenario),
    /// A mode.
    Mode(TestMode),
    /// Rules.
    Rules(Rules),
}

/// A value that a setting cannot take, or a setting that does not exist.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum SettingError {
    #[error("unknown setting \"{name}\"{hint}")]
    UnknownField {
        name: String,
        /// A suggestion, or empty.
        hint: String,
    },
    #[error("setting {name} takes {expected}, not {value}")]
    WrongKind { name: &'static str, expected: SettingKind, value: SettingValue },
}

impl fmt::Display for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Unsigned(value) => value.fmt(f),
            Self::Signed(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
            Self::Scenario(value) => value.fmt(f),
            Self::Mode(value) => value.fmt(f),
            Self::Rules(value) => value.fmt(f),
        }
    }
}

impl fmt::Display for SettingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bool => "true or false",
            Self::Unsigned => "a whole number from 0",
            Self::Signed => "a whole number of 32 bits",
            Self::Float => "a number",
            Self::Scenario => "the name of a scenario",
            Self::Mode => "the name of a mode",
            Self::Rules => "the name of a round of rules",
        })
    }
}

/// A type that a setting can have.
pub(super) trait Setting: Copy {
    const KIND: SettingKind;

    fn into_value(self) -> SettingValue;

    /// Returns the value as this type, if the conversion is exact.
    fn convert(value: SettingValue) -> Option<Self>;

    fn from_value(name: &'static str, value: SettingValue) -> Result<Self, SettingError> {
        Self::convert(value).ok_or(SettingError::WrongKind { name, expected: Self::KIND, value })
    }
}

macro_rules! setting {
    ($type:ty, $variant:ident, $value:ident => $into:expr, { $($pattern:pat => $convert:expr,)+ }) => {
        impl Setting for $type {
            const KIND: SettingKind = SettingKind::$variant;

            fn into_value(self) -> SettingValue {
                let $value = self;
                SettingValue::$variant($into)
            }

            fn convert(value: SettingValue) -> Option<Self> {
                match value {
                    $($pattern => $convert,)+
                    _ => None,
                }
            }
        }
    };
}

setting!(bool, Bool, value => value, { SettingValue::Bool(value) => Some(value), });
setting!(Scenario, Scenario, value => value, { SettingValue::Scenario(value) => Some(value), });
setting!(TestMode, Mode, value => value, { SettingValue::Mode(value) => Some(value), });
setting!(Rules, Rules, value => value, { SettingValue::Rules(value) => Some(value), });
setting!(u64, Unsigned, value => value, {
    SettingValue::Unsigned(value) => Some(value),
    SettingValue::Signed(value) => u64::try_from(value).ok(),
});
setting!(i32, Signed, value => value.into(), {
    SettingValue::Unsigned(value) => i32::try_from(value).ok(),
    SettingValue::Signed(value) => i32::try_from(value).ok(),
});
// A whole number beyond 2^53 would be rounded, which no sensible rate or time needs.
setting!(f64, Float, value => value, {
    SettingValue::Float(value) => Some(value),
    SettingValue::Unsigned(value) => Some(value as f64),
    SettingValue::Signed(value) => Some(value as f64),
});
