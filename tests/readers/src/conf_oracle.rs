//! A second reading of LoadGen's configuration files: word by word, the numbers by the C library.

use proctor_c_numbers::{strtod, strtoull};

/// A key with its value, as written in the file.
pub(crate) struct Assignment<'a> {
    pub(crate) key: &'a str,
    pub(crate) word: &'a str,
}

/// Returns the contents of a file: its assignments in order, or the numbers of the lines in error.
pub(crate) fn assignments(text: &str) -> Result<Vec<Assignment<'_>>, Vec<u64>> {
    let (mut found, mut wrong) = (Vec::new(), Vec::new());
    for (index, text) in text.split('\n').enumerate() {
        let line = index as u64 + 1;
        match words(text)[..] {
            [] | ["#", ..] | [_] | [_, "#", ..] | [_, "="] => {}
            [key, "=", .., word] => {
                if words(text)[2..].iter().all(|word| is_number(word)) {
                    found.push(Assignment { key, word });
                } else {
                    wrong.push(line);
                }
            }
            _ => wrong.push(line),
        }
    }
    if wrong.is_empty() { Ok(found) } else { Err(wrong) }
}

/// Returns the value of a setting: the last assignment of the first of the four keys that has one.
pub(crate) fn find<'a>(
    assignments: &'a [Assignment<'a>],
    model: &str,
    scenario: &str,
    name: &str,
) -> Option<&'a Assignment<'a>> {
    let has = |key: &str, model: &str, scenario: &str| {
        let rest = key.strip_prefix(model).and_then(|rest| rest.strip_prefix('.'));
        let rest = rest.and_then(|rest| rest.strip_prefix(scenario)).and_then(|rest| rest.strip_prefix('.'));
        rest == Some(name)
    };
    [(model, scenario), ("*", scenario), (model, "*"), ("*", "*")]
        .into_iter()
        .find_map(|(model, scenario)| assignments.iter().rfind(|it| has(it.key, model, scenario)))
}

pub(crate) fn double(word: &str) -> f64 {
    strtod(word).0
}

pub(crate) fn integer(word: &str) -> u64 {
    strtoull(word).0
}

/// Returns whether either of them reads the whole word.
pub(crate) fn is_number(word: &str) -> bool {
    strtod(word).1 == word.len() || strtoull(word).1 == word.len()
}

/// Returns the words between characters that C's `isspace` calls white space.
pub(crate) fn words(text: &str) -> Vec<&str> {
    let is_space = |c: char| matches!(c, ' ' | '\t' | '\n' | '\x0b' | '\x0c' | '\r');
    text.split(is_space).filter(|word| !word.is_empty()).collect()
}
