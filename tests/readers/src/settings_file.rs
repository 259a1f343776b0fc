//! `proctor.toml`.

use proctor_config::{Effective, Loader, Origin, Settings, Value};
use toml::Table;

use crate::memory::bounded_besides;

/// Memory that does not depend on the file: built-in settings and benchmarks, and the layers laid over each other.
const FIXED_BYTES: u64 = 4 << 20;
/// A pair of five bytes is a node of the parser's tree, a setting with the path and line of its origin, and an error
/// with the names that are near.
const MEMORY_FACTOR: u64 = 512;

/// Checks the reader of the configuration file, with the checks of every setting behind it.
///
/// # Panics
/// If an invariant does not hold.
pub fn check_settings_file(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let load = || Loader::new().config_text("proctor.toml", &*text).load();
    match bounded_besides(FIXED_BYTES, text.len(), MEMORY_FACTOR, load) {
        Err(errors) => assert!(!errors.to_string().is_empty()),
        Ok(settings) => {
            check_origins(&text, &settings);
            if let Ok(table) = text.parse::<Table>() {
                check_values(&table, &settings);
            }
            check_normal_form(&settings);
        }
    }
}

fn from_file(settings: &Settings) -> impl Iterator<Item = (&String, &Effective)> {
    settings.effective.iter().filter(|(_, effective)| matches!(effective.origin, Origin::File { .. }))
}

fn check_origins(text: &str, settings: &Settings) {
    let line_count = text.split('\n').count();
    for (key, effective) in from_file(settings) {
        let Origin::File { line, .. } = effective.origin else { continue };
        assert!((1..=line_count).contains(&line), "{key} at {line}");
    }
}

/// Checks that a key with an exact name has the value that a reader of any TOML finds.
fn check_values(table: &Table, settings: &Settings) {
    for (key, expected) in table {
        let Some(effective) = settings.effective.get(key) else { continue };
        let is_same = match (&effective.value, expected) {
            (Value::Integer(got), toml::Value::Integer(expected)) => i64::try_from(*got) == Ok(*expected),
            (Value::Integer(got), toml::Value::Float(expected)) => *got as f64 == *expected,
            (Value::Number(got), toml::Value::Integer(expected)) => *got == *expected as f64,
            (Value::Number(got), toml::Value::Float(expected)) => got == expected,
            (Value::Bool(got), toml::Value::Boolean(expected)) => got == expected,
            (Value::Text(got), toml::Value::Boolean(expected)) => *got == expected.to_string(),
            // Names are free in their case, and numbers may stand in quotes.
            (Value::Text(_) | Value::Integer(_) | Value::Number(_), toml::Value::String(_)) => true,
            _ => false,
        };
        assert!(is_same, "{key} = {expected} is read as {:?}", effective.value);
    }
}

/// Checks that the same settings are read by their exact names.
fn check_normal_form(settings: &Settings) {
    let mut normal = Table::new();
    for (key, effective) in from_file(settings) {
        let value = match &effective.value {
            Value::Unset => continue,
            Value::Bool(value) => toml::Value::Boolean(*value),
            // A seed may be larger than TOML's integers.
            Value::Integer(value) => toml::Value::String(value.to_string()),
            Value::Number(value) => toml::Value::Float(*value),
            Value::Text(value) => toml::Value::String(value.clone()),
        };
        let place = match key.split_once('.') {
            None => normal.insert(key.clone(), value),
            Some((plugin, option)) => {
                let options = normal.entry(plugin).or_insert_with(|| Table::new().into());
                let options = options.as_table_mut().expect("options of a plugin are a table");
                options.insert(option.to_owned(), value)
            }
        };
        assert_eq!(place, None, "{key} has one value");
    }
    let text = normal.to_string();
    let again = Loader::new().config_text("proctor.toml", &*text).load();
    let again = again.unwrap_or_else(|errors| panic!("{errors}: {text}"));
    let values = |settings: &Settings| {
        let values = settings.effective.iter().map(|(key, it)| (key.clone(), it.value.clone()));
        values.collect::<Vec<_>>()
    };
    assert_eq!(values(&again), values(settings), "{text}");
    assert_eq!(again.test, settings.test);
}
