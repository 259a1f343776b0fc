//! `mlperf_log_detail.txt`.

pub(crate) mod reader;

use proctor_loadgen::log::{DetailEntry, DetailLog, DetailValue, LogIdentity};
use serde_json::Value;

use crate::{detail_log::reader::read_detail_log, memory::bounded};

/// A list of digits and commas has two bytes for eight, twice while it grows; a dictionary of short pairs is worse.
const MEMORY_FACTOR: u64 = 64;

/// Checks the reader of the detail log.
///
/// # Panics
/// If an invariant does not hold.
pub fn check_detail_log(data: &[u8]) {
    let line_count = data.split(|byte| *byte == b'\n').count();
    match bounded(data.len(), MEMORY_FACTOR, || read_detail_log(data)) {
        Err(error) => {
            assert!((1..=line_count as u64).contains(&error.line), "{error}");
            assert!(error.found.chars().count() <= 40 && !error.expected.is_empty(), "{error}");
            assert!(error.found.is_empty() || String::from_utf8_lossy(data).contains(&error.found));
        }
        Ok(log) => {
            let text = written(&log);
            let again = read_detail_log(&text).expect("what was written can be read");
            assert_eq!(written(&again), text);
            check_lines(data, &log);
        }
    }
}

fn written(log: &DetailLog) -> Vec<u8> {
    let mut text = Vec::new();
    log.write(&LogIdentity::default(), &mut text).expect("memory takes any text");
    text
}

/// Checks that every line is an entry, and that the JSON ones read as a JSON reader reads them.
fn check_lines(data: &[u8], log: &DetailLog) {
    let text = String::from_utf8_lossy(data);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), log.entries.len());
    let count = |mark: &str| {
        // The same text in the value or in the name of the file is not a mark.
        let ends = lines.iter().filter_map(|line| line.rsplit_once(", \"time_ms\": "));
        let marks = ends.filter_map(|(_, end)| end.split_once(", \"file\": "));
        marks.filter(|(marks, _)| marks.contains(mark)).count() as u64
    };
    assert_eq!(log.error_count(), count("{\"is_error\": true"));
    assert_eq!(log.warning_count(), count("\"is_warning\": true"));
    for (line, entry) in lines.iter().zip(&log.entries) {
        check_line(line, entry);
    }
}

fn check_line(line: &str, entry: &DetailEntry) {
    let (head, _) = line.rsplit_once(", \"time_ms\": ").expect("every line has a time");
    let (key, value) = head.split_once("\", \"value\": ").expect("every line has a value");
    let key = key.strip_prefix(":::MLLOG {\"key\": ").expect("every line has its mark");
    if let Ok(Value::String(key)) = serde_json::from_str(&format!("{key}\"")) {
        assert_eq!(entry.key, key);
    }
    if let Ok(value) = serde_json::from_str(value) {
        assert!(is_same(&value, &entry.value), "{value} is read as {:?}", entry.value);
    }
    if let Ok(Value::Object(fields)) = serde_json::from_str(&line[":::MLLOG ".len()..]) {
        assert_eq!(fields["metadata"]["is_error"], entry.is_error);
        let ms = fields["time_ms"].as_f64().expect("the time is a number");
        assert!((entry.time_ns as f64 / 1e6 - ms).abs() <= 1e-9 * ms, "{ms} is read as {}", entry.time_ns);
    }
}

fn is_same(expected: &Value, got: &DetailValue) -> bool {
    match (expected, got) {
        (Value::String(expected), DetailValue::Text(got)) => expected == got,
        (Value::Bool(expected), DetailValue::Bool(got)) => expected == got,
        (Value::Number(expected), DetailValue::Float(got)) => expected.as_f64() == Some(*got),
        (Value::Number(expected), DetailValue::Signed(got)) => expected.as_i64() == Some(*got),
        (Value::Number(expected), DetailValue::Unsigned(got)) => expected.as_u64() == Some(*got),
        (Value::Array(expected), DetailValue::List(got)) => {
            expected.iter().map(Value::as_u64).eq(got.iter().copied().map(Some))
        }
        (Value::Object(expected), DetailValue::Dictionary(got)) => {
            let is_there =
                |(name, text): &(String, String)| expected.get(name) == Some(&text.as_str().into());
            expected.len() == got.len() && got.iter().all(is_there) && got.is_sorted()
        }
        _ => false,
    }
}
