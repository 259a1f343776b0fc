//! `mlperf_log_detail.txt`, of any LoadGen.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
};

use serde::Deserialize;
use serde_json::Value;

use crate::{
    error::ResultsError,
    result_file::{LatencyPart, MetricPart},
};

/// Beginning of each entry.
const MARK: &str = ":::MLLOG ";

/// The entries of a detail log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DetailLog {
    /// Key and value of each entry, in the order of the file.
    pub entries: Vec<(String, Value)>,
    /// Number of entries that cannot be read, such as the last one of a log that is cut off.
    pub damaged_count: usize,
}

#[derive(Deserialize)]
struct Entry {
    key: String,
    #[serde(default)]
    value: Value,
}

impl DetailLog {
    /// Reads a log.
    ///
    /// # Errors
    /// [`ResultsError::Read`], or [`ResultsError::Malformed`] if it has no entry.
    pub fn read(path: &Path) -> Result<Self, ResultsError> {
        let unreadable = |source| ResultsError::Read { path: path.to_owned(), source };
        let mut log = Self::default();
        for line in BufReader::new(File::open(path).map_err(unreadable)?).split(b'\n') {
            let line = line.map_err(unreadable)?;
            let text = String::from_utf8_lossy(&line);
            let Some(entry) = text.trim().strip_prefix(MARK) else { continue };
            match serde_json::from_str::<Entry>(entry) {
                Ok(Entry { key, value }) => log.entries.push((key, value)),
                Err(_) => log.damaged_count += 1,
            }
        }
        if log.entries.is_empty() {
            let fault = match log.damaged_count {
                0 => format!("is no detail log of LoadGen: no line begins with \"{}\"", MARK.trim_end()),
                _ => "is cut off: it has no whole entry".to_owned(),
            };
            return Err(ResultsError::Malformed { path: path.to_owned(), fault });
        }
        Ok(log)
    }

    /// The last value of a key.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.entries.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Name of the scenario, of a run that was cut off as it was asked for.
    #[must_use]
    pub fn scenario(&self) -> Option<&str> {
        self.value("effective_scenario").or_else(|| self.value("requested_scenario"))?.as_str()
    }

    /// Whether the run is VALID; `None` if the log does not come to that.
    #[must_use]
    pub fn is_valid(&self) -> Option<bool> {
        Some(self.value("result_validity")?.as_str()? == "VALID")
    }

    /// Latencies of the queries, if the log has them.
    #[must_use]
    pub fn query_latency(&self) -> Option<LatencyPart> {
        let number = |key: &str| self.value(key)?.as_u64();
        let percentile = |percent: &str| number(&format!("result_{percent}_percentile_latency_ns"));
        Some(LatencyPart {
            count: number("result_query_count")?,
            min_ns: number("result_min_latency_ns")?,
            mean_ns: number("result_mean_latency_ns")?,
            max_ns: number("result_max_latency_ns")?,
            p50_ns: percentile("50.00")?,
            p90_ns: percentile("90.00")?,
            p95_ns: percentile("95.00")?,
            p97_ns: percentile("97.00")?,
            p99_ns: percentile("99.00")?,
            p99_9_ns: percentile("99.90")?,
        })
    }

    /// The figure that the result checkers read: tokens per second of Server and Offline where the run has them, else
    /// samples per second; the early-stopping estimate of the other scenarios, and the percentile in logs of rounds
    /// without one.
    ///
    /// The log does not say which benchmark was run, so that one that is listed by samples though it counts tokens is
    /// shown with its tokens.
    #[must_use]
    pub fn metric(&self) -> Option<MetricPart> {
        let of = |name: &str, value: f64, unit: &str| {
            Some(MetricPart { name: name.to_owned(), value, unit: unit.to_owned() })
        };
        let number = |key: &str| self.value(key)?.as_f64();
        let rates: &[(&str, &str, &str)] = match self.scenario()? {
            "Server" => &[
                (
                    "result_inferred_completed_tokens_per_second",
                    "throughput of tokens, inferred from samples",
                    "tokens/s",
                ),
                ("result_completed_tokens_per_second", "throughput of output tokens", "tokens/s"),
                ("result_completed_samples_per_sec", "throughput of completed samples", "samples/s"),
            ],
            "Offline" => &[
                (
                    "result_inferred_tokens_per_second",
                    "throughput of tokens, inferred from samples",
                    "tokens/s",
                ),
                ("result_tokens_per_second", "throughput of output tokens", "tokens/s"),
                ("result_samples_per_second", "throughput", "samples/s"),
            ],
            scenario => {
                let (estimate, usual) = match scenario {
                    "SingleStream" => ("early_stopping_latency_ss", 0.9),
                    _ => ("early_stopping_latency_ms", 0.99),
                };
                let percent = 100.0 * number("effective_target_latency_percentile").unwrap_or(usual);
                // Multiplying a fraction by 100 leaves dust at the end.
                let percentile =
                    format!("{}th percentile of the query latency", (percent * 1e6).round() / 1e6);
                return match number(estimate) {
                    // LoadGen has 0 where there were too few queries.
                    Some(0.0) => None,
                    Some(ns) => of(&format!("early-stopping estimate of the {percentile}"), ns, "ns"),
                    None => {
                        let measured = number(&format!("result_{percent:.2}_percentile_latency_ns"));
                        of(&percentile, measured?, "ns")
                    }
                };
            }
        };
        let (name, value, unit) =
            rates.iter().find_map(|(key, name, unit)| Some((*name, number(key)?, *unit)))?;
        of(name, value, unit)
    }
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
}
