//! `mlperf_log_detail.txt`, of any LoadGen.
//!
//! `metric` is the figure that the round reports, `latency_keys` the keys of the latencies of queries.

pub(crate) mod latency_keys;
mod metric;

use std::{
    collections::HashMap,
    io::{BufRead, BufReader},
    path::Path,
};

use proctor_vocabulary::{Scenario, beginning::BYTE_ORDER_MARK, misfetched, open_regular};
use serde::Deserialize;
use serde_json::Value;

use self::latency_keys::LatencyKeys;
use crate::{error::ResultsError, schema::latency::LatencyPart};

/// Beginning of each entry.
const MARK: &str = ":::MLLOG ";
/// Key of an entry that each test has once, at its start.
const FIRST_KEY: &str = "loadgen_version";
/// Beginnings of the keys that a test has once.
const ONCE: [&str; 6] = ["result_", "early_stopping", "effective_", "requested_", "qsl_", "sut_name"];
/// Key of the figure in which LoadGen divides 0 by 0 if a test has one query.
const SCHEDULED_RATE: &str = "result_scheduled_samples_per_sec";
/// Keys of the figures that a result is read from.
const METRICS: [&str; 10] = [
    "result_samples_per_second",
    SCHEDULED_RATE,
    "result_completed_samples_per_sec",
    "result_samples_per_query",
    "result_tokens_per_second",
    "result_completed_tokens_per_second",
    "result_inferred_tokens_per_second",
    "result_inferred_completed_tokens_per_second",
    "early_stopping_latency_ss",
    "early_stopping_latency_ms",
];
/// Keys of the rules that a VALID test keeps.
const RULES: [&str; 4] = [
    "result_perf_constraints_met",
    "result_min_duration_met",
    "result_min_queries_met",
    "early_stopping_met",
];

/// The entries of a detail log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DetailLog {
    /// Key and value of each entry, in the order of the file.
    pub entries: Vec<(String, Value)>,
    /// Number of entries that cannot be read, such as the last one of a log that is cut off.
    pub damaged_count: usize,
    /// Key and value of each entry whose value is not a finite number, which LoadGen writes as `nan` or `inf`.
    pub not_finite: Vec<(String, String)>,
    /// Key of each entry that is marked as an error, and its value as text.
    pub errors: Vec<(String, String)>,
    /// Number of errors that the test met with, also of those that cannot be read. The result checkers take no run with
    /// one.
    pub error_count: u64,
}

#[derive(Deserialize)]
struct Entry {
    key: String,
    #[serde(default)]
    value: Value,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    is_error: bool,
}

impl DetailLog {
    /// Reads a log.
    ///
    /// # Errors
    /// [`ResultsError::Read`], [`ResultsError::NoEntry`], or [`ResultsError::Malformed`] if it is another kind of file,
    /// has no whole entry, is of several tests, has a metric that is no number of 0 or more, or contradicts itself.
    pub fn read(path: &Path) -> Result<Self, ResultsError> {
        let unreadable = |source| ResultsError::Read { path: path.to_owned(), source };
        let mut log = Self::default();
        let mut reader = BufReader::new(open_regular(path).map_err(unreadable)?);
        let foreign = misfetched(reader.fill_buf().map_err(unreadable)?);
        for line in reader.split(b'\n') {
            let line = line.map_err(unreadable)?;
            let text = String::from_utf8_lossy(&line);
            // Only the first line may have the mark, which some editors put there.
            let text = text.trim_start_matches(BYTE_ORDER_MARK).trim();
            let Some(entry) = text.strip_prefix(MARK) else { continue };
            match serde_json::from_str::<Entry>(entry) {
                Ok(Entry { key, value, metadata }) => {
                    if metadata.is_error {
                        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                        log.errors.push((key.clone(), text));
                    }
                    log.entries.push((key, value));
                }
                Err(_) => match not_finite(entry) {
                    Some(found) => log.not_finite.push(found),
                    None => log.damaged_count += 1,
                },
            }
        }
        let malformed = |fault| Err(ResultsError::Malformed { path: path.to_owned(), fault });
        if log.entries.is_empty() {
            return match (foreign, log.damaged_count) {
                (Some(words), _) => malformed(format!("is no detail log of LoadGen: {words}")),
                (None, 0) => Err(ResultsError::NoEntry { path: path.to_owned() }),
                (None, _) => malformed("is cut off: it has no whole entry".to_owned()),
            };
        }
        let test_count = log.entries.iter().filter(|(key, _)| key == FIRST_KEY).count();
        if test_count > 1 {
            return malformed(format!(
                "has the logs of {test_count} tests one after the other, each from its {FIRST_KEY} on: make a file of \
                 each"
            ));
        }
        if let Some(fault) = log.fault() {
            return malformed(fault);
        }
        let counted = log.value("num_errors").and_then(Value::as_u64).unwrap_or(0);
        log.error_count = counted.max(log.errors.len() as u64);
        Ok(log)
    }

