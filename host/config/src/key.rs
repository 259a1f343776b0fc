//! A setting without its value: its name, the values that it takes, its default and its help.

use std::ops::RangeInclusive;

use proctor_datasets::RowAggregation;
use proctor_vocabulary::{Scenario, TestMode};

use crate::{suite::choice::RoundScenario, value::Value};

/// The values that a setting takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// `true` or `false`.
    Bool,
    /// A whole number, both ends included.
    Integer {
        /// Minimum value.
        min: u64,
        /// Maximum value.
        max: u64,
    },
    /// A finite number between two ends.
    Number {
        /// Lower end.
        min: f64,
        /// Upper end.
        max: f64,
        /// True if the ends themselves are allowed.
        inclusive: bool,
    },
    /// Any text.
    Text,
    /// One of these names.
    Choice(&'static [&'static str]),
    /// The name of a scenario, in any case.
    Scenario,
    /// The name of a mode, in any case, or `accuracy` or `performance` for short.
    Mode,
    /// Way in which rows become samples.
    Rows,
}

/// Condition for a setting to have an effect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum When {
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
    /// The host's own load generator issues the queries, alone or in turn with the official one.
    OwnEngine,
    /// The official LoadGen issues them, alone or in turn.
    OfficialEngine,
}

/// Everything about a setting but its value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Key {
    /// Name, in files, in `--set` and, with the prefix `PROCTOR_`, as an environment variable.
    pub name: &'static str,
    /// The values that it takes.
    pub kind: Kind,
    /// Unit of the value, or empty.
    pub unit: &'static str,
    /// Meaning, in a sentence.
    pub help: &'static str,
    /// Value if no source gives one.
    pub(crate) default: DefaultValue,
    /// Own flag, if it has one besides `--set`.
    pub flag: Option<Flag>,
    /// Conditions without which it has no effect in a run; the first that fails is reported.
    pub only: &'static [When],
    /// True unless it has no effect in `host scale`.
    pub in_scale: bool,
}

/// The default of a setting of the host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum DefaultValue {
    /// No value, with the meaning of that, such as `a new one in runs/`.
    Unset(&'static str),
    /// A switch.
    Bool(bool),
    /// A count or a whole number of a unit.
    Integer(u64),
    /// A rate, a fraction, or a time.
    Number(f64),
    /// A name.
    Text(&'static str),
    /// The default of a field of the load generator's `TestSettings`.
    OfTest,
}

/// A flag of the command line that is a name for a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flag {
    /// Name without the dashes.
    pub long: &'static str,
    /// Letter, if it has one.
    pub short: Option<char>,
    /// The word for its value in help, or empty for the name in capitals.
    pub value_name: &'static str,
}

impl Kind {
    /// Creates a whole number, both ends included.
    pub(crate) const fn integer(min: u64, max: u64) -> Self {
        Self::Integer { min, max }
    }

    /// Creates a number, both ends included.
    pub(crate) const fn number(range: &RangeInclusive<f64>) -> Self {
        Self::Number { min: *range.start(), max: *range.end(), inclusive: true }
    }
}

impl Flag {
    pub(crate) const fn new(long: &'static str) -> Self {
        Self { long, short: None, value_name: "" }
    }

    pub(crate) const fn taking(long: &'static str, value_name: &'static str) -> Self {
        Self { long, short: None, value_name }
    }

    pub(crate) const fn or_short(self, short: char) -> Self {
        Self { short: Some(short), ..self }
    }
}

impl DefaultValue {
    /// Returns the value; `None` for fields of the load generator.
    pub(crate) fn value(self) -> Option<Value> {
        Some(match self {
            Self::Unset(_) => Value::Unset,
            Self::Bool(value) => Value::Bool(value),
            Self::Integer(value) => Value::Integer(value),
            Self::Number(value) => Value::Number(value),
            Self::Text(value) => Value::Text(value.to_owned()),
            Self::OfTest => return None,
        })
    }
}

impl Key {
    /// Returns the meaning, and the meaning of leaving it out.
    #[must_use]
    pub fn explanation(&self) -> String {
        match self.default {
            DefaultValue::Unset(meaning) => format!("{} Unset is {meaning}.", self.help),
            _ => self.help.to_owned(),
        }
    }

    /// Returns the values that the setting takes, in words, with the range and the unit.
    #[must_use]
    pub fn expected(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" ({})", self.unit) };
        match self.kind {
            Kind::Bool => "true or false".to_owned(),
            Kind::Integer { min, max } => format!("a whole number from {min} to {max}{unit}"),
            Kind::Number { min, max, inclusive: true } => format!("a number from {min} to {max}{unit}"),
            Kind::Number { min, max, inclusive: false } => {
                format!("a number above {min} and below {max}{unit}")
            }
            Kind::Text => "a text".to_owned(),
            Kind::Rows => RowAggregation::FORMS.to_owned(),
            Kind::Choice(_) | Kind::Scenario | Kind::Mode => format!("one of {}", self.names().join(", ")),
        }
    }

    /// Returns the names that a setting takes; none if it takes other values.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        match self.kind {
            Kind::Choice(names) => names.to_vec(),
            Kind::Scenario => RoundScenario::names().to_vec(),
            Kind::Mode => TestMode::ALL.iter().map(|mode| mode.name()).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the help of its flag: its meaning, the names that it takes, and its default.
    #[must_use]
    pub fn flag_help(&self) -> String {
        let names = match self.names() {
            names if names.is_empty() => String::new(),
            names => format!(": {}", names.join(", ")),
        };
        let default = match self.default {
            DefaultValue::Unset(meaning) => format!(" [default: {meaning}]"),
            DefaultValue::Integer(value) => format!(" [default: {value}]"),
            DefaultValue::Number(value) => format!(" [default: {value}]"),
            DefaultValue::Text(value) => format!(" [default: {value}]"),
            DefaultValue::Bool(_) | DefaultValue::OfTest => String::new(),
        };
        format!("{}{names}{default}", self.help.trim_end_matches('.'))
    }
}
