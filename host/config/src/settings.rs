//! The result: every setting in effect, and its origin.

use std::{
    collections::BTreeMap,
    fmt, iter,
    path::{Path, PathBuf},
};

use proctor_loadgen::{
    SettingKind, SettingValue, TestSettings,
    config_file::{ConfigFileReport, scenario_of_setting},
};
use proctor_vocabulary::{Scenario, TestMode};

use crate::{
    arrivals,
    benchmark::{Benchmark, QslCounts},
    keys,
    layers::Effective,
    origin::Origin,
    preset,
    run_settings::RunSettings,
    suite::{
        deviation::{
            Deviation, deviations,
            whole_run::{of_accuracy, of_whole_run},
        },
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
    /// The same as an audit leaves them for its performance run; `None` if the run is not an audit.
    pub audited: Option<TestSettings>,
    /// The benchmark, with the quality target of the round if it follows one.
    pub benchmark: Benchmark,
    /// Origin of that target.
    pub quality_origin: Origin,
    /// Options of plugins, `plugin.option` to value. Only the plugin knows which ones there are.
    pub plugin_options: BTreeMap<String, String>,
    /// Each setting and plugin option by name, with its origin and the values that it replaces.
    pub effective: BTreeMap<String, Effective>,
    /// Files in LoadGen's format that were read, in the order in which they apply.
    pub loadgen_files: Vec<PathBuf>,
    /// Warnings: about lines of `mlperf.conf` and `user.conf` that have no effect or another one than they
    /// seem to have, choices without effect, and settings to which one source gives two values.
    pub warnings: Vec<String>,
}

/// Reason why a run is not as long as the rules want it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotOfficial {
    /// Time is virtual: no second of it passes.
    VirtualTime,
    /// The file of an audit sets the length.
    Audit,
    /// The run searches for the peak rate.
    Search,
    /// The preset is another one than the official.
    Preset {
        /// Name of the preset.
        name: String,
    },
    /// A setting makes the run shorter than the official preset does.
    Setting {
        /// Name of the setting.
        setting: &'static str,
        /// Value of the setting.
        value: u64,
        /// The value of the rules.
        wanted: u64,
    },
    /// Fewer runs than the round wants make the result.
    Runs {
        /// Number of runs that make the result.
        count: u64,
        /// Number of runs that the round wants.
        wanted: u64,
    },
}

impl fmt::Display for NotOfficial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::VirtualTime => f.write_str("virtual time"),
            Self::Audit => f.write_str("an audit"),
            Self::Search => f.write_str("a search for the peak"),
            Self::Preset { name } => write!(f, "preset {name}"),
            Self::Setting { setting, value, wanted } => {
                write!(f, "{setting} = {value}, below {wanted}")
            }
            Self::Runs { count, wanted } => write!(f, "{count} of {wanted} runs"),
        }
    }
}

/// One line of an explanation.
#[derive(Debug, Clone, PartialEq)]
pub struct ExplainRow<'a> {
    /// Name of the setting, or `plugin.option`.
    pub key: &'a str,
    /// Unit of the value, or empty.
    pub unit: &'static str,
    /// Value in effect, its origin, and the values that it replaces.
    pub effective: &'a Effective,
    /// Meaning; empty for plugin options, which the plugin explains.
    pub help: String,
}

