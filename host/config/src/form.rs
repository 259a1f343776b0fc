//! Reads and checks TOML files of a fixed form: definitions of benchmarks, and the files of the suites.

use std::path::Path;

use figment::{Figment, error::Kind, providers::Serialized};
use proctor_vocabulary::did_you_mean;
use serde::de::DeserializeOwned;
use toml::de::DeTable;

use crate::{error::ConfigError, file::syntax_error, suite::round::UntimedStep};

/// Maximum count in these files: the sample order draws indices of 32 bits.
pub(crate) const MAX_COUNT: i64 = u32::MAX as i64;

/// Collects everything that is wrong with a file.
pub(crate) struct Checker<'a> {
    pub(crate) file: &'a Path,
    pub(crate) errors: Vec<ConfigError>,
}

impl<'a> Checker<'a> {
    pub(crate) fn new(file: &'a Path) -> Self {
        Self { file, errors: Vec::new() }
    }

    /// Returns the checked file, if it has no fault.
    pub(crate) fn end<T>(self, checked: T) -> Result<T, Vec<ConfigError>> {
        if self.errors.is_empty() { Ok(checked) } else { Err(self.errors) }
    }

    pub(crate) fn report(&mut self, key: &str, problem: impl Into<String>) {
        let (file, key, problem) = (self.file.to_owned(), key.to_owned(), problem.into());
        self.errors.push(ConfigError::Definition { file, key, problem });
    }

    pub(crate) fn version(&mut self, version: u64, known: u64) {
        if version != known {
            self.report("schema_version", format!("{version}: give {known}"));
        }
    }

    pub(crate) fn name(&mut self, key: &str, name: &str) {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
        if name.is_empty() || !name.chars().all(fits) {
            let problem = "is no name: use lower-case letters, digits, `-`, `_` and `.`";
            self.report(key, format!("\"{name}\" {problem}"));
        }
    }

    /// Returns the one of `known` that has this name.
    pub(crate) fn one_of<T: Copy>(
        &mut self,
        key: &str,
        name: &str,
        known: &[T],
        name_of: impl Fn(T) -> &'static str,
    ) -> Option<T> {
        let found = known.iter().copied().find(|it| name_of(*it) == name);
        if found.is_none() {
            let names = || known.iter().map(|it| name_of(*it));
            let (list, hint) = (names().collect::<Vec<_>>().join(", "), did_you_mean(name, names()));
            self.report(key, format!("\"{name}\": give one of {list}{hint}"));
        }
        found
    }

    pub(crate) fn above_zero(&mut self, key: &str, value: f64) {
        if !(value > 0.0 && value.is_finite()) {
            self.report(key, format!("{value}: give a number above 0"));
        }
    }

    pub(crate) fn count(&mut self, key: &str, value: i64) -> u64 {
        self.count_to(key, value, MAX_COUNT)
    }

    pub(crate) fn count_to(&mut self, key: &str, value: i64, most: i64) -> u64 {
        if !(1..=most).contains(&value) {
            self.report(key, format!("{value}: give a whole number from 1 to {most}"));
        }
        value.unsigned_abs()
    }

    /// Returns the steps of the key `untimed_steps`, which rounds and definitions of benchmarks have.
    pub(crate) fn untimed_steps(&mut self, names: &[String]) -> Vec<UntimedStep> {
        let mut steps = Vec::new();
        for name in names {
            match self.one_of("untimed_steps", name, UntimedStep::ALL, UntimedStep::name) {
                Some(step) if steps.contains(&step) => {
                    self.report("untimed_steps", format!("\"{name}\" stands there twice"));
                }
                step => steps.extend(step),
            }
        }
        steps
    }
}

/// Reads a file of this form. An unknown key, a missing key and a value of the wrong type are errors.
pub(crate) fn parse<T: DeserializeOwned>(text: &str, file: &Path) -> Result<T, Vec<ConfigError>> {
    // Read once for all syntax errors with their lines.
    let (_, problems) = DeTable::parse_recoverable(text);
    if !problems.is_empty() {
        let errors = problems.iter().map(|error| syntax_error(text, file, error.span(), error.message()));
        return Err(errors.collect());
    }
    let table: toml::Table = toml::from_str(text)
        .map_err(|error| vec![syntax_error(text, file, error.span(), error.message())])?;
    // figment knows the path of a key that is wrong.
    let result: Result<T, figment::Error> = Figment::from(Serialized::defaults(table)).extract();
    result.map_err(|errors| errors.into_iter().map(|error| explain(&error, file)).collect())
}

/// Returns the error with the path of its key; for an unknown key with the near match.
fn explain(error: &figment::Error, file: &Path) -> ConfigError {
    let parent = error.path.join(".");
    let below = |name: &str| if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") };
    let (key, problem) = match &error.kind {
        Kind::UnknownField(name, known) => {
            // The path ends with the field itself, or with its table.
            let key = if error.path.last() == Some(name) { parent.clone() } else { below(name) };
            (key, format!("unknown key{}", did_you_mean(name, known.iter().copied())))
        }
        Kind::MissingField(name) => (below(name), "missing key".to_owned()),
        kind => (parent, kind.to_string()),
    };
    ConfigError::Definition { file: file.to_owned(), key, problem }
}