    /// Returns the first thing that no test has logged, as the end of a sentence about the file.
    fn fault(&self) -> Option<String> {
        let figure = |key: &str, value: &str| {
            Some(format!(
                "has {key} {value}, and a figure is a number of 0 or more: give the log as LoadGen wrote it"
            ))
        };
        if let Some((key, value)) =
            self.not_finite.iter().find(|(key, _)| is_figure(key) && key != SCHEDULED_RATE)
        {
            return figure(key, value);
        }
        let is_checked = |key: &str| {
            is_figure(key) && !(self.estimates_first_tokens() && key.starts_with("early_stopping_latency_"))
        };
        let mut first_values = HashMap::new();
        for (key, value) in &self.entries {
            // Some tests have no rate; LoadGen writes -nan for it, and this one with quotation marks.
            let is_no_rate = || {
                let text = value.as_str().and_then(|text| text.parse::<f64>().ok());
                key == SCHEDULED_RATE && text.is_some_and(|rate| !rate.is_finite())
            };
            if is_checked(key) && value.as_f64().is_none_or(|number| number < 0.0) && !is_no_rate() {
                return figure(key, &value.to_string());
            }
            if ONCE.iter().any(|begin| key.starts_with(begin)) {
                let first = *first_values.entry(key.as_str()).or_insert(value);
                if first != value {
                    return Some(format!(
                        "has {key} twice, as {first} and as {value}: give the log of one test, as LoadGen wrote it"
                    ));
                }
            }
        }
        let is_broken = |key: &&str| self.value(key).and_then(Value::as_bool) == Some(false);
        let broken = RULES.into_iter().find(is_broken).filter(|_| self.is_valid() == Some(true))?;
        Some(format!("has result_validity VALID and {broken} false: give the log as LoadGen wrote it"))
    }

    /// Returns the last value of a key.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.entries.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Returns the name of the scenario, of a run that was cut off as requested.
    #[must_use]
    pub fn scenario(&self) -> Option<&str> {
        self.value("effective_scenario").or_else(|| self.value("requested_scenario"))?.as_str()
    }

    /// Returns the scenario; `None` if the log has no known one.
    pub(crate) fn known_scenario(&self) -> Option<Scenario> {
        self.scenario()?.parse().ok()
    }

    /// Returns whether the run is VALID; `None` if the log does not get that far.
    #[must_use]
    pub fn is_valid(&self) -> Option<bool> {
        Some(self.value("result_validity")?.as_str()? == "VALID")
    }

    /// Returns the latencies of the queries, if the log has them. Their number is the number of latencies: in
    /// scenarios other than MultiStream these are of samples.
    #[must_use]
    pub fn query_latency(&self) -> Option<LatencyPart> {
        let scenario = self.known_scenario()?;
        let keys = LatencyKeys::of(Some(scenario));
        let number = |key: &str| self.value(key)?.as_u64();
        let figure = |name: &str| number(&keys.figure(name));
        let percentile = |percent: &str| number(&keys.percentile(percent));
        let query_count = number("result_query_count")?;
        let count = match scenario {
            Scenario::MultiStream => query_count,
            _ => query_count.checked_mul(number("generated_samples_per_query")?)?,
        };
        Some(LatencyPart {
            count,
            min_ns: figure("min")?,
            mean_ns: figure("mean")?,
            max_ns: figure("max")?,
            p50_ns: percentile("50.00")?,
            p90_ns: percentile("90.00")?,
            p95_ns: percentile("95.00")?,
            p97_ns: percentile("97.00")?,
            p99_ns: percentile("99.00")?,
            p99_9_ns: percentile("99.90")?,
        })
    }

    /// Returns whether early-stopping estimates concern the time to the first token (SingleStream token runs).
    fn estimates_first_tokens(&self) -> bool {
        self.known_scenario() == Some(Scenario::SingleStream)
            && self.value("result_first_token_mean_latency_ns").is_some()
    }
}

