//! The load generator of a run, if it is not the host's own.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{detail::DetailLog, schema::figures::MetricPart};

/// Checksums of the sources of LoadGen 6.0.17, as it logs them itself.
const SOURCES: &str = include_str!("../detail/loadgen-6.0.17.json");
/// Seeds that a log states.
const SEEDS: [&str; 4] =
    ["qsl_rng_seed", "sample_index_rng_seed", "schedule_rng_seed", "accuracy_log_rng_seed"];

/// The load generator that issued the queries of a test, by its own log.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct EnginePart {
    /// Name of the load generator: `official`.
    pub name: String,
    /// Version of it, such as `6.0.17`.
    pub version: Option<String>,
    /// Revision of its sources.
    pub revision: Option<String>,
    /// True if its sources are those of a known release; otherwise the build is unknown.
    pub known: bool,
    /// SHA-1 checksums of its sources, by path.
    pub file_sha1: BTreeMap<String, String>,
    /// Seeds in effect.
    pub seeds: BTreeMap<String, u64>,
    /// Number of errors that it met with.
    pub error_count: u64,
    /// The first of them, as it logged them.
    pub errors: Vec<String>,
    /// Verdict of the load generator; `None` of an accuracy run, and of a test that did not come to its end.
    pub valid: Option<bool>,
    /// The metric as the host measured it beside the load generator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_metric: Option<MetricPart>,
}

impl EnginePart {
    /// Returns the part of a test by the official LoadGen, from its detail log.
    #[must_use]
    pub fn of_official(log: &DetailLog) -> Self {
        let text = |key: &str| log.value(key).and_then(Value::as_str);
        let version =
            text("loadgen_version").map(|version| version.split_once(" @ ").unwrap_or((version, "")));
        let files: BTreeMap<String, String> = log
            .value("loadgen_file_sha1")
            .and_then(|files| serde_json::from_value(files.clone()).ok())
            .unwrap_or_default();
        let seed =
            |name: &&str| Some(((*name).to_owned(), log.value(&format!("effective_{name}"))?.as_u64()?));
        Self {
            name: "official".to_owned(),
            version: version.map(|(version, _)| version.to_owned()),
            revision: version
                .map(|(_, revision)| revision.to_owned())
                .filter(|revision| !revision.is_empty()),
            known: files == *known_sources(),
            file_sha1: files,
            seeds: SEEDS.iter().filter_map(seed).collect(),
            error_count: log.error_count,
            errors: log.errors.iter().take(ERRORS_KEPT).map(|(_, text)| text.clone()).collect(),
            valid: log.is_valid(),
            own_metric: None,
        }
    }

    /// Returns the load generator in words.
    #[must_use]
    pub fn text(&self) -> String {
        let version = self.version.as_deref().unwrap_or("of an unknown version");
        let revision = self.revision.as_ref().map_or(String::new(), |revision| format!(" @ {revision}"));
        let build = if self.known { "" } else { ", an unknown build" };
        let errors = match self.error_count {
            0 => String::new(),
            1 => ", 1 error in its log".to_owned(),
            count => format!(", {count} errors in its log"),
        };
        format!("official LoadGen {version}{revision}{build}{errors}")
    }
}

/// Maximum number of errors that are kept.
const ERRORS_KEPT: usize = 8;

fn known_sources() -> &'static BTreeMap<String, String> {
    static KNOWN: LazyLock<BTreeMap<String, String>> =
        LazyLock::new(|| serde_json::from_str(SOURCES).expect("a test reads it"));
    &KNOWN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_is_known_by_the_checksums_of_its_sources() {
        let mut files = serde_json::to_value(known_sources()).unwrap();
        let read = |files: &Value| {
            let entries = [
                ("loadgen_version", Value::from("6.0.17 @ d6147c7eb7")),
                ("loadgen_file_sha1", files.clone()),
                ("effective_qsl_rng_seed", Value::from(u64::MAX)),
                ("result_validity", Value::from("INVALID")),
            ];
            let entries = entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
            let errors = vec![("error_runtime".to_owned(), "too late".to_owned())];
            EnginePart::of_official(&DetailLog { entries, errors, error_count: 1, ..DetailLog::default() })
        };
        let part = read(&files);
        assert!(part.known && part.valid == Some(false) && part.seeds["qsl_rng_seed"] == u64::MAX);
        assert_eq!(part.errors, ["too late"]);
        assert_eq!(part.text(), "official LoadGen 6.0.17 @ d6147c7eb7, 1 error in its log");
        files["/loadgen.cc"] = Value::from("0");
        let part = read(&files);
        assert!(!part.known && part.text().contains("d6147c7eb7, an unknown build"));
        assert!(
            EnginePart::of_official(&DetailLog::default())
                .text()
                .contains("an unknown version, an unknown build")
        );
    }
}
