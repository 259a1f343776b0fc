//! Reads `proctor.toml`: top-level keys are settings, tables are options of plugins.

pub(crate) mod text;

use std::{ops::Range, path::Path};

use proctor_vocabulary::OddSpace;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::{
    check::{Form, Raw},
    error::ConfigError,
    origin::Origin,
};

/// Reads the settings of a file, each with its line. Reports every syntax error that the parser can distinguish.
pub(crate) fn read(text: &str, path: &Path, errors: &mut Vec<ConfigError>) -> Vec<Raw> {
    let (table, problems) = DeTable::parse_recoverable(text);
    errors.extend(problems.iter().map(|error| syntax_error(text, path, error.span(), error.message())));
    if !problems.is_empty() {
        return Vec::new();
    }
    let mut raws = Vec::new();
    collect(text, path, "", table.get_ref(), &mut raws);
    raws
}

pub(crate) fn syntax_error(
    text: &str,
    path: &Path,
    span: Option<Range<usize>>,
    message: &str,
) -> ConfigError {
    let line = span.map_or(1, |span| line_of(text, span.start));
    let mut message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    // What stands in a comment is no reason.
    let code = text.split('\n').nth(line - 1).and_then(|line| line.split('#').next());
    if let Some(space) = code.and_then(OddSpace::find) {
        message.push_str(&format!("; {space}"));
    }
    ConfigError::TomlSyntax { path: path.to_owned(), line, message }
}

/// Returns the line, from 1, of a byte position.
fn line_of(text: &str, position: usize) -> usize {
    let before = &text.as_bytes()[..position.min(text.len())];
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}

fn collect(text: &str, path: &Path, prefix: &str, table: &DeTable<'_>, raws: &mut Vec<Raw>) {
    let mut pairs: Vec<_> = table.iter().collect();
    pairs.sort_by_key(|(key, _)| key.span().start);
    for (key, value) in pairs {
        let name = format!("{prefix}{}", key.get_ref());
        if let DeValue::Table(inner) = value.get_ref() {
            collect(text, path, &format!("{name}."), inner, raws);
            continue;
        }
        let (value_text, form) = scalar(text, value);
        let origin = Origin::File { path: path.to_owned(), line: line_of(text, key.span().start) };
        raws.push(Raw { key: name, text: value_text, form, origin });
    }
}

fn scalar(text: &str, value: &Spanned<DeValue<'_>>) -> (String, Form) {
    match value.get_ref() {
        DeValue::String(text) => (text.to_string(), Form::String),
        // An integer may be larger than TOML's own: seeds have 64 bits and no sign.
        DeValue::Integer(integer) => {
            let decimal = i128::from_str_radix(integer.as_str(), integer.radix());
            (decimal.map_or_else(|_| integer.to_string(), |value| value.to_string()), Form::Number)
        }
        DeValue::Float(float) => (float.as_str().to_owned(), Form::Number),
        DeValue::Boolean(value) => (value.to_string(), Form::Bool),
        _ => (text.get(value.span()).unwrap_or_default().to_owned(), Form::Other),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read_text(text: &str) -> (Vec<Raw>, Vec<String>) {
        let mut errors = Vec::new();
        let raws = read(text, Path::new("proctor.toml"), &mut errors);
        (raws, errors.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn settings_and_plugin_options_have_their_lines() {
        let text = "# seeds\nqsl_rng_seed = 16_159_082_839_903_944_936\nplugin = \"mock\"\n\n[mock]\nlatency_us = 0x10\nshuffle = true\n";
        let (raws, errors) = read_text(text);
        assert_eq!(errors, Vec::<String>::new());
        let seen: Vec<_> =
            raws.iter().map(|raw| (raw.key.as_str(), raw.text.as_str(), raw.origin.to_string())).collect();
        let expected = [
            ("qsl_rng_seed", "16159082839903944936", "proctor.toml:2"),
            ("plugin", "mock", "proctor.toml:3"),
            ("mock.latency_us", "16", "proctor.toml:6"),
            ("mock.shuffle", "true", "proctor.toml:7"),
        ];
        assert_eq!(seen, expected.map(|(key, value, line)| (key, value, line.to_owned())));
    }

    #[test]
    fn a_syntax_error_names_the_line() {
        let (raws, errors) = read_text("plugin = \"mock\"\nscenario = \n");
        assert_eq!(raws, []);
        assert!(errors[0].starts_with("proctor.toml:2: "), "{errors:?}");
        let (_, errors) = read_text("plugin = \"mock\"\nplugin = \"mock\"\n");
        assert!(errors[0].starts_with("proctor.toml:2: duplicate key"), "{errors:?}");
    }

    #[test]
    fn a_syntax_error_names_what_looks_like_a_space() {
        for (text, line) in [("batch_size\u{a0}= 5\n", 1), ("plugin = \"mock\"\nbatch_size =\u{a0}5\n", 2)] {
            let (_, errors) = read_text(text);
            assert!(errors[0].starts_with(&format!("proctor.toml:{line}: ")), "{errors:?}");
            let reason = "; U+00A0 in it looks like a space but is not one: type a plain space";
            assert!(errors[0].ends_with(reason), "{errors:?}");
        }
        let (_, errors) = read_text("batch_size = = 5 # a\u{a0}comment\n");
        assert!(errors[0].starts_with("proctor.toml:1: ") && !errors[0].contains("U+00A0"), "{errors:?}");
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in any::<String>()) {
            read_text(&text);
        }

        #[test]
        fn text_that_looks_like_toml_never_panics(text in "([a-z\\[\\].]{1,4} ?= ?[-0-9a-z\"'{}\\[\\],.]{0,8}\n){0,5}") {
            read_text(&text);
        }
    }
}
