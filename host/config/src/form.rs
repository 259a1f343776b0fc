//! Reading TOML files of a fixed form: definitions of benchmarks, and the files of the suites.

use std::path::Path;

use figment::{Figment, error::Kind, providers::Serialized};
use proctor_vocabulary::did_you_mean;
use serde::de::DeserializeOwned;
use toml::de::DeTable;

use crate::{error::ConfigError, file::syntax_error};

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

/// The error with the path of its key; for an unknown key with the near match.
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
