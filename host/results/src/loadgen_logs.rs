//! The detail log and the summary log of a test, which have some values in common.

mod pairs;

use std::path::Path;

use proctor_vocabulary::{Scenario, TestMode};
use serde_json::Value;

use crate::{
    detail::DetailLog,
    error::ResultsError,
    file_names::{DETAIL_LOG, SUMMARY_LOG},
    summary_log::SummaryLog,
};

use pairs::pairs;

/// The existing logs of a test.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoadGenLogs {
    /// The detail log.
    pub detail: Option<DetailLog>,
    /// The summary log.
    pub summary: Option<SummaryLog>,
}

impl LoadGenLogs {
    /// Reads the logs of a folder.
    ///
    /// # Errors
    /// [`ResultsError::Contradiction`] if the logs are not of the same test. Otherwise, as
    /// [`DetailLog::read`] and [`SummaryLog::read`].
    pub fn read(folder: &Path) -> Result<Self, ResultsError> {
        let (detail, summary) = (folder.join(DETAIL_LOG), folder.join(SUMMARY_LOG));
        let detail = if detail.is_file() { Some(DetailLog::read(&detail)?) } else { None };
        let mut logs = Self { detail, summary: SummaryLog::read(&summary)? };
        if let (Some(detail), Some(summary)) = (&mut logs.detail, &logs.summary) {
            detail.error_count = detail.error_count.max(summary.error_count);
        }
        match logs.contradiction() {
            Some(contradiction) => Err(contradiction.into_error(folder)),
            None => Ok(logs),
        }
    }

    /// Returns the scenario of the test; `None` if no log has a known one.
    #[must_use]
    pub fn scenario(&self) -> Option<Scenario> {
        let name = match &self.detail {
            Some(log) => log.scenario(),
            None => self.summary.as_ref()?.value("Scenario"),
        };
        name?.parse().ok()
    }

    /// Returns the mode of the test; `None` if no log has a known one.
    #[must_use]
    pub fn mode(&self) -> Option<TestMode> {
        let name = match &self.detail {
            Some(log) => log.value("effective_test_mode").and_then(Value::as_str),
            None => self.summary.as_ref()?.value("Mode"),
        };
        name?.parse().ok()
    }

