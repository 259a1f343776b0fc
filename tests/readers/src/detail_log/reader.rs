//! Reads `mlperf_log_detail.txt`, the official program's or ours.
//!
//! Each line is `:::MLLOG ` and one object whose fields, order and spacing are fixed. It is nearly JSON: the official
//! program does not escape strings and writes bare `nan` and `inf`. So the two ends of a line, whose form is known, are
//! read first, and what lies between them is the value. A string that is no JSON string is taken as it stands.
//!
//! Source: LoadGen 6.0.17, `logging.cc`.

use std::{borrow::Cow, collections::BTreeMap};

use proctor_loadgen::log::{DetailEntry, DetailLog, DetailValue};

/// Length of the text that an error quotes, in characters.
const FOUND_LENGTH: usize = 40;

/// A line that does not belong to a detail log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: expected {expected} (found \"{found}\")")]
pub struct DetailLogError {
    /// Line in the file, from 1.
    pub line: u64,
    /// The text that should stand there.
    pub expected: &'static str,
    /// The text that stands there, its first 40 characters.
    pub found: String,
}

/// Reads a whole log. Entries that stand there twice are kept twice, errors and warnings keep their marks; where an
/// entry was made (file, line, process and thread) is checked for its form and dropped.
///
/// A whole number is read as an integer even if it was written from a float: the format cannot distinguish them. Bytes
/// that are not UTF-8, which only an unescaped string can have, are replaced.
///
/// # Errors
/// [`DetailLogError`] for the first line that is malformed, such as the last one of a log that was cut off.
pub fn read_detail_log(text: &[u8]) -> Result<DetailLog, DetailLogError> {
    let mut log = DetailLog::default();
    if text.is_empty() {
        return Ok(log);
    }
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line));
        let entry = entry(&line).map_err(|Problem { expected, found }| DetailLogError {
            line: number,
            expected,
            found: found.chars().take(FOUND_LENGTH).collect(),
        })?;
        log.entries.push(entry);
    }
    Ok(log)
}

/// A mistake at a place of a line.
struct Problem<'a> {
    expected: &'static str,
    found: &'a str,
}

type Read<'a, T> = Result<T, Problem<'a>>;

fn entry(line: &str) -> Read<'_, DetailEntry> {
    let mut head = Rest(line);
    head.literal(":::MLLOG ")?;
    head.literal("{\"key\": \"")?;
    let key = head.until("\", \"value\": ")?;
    // An unescaped value may contain the same text; the last occurrence belongs to the line.
    let end = head.0.rfind(", \"time_ms\": ");
    let end = end.ok_or(Problem { expected: "`, \"time_ms\": ` after the value", found: head.0 })?;
    let (value_text, tail) = head.0.split_at(end);

    let mut tail = Rest(tail);
    tail.literal(", \"time_ms\": ")?;
    let time_ns = tail.time_ns()?;
    tail.literal(", \"namespace\": \"mlperf::logging\"")?;
    tail.literal(", \"event_type\": \"POINT_IN_TIME\"")?;
    tail.literal(", \"metadata\": {\"is_error\": ")?;
    let is_error = tail.switch()?;
    tail.literal(", \"is_warning\": ")?;
    let is_warning = tail.switch()?;
    tail.literal(", \"file\": \"")?;
    tail.until("\", \"line_no\": ")?;
    tail.unsigned()?;
    tail.literal(", \"pid\": ")?;
    tail.unsigned()?;
    tail.literal(", \"tid\": ")?;
    tail.unsigned()?;
    tail.literal("}}")?;
    if !tail.0.is_empty() {
        return Err(Problem { expected: "the end of the line", found: tail.0 });
    }
    Ok(DetailEntry { key: Cow::Owned(string(key)), value: value(value_text)?, time_ns, is_error, is_warning })
}

fn value(text: &str) -> Read<'_, DetailValue> {
    let problem = |expected| Problem { expected, found: text };
    match text.as_bytes() {
        [b'"', .., b'"'] => Ok(DetailValue::Text(string(&text[1..text.len() - 1]))),
        [b'"', ..] => Err(problem("a closing quote")),
        [b'[', .., b']'] => {
            list(&text[1..text.len() - 1]).ok_or_else(|| problem("a list of whole numbers without spaces"))
        }
        [b'{', .., b'}'] => {
            let pairs: Result<BTreeMap<String, String>, _> = serde_json::from_str(text);
            let pairs = pairs.map_err(|_| problem("a dictionary of strings"))?;
            Ok(DetailValue::Dictionary(pairs.into_iter().collect()))
        }
        b"true" => Ok(DetailValue::Bool(true)),
        b"false" => Ok(DetailValue::Bool(false)),
        _ => number(text).ok_or_else(|| problem("a string, number, boolean, list or dictionary")),
    }
}

/// Returns the text between the quotes of a string: unescaped if it is JSON, or else as it stands.
fn string(text: &str) -> String {
    if !text.contains(['\\', '"']) {
        return text.to_owned();
    }
    serde_json::from_str(&format!("\"{text}\"")).unwrap_or_else(|_| text.to_owned())
}

