//! The presets: the values of LoadGen's built-in `mlperf.conf`, with the rules' durations or with short ones.

use proctor_loadgen::{
    TestSettings,
    config_file::{self, ConfigFileKind, ConfigFileReport},
};
use proctor_vocabulary::Scenario::{self, MultiStream, Offline, Server, SingleStream};

use crate::{Origin, Value, check::Entry};

/// Name of the preset with the rules' durations.
pub(crate) const OFFICIAL: &str = "official";

/// The settings of a preset for a scenario, and for a model that `mlperf.conf` may know.
pub(crate) fn preset(name: &str, model: &str, scenario: Scenario) -> Vec<Entry> {
    let (mut settings, report) = builtin(model, scenario);
    let applied = report.applied.iter().map(|applied| applied.setting);
    // The seeds of that file are defaults: they do not depend on how long a run is.
    let mut fields: Vec<_> = applied.filter(|field| !field.ends_with("_rng_seed")).collect();
    if name != OFFICIAL {
        shorten(&mut settings);
        fields.extend(["min_duration_ms", "min_query_count"]);
        fields.sort_unstable();
        fields.dedup();
    }
    let value = |field| settings.get(field).expect("the file sets fields of the settings");
    let origin = Origin::Preset { name: name.to_owned() };
    let entry = |field: &'static str| Entry {
        key: field.to_owned(),
        value: value(field).into(),
        origin: origin.clone(),
    };
    fields.into_iter().map(entry).collect()
}

/// A few seconds instead of ten minutes, with the queries that early stopping needs.
///
/// SingleStream needs 64 at its 90th percentile, MultiStream 662 at its 99th; Server needs 459 at its 99th with none over the
/// bound, 662 with one. Offline is measured over a fixed number of samples, whatever time they take.
///
/// Source of the counts: MLPerf Inference rules, appendix on early stopping.
fn shorten(settings: &mut TestSettings) {
    (settings.min_duration_ms, settings.min_query_count) = match settings.scenario {
        SingleStream => (2000, 100),
        MultiStream | Server => (2000, 662),
        Offline => (0, 4096),
    };
}

/// The fewest milliseconds and queries of a run of official length.
pub(crate) fn official_length(model: &str, scenario: Scenario) -> (u64, u64) {
    let (settings, _) = builtin(model, scenario);
    (settings.min_duration_ms, settings.min_query_count)
}

/// The seeds of `mlperf.conf`, which are the defaults: two runs issue the same samples unless told otherwise.
pub(crate) fn seeds() -> impl Iterator<Item = (&'static str, Value)> {
    let (settings, _) = builtin("", SingleStream);
    let seeds = TestSettings::FIELDS.iter().filter(|field| field.name.ends_with("_rng_seed"));
    seeds.map(move |field| (field.name, settings.get(field.name).expect("it is a field").into()))
}

/// The settings after the built-in file, and what it did.
fn builtin(model: &str, scenario: Scenario) -> (TestSettings, ConfigFileReport) {
    let mut settings = TestSettings { scenario, ..TestSettings::default() };
    let report =
        config_file::apply(config_file::BUILTIN, ConfigFileKind::Builtin, model, scenario, &mut settings)
            .expect("the built-in file is well formed");
    (settings, report)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(name: &str, model: &str, scenario: Scenario, key: &str) -> Option<Value> {
        let entries = preset(name, model, scenario);
        entries.into_iter().rfind(|entry| entry.key == key).map(|entry| entry.value)
    }

    #[test]
    fn the_official_preset_has_the_rules_durations() {
        for scenario in Scenario::ALL {
            assert_eq!(value("official", "m", *scenario, "min_duration_ms"), Some(Value::Integer(600_000)));
        }
        assert_eq!(value("official", "m", MultiStream, "min_query_count"), Some(Value::Integer(662)));
        assert_eq!(
            value("official", "resnet50", Server, "server_target_latency_ns"),
            Some(Value::Integer(15_000_000))
        );
        assert_eq!(official_length("resnet50", Offline), (600_000, 24576));
    }

    #[test]
    fn the_quick_preset_differs_in_length_only() {
        for scenario in Scenario::ALL {
            let official = preset("official", "resnet50", *scenario);
            for entry in preset("quick", "resnet50", *scenario) {
                let length = matches!(entry.key.as_str(), "min_duration_ms" | "min_query_count");
                let same = official.iter().any(|other| other.key == entry.key && other.value == entry.value);
                assert!(same || length, "{}", entry.key);
            }
        }
        assert_eq!(value("quick", "m", SingleStream, "min_duration_ms"), Some(Value::Integer(2000)));
        assert_eq!(value("quick", "m", Offline, "min_query_count"), Some(Value::Integer(4096)));
    }

    #[test]
    fn the_default_seeds_are_those_of_mlperf_conf() {
        let seeds: Vec<_> = seeds().collect();
        assert!(seeds.contains(&("qsl_rng_seed", Value::Integer(2085463073848966840))));
        assert!(seeds.contains(&("schedule_rng_seed", Value::Integer(16159082839903944936))));
        assert!(seeds.contains(&("accuracy_log_rng_seed", Value::Integer(0))));
    }
}
