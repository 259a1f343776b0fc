//! `mlperf_log_detail.txt`: entries with key, value and time, one JSON object a line.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use proctor_loadgen_settings::{Rules, SettingValue};
use proctor_vocabulary::{Scenario, TestMode};

use crate::format::{g6, json_string};
use crate::measure::phase_record::PhaseRecord;

/// The value of an entry.
#[derive(Debug, Clone, PartialEq)]
pub enum DetailValue {
    /// A string.
    Text(String),
    /// A count, seed, index or time.
    Unsigned(u64),
    /// A whole number that may be negative.
    Signed(i64),
    /// Written with 6 significant digits.
    Float(f64),
    /// A switch.
    Bool(bool),
    /// Library indices.
    List(Vec<u64>),
    /// Names to texts, sorted by name.
    Dictionary(Vec<(String, String)>),
}

/// One line of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct DetailEntry {
    /// The subject, in LoadGen's spelling.
    pub key: Cow<'static, str>,
    /// Value of the entry.
    pub value: DetailValue,
    /// Instant of the entry, in ns from the start of the test.
    pub time_ns: u64,
    /// True if it counts as an error.
    pub is_error: bool,
    /// True if it counts as a warning.
    pub is_warning: bool,
}

/// The writer and the time of the log. The load generator does not ask the system for them: in virtual time the caller
/// gives fixed values, and the same run gives the same bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogIdentity {
    /// Process id.
    pub pid: u32,
    /// Kernel's thread id.
    pub tid: u64,
    /// Local time of the start of the test, as `YYYY-MM-DDThh:mm:ssZ`. The Z is LoadGen's, though the time is local.
    pub test_datetime: String,
    /// The same instant in ms since 1970, UTC: the base of the phases' `power_begin` and `power_end`.
    pub start_unix_ms: u64,
}

/// The detail log of one test, kept in memory and written when wanted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DetailLog {
    /// The entries so far, in the order of the log.
    pub entries: Vec<DetailEntry>,
}

impl DetailLog {
    /// Appends an entry.
    pub fn entry(&mut self, time_ns: u64, key: impl Into<Cow<'static, str>>, value: impl Into<DetailValue>) {
        let entry =
            DetailEntry { key: key.into(), value: value.into(), time_ns, is_error: false, is_warning: false };
        self.entries.push(entry);
    }

    /// Appends a `generic_message`.
    pub fn message(&mut self, time_ns: u64, text: impl Into<String>) {
        self.entry(time_ns, "generic_message", text.into());
    }

    /// Appends a warning with the key `warning_generic_message`.
    pub fn warning(&mut self, time_ns: u64, text: impl Into<String>) {
        self.entry(time_ns, "warning_generic_message", text.into());
        self.last().is_warning = true;
    }

    /// Appends an error. LoadGen's keys are `error_runtime`, `error_invalid_config` and
    /// `error_invalid_test_settings`.
    pub fn error(&mut self, time_ns: u64, key: &'static str, text: impl Into<String>) {
        self.entry(time_ns, key, text.into());
        self.last().is_error = true;
    }

    fn last(&mut self) -> &mut DetailEntry {
        self.entries.last_mut().expect("an entry was appended just now")
    }

    /// Returns how many entries are errors.
    #[must_use]
    pub fn error_count(&self) -> u64 {
        self.entries.iter().filter(|entry| entry.is_error).count() as u64
    }

    /// Returns how many entries are warnings.
    #[must_use]
    pub fn warning_count(&self) -> u64 {
        self.entries.iter().filter(|entry| entry.is_warning).count() as u64
    }

    /// Appends the set that a phase loaded.
    pub fn loaded_set(&mut self, time_ns: u64, record: &PhaseRecord) {
        let loaded = record.loaded_set.iter().map(|index| index.0).collect();
        self.entry(time_ns, "loaded_qsl_set", DetailValue::List(loaded));
    }

    /// Appends the queries that a phase generated.
    pub fn generated(&mut self, time_ns: u64, record: &PhaseRecord) {
        self.entry(time_ns, "generated_query_count", record.generated.query_count);
        self.entry(time_ns, "generated_samples_per_query", record.generated.samples_per_query);
        self.entry(time_ns, "generated_query_duration", record.generated.duration_ns);
    }

    /// Appends the end of a phase. `power_begin` and `power_end` are the wall-clock times of the first issue and the
    /// last completion, in UTC, as `MM-DD-YYYY hh:mm:ss.mmm`.
    pub fn phase_end(&mut self, time_ns: u64, power_begin: &str, power_end: &str) {
        // Contention of LoadGen's logger threads. Nothing of that kind exists here.
        for key in [
            "logger_swap_request_slots_retry_count",
            "logger_swap_request_slots_retry_retry_count",
            "logger_swap_request_slots_retry_reencounter_count",
            "logger_start_reading_entries_retry_count",
            "logger_tls_total_log_cas_fail_count",
            "logger_tls_total_swap_buffers_slot_retry_count",
        ] {
            self.entry(time_ns, key, 0_u64);
        }
        self.entry(time_ns, "power_begin", power_begin);
        self.entry(time_ns, "power_end", power_end);
    }