fn list(text: &str) -> Option<DetailValue> {
    if text.is_empty() {
        return Some(DetailValue::List(Vec::new()));
    }
    text.split(',').map(unsigned).collect::<Option<_>>().map(DetailValue::List)
}

fn number(text: &str) -> Option<DetailValue> {
    if let Some(value) = not_finite(text) {
        return Some(DetailValue::Float(value));
    }
    let magnitude = text.strip_prefix('-').unwrap_or(text);
    if !magnitude.is_empty() && magnitude.bytes().all(|byte| byte.is_ascii_digit()) {
        return match unsigned(text) {
            Some(value) => Some(DetailValue::Unsigned(value)),
            // A whole number has no negative zero.
            None if magnitude.bytes().all(|byte| byte == b'0') => Some(DetailValue::Float(-0.0)),
            None => text.parse().ok().map(DetailValue::Signed),
        };
    }
    // Rust reads words such as `infinity` besides, and a plus at the start.
    if !magnitude.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    text.parse().ok().filter(|value: &f64| value.is_finite()).map(DetailValue::Float)
}

/// Returns a whole number in digits alone.
fn unsigned(text: &str) -> Option<u64> {
    if text.starts_with('+') { None } else { text.parse().ok() }
}

/// Returns C++'s texts for numbers that JSON does not have.
fn not_finite(text: &str) -> Option<f64> {
    match text {
        "nan" | "-nan" => Some(f64::NAN),
        "inf" => Some(f64::INFINITY),
        "-inf" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

/// The rest of a line.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn literal(&mut self, expected: &'static str) -> Read<'a, ()> {
        self.0 = self.0.strip_prefix(expected).ok_or(Problem { expected, found: self.0 })?;
        Ok(())
    }

    /// Returns the text before `end`, which is passed, too.
    fn until(&mut self, end: &'static str) -> Read<'a, &'a str> {
        let (before, after) = self.0.split_once(end).ok_or(Problem { expected: end, found: self.0 })?;
        self.0 = after;
        Ok(before)
    }

    fn digits(&mut self) -> &'a str {
        let end = self.0.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.0.len());
        let (digits, rest) = self.0.split_at(end);
        self.0 = rest;
        digits
    }

    fn unsigned(&mut self) -> Read<'a, u64> {
        let found = self.0;
        self.digits().parse().map_err(|_| Problem { expected: "a whole number of 64 bits", found })
    }

    fn switch(&mut self) -> Read<'a, bool> {
        for (word, value) in [("true", true), ("false", false)] {
            if let Some(rest) = self.0.strip_prefix(word) {
                self.0 = rest;
                return Ok(value);
            }
        }
        Err(Problem { expected: "true or false", found: self.0 })
    }

    /// Returns the milliseconds with six digits after the point. Lines that the official program logs before its log is
    /// open have a negative time, which shows as one near 2^64 ns.
    fn time_ns(&mut self) -> Read<'a, u64> {
        let problem = Problem { expected: "milliseconds with six digits after the point", found: self.0 };
        let read = |rest: &mut Self| {
            let ms: u64 = rest.digits().parse().ok()?;
            rest.0 = rest.0.strip_prefix('.')?;
            let fraction = rest.digits();
            let ns: u64 = fraction.parse().ok().filter(|_| fraction.len() == 6)?;
            ms.checked_mul(1_000_000)?.checked_add(ns)
        };
        read(self).ok_or(problem)
    }
}

#[cfg(test)]
mod tests {
    use proctor_loadgen::log::LogIdentity;
    use proptest::prelude::*;

    use super::*;

    fn line(value: &str) -> String {
        format!(
            ":::MLLOG {{\"key\": \"k\", \"value\": {value}, \"time_ms\": 1.000002, \"namespace\": \
             \"mlperf::logging\", \"event_type\": \"POINT_IN_TIME\", \"metadata\": {{\"is_error\": false, \
             \"is_warning\": true, \"file\": \"a.cc\", \"line_no\": 3, \"pid\": 4, \"tid\": 5}}}}\n"
        )
    }

    fn read_value(text: &str) -> DetailValue {
        let log = read_detail_log(line(text).as_bytes()).unwrap();
        let [entry] = &log.entries[..] else { panic!("one line is one entry") };
        assert_eq!((entry.time_ns, entry.is_error, entry.is_warning), (1_000_002, false, true));
        entry.value.clone()
    }

    fn written(log: &DetailLog) -> Vec<u8> {
        let mut text = Vec::new();
        log.write(&LogIdentity::default(), &mut text).unwrap();
        text
    }

