//! Text out of files, as messages show it.

use std::fmt::Display;

/// The text with its control characters escaped, which would clear a terminal, colour what follows or tear a line.
/// Names and lines of files from elsewhere may have them, and so have files that are not text at all.
#[must_use]
pub fn printable(text: impl Display) -> String {
    let mut shown = String::new();
    for character in text.to_string().chars() {
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_nothing_else() {
        let shown = printable("a\u{1b}[31m\r\n\tb\0\u{7f}\u{9b}");
        assert_eq!(shown, "a\\u{1b}[31m\\r\\n\\tb\\u{0}\\u{7f}\\u{9b}");
        assert_eq!(printable(&shown), shown);
        assert_eq!(printable("\"ä\" 'ß' \\ \u{2028} 木"), "\"ä\" 'ß' \\ \u{2028} 木");
    }
}