impl Settings {
    /// Returns every setting in effect: the host's, LoadGen's, then plugin options.
    #[must_use]
    pub fn explain(&self) -> Vec<ExplainRow<'_>> {
        let known = keys::keys().iter().filter_map(|key| self.row(key.name, key.unit, key.explanation()));
        let options = self.plugin_options.keys().filter_map(|key| self.row(key, "", String::new()));
        known.chain(options).collect()
    }

    /// Returns the origin of a setting or a plugin option; `None` if the name is unknown.
    #[must_use]
    pub fn origin(&self, key: &str) -> Option<&Origin> {
        self.effective.get(key).map(|effective| &effective.origin)
    }

    /// Returns every setting that a result has: in virtual time all but the folder of the results, which is another one
    /// for each run.
    pub fn of_result(&self) -> impl Iterator<Item = (&String, &Effective)> {
        let is_virtual = self.run.virtual_time;
        self.effective.iter().filter(move |(key, _)| !is_virtual || *key != "output_folder")
    }

    /// Returns whether the user has given a setting or a plugin option.
    #[must_use]
    pub fn is_given(&self, key: &str) -> bool {
        self.origin(key).is_some_and(Origin::is_user)
    }

    /// Returns the settings that the arrival process has for parameters, and no other process.
    #[must_use]
    pub fn arrival_parameters(&self) -> &'static [&'static str] {
        arrivals::parameters(self.run.arrivals)
    }

    /// Returns the settings that are parameters of other arrival processes.
    pub fn idle_arrival_parameters(&self) -> impl Iterator<Item = &'static str> {
        arrivals::idle_parameters(self.run.arrivals)
    }

    /// Makes the run an audit: `audited` is the result of applying the file at `path`, whose effect `report` is, to
    /// [`test`](Self::test). Its values are in effect, with the file as their origin.
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

    /// Returns the settings of the load generator without the values that lines of LoadGen's files give to other
    /// scenarios than the run's. LoadGen reads such lines in every run; they are meant for other runs, so no warning
    /// may come of them.
    #[must_use]
    pub fn without_other_scenarios(&self) -> TestSettings {
        let mut test = self.test.clone();
        for (key, effective) in &self.effective {
            if scenario_of_setting(key).is_none_or(|of| of == test.scenario) {
                continue;
            }
            let replaced = effective.overridden.iter().map(|it| (&it.value, &it.origin));
            let mut said = iter::once((&effective.value, &effective.origin)).chain(replaced);
            let elsewhere = said.find(|(_, origin)| !origin.is_line_of_loadgen());
            if let Some(value) = elsewhere.and_then(|(value, _)| value.to_setting()) {
                test.set(key, value).expect("each value was checked for its key");
            }
        }
        test
    }

    /// Drops settings that have no effect in this operation: they are treated as if the user had not given
    /// them, and are not in effect.
    pub fn leave_out(&mut self, keys: &[&str]) {
        for key in keys {
            let Some(effective) = self.effective.remove(*key) else { continue };
            let replaced = effective.overridden.into_iter().map(|it| (it.value, it.origin));
            let mut said = iter::once((effective.value, effective.origin)).chain(replaced);
            // The default at the end comes from no layer.
            let Some((value, _)) = said.find(|(_, origin)| !origin.is_user()) else { continue };
            if keys::test_fields().any(|field| field.name == *key) {
                let value = value.to_setting().expect("fields are no texts");
                self.test.set(key, value).expect("each value was checked for its key");
            } else {
                self.run.put(key, value);
            }
        }
    }

    /// Returns the settings of the performance run.
    #[must_use]
    pub fn measured(&self) -> TestSettings {
        self.audited.as_ref().unwrap_or(&self.test).clone().with_test05_applied()
    }

    /// Returns whether a run with these settings may be as long as the rules want it: at least their duration, their
    /// number of queries and of runs, and no limit below. An audit never is, since its file sets its length, nor is a
    /// search for the peak, nor a run in virtual time, in which that length does not pass.
    #[must_use]
    pub fn is_of_official_length(&self) -> bool {
        self.not_official().is_none()
    }

    /// Returns the first reason why a run with these settings is not as long as the rules want it, if there is one.
    #[must_use]
    pub fn not_official(&self) -> Option<NotOfficial> {
        let preset::Length { duration_ms, queries, runs } =
            preset::official_length(&self.benchmark, self.run.scenario, &self.test);
        let (test, count) = (&self.test, self.run.server_run_count);
        // Offline has one query, and reads no limit.
        let has_limits = test.scenario != Scenario::Offline;
        let is_below = |limit: u64, wanted: u64| has_limits && limit != 0 && limit < wanted;
        let below = [
            ("min_duration_ms", test.min_duration_ms, duration_ms, test.min_duration_ms < duration_ms),
            ("min_query_count", test.min_query_count, queries, test.min_query_count < queries),
            (
                "max_duration_ms",
                test.max_duration_ms,
                duration_ms,
                is_below(test.max_duration_ms, duration_ms),
            ),
            ("max_query_count", test.max_query_count, queries, is_below(test.max_query_count, queries)),
        ];
        let shortened = || below.into_iter().find(|(.., is_short)| *is_short);
        if self.run.virtual_time {
            Some(NotOfficial::VirtualTime)
        } else if self.audited.is_some() {
            Some(NotOfficial::Audit)
        } else if self.run.mode == Some(TestMode::FindPeakPerformance) {
            Some(NotOfficial::Search)
        } else if let Some((setting, value, wanted, _)) = shortened() {
            Some(match self.run.preset == preset::OFFICIAL {
                true => NotOfficial::Setting { setting, value, wanted },
                false => NotOfficial::Preset { name: self.run.preset.clone() },
            })
        } else {
            (count < runs).then_some(NotOfficial::Runs { count, wanted: runs })
        }
    }

    /// Returns the figure that a run with these settings reports.
    ///
    /// In token runs early stopping of SingleStream estimates the time to the first token, which is not a figure of the
    /// query. The checkers read the measured percentile of the one model that is listed so, and so it is for all.
    #[must_use]
    pub fn metric_kind(&self) -> MetricKind {
        let kind = self.benchmark.metric_kind(self.run.rules, self.run.scenario);
        let is_of_first_tokens =
            self.test.use_token_latencies && self.test.scenario == Scenario::SingleStream;
        match kind {
            MetricKind::EarlyStoppingEstimate if is_of_first_tokens => MetricKind::Percentile,
            kind => kind,
        }
    }

    /// Returns how a run with these settings departs from the rules of its round, if it computes in this
    /// precision.
    #[must_use]
    pub fn deviations(&self, precision: &str) -> Vec<Deviation> {
        self.deviations_over(self.benchmark.qsl, precision)
    }

    /// Does the same as [`deviations`](Self::deviations), over a library of these sizes, which may be smaller than the
    /// benchmark's.
    #[must_use]
    pub fn deviations_over(&self, counts: QslCounts, precision: &str) -> Vec<Deviation> {
        let audit = self.audited.as_ref().and(self.run.audit_config.as_ref());
        let audit = audit.map(|file| Deviation::Audit { file: file.clone() });
        let of_rules = deviations(&self.benchmark, counts, &self.run, &self.measured(), precision);
        // An audit changes the accuracy of a test of both, and no accuracy run.
        let is_of_both = self.run.mode == Some(TestMode::SubmissionRun);
        let scored = if is_of_both { self.measured() } else { self.test.clone() };
        let of_accuracy = of_accuracy(&self.benchmark, counts, &self.run, &scored);
        let of_whole_run = of_whole_run(&self.benchmark, counts, &self.run, &self.test);
        audit.into_iter().chain(of_rules).chain(of_accuracy).chain(of_whole_run).collect()
    }

    fn row<'a>(&'a self, key: &'a str, unit: &'static str, help: String) -> Option<ExplainRow<'a>> {
        Some(ExplainRow { key, unit, effective: self.effective.get(key)?, help })
    }
}

/// Returns the host's settings among the effective ones, which contain all settings.
pub(crate) fn run_settings(effective: &BTreeMap<String, Effective>) -> RunSettings {
    RunSettings::from_values(|key| effective[key].value.clone())
}

/// Returns the load generator's settings among the effective ones.
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
