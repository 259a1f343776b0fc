//! The result: every setting in effect, and where it comes from.

use std::collections::BTreeMap;

use proctor_loadgen::TestSettings;
use serde::Serialize;

use crate::{
    benchmark::Benchmark,
    keys,
    layer::{Effective, Overridden},
    origin::Origin,
    preset,
    run_settings::RunSettings,
    value::Value,
};

/// Version of the form in which [`Settings`] are serialised.
pub const SETTINGS_SCHEMA_VERSION: u32 = 1;

/// Every setting of a run.
///
/// Serialised, it is the schema version, each setting with its origin and what it replaces, and the warnings; the
/// typed structs say the same and are left out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Settings {
    /// [`SETTINGS_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The settings of the host and its scheduler.
    #[serde(skip)]
    pub run: RunSettings,
    /// The settings of the load generator, with the scenario, and with the mode if one was given.
    #[serde(skip)]
    pub test: TestSettings,
    /// The benchmark.
    #[serde(skip)]
    pub benchmark: Benchmark,
    /// Options of plugins, `plugin.option` to value. Only the plugin knows which ones there are.
    #[serde(skip)]
    pub plugin_options: BTreeMap<String, String>,
    /// Each setting and plugin option by name, with its origin and what it replaces.
    #[serde(rename = "settings")]
    pub effective: BTreeMap<String, Effective>,
    /// Lines of `mlperf.conf` and `user.conf` that have no effect, or not the one that they seem to have.
    pub warnings: Vec<String>,
}

/// One line of an explanation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExplainRow {
    /// Name of the setting, or `plugin.option`.
    pub key: String,
    /// The value in effect.
    pub value: Value,
    /// Unit of the value, or empty.
    pub unit: &'static str,
    /// Where it comes from.
    pub origin: Origin,
    /// The values that it replaces, the nearest first.
    pub overridden: Vec<Overridden>,
    /// Its meaning; empty for plugin options, which the plugin explains.
    pub help: String,
}

impl Settings {
    /// Every setting in effect: the host's, LoadGen's, then plugin options.
    #[must_use]
    pub fn explain(&self) -> Vec<ExplainRow> {
        let known = keys::keys().iter().filter_map(|key| self.row(key.name, key.unit, key.explanation()));
        let options = self.plugin_options.keys().filter_map(|key| self.row(key, "", String::new()));
        known.chain(options).collect()
    }

    /// The origin of a setting or a plugin option; `None` if there is none of this name.
    #[must_use]
    pub fn origin(&self, key: &str) -> Option<&Origin> {
        self.effective.get(key).map(|effective| &effective.origin)
    }

    /// Whether a run with these settings may be as long as the rules want it: at least their duration, their number of
    /// queries and of runs, and no limit below.
    #[must_use]
    pub fn is_of_official_length(&self) -> bool {
        let preset::Length { duration_ms, queries, runs } =
            preset::official_length(&self.benchmark.model.id, &self.test);
        let no_limit_below = |limit: u64, wanted: u64| limit == 0 || limit >= wanted;
        self.run.server_run_count >= runs
            && self.test.min_duration_ms >= duration_ms
            && self.test.min_query_count >= queries
            && no_limit_below(self.test.max_duration_ms, duration_ms)
            && no_limit_below(self.test.max_query_count, queries)
    }

    fn row(&self, key: &str, unit: &'static str, help: String) -> Option<ExplainRow> {
        let Effective { value, origin, overridden } = self.effective.get(key)?.clone();
        Some(ExplainRow { key: key.to_owned(), value, unit, origin, overridden, help })
    }
}