    /// Writes all entries.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write(&self, identity: &LogIdentity, out: &mut impl Write) -> io::Result<()> {
        for entry in &self.entries {
            entry.write(identity, out)?;
        }
        Ok(())
    }
}

impl DetailEntry {
    /// Writes the entry as one line. File and line number, which readers ignore, name the crate.
    fn write(&self, identity: &LogIdentity, out: &mut impl Write) -> io::Result<()> {
        writeln!(
            out,
            ":::MLLOG {{\"key\": {}, \"value\": {}, \"time_ms\": {}.{:06}, \"namespace\": \"mlperf::logging\", \
             \"event_type\": \"POINT_IN_TIME\", \"metadata\": {{\"is_error\": {}, \"is_warning\": {}, \
             \"file\": \"proctor-loadgen\", \"line_no\": 0, \"pid\": {}, \"tid\": {}}}}}",
            json_string(&self.key),
            self.value.json(),
            self.time_ns / 1_000_000,
            self.time_ns % 1_000_000,
            self.is_error,
            self.is_warning,
            identity.pid,
            identity.tid,
        )
    }
}

impl DetailValue {
    fn json(&self) -> String {
        match self {
            Self::Text(text) => json_string(text),
            Self::Unsigned(value) => value.to_string(),
            Self::Signed(value) => value.to_string(),
            Self::Float(value) if value.is_finite() => g6(*value),
            // LoadGen writes them bare, which no JSON reader accepts.
            Self::Float(value) => json_string(&g6(*value)),
            Self::Bool(value) => value.to_string(),
            Self::List(values) => {
                format!("[{}]", values.iter().map(u64::to_string).collect::<Vec<_>>().join(","))
            }
            Self::Dictionary(pairs) => {
                let pairs = pairs
                    .iter()
                    .map(|(name, text)| format!("{}:{}", json_string(name), json_string(text)))
                    .collect::<Vec<_>>();
                format!("{{{}}}", pairs.join(","))
            }
        }
    }
}

macro_rules! detail_value_from {
    ($($type:ty => |$value:ident| $into:expr;)+) => {
        $(impl From<$type> for DetailValue {
            fn from($value: $type) -> Self {
                $into
            }
        })+
    };
}

detail_value_from! {
    String => |value| Self::Text(value);
    &str => |value| Self::Text(value.to_owned());
    u64 => |value| Self::Unsigned(value);
    f64 => |value| Self::Float(value);
    bool => |value| Self::Bool(value);
    Scenario => |value| Self::Text(value.name().to_owned());
    TestMode => |value| Self::Text(value.name().to_owned());
    Rules => |value| Self::Text(value.name.to_owned());
    SettingValue => |value| match value {
        SettingValue::Bool(value) => Self::Bool(value),
        SettingValue::Unsigned(value) => Self::Unsigned(value),
        SettingValue::Signed(value) => Self::Signed(value),
        SettingValue::Float(value) => Self::Float(value),
        SettingValue::Scenario(value) => value.into(),
        SettingValue::Mode(value) => value.into(),
        SettingValue::Rules(value) => value.into(),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(log: &DetailLog) -> String {
        let identity = LogIdentity { pid: 7, tid: 8, ..LogIdentity::default() };
        let mut text = Vec::new();
        log.write(&identity, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_line_has_the_order_and_spacing_of_loadgen() {
        let mut log = DetailLog::default();
        log.error(61_761_592, "error_runtime", "Ending \"early\"");
        assert_eq!(
            line(&log),
            ":::MLLOG {\"key\": \"error_runtime\", \"value\": \"Ending \\\"early\\\"\", \"time_ms\": 61.761592, \"namespace\": \"mlperf::logging\", \"event_type\": \"POINT_IN_TIME\", \"metadata\": {\"is_error\": true, \"is_warning\": false, \"file\": \"proctor-loadgen\", \"line_no\": 0, \"pid\": 7, \"tid\": 8}}\n"
        );
        assert_eq!((log.error_count(), log.warning_count()), (1, 0));
    }

    #[test]
    fn every_kind_of_value_is_json() {
        let mut log = DetailLog::default();
        log.entry(0, "a", 5_272_060.0);
        log.entry(0, "b", f64::NAN);
        log.entry(0, "c", DetailValue::List(vec![1, 2]));
        log.entry(0, "d", DetailValue::Dictionary(vec![("x".to_owned(), "y".to_owned())]));
        log.entry(0, "e", SettingValue::Signed(-1));
        let values: Vec<serde_json::Value> = line(&log)
            .lines()
            .map(|line| serde_json::from_str(line.strip_prefix(":::MLLOG ").unwrap()).unwrap())
            .map(|entry: serde_json::Value| entry["value"].clone())
            .collect();
        let expected = serde_json::json!([5_272_060.0, "-nan", [1, 2], { "x": "y" }, -1]);
        assert_eq!(serde_json::Value::from(values), expected);
    }
}