/// Returns whether a key belongs to a metric, or to a latency that is shown with it. LoadGen writes a negative time to
/// the first token if a sample had none.
fn is_figure(key: &str) -> bool {
    let is_latency =
        key.starts_with("result_") && key.ends_with("latency_ns") && !key.starts_with("result_first_token_");
    METRICS.contains(&key) || is_latency
}

/// Returns the key and value of an entry whose value is a number that JSON has not, such as `nan`, or that is too
/// large, such as `1e400`.
fn not_finite(entry: &str) -> Option<(String, String)> {
    let (key, rest) = entry.strip_prefix("{\"key\": \"")?.split_once("\", \"value\": ")?;
    let value = rest.split([',', '}']).next()?.trim();
    let is_so = value.parse::<f64>().is_ok_and(|number| !number.is_finite());
    is_so.then(|| (key.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_and_damaged_ones_counted() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = ":::MLLOG {\"key\": \"a\", \"value\": 1, \"time_ms\": 0.5}\nother\n:::MLLOG {\"key\": \"b\", \"value\": \"x\"}\n:::MLLOG {\"key\": \"a\", \"value\": 2}\n:::MLLOG {\"key\": \"c";
        std::fs::write(file.path(), text).unwrap();
        let log = DetailLog::read(file.path()).unwrap();
        assert_eq!((log.entries.len(), log.damaged_count), (3, 1));
        assert_eq!((log.value("a"), log.value("c")), (Some(&2.into()), None));
        std::fs::write(file.path(), "MLPerf Results Summary\n").unwrap();
        assert!(DetailLog::read(file.path()).unwrap_err().to_string().contains("no detail log of LoadGen"));
    }

    #[test]
    fn another_kind_of_file_and_joined_logs_are_named() {
        let entry = |key: &str| format!(":::MLLOG {{\"key\": \"{key}\", \"value\": 1}}\n");
        let one = entry("loadgen_version") + &entry("a");
        let file = tempfile::NamedTempFile::new().unwrap();
        let read = |bytes: &[u8]| {
            std::fs::write(file.path(), bytes).unwrap();
            DetailLog::read(file.path())
        };
        let wide: Vec<u8> = format!("\u{feff}{one}").encode_utf16().flat_map(u16::to_le_bytes).collect();
        for (bytes, words) in [
            (&wide[..], "it is text in UTF-16: save it as UTF-8"),
            (b"\x1f\x8b\x08", "it is packed by gzip: unpack it"),
            (b"<!DOCTYPE html>", "it is a web page, "),
            (b"version https://git-lfs.github.com/spec/v1\n", "it is a pointer of Git LFS "),
        ] {
            let error = read(bytes).unwrap_err().to_string();
            assert!(error.contains(&format!(" is no detail log of LoadGen: {words}")), "{error}");
        }
        let error = read(one.repeat(2).as_bytes()).unwrap_err().to_string();
        assert!(error.contains("has the logs of 2 tests one after the other"), "{error}");
        // The mark in front of the first entry hides none.
        assert_eq!(read(format!("\u{feff}{one}").as_bytes()).unwrap().entries.len(), 2);
    }

    /// A log with these entries.
    pub(crate) fn read(values: &[(&str, &str)]) -> Result<DetailLog, ResultsError> {
        let entry =
            |(key, value): &(&str, &str)| format!(":::MLLOG {{\"key\": \"{key}\", \"value\": {value}}}\n");
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), values.iter().map(entry).collect::<String>()).unwrap();
        DetailLog::read(file.path())
    }

    #[test]
    fn a_figure_that_no_test_has_is_named_with_its_key() {
        for key in ["result_completed_samples_per_sec", "early_stopping_latency_ss", "result_max_latency_ns"]
        {
            for value in ["nan", "-nan", "inf", "1e400", "-488.883", "\"488\"", "true"] {
                let error = read(&[("a", "1"), (key, value)]).unwrap_err().to_string();
                let expected = format!("has {key} {value}, and a figure is a number of 0 or more");
                assert!(error.contains(&expected), "{error}");
            }
            assert!(read(&[(key, "0")]).is_ok() && read(&[(key, "5.27206e+06")]).is_ok());
        }
        // A sample without a first token has the least number of all.
        let first_token = ("result_first_token_min_latency_ns", "-9223372036854775808");
        assert!(read(&[("a", "1"), first_token]).is_ok());
        let estimate = ("early_stopping_latency_ss", "-9223372036854775808");
        let mean = ("result_first_token_mean_latency_ns", "-9223372036854775808");
        assert!(read(&[("effective_scenario", "\"SingleStream\""), mean, estimate]).is_ok());
        assert!(read(&[("effective_scenario", "\"MultiStream\""), mean, estimate]).is_err());
        let scheduled = |value: &str| read(&[("a", "1"), (SCHEDULED_RATE, value)]);
        assert!(
            scheduled("-nan").is_ok()
                && scheduled("\"-nan\"").is_ok()
                && scheduled("-1").is_err()
                && scheduled("\"1\"").is_err()
        );
        // For one query LoadGen divides 0 by 0, in a figure that is not a metric.
        let log = read(&[("a", "1"), ("result_qps_with_loadgen_overhead", "-nan")]).unwrap();
        assert_eq!((log.damaged_count, log.not_finite.len(), log.entries.len()), (0, 1, 1));
    }

    #[test]
    fn a_log_that_contradicts_itself_is_none() {
        for (key, one, other) in [
            ("result_completed_samples_per_sec", "488.883", "999.9"),
            ("result_validity", "\"VALID\"", "\"INVALID\""),
            ("effective_min_duration_ms", "600000", "5"),
        ] {
            let error = read(&[(key, one), ("a", "1"), (key, other)]).unwrap_err().to_string();
            assert!(error.contains(&format!("has {key} twice, as {one} and as {other}: ")), "{error}");
            assert!(read(&[(key, one), (key, one)]).is_ok());
        }
        // A search has a line for each of its tests.
        assert!(read(&[("generated_query_duration", "1"), ("generated_query_duration", "2")]).is_ok());
        for key in RULES {
            let of = |validity: &str| read(&[("result_validity", validity), (key, "false")]);
            let error = of("\"VALID\"").unwrap_err().to_string();
            assert!(error.contains(&format!("has result_validity VALID and {key} false")), "{error}");
            assert!(of("\"INVALID\"").is_ok());
        }
    }

    #[test]
    fn errors_are_counted_by_their_marks_and_by_the_last_line() {
        let error = "\"late\", \"metadata\": {\"is_error\": true}";
        let count = |values: &[(&str, &str)]| read(values).unwrap().error_count;
        let log = read(&[("a", "1"), ("error_runtime", error)]).unwrap();
        assert_eq!(log.errors, [("error_runtime".to_owned(), "late".to_owned())]);
        assert_eq!(count(&[("a", "1"), ("num_errors", "0")]), 0);
        assert_eq!(count(&[("error_runtime", error), ("num_errors", "0")]), 1);
        assert_eq!(count(&[("error_runtime", error), ("error_runtime", error), ("num_errors", "2")]), 2);
        assert_eq!(count(&[("a", "1"), ("num_errors", "3")]), 3);
    }

    #[test]
    fn latencies_of_queries_are_those_of_samples_in_other_scenarios_than_multi_stream() {
        let names = ["min", "mean", "max"];
        let percents = ["50.00", "90.00", "95.00", "97.00", "99.00", "99.90"];
        let of = |scenario: &str, has_queries: bool| {
            let mut values = vec![
                ("effective_scenario".to_owned(), format!("\"{scenario}\"")),
                ("generated_samples_per_query".to_owned(), "8".to_owned()),
                ("result_query_count".to_owned(), "842".to_owned()),
            ];
            let both = [("", "", "5"), ("query_", "per_query_", "7")];
            for (query, per_query, value) in &both[..1 + usize::from(has_queries)] {
                let keys = names.map(|name| format!("result_{name}_{query}latency_ns"));
                let of_percent = |percent: &str| format!("result_{percent}_percentile_{per_query}latency_ns");
                let keys = keys.into_iter().chain(percents.map(of_percent));
                values.extend(keys.map(|key| (key, (*value).to_owned())));
            }
            let values: Vec<_> = values.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
            read(&values).unwrap().query_latency().map(|it| (it.count, it.min_ns, it.p50_ns, it.p99_ns))
        };
        assert_eq!(of("MultiStream", true), Some((842, 7, 7, 7)));
        // A LoadGen without query latencies.
        assert_eq!(of("MultiStream", false), None);
        assert_eq!(of("Offline", false), Some((842 * 8, 5, 5, 5)));
        assert_eq!(of("Elsewhere", false), None);
    }
}