    /// Returns the first contradiction between the logs.
    fn contradiction(&self) -> Option<Contradiction> {
        let (detail, summary) = (self.detail.as_ref()?, self.summary.as_ref()?);
        pairs(detail).into_iter().find_map(|pair| {
            let (in_summary, in_detail) = (summary.value(&pair.name)?, detail.value(&pair.key)?);
            if pair.agrees(in_summary, in_detail) {
                return None;
            }
            let shown = match in_detail {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            Some(Contradiction {
                name: pair.name,
                summary: in_summary.to_owned(),
                key: pair.key,
                detail: shown,
            })
        })
    }
}

/// A value that differs between the logs.
struct Contradiction {
    name: String,
    summary: String,
    key: String,
    detail: String,
}

impl Contradiction {
    fn into_error(self, folder: &Path) -> ResultsError {
        let Self { name, summary, key, detail } = self;
        ResultsError::Contradiction { path: folder.to_owned(), name, summary, key, detail }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Logs of a folder with these two, by entries.
    fn read(detail: &[(&str, &str)], summary: &[(&str, &str)]) -> Result<LoadGenLogs, ResultsError> {
        let folder = tempfile::tempdir().unwrap();
        let entry =
            |(key, value): &(&str, &str)| format!(":::MLLOG {{\"key\": \"{key}\", \"value\": {value}}}\n");
        let line = |(name, value): &(&str, &str)| format!("{name} : {value}\n");
        if !detail.is_empty() {
            fs::write(folder.path().join(DETAIL_LOG), detail.iter().map(entry).collect::<String>()).unwrap();
        }
        fs::write(folder.path().join(SUMMARY_LOG), summary.iter().map(line).collect::<String>()).unwrap();
        LoadGenLogs::read(folder.path())
    }

    #[test]
    fn scenario_and_mode_are_those_of_either_log() {
        let summary = [("Scenario", "Server"), ("Mode", "AccuracyOnly")];
        let of = |logs: LoadGenLogs| (logs.scenario(), logs.mode());
        let server = (Some(Scenario::Server), Some(TestMode::AccuracyOnly));
        assert_eq!(of(read(&[], &summary).unwrap()), server);
        let detail = [("effective_scenario", "\"Offline\""), ("effective_test_mode", "\"PerformanceOnly\"")];
        let offline = (Some(Scenario::Offline), Some(TestMode::PerformanceOnly));
        assert_eq!(of(read(&detail, &[]).unwrap()), offline);
        assert_eq!(of(read(&[("effective_scenario", "\"Elsewhere\"")], &[]).unwrap()), (None, None));
        assert_eq!(of(LoadGenLogs::read("absent".as_ref()).unwrap()), (None, None));
    }

    #[test]
    fn logs_that_contradict_each_other_are_no_test() {
        for (name, summary, key, detail) in [
            ("Scenario", "Server", "effective_scenario", "\"Offline\""),
            ("Mode", "AccuracyOnly", "effective_test_mode", "\"PerformanceOnly\""),
            ("Result is", "VALID", "result_validity", "\"INVALID\""),
            ("Rules", "v0.5", "effective_rules", "\"v0.7\""),
            ("Samples per query", "8", "result_samples_per_query", "7"),
            ("performance_sample_count", "1024", "effective_performance_sample_count", "6"),
            ("99.00 percentile latency (ns)", "5", "result_99.00_percentile_latency_ns", "7"),
        ] {
            let error = read(&[(key, detail)], &[(name, summary)]).unwrap_err().to_string();
            let detail = detail.trim_matches('"');
            let expected =
                format!("has {name} {summary} in its summary log and {key} {detail} in its detail log");
            assert!(error.contains(&expected), "{error}");
            let is_number = detail.parse::<u64>().is_ok();
            let written = if is_number { detail.to_owned() } else { format!("\"{detail}\"") };
            assert!(read(&[(key, &written)], &[(name, detail)]).is_ok(), "{name}");
        }
        // Of a log that was cut off, the rest is not there to differ.
        assert!(read(&[("effective_scenario", "\"Server\"")], &[("Result is", "VALID")]).is_ok());
    }

    /// Every pair of logs that the official LoadGen has recorded.
    #[test]
    fn recorded_logs_of_every_scenario_agree() {
        let runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../loadgen/tests/golden/runs");
        let mut found = Vec::new();
        for folder in fs::read_dir(&runs).unwrap() {
            let folder = folder.unwrap().path();
            if !folder.join(SUMMARY_LOG).is_file() {
                continue;
            }
            let logs = LoadGenLogs::read(&folder).unwrap();
            let scenario = logs.scenario().unwrap();
            let has_tokens = logs.detail.unwrap().value("early_stopping_ttft_result").is_some();
            found.push((scenario, has_tokens));
        }
        assert!(found.len() > 15, "{found:?}");
        for scenario in [Scenario::SingleStream, Scenario::MultiStream, Scenario::Server, Scenario::Offline] {
            assert!(found.contains(&(scenario, false)), "{scenario}: {found:?}");
        }
        assert!(found.iter().any(|(_, has_tokens)| *has_tokens), "{found:?}");
    }

    /// Each value of a recorded summary log that is another one is noticed, in each scenario.
    #[test]
    fn another_value_of_a_recorded_summary_is_noticed() {
        for (run, names) in [
            (
                "singlestream_valid",
                &["90.0th percentile latency (ns)", "* Early stopping 99.0th percentile estimate"][..],
            ),
            (
                "multistream_valid",
                &["99.0th percentile latency (ns)", "* Early stopping 99.0th percentile estimate"],
            ),
            ("server_valid", &["Completed samples per second", "Scheduled samples per second", "target_qps"]),
            ("offline_valid", &["Samples per second", "Mean latency (ns)"]),
            ("tokens_server", &["Completed tokens per second", "Max First Token latency (ns)"]),
            ("tokens_offline", &["Tokens per second"]),
            ("inferred_tokens_server", &["Completed tokens per second (inferred)"]),
        ] {
            let all = ["min_duration (ms)", "50.00 percentile latency (ns)", "Early stopping satisfied"];
            let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../loadgen/tests/golden/runs").join(run);
            let text = fs::read_to_string(from.join(SUMMARY_LOG)).unwrap();
            let folder = tempfile::tempdir().unwrap();
            fs::copy(from.join(DETAIL_LOG), folder.path().join(DETAIL_LOG)).unwrap();
            for name in names.iter().chain(&all) {
                let mut is_found = false;
                let changed: Vec<String> = text
                    .lines()
                    .map(|line| match line.split_once(':') {
                        Some((found, value)) if found.trim() == *name => {
                            is_found = true;
                            let value = value.trim();
                            let other = value
                                .parse::<f64>()
                                .map_or("NO".to_owned(), |it| (it * 1.01 + 1.0).to_string());
                            format!("{found}: {other}")
                        }
                        _ => line.to_owned(),
                    })
                    .collect();
                assert!(is_found, "{run} has no {name}");
                fs::write(folder.path().join(SUMMARY_LOG), changed.join("\n")).unwrap();
                let error = LoadGenLogs::read(folder.path()).unwrap_err().to_string();
                assert!(error.contains(&format!("has {name} ")), "{run}: {error}");
            }
        }
    }

    #[test]
    fn figures_agree_as_they_are_printed() {
        let server = |summary: &str, detail: &str| {
            let summary = [("Completed samples per second", summary)];
            read(&[("result_completed_samples_per_sec", detail)], &summary).is_ok()
        };
        for (summary, detail, agree) in [
            ("488.88", "488.883", true),
            ("488.89", "488.883", false),
            ("123456.78", "123457", true),
            ("123458.78", "123457", false),
            ("5272061.37", "5.27206e+06", true),
            ("0.00", "0.00412345", true),
            ("-nan", "0", false),
        ] {
            assert_eq!(server(summary, detail), agree, "{summary} {detail}");
        }
    }

    #[test]
    fn errors_of_either_log_count() {
        let count = |detail: &[(&str, &str)], summary: &str| {
            let folder = tempfile::tempdir().unwrap();
            let entry = |(key, value): &(&str, &str)| {
                format!(":::MLLOG {{\"key\": \"{key}\", \"value\": {value}}}\n")
            };
            fs::write(folder.path().join(DETAIL_LOG), detail.iter().map(entry).collect::<String>()).unwrap();
            fs::write(folder.path().join(SUMMARY_LOG), summary).unwrap();
            LoadGenLogs::read(folder.path()).unwrap().detail.unwrap().error_count
        };
        assert_eq!(count(&[("num_errors", "0")], "\nNo errors encountered during test.\n"), 0);
        assert_eq!(count(&[("num_errors", "0")], "\n2 ERRORS encountered. See detailed log.\n"), 2);
        assert_eq!(count(&[("num_errors", "3")], "\nNo errors encountered during test.\n"), 3);
    }
}
