//! The tokenizer 13a: the one of mteval-v13a, by which WMT is scored.

use crate::python::{is_space, words};

/// Splits a text into tokens, joined by single spaces in the result.
///
/// Punctuation becomes a token, except full stops and commas between digits, apostrophes, and hyphens that follow no
/// digit. The SGML entities for `"`, `&`, `<` and `>` are resolved.
#[must_use]
pub fn tokenize_13a(text: &str) -> String {
    let mut text =
        text.trim_end_matches(is_space).replace("<skipped>", "").replace("-\n", "").replace('\n', " ");
    for (entity, character) in [("&quot;", "\""), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")] {
        text = text.replace(entity, character);
    }
    let mut spaced = String::with_capacity(2 * text.len());
    for character in format!(" {text} ").chars() {
        if stands_alone(character) {
            spaced.extend([' ', character, ' ']);
        } else {
            spaced.push(character);
        }
    }
    let is_digit = |character: char| character.is_ascii_digit();
    let is_mark = |character| matches!(character, '.' | ',');
    let spaced = spread(&spaced, |a, b| !is_digit(a) && is_mark(b), |a, b| [a, ' ', b, ' ']);
    let spaced = spread(&spaced, |a, b| is_mark(a) && !is_digit(b), |a, b| [' ', a, ' ', b]);
    let spaced = spread(&spaced, |a, b| is_digit(a) && b == '-', |a, b| [a, ' ', b, ' ']);
    words(&spaced).collect::<Vec<_>>().join(" ")
}

/// Returns whether a character is always its own token: an ASCII sign other than `'`, `,`, `-` and `.`.
fn stands_alone(character: char) -> bool {
    matches!(character, '{'..='~' | '['..='`' | ' '..='&' | '('..='+' | ':'..='@' | '/')
}

/// Replaces pairs of neighbours from left to right; no character is part of two.
fn spread(
    text: &str,
    is_pair: impl Fn(char, char) -> bool,
    spaced: impl Fn(char, char) -> [char; 4],
) -> String {
    let mut result = String::with_capacity(2 * text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match characters.next_if(|next| is_pair(character, *next)) {
            Some(next) => result.extend(spaced(character, next)),
            None => result.push(character),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn punctuation_stands_alone_but_within_numbers_and_words() {
        for (text, expected) in [
            ("Hello, world!", "Hello , world !"),
            ("1,234.5 and 3.", "1,234.5 and 3 ."),
            ("3-4 well-known", "3 - 4 well-known"),
            ("it's (a) \"quote\"", "it's ( a ) \" quote \""),
            ("&quot;a&amp;b&quot; &lt;c&gt;", "\" a & b \" < c >"),
            ("&amp;lt;", "<"),
            ("a..b", "a . . b"),
            (".5", ". 5"),
            ("über-\nmorgen\nheute", "übermorgen heute"),
            ("a<skipped>b", "ab"),
            (" \u{a0} ", ""),
        ] {
            assert_eq!(tokenize_13a(text), expected, "{text:?}");
        }
    }
}