    #[test]
    fn every_kind_of_value_is_read() {
        for (text, expected) in [
            ("\"\"", DetailValue::Text(String::new())),
            ("18446744073709551615", DetailValue::Unsigned(u64::MAX)),
            ("-1", DetailValue::Signed(-1)),
            ("5.27206e+06", DetailValue::Float(5_272_060.0)),
            ("inf", DetailValue::Float(f64::INFINITY)),
            ("false", DetailValue::Bool(false)),
            ("[]", DetailValue::List(vec![])),
            ("[1,20]", DetailValue::List(vec![1, 20])),
            ("{\"b\":\"2\",\"a\":\"1\"}", {
                let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
                DetailValue::Dictionary(vec![pair("a", "1"), pair("b", "2")])
            }),
        ] {
            assert_eq!(read_value(text), expected, "{text}");
        }
        let DetailValue::Float(nan) = read_value("-nan") else { panic!("it is a number") };
        assert!(nan.is_nan());
        assert_eq!(read_value("\"-inf\""), DetailValue::Text("-inf".to_owned()));
    }

    #[test]
    fn strings_are_read_escaped_or_not() {
        let long = "a, \"time_ms\": 3.000000, b";
        for (text, expected) in [
            (r#""a \"b\" \u00e9\n""#, "a \"b\" \u{e9}\n"),
            (r#""a "b" c""#, r#"a "b" c"#),
            (r#""C:\data""#, r"C:\data"),
            (&format!("\"{long}\""), long),
        ] {
            assert_eq!(read_value(text), expected.into(), "{text}");
        }
        let mut bytes = line("\"x\"").into_bytes();
        let place = bytes.iter().position(|byte| *byte == b'x').unwrap();
        bytes[place] = 0xff;
        assert_eq!(read_detail_log(&bytes).unwrap().entries[0].value, "\u{fffd}".into());
    }

    #[test]
    fn an_error_names_the_line_and_what_was_expected() {
        let good = line("1");
        for (bad, expected) in [
            (good.replace(":::MLLOG", "::MLLOG"), "line 2: expected :::MLLOG  (found \"::MLLOG {"),
            (line("-"), "line 2: expected a string, number"),
            (line(""), "line 2: expected a string, number"),
            (line("+1"), "line 2: expected a string, number, boolean, list or dictionary (found \"+1\")"),
            (line("infinity"), "line 2: expected a string, number"),
            (line("18446744073709551616"), "line 2: expected a string, number"),
            (line("1e999"), "line 2: expected a string, number"),
            (line("\"a"), "line 2: expected a closing quote (found \"\"a\")"),
            (line("[1, 2]"), "line 2: expected a list of whole numbers without spaces"),
            (line("{\"a\":1}"), "line 2: expected a dictionary of strings"),
            (good.replace("1.000002", "1.02"), "line 2: expected milliseconds with six digits"),
            (good.replace("\"is_error\": f", "\"is_error\": F"), "line 2: expected true or false"),
            (good.replace("\"pid\": 4", "\"pid\": -4"), "line 2: expected a whole number of 64 bits"),
            (good.replace("}}", "}} "), "line 2: expected the end of the line (found \" \")"),
            ("\n".to_owned(), "line 2: expected :::MLLOG  (found \"\")"),
        ] {
            let text = format!("{good}{bad}{good}");
            let error = read_detail_log(text.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn a_log_that_was_cut_off_within_a_line_is_refused() {
        let whole = line("[1,2]") + &line("\"a\"");
        let good_ends = [0, line("[1,2]").len() - 1, line("[1,2]").len(), whole.len() - 1];
        for length in 0..whole.len() {
            let read = read_detail_log(&whole.as_bytes()[..length]);
            assert_eq!(read.is_ok(), good_ends.contains(&length), "{length}");
        }
        assert_eq!(
            read_detail_log(&whole.replace('\n', "\r\n").into_bytes()),
            read_detail_log(whole.as_bytes())
        );
    }

    fn any_value() -> impl Strategy<Value = DetailValue> {
        prop_oneof![
            any::<String>().prop_map(DetailValue::Text),
            any::<u64>().prop_map(DetailValue::Unsigned),
            (i64::MIN..0).prop_map(DetailValue::Signed),
            any::<bool>().prop_map(DetailValue::Bool),
            prop::collection::vec(any::<u64>(), 0..4).prop_map(DetailValue::List),
            prop::collection::btree_map(any::<String>(), any::<String>(), 0..3)
                .prop_map(|pairs| DetailValue::Dictionary(pairs.into_iter().collect())),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            entries in prop::collection::vec((any::<String>(), any_value(), any::<u64>(), any::<[bool; 2]>()), 0..5)
        ) {
            let mut log = DetailLog::default();
            for (key, value, time_ns, [is_error, is_warning]) in entries {
                log.entries.push(DetailEntry { key: Cow::Owned(key), value, time_ns, is_error, is_warning });
            }
            prop_assert_eq!(read_detail_log(&written(&log)).unwrap(), log);
        }

        #[test]
        fn floats_keep_their_six_digits(value: f64) {
            let mut log = DetailLog::default();
            log.entry(0, "k", value);
            let text = written(&log);
            prop_assert_eq!(written(&read_detail_log(&text).unwrap()), text);
        }
    }
}
