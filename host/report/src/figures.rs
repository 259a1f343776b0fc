//! Numbers of a result on the page: each carries its key and its value unrounded, so that a program can compare.

use serde_json::{Number, Value};

use crate::{html::Html, number::Unit};

/// Placeholder for a missing number.
pub(crate) const ABSENT: &str = "–";

/// Numbers of a `result.json`. A key is the path to a number, with points between its parts; a point within a
/// part has a backslash before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures<'a> {
    json: &'a Value,
}

impl<'a> Figures<'a> {
    /// Returns the numbers of a result.
    pub(crate) fn of(json: &'a Value) -> Self {
        Self { json }
    }

    pub(crate) fn value(&self, key: &str) -> Option<&'a Value> {
        parts(key).into_iter().try_fold(self.json, |value, part| match value {
            Value::Array(values) => values.get(part.parse::<usize>().ok()?),
            other => other.get(&part),
        })
    }

    fn number(&self, key: &str) -> Option<&'a Number> {
        self.value(key)?.as_number()
    }

    /// Shows the number of a key in the unit that the key ends in.
    pub(crate) fn show(&self, html: &mut Html, key: &str) {
        self.show_in(html, key, Unit::of_key(key));
    }

    /// Shows the number of a key in a unit.
    pub(crate) fn show_in(&self, html: &mut Html, key: &str, unit: Unit) {
        let Some(number) = self.number(key) else { return html.text(ABSENT) };
        let text = match unit {
            Unit::Digits => number.to_string(),
            _ => unit.show(number.as_f64().unwrap_or(f64::NAN)),
        };
        html.leaf("span", &[("class", &"figure"), ("data-key", &key), ("data-value", number)], &text);
    }
}

/// Returns a part of a key, as [`Figures`] reads it.
pub(crate) fn key_part(name: &str) -> String {
    name.replace('\\', "\\\\").replace('.', "\\.")
}

fn parts(key: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut is_escaped = false;
    for c in key.chars() {
        match c {
            '\\' if !is_escaped => is_escaped = true,
            '.' if !is_escaped => parts.push(String::new()),
            c => {
                is_escaped = false;
                if let Some(part) = parts.last_mut() {
                    part.push(c);
                }
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_number_has_its_key_and_its_value() {
        let json =
            json!({"a": {"p99_ns": 8_371_999, "x.y": [1, 18_446_744_073_709_551_615_u64], "none": null}});
        let figures = Figures::of(&json);
        let mut html = Html::default();
        figures.show(&mut html, "a.p99_ns");
        figures.show_in(&mut html, "a.x\\.y.1", Unit::Digits);
        figures.show(&mut html, "a.none");
        figures.show(&mut html, "b.c");
        assert_eq!(
            html.into_text(),
            "<span class=\"figure\" data-key=\"a.p99_ns\" data-value=\"8371999\">8.372 ms</span>\
             <span class=\"figure\" data-key=\"a.x\\.y.1\" data-value=\"18446744073709551615\">\
             18446744073709551615</span>––"
        );
    }

    proptest! {
        #[test]
        fn any_name_is_a_part_of_a_key(first in "\\PC*", second in "\\PC*") {
            let key = format!("{}.{}", key_part(&first), key_part(&second));
            prop_assert_eq!(parts(&key), [first, second]);
        }
    }
}
