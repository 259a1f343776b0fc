//! Turns the text of a file into its table of keys.

use std::collections::HashMap;

use proctor_vocabulary::{OddSpace, beginning::BYTE_ORDER_MARK};

use super::{
    ignored::{Ignored, IgnoredReason},
    number,
};

/// A line that makes LoadGen reject the whole file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {kind} (found \"{word}\"){}", space_note(.space))]
pub struct ConfigFileError {
    /// Line in the file, from 1.
    pub line: u64,
    /// The kind of error.
    pub kind: ConfigFileErrorKind,
    /// The word at fault.
    pub word: String,
    /// A character of the line that looks like a space but is not one.
    pub space: Option<OddSpace>,
}

/// A mistake in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConfigFileErrorKind {
    /// The second word is not `=`.
    #[error("expected `key = value` with spaces around the `=`")]
    ExpectedAssignment,
    /// The file begins with a byte order mark, which is a part of the first word for LoadGen.
    #[error(
        "a byte order mark stands before the first word, which makes another one of it; save the file without"
    )]
    ByteOrderMark,
    /// A word after `=` is not a number; a comment there is not allowed either.
    #[error("the value has to be a number, with nothing after it")]
    NotANumber,
}

fn space_note(space: &Option<OddSpace>) -> String {
    space.map_or_else(String::new, |space| format!("; {space}"))
}

impl ConfigFileError {
    /// Returns LoadGen's entry in the detail log for this line, under `error_invalid_config`.
    #[must_use]
    pub fn log_text(&self) -> String {
        match self.kind {
            ConfigFileErrorKind::ExpectedAssignment | ConfigFileErrorKind::ByteOrderMark => {
                format!("expected 'key=value', line={}", self.line)
            }
            ConfigFileErrorKind::NotANumber => {
                format!("value needs to be integer or double, line={}", self.line)
            }
        }
    }
}

/// The value that a file gives to a key: the word as written, and the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    pub(super) key: &'a str,
    pub(super) word: &'a str,
    pub(super) line: u64,
}

/// All keys of a file that have a value, the last if a key occurs twice.
#[derive(Debug, Default)]
pub(super) struct Table<'a> {
    entries: HashMap<&'a str, Entry<'a>>,
    pub(super) ignored: Vec<Ignored>,
}

impl<'a> Table<'a> {
    /// Reads the text. Either all of it can be used or none.
    pub(super) fn parse(text: &'a str) -> Result<Self, Vec<ConfigFileError>> {
        let mut table = Self::default();
        let mut errors = Vec::new();
        for (line, text) in (1..).zip(text.split('\n')) {
            if let Err((mut kind, word)) = table.scan(line, text) {
                // LoadGen takes it for a part of the first word.
                if kind == ConfigFileErrorKind::ExpectedAssignment && text.starts_with(BYTE_ORDER_MARK) {
                    kind = ConfigFileErrorKind::ByteOrderMark;
                }
                // What stands in a comment is no reason.
                let space = text.split('#').next().and_then(OddSpace::find);
                errors.push(ConfigFileError { line, kind, word: word.to_owned(), space });
            }
        }
        if errors.is_empty() { Ok(table) } else { Err(errors) }
    }

