//! Text from elsewhere, as terminals and XML are given it.

pub(crate) mod odd_space;

use std::{
    borrow::Cow,
    fmt::{Display, Write},
};

/// Returns the text in one line, with the characters escaped that would clear a terminal, colour the rest, tear the
/// line or turn its direction. Names and lines of files may have them, and so may texts of plugins.
///
/// A character is escaped as in JSON, by `\n`, `\r`, `\t` or `\u001b`, so that JSON means the same afterwards.
#[must_use]
pub fn printable(text: impl Display) -> String {
    let text = text.to_string();
    let shown = match escaped(&text, |_| false) {
        Cow::Owned(shown) => Some(shown),
        Cow::Borrowed(_) => None,
    };
    shown.unwrap_or(text)
}

/// Does the same as [`printable`] for text in lines: line ends and tabs stay.
#[must_use]
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |character| matches!(character, '\n' | '\t'))
}

fn escaped(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_escaped = |character: char| steers(character) && !stays(character);
    if !text.chars().any(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            character if !is_escaped(character) => shown.push(character),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            // Writing to a string never fails.
            character => _ = write!(shown, "\\u{:04x}", u32::from(character)),
        }
    }
    Cow::Owned(shown)
}

/// Returns whether a terminal acts on the character instead of showing it: control characters, characters
/// that turn the direction of text (`Bidi_Control` of Unicode), and the separators of lines and paragraphs.
/// Text of a plugin has none.
#[must_use]
pub fn steers(character: char) -> bool {
    let turns = matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    turns || character.is_control() || matches!(character, '\u{2028}' | '\u{2029}')
}

/// Returns the text escaped for XML, in an element or an attribute; characters that XML does not have become spaces.
#[must_use]
pub fn xml_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\t' => escaped.push_str("&#9;"),
            '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => escaped.push(' '),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Escape, bell, carriage return, the one-byte escape of C1, overrides of the direction, and separators of lines.
    const HOSTILE: &str =
        "a\u{1b}[31m\u{7}\r\n\tb\0\u{7f}\u{9b}2J\u{202e}\u{2066}\u{85}\u{2028}\u{2029}\u{61c}\u{200f}";

    #[test]
    fn what_steers_a_terminal_is_escaped_and_nothing_else() {
        let shown = printable(HOSTILE);
        assert_eq!(
            shown,
            r"a\u001b[31m\u0007\r\n\tb\u0000\u007f\u009b2J\u202e\u2066\u0085\u2028\u2029\u061c\u200f"
        );
        assert_eq!(printable(&shown), shown);
        for plain in ["", "\"ä\" 'ß' \\ \u{2027} 木", "\u{5e9}\u{200d}\u{202f}"] {
            assert_eq!(printable(plain), plain);
        }
    }

    #[test]
    fn lines_stay_lines() {
        assert_eq!(printable_lines("a\tb\r\n\u{1b}c\n"), "a\tb\\r\n\\u001bc\n");
        assert!(matches!(printable_lines("a\tb\nc"), Cow::Borrowed(_)));
    }
}
