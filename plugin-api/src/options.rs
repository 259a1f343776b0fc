//! The typed options that a plugin declares, and their values.

use std::{collections::BTreeMap, fmt, ops::RangeInclusive, path::PathBuf};

use proctor_vocabulary::did_you_mean;

/// Type and allowed values of one option.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum OptionKind {
    /// `true` or `false`.
    Boolean,
    /// An integer within an inclusive range.
    Integer(RangeInclusive<i64>),
    /// A finite number within an inclusive range.
    Float(RangeInclusive<f64>),
    /// Any text.
    Text,
    /// The path of a file or folder.
    Path,
    /// One of these words.
    Choice(Vec<String>),
}

/// One option that a plugin takes.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OptionSpec {
    /// Name: lower-case letters, digits and underscores.
    pub name: String,
    /// Type and allowed values.
    pub kind: OptionKind,
    /// Value if the user gives none, as text; without it the option is then left out.
    pub default: Option<String>,
    /// Effect, in a sentence, with the unit.
    pub help: String,
}

/// The value of one option.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum OptionValue {
    /// Value of a boolean option.
    Boolean(bool),
    /// Value of an integer option.
    Integer(i64),
    /// Value of a float option.
    Float(f64),
    /// Value of a text option.
    Text(String),
    /// Value of a path option.
    Path(PathBuf),
    /// Value of a choice option.
    Choice(String),
}

/// Reason why an option cannot have a value.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum OptionError {
    /// The plugin declares no such option.
    #[error("the plugin has no option \"{name}\"{hint}")]
    Unknown {
        /// The name as given.
        name: String,
        /// A suggestion, or the list of the known ones.
        hint: String,
    },
    /// The text is not a value of the option's type, or lies out of range.
    #[error("option \"{name}\" cannot be \"{value}\": it takes {expected}")]
    Invalid {
        /// Name of the option.
        name: String,
        /// The text as given.
        value: String,
        /// Values that would be accepted.
        expected: String,
    },
}

impl OptionSpec {
    fn new(name: &str, kind: OptionKind, default: Option<String>, help: &str) -> Self {
        Self { name: name.into(), kind, default, help: help.into() }
    }

    /// Creates a boolean option.
    #[must_use]
    pub fn boolean(name: &str, default: bool, help: &str) -> Self {
        Self::new(name, OptionKind::Boolean, Some(default.to_string()), help)
    }

    /// Creates an integer option; both ends of the range are allowed. A range of 0 to 0 allows any integer.
    #[must_use]
    pub fn integer(name: &str, default: i64, range: RangeInclusive<i64>, help: &str) -> Self {
        Self::new(name, OptionKind::Integer(range), Some(default.to_string()), help)
    }

    /// Creates a float option; both ends of the range are allowed. A range of 0 to 0 allows any finite number.
    #[must_use]
    pub fn float(name: &str, default: f64, range: RangeInclusive<f64>, help: &str) -> Self {
        Self::new(name, OptionKind::Float(range), Some(default.to_string()), help)
    }

    /// Creates a text option without a default.
    #[must_use]
    pub fn text(name: &str, help: &str) -> Self {
        Self::new(name, OptionKind::Text, None, help)
    }

    /// Creates a path option without a default.
    #[must_use]
    pub fn path(name: &str, help: &str) -> Self {
        Self::new(name, OptionKind::Path, None, help)
    }

    /// Creates a choice between words; the first is the default.
    #[must_use]
    pub fn choice(name: &str, choices: &[&str], help: &str) -> Self {
        let words: Vec<String> = choices.iter().map(|&word| word.to_owned()).collect();
        let default = words.first().cloned();
        Self::new(name, OptionKind::Choice(words), default, help)
    }

    /// Reads a value from text.
    ///
    /// # Errors
    /// [`OptionError::Invalid`] if the text is not of the option's type or out of range.
    pub fn parse(&self, text: &str) -> Result<OptionValue, OptionError> {
        let value = match &self.kind {
            OptionKind::Boolean => text.parse().ok().map(OptionValue::Boolean),
            OptionKind::Integer(range) => {
                text.parse().ok().filter(|value| range.contains(value)).map(OptionValue::Integer)
            }
            OptionKind::Float(range) => text
                .parse()
                .ok()
                .filter(|value: &f64| value.is_finite() && range.contains(value))
                .map(OptionValue::Float),
            OptionKind::Text => Some(OptionValue::Text(text.to_owned())),
            OptionKind::Path => (!text.is_empty()).then(|| OptionValue::Path(text.into())),
            OptionKind::Choice(words) => {
                words.iter().find(|word| *word == text).cloned().map(OptionValue::Choice)
            }
        };
        value.ok_or_else(|| OptionError::Invalid {
            name: self.name.clone(),
            value: text.to_owned(),
            expected: self.kind.to_string(),
        })
    }
}

impl fmt::Display for OptionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean => f.write_str("true or false"),
            Self::Integer(range) if *range == (i64::MIN..=i64::MAX) => f.write_str("an integer"),
            Self::Integer(range) if *range.end() == i64::MAX => {
                write!(f, "an integer of at least {}", range.start())
            }
            Self::Integer(range) => write!(f, "an integer from {} to {}", range.start(), range.end()),
            Self::Float(range) if *range == (f64::MIN..=f64::MAX) => f.write_str("a number"),
            Self::Float(range) if *range.end() == f64::MAX => {
                write!(f, "a number of at least {}", range.start())
            }
            Self::Float(range) => write!(f, "a number from {} to {}", range.start(), range.end()),
            Self::Text => f.write_str("a text"),
            Self::Path => f.write_str("a path"),
            Self::Choice(words) => write!(f, "one of {}", words.join(", ")),
        }
    }
}

impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean(value) => value.fmt(f),
            Self::Integer(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
            Self::Text(value) | Self::Choice(value) => value.fmt(f),
            Self::Path(value) => value.display().fmt(f),
        }
    }
}

/// The options of one opened plugin: a value for each option that has one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options(BTreeMap<String, OptionValue>);

impl Options {
    /// Checks `given` (name to text) against a plugin's declarations, and fills in the defaults.
    ///
    /// # Errors
    /// Returns the first option that is not declared or whose text is not a value of it.
    pub fn resolve(specs: &[OptionSpec], given: &BTreeMap<String, String>) -> Result<Self, OptionError> {
        for name in given.keys() {
            if !specs.iter().any(|spec| spec.name == *name) {
                return Err(unknown_option(name, specs));
            }
        }
        let mut values = BTreeMap::new();
        for spec in specs {
            if let Some(text) = given.get(&spec.name).or(spec.default.as_ref()) {
                values.insert(spec.name.clone(), spec.parse(text)?);
            }
        }
        Ok(Self(values))
    }

    /// Returns the options from values that were checked already.
    #[must_use]
    pub fn from_values(values: impl IntoIterator<Item = (String, OptionValue)>) -> Self {
        Self(values.into_iter().collect())
    }

    /// Returns the value of an option, if it has one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&OptionValue> {
        self.0.get(name)
    }

    /// Returns the value of a boolean option; `false` if it has no value.
    #[must_use]
    pub fn boolean(&self, name: &str) -> bool {
        matches!(self.get(name), Some(OptionValue::Boolean(true)))
    }

    /// Returns the value of an integer option.
    #[must_use]
    pub fn integer(&self, name: &str) -> Option<i64> {
        match self.get(name) {
            Some(OptionValue::Integer(value)) => Some(*value),
            _ => None,
        }
    }

    /// Returns the value of a float option.
    #[must_use]
    pub fn float(&self, name: &str) -> Option<f64> {
        match self.get(name) {
            Some(OptionValue::Float(value)) => Some(*value),
            _ => None,
        }
    }

    /// Returns the value of a text or choice option.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name) {
            Some(OptionValue::Text(value) | OptionValue::Choice(value)) => Some(value),
            _ => None,
        }
    }

    /// Returns the value of a path option.
    #[must_use]
    pub fn path(&self, name: &str) -> Option<&std::path::Path> {
        match self.get(name) {
            Some(OptionValue::Path(value)) => Some(value),
            _ => None,
        }
    }

    /// Returns all values, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &OptionValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

fn unknown_option(name: &str, specs: &[OptionSpec]) -> OptionError {
    let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    let mut hint = did_you_mean(name, names.iter().copied());
    if hint.is_empty() {
        hint =
            if names.is_empty() { "; it has none".into() } else { format!("; it has {}", names.join(", ")) };
    }
    OptionError::Unknown { name: name.to_owned(), hint }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn specs() -> Vec<OptionSpec> {
        vec![
            OptionSpec::integer("threads", 1, 1..=64, "Threads."),
            OptionSpec::float("sigma", 0.5, 0.0..=f64::MAX, "Spread."),
            OptionSpec::choice("order", &["fifo", "shuffled"], "Order."),
            OptionSpec::path("answers", "Answer file."),
            OptionSpec::boolean("fast", false, "Fast."),
        ]
    }

    fn resolve(name: &str, value: &str) -> Result<Options, OptionError> {
        Options::resolve(&specs(), &BTreeMap::from([(name.to_owned(), value.to_owned())]))
    }

    #[test]
    fn defaults_fill_in_and_options_without_one_stay_out() {
        let options = Options::resolve(&specs(), &BTreeMap::new()).unwrap();
        assert_eq!(options.integer("threads"), Some(1));
        assert_eq!(options.text("order"), Some("fifo"));
        assert_eq!(options.path("answers"), None);
        assert!(!options.boolean("fast"));
    }

    #[test]
    fn wrong_types_and_ranges_name_the_option_the_value_and_what_it_takes() {
        let message = |name, value| resolve(name, value).unwrap_err().to_string();
        assert_eq!(
            message("threads", "many"),
            "option \"threads\" cannot be \"many\": it takes an integer from 1 to 64"
        );
        assert_eq!(
            message("threads", "0"),
            "option \"threads\" cannot be \"0\": it takes an integer from 1 to 64"
        );
        assert!(message("sigma", "NaN").contains("a number of at least 0"));
        assert!(message("order", "lifo").contains("one of fifo, shuffled"));
        assert!(message("fast", "yes").contains("true or false"));
    }

    #[test]
    fn an_unknown_option_suggests_the_near_one() {
        let message = resolve("thread", "2").unwrap_err().to_string();
        assert_eq!(message, "the plugin has no option \"thread\", did you mean \"threads\"?");
        assert!(resolve("colour", "2").unwrap_err().to_string().contains("; it has threads, sigma"));
    }
}