    /// Returns the entry for a wanted model, scenario and name. A wildcard model goes before a wildcard scenario.
    pub(super) fn find(&self, model: &str, scenario: &str, name: &str) -> Option<Entry<'a>> {
        let parts = [(model, scenario), ("*", scenario), (model, "*"), ("*", "*")];
        parts
            .iter()
            .find_map(|(model, scenario)| self.entries.get(format!("{model}.{scenario}.{name}").as_str()))
            .copied()
    }

    /// Returns the entry for this model in any scenario, if one for any model in this scenario goes before it.
    pub(super) fn shadowed(&self, model: &str, scenario: &str, name: &str) -> Option<Ignored> {
        let get = |model, scenario| self.entries.get(format!("{model}.{scenario}.{name}").as_str());
        let (winner, loser) = (get("*", scenario)?, get(model, "*")?);
        // If both are overridden, nothing is surprising.
        if model == "*" || get(model, scenario).is_some() {
            return None;
        }
        let reason = IgnoredReason::Shadowed { key: winner.key.to_owned(), line: winner.line };
        Some(Ignored { line: loser.line, key: loser.key.to_owned(), reason })
    }

    /// Returns all entries in the order of their lines.
    pub(super) fn entries(&self) -> Vec<Entry<'a>> {
        let mut entries: Vec<_> = self.entries.values().copied().collect();
        entries.sort_by_key(|entry| entry.line);
        entries
    }

    fn scan(&mut self, line: u64, text: &'a str) -> Result<(), (ConfigFileErrorKind, &'a str)> {
        // C's notion of white space, which has the vertical tab that Rust's ASCII notion lacks.
        let mut words =
            text.split(|c: char| c.is_ascii_whitespace() || c == '\x0b').filter(|word| !word.is_empty());
        let Some(key) = words.next().filter(|word| *word != "#") else { return Ok(()) };
        match words.next() {
            None | Some("#") => {
                self.ignore_lone_word(line, key);
                return Ok(());
            }
            Some("=") => {}
            Some(word) => return Err((ConfigFileErrorKind::ExpectedAssignment, word)),
        }
        let mut value = None;
        let mut count = 0;
        for word in words {
            number::double(word).ok_or((ConfigFileErrorKind::NotANumber, word))?;
            value = Some(word);
            count += 1;
        }
        let Some(word) = value else {
            self.ignore(line, key, IgnoredReason::NoValue);
            return Ok(());
        };
        if count > 1 {
            self.ignore(line, key, IgnoredReason::SeveralValues { word: word.to_owned() });
        }
        if let Some(earlier) = self.entries.insert(key, Entry { key, word, line }) {
            self.ignore(earlier.line, key, IgnoredReason::Repeated { line });
        }
        Ok(())
    }

    /// Handles a key without a value: a comment without a space, or an assignment without spaces.
    fn ignore_lone_word(&mut self, line: u64, word: &str) {
        if !word.starts_with('#') {
            let reason = match OddSpace::find(word) {
                Some(space) => IgnoredReason::OddSpace(space),
                None if word.contains('=') => IgnoredReason::NoSpaces,
                None => IgnoredReason::NoValue,
            };
            self.ignore(line, word, reason);
        }
    }

    fn ignore(&mut self, line: u64, key: &str, reason: IgnoredReason) {
        self.ignored.push(Ignored { line, key: key.to_owned(), reason });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_lines(text: &str) -> Vec<(u64, ConfigFileErrorKind)> {
        Table::parse(text).unwrap_err().iter().map(|error| (error.line, error.kind)).collect()
    }

    #[test]
    fn every_bad_line_is_named() {
        use ConfigFileErrorKind::{ExpectedAssignment, NotANumber};
        assert_eq!(
            error_lines("a =5\nb = 5\nc = five\n\n#two words\nd = 5 # comment\n"),
            [(1, ExpectedAssignment), (3, NotANumber), (5, ExpectedAssignment), (6, NotANumber)]
        );
    }

    #[test]
    fn an_error_reads_well_and_keeps_the_words_of_the_log() {
        let errors = Table::parse("\nkey =5").unwrap_err();
        assert_eq!(
            errors[0].to_string(),
            "line 2: expected `key = value` with spaces around the `=` (found \"=5\")"
        );
        assert_eq!(errors[0].log_text(), "expected 'key=value', line=2");
        let errors = Table::parse("key = x").unwrap_err();
        assert_eq!(errors[0].log_text(), "value needs to be integer or double, line=1");
    }

    #[test]
    fn what_looks_like_a_space_is_named() {
        let text = "key\u{a0}= 5\nkey = 5\u{a0}\nkey =5 # a\u{a0}comment\n";
        let errors = Table::parse(text).unwrap_err();
        let told: Vec<_> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "line 1: expected `key = value` with spaces around the `=` (found \"5\"); U+00A0 in it looks like a \
                 space but is not one: type a plain space",
                "line 2: the value has to be a number, with nothing after it (found \"5\u{a0}\"); U+00A0 in it looks \
                 like a space but is not one: type a plain space",
                "line 3: expected `key = value` with spaces around the `=` (found \"=5\")",
            ]
        );
        assert_eq!(errors[0].log_text(), "expected 'key=value', line=1");
        // One word to LoadGen, which passes over it.
        let table = Table::parse("key\u{a0}=\u{a0}5\n").unwrap();
        let reasons: Vec<_> = table.ignored.iter().map(|ignored| ignored.reason.clone()).collect();
        assert_eq!(reasons, [IgnoredReason::OddSpace(OddSpace::find("\u{a0}").unwrap())]);
    }

    #[test]
    fn lines_without_effect_are_listed() {
        let table = Table::parse("#comment\n# a comment\na=5\nb =\nc # note\n").unwrap();
        let ignored: Vec<_> = table.ignored.iter().map(|i| (i.line, i.reason.clone())).collect();
        assert_eq!(
            ignored,
            [(3, IgnoredReason::NoSpaces), (4, IgnoredReason::NoValue), (5, IgnoredReason::NoValue)]
        );
    }

    #[test]
    fn a_wildcard_model_goes_before_a_wildcard_scenario() {
        let table = Table::parse("*.Server.k = 1\nm.*.k = 2\n*.*.k = 3\nm.1.Server.k = 4").unwrap();
        assert_eq!(table.find("m", "Server", "k").unwrap().word, "1");
        assert_eq!(table.find("m", "Offline", "k").unwrap().word, "2");
        assert_eq!(table.find("n", "Offline", "k").unwrap().word, "3");
        assert_eq!(table.find("m.1", "Server", "k").unwrap().word, "4");
    }

    #[test]
    fn the_last_of_a_repeated_key_wins() {
        let table = Table::parse("k = 1\r\nk\x0b= 2 3\r\n").unwrap();
        assert_eq!(table.entries(), [Entry { key: "k", word: "3", line: 2 }]);
    }
}
