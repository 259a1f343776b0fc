//! The result: every setting in effect, and where it comes from.

use std::{collections::BTreeMap, path::Path};

use proctor_loadgen::{SettingKind, SettingValue, TestSettings, config_file::ConfigFileReport};

use crate::{
    arrivals,
    benchmark::Benchmark,
    keys,
    layers::Effective,
    origin::Origin,
    preset,
    run_settings::RunSettings,
    suite::{
        deviation::{Deviation, deviations},
        metric::MetricKind,
    },
};

/// Every setting of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The settings of the host and its scheduler.
    pub run: RunSettings,
    /// The settings of the load generator, with the scenario, and with the mode if one was given.
    pub test: TestSettings,
    /// The same as an audit leaves them for its performance run; `None` if the run is no audit.
    pub audited: Option<TestSettings>,
    /// The benchmark, with the quality target of the round if it follows one.
    pub benchmark: Benchmark,
    /// Where that target comes from.
    pub quality_origin: Origin,
    /// Options of plugins, `plugin.option` to value. Only the plugin knows which ones there are.
    pub plugin_options: BTreeMap<String, String>,
    /// Each setting and plugin option by name, with its origin and what it replaces.
    pub effective: BTreeMap<String, Effective>,
    /// Lines of `mlperf.conf` and `user.conf` that have no effect, or not the one that they seem to have.
    pub warnings: Vec<String>,
}

/// One line of an explanation.
#[derive(Debug, Clone, PartialEq)]
pub struct ExplainRow<'a> {
    /// Name of the setting, or `plugin.option`.
    pub key: &'a str,
    /// Unit of the value, or empty.
    pub unit: &'static str,
    /// The value in effect, where it comes from, and what it replaces.
    pub effective: &'a Effective,
    /// Its meaning; empty for plugin options, which the plugin explains.
    pub help: String,
}

impl Settings {
    /// Every setting in effect: the host's, LoadGen's, then plugin options.
    #[must_use]
    pub fn explain(&self) -> Vec<ExplainRow<'_>> {
        let known = keys::keys().iter().filter_map(|key| self.row(key.name, key.unit, key.explanation()));
        let options = self.plugin_options.keys().filter_map(|key| self.row(key, "", String::new()));
        known.chain(options).collect()
    }

    /// The origin of a setting or a plugin option; `None` if there is none of this name.
    #[must_use]
    pub fn origin(&self, key: &str) -> Option<&Origin> {
        self.effective.get(key).map(|effective| &effective.origin)
    }

    /// The settings that the arrival process has for parameters, and no other process.
    #[must_use]
    pub fn arrival_parameters(&self) -> &'static [&'static str] {
        arrivals::parameters(self.run.arrivals)
    }

    /// The settings that are parameters of other arrival processes.
    pub fn idle_arrival_parameters(&self) -> impl Iterator<Item = &'static str> {
        arrivals::idle_parameters(self.run.arrivals)
    }

    /// Makes the run an audit: `audited` is what the file at `path`, whose effect `report` is, makes of
    /// [`test`](Self::test). What it sets is in effect, and says so.
    pub fn audit(&mut self, path: &Path, report: &ConfigFileReport, audited: TestSettings) {
        for applied in &report.applied {
            let value = audited.get(applied.setting).expect("files set fields of the settings").into();
            let (line, key) = (applied.line, applied.key.clone());
            let origin = Origin::Audit { path: path.to_owned(), line, key };
            let effective = self.effective.get_mut(applied.setting).expect("every field is a setting");
            effective.replace(value, origin);
        }
        self.audited = Some(audited);
    }

    /// The settings of the performance run.
    #[must_use]
    pub fn measured(&self) -> TestSettings {
        self.audited.as_ref().unwrap_or(&self.test).clone().with_test05_applied()
    }

    /// Whether a run with these settings may be as long as the rules want it: at least their duration, their number of
    /// queries and of runs, and no limit below. An audit never is: its file sets its length.
    #[must_use]
    pub fn is_of_official_length(&self) -> bool {
        let preset::Length { duration_ms, queries, runs } =
            preset::official_length(&self.benchmark, self.run.scenario, &self.test);
        let no_limit_below = |limit: u64, wanted: u64| limit == 0 || limit >= wanted;
        self.audited.is_none()
            && self.run.server_run_count >= runs
            && self.test.min_duration_ms >= duration_ms
            && self.test.min_query_count >= queries
            && no_limit_below(self.test.max_duration_ms, duration_ms)
            && no_limit_below(self.test.max_query_count, queries)
    }

    /// The figure that a run with these settings reports.
    #[must_use]
    pub fn metric_kind(&self) -> MetricKind {
        self.benchmark.metric_kind(self.run.rules, self.run.scenario)
    }

    /// The ways in which a run with these settings is none by the rules of its round, if it computes in this precision.
    #[must_use]
    pub fn deviations(&self, precision: &str) -> Vec<Deviation> {
        let audit = self.audited.as_ref().and(self.run.audit_config.as_ref());
        let audit = audit.map(|file| Deviation::Audit { file: file.clone() });
        audit.into_iter().chain(deviations(&self.benchmark, &self.run, &self.measured(), precision)).collect()
    }

    fn row<'a>(&'a self, key: &'a str, unit: &'static str, help: String) -> Option<ExplainRow<'a>> {
        Some(ExplainRow { key, unit, effective: self.effective.get(key)?, help })
    }
}

/// The settings of the host among those in effect, which are all that there are.
pub(crate) fn run_settings(effective: &BTreeMap<String, Effective>) -> RunSettings {
    RunSettings::from_values(|key| effective[key].value.clone())
}

/// The settings of the load generator among those in effect.
pub(crate) fn test_settings(effective: &BTreeMap<String, Effective>) -> TestSettings {
    let run = run_settings(effective);
    let mut test =
        TestSettings { scenario: run.scenario.loadgen(), rules: run.rules, ..TestSettings::default() };
    if let Some(mode) = run.mode {
        test.mode = mode;
    }
    for field in keys::test_fields() {
        let value = effective[field.name].value.to_setting().expect("fields are no texts");
        // The one signed field is checked to fit, and takes unsigned values.
        debug_assert!(field.kind != SettingKind::Signed || matches!(value, SettingValue::Unsigned(_)));
        test.set(field.name, value).expect("each value was checked for its key");
    }
    test
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::Layers;

    #[test]
    fn the_defaults_are_those_of_the_load_generator() {
        let mut layers = Layers::default();
        layers.put(preset::defaults());
        let effective = layers.effective();
        assert_eq!(test_settings(&effective).min_query_count, 100);
        assert_eq!(run_settings(&effective).batch_size, 1);
    }
}
