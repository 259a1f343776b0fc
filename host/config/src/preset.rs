//! Defines the presets: the values of LoadGen's built-in `mlperf.conf`, or of a round that has its own, with
//! the rules' durations or with short ones.

use std::collections::BTreeMap;

use proctor_loadgen::{
    Rules, TestSettings,
    config_file::{self, ConfigFileKind, ConfigFileReport},
    statistical_query_count,
};
use proctor_vocabulary::Scenario::{self, MultiStream, Offline, Server, SingleStream};

use crate::{
    benchmark::Benchmark,
    keys,
    layers::Layer,
    origin::Origin,
    run_settings::RUN_KEYS,
    suite::{
        agreed::{Bounds, agreed_bounds},
        choice::RoundScenario,
        library::round_rules,
        round::Length as RoundLength,
    },
    value::Value,
};

/// Name of the preset with the rules' durations.
pub(crate) const OFFICIAL: &str = "official";

/// Required length of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Length {
    pub(crate) duration_ms: u64,
    /// Number of queries; in Offline, of samples.
    pub(crate) queries: u64,
    /// Server: performance runs that make a result.
    pub(crate) runs: u64,
}

/// Returns the defaults, which hold every setting: LoadGen's own, with the seeds of `mlperf.conf`, and the host's.
pub(crate) fn defaults() -> Layer {
    let (test, seeds) = (TestSettings::default(), seeds().collect::<BTreeMap<_, _>>());
    let fields = keys::test_fields().map(|field| {
        let value = || test.get(field.name).expect("it is a field").into();
        (field.name, seeds.get(field.name).cloned().unwrap_or_else(value))
    });
    let run = RUN_KEYS.iter().filter_map(|key| Some((key.name, key.default.value()?)));
    Layer::new(Origin::Default, run.chain(fields))
}

/// Returns the settings of a preset under some rules, for a scenario of a benchmark, whose model `mlperf.conf` may
/// know.
pub(crate) fn preset(name: &str, rules: Rules, benchmark: &Benchmark, scenario: RoundScenario) -> Layer {
    let round = round_rules(rules);
    let mut values = match &round.length {
        Some(length) => of_length(length, name, rules, benchmark, scenario),
        None => of_mlperf_conf(name, rules, benchmark, scenario),
    };
    let run_count = round.run_count(scenario.loadgen());
    if name == OFFICIAL && run_count > 1 {
        values.push(("server_run_count", Value::Integer(run_count)));
    }
    Layer::new(Origin::Preset { name: name.to_owned() }, values)
}

/// Returns the values of `mlperf.conf`.
fn of_mlperf_conf(
    name: &str,
    rules: Rules,
    benchmark: &Benchmark,
    scenario: RoundScenario,
) -> Vec<(&'static str, Value)> {
    let (mut settings, report) = builtin(&benchmark.loadgen_model(scenario), scenario.loadgen());
    let applied = report.applied.iter().map(|applied| applied.setting);
    // The seeds of that file are defaults: they do not depend on how long a run is.
    let mut fields: Vec<_> = applied.filter(|field| !field.ends_with("_rng_seed")).collect();
    if name != OFFICIAL {
        (settings.min_duration_ms, settings.min_query_count) = short(rules, benchmark, scenario);
        fields.extend(["min_duration_ms", "min_query_count"]);
        fields.sort_unstable();
        fields.dedup();
    }
    let value = |field| settings.get(field).expect("the file sets fields of the settings").into();
    fields.into_iter().map(|field| (field, value(field))).collect()
}

/// Returns the length of a run by its round, and the bounds of a benchmark that is in no round: the common
/// bounds of its task. `mlperf.conf` belongs to another round and does not apply.
fn of_length(
    length: &RoundLength,
    name: &str,
    rules: Rules,
    benchmark: &Benchmark,
    of_round: RoundScenario,
) -> Vec<(&'static str, Value)> {
    let scenario = of_round.loadgen();
    let Bounds { interval_ms, server_ms, tail } = agreed_bounds(rules, &benchmark.task, length.other_tail);
    let mut values = Vec::new();
    let tail = if scenario == SingleStream { length.single_stream_tail } else { tail };
    values.extend(tail_key(scenario).map(|key| (key, Value::Number(tail))));
    let tail = own_tail(rules, benchmark, of_round).unwrap_or(tail);
    match scenario {
        MultiStream => {
            values.extend(interval_ms.map(|ms| ("multi_stream_interval_ms", Value::Number(ms as f64))));
        }
        Server => {
            values.extend(server_ms.map(|ms| ("server_target_latency_ns", Value::Integer(ms * 1_000_000))))
        }
        SingleStream | Offline => {}
    }
    let (duration_ms, queries) = match name {
        OFFICIAL => (length.min_duration_ms, length.min_query_count(scenario, tail)),
        _ => short(rules, benchmark, of_round),
    };
    values.push(("min_duration_ms", Value::Integer(duration_ms)));
    values.push(("min_query_count", Value::Integer(queries)));
    values
}

/// Returns the setting that holds the share of queries that has to meet the bound, in SingleStream the percentile.
fn tail_key(scenario: Scenario) -> Option<&'static str> {
    match scenario {
        SingleStream => Some("single_stream_target_latency_percentile"),
        MultiStream => Some("multi_stream_target_latency_percentile"),
        Server => Some("server_target_latency_percentile"),
        Offline => None,
    }
}

/// Returns the benchmark's own tail, from its row under these rules, else from its definition. Its runs need the
/// queries for that tail.
fn own_tail(rules: Rules, benchmark: &Benchmark, scenario: RoundScenario) -> Option<f64> {
    let key = tail_key(scenario.loadgen())?;
    let number = |value: &Value| if let Value::Number(tail) = value { Some(*tail) } else { None };
    let of_row = benchmark.row(rules).and_then(|(_, row)| {
        let settings = row.settings(scenario, false);
        settings.iter().find(|(name, _)| *name == key).and_then(|(_, value)| number(value))
    });
    of_row.or_else(|| number(benchmark.scenarios.get(&scenario)?.get(key)?))
}

impl RoundLength {
    /// Returns the fewest queries of a valid run, in Offline the fewest samples, where `tail` is the share of queries
    /// that has to meet the latency bound.
    ///
    /// SingleStream has few queries so that embedded devices finish; scenarios with a bound have enough to
    /// make the share `tail` credible.
    fn min_query_count(&self, scenario: Scenario, tail: f64) -> u64 {
        match scenario {
            SingleStream => self.single_stream_queries,
            MultiStream | Server => statistical_query_count(tail),
            Offline => statistical_query_count(self.offline_tail),
        }
    }
}

/// Returns a few seconds and the queries for them, instead of the rules' duration in ms and number of queries.
///
/// Early stopping needs 64 queries for a 90th percentile, 219 for a 97th, and 662 for a 99th; without one over the
/// bound 44, 152 and 459. In rounds without it, one of 100 queries may be over the interval. Offline is measured over a
/// fixed number of samples, however long they take: fewer if the definition expects them to take long.
///
/// Source of the counts: MLPerf Inference rules, appendix on early stopping.
fn short(rules: Rules, benchmark: &Benchmark, scenario: RoundScenario) -> (u64, u64) {
    let own = |key: &str| match benchmark.scenarios.get(&scenario).and_then(|settings| settings.get(key)) {
        Some(Value::Number(value)) => Some(*value),
        Some(Value::Integer(value)) => Some(*value as f64),
        _ => None,
    };
    let for_tail = |tail: Option<f64>| match tail {
        Some(tail) if tail <= 0.9 => 100,
        Some(tail) if tail <= 0.97 => 250,
        _ => 662,
    };
    match scenario.loadgen() {
        SingleStream => (2000, 100),
        MultiStream if !rules.stops_early => (2000, 100),
        MultiStream | Server => (2000, for_tail(own_tail(rules, benchmark, scenario))),
        // Some three seconds. The cast saturates, and the number is clamped anyway.
        Offline => (0, own("offline_expected_qps").map_or(4096, |qps| (qps * 3.0) as u64).clamp(64, 4096)),
    }
}

/// Returns the minimum length of a run of the benchmark with these settings, by the rules among them.
pub(crate) fn official_length(benchmark: &Benchmark, of_round: RoundScenario, test: &TestSettings) -> Length {
    let (rules, scenario) = (test.rules, of_round.loadgen());
    let round = round_rules(rules);
    let runs = round.run_count(scenario);
    let tail = match scenario {
        MultiStream => test.multi_stream_target_latency_percentile,
        Server => test.server_target_latency_percentile,
        SingleStream | Offline => 0.9,
    };
    let (duration_ms, queries) = match &round.length {
        Some(length) => (length.min_duration_ms, length.min_query_count(scenario, tail)),
        None => {
            let (settings, _) = builtin(&benchmark.loadgen_model(of_round), scenario);
            (settings.min_duration_ms, settings.min_query_count)
        }
    };
    let of_row = benchmark.row(rules).and_then(|(_, row)| row.offline_samples);
    let queries = of_row.filter(|_| scenario == Offline).unwrap_or(queries);
    Length { duration_ms, queries, runs }
}

/// Returns the seeds of `mlperf.conf`, which are the defaults: two runs issue the same samples unless set otherwise.
pub(crate) fn seeds() -> impl Iterator<Item = (&'static str, Value)> {
    let (settings, _) = builtin("", SingleStream);
    let seeds = TestSettings::FIELDS.iter().filter(|field| field.name.ends_with("_rng_seed"));
    seeds.map(move |field| (field.name, settings.get(field.name).expect("it is a field").into()))
}

/// Returns the round's value of every setting in a run of official length, without the row of the benchmark. A
/// benchmark that the round does not have keeps its own values.
pub(crate) fn official_values(
    rules: Rules,
    benchmark: &Benchmark,
    scenario: RoundScenario,
) -> BTreeMap<String, Value> {
    let mut values: BTreeMap<_, _> = defaults().values.into_iter().collect();
    values.extend(preset(OFFICIAL, rules, benchmark, scenario).values);
    if benchmark.row(rules).is_none() {
        values.extend(benchmark.layer(scenario).values);
    }
    values
}

/// Returns the round's limit on the samples of an accuracy run, or 0: `mlperf.conf` takes the accuracy
/// samples from a larger library.
pub(crate) fn official_accuracy_limit(rules: Rules, benchmark: &Benchmark, scenario: RoundScenario) -> u64 {
    match official_values(rules, benchmark, scenario)["accuracy_sample_count_override"] {
        Value::Integer(limit) => limit,
        _ => 0,
    }
}

/// Returns whether the rules issue samples of this benchmark in permutations of the set: `mlperf.conf` says
/// so, for rounds that have no lengths of their own.
pub(crate) fn issues_permutations(benchmark: &Benchmark, rules: Rules, scenario: RoundScenario) -> bool {
    let of_mlperf_conf = || builtin(&benchmark.loadgen_model(scenario), scenario.loadgen()).0;
    round_rules(rules).length.is_none() && of_mlperf_conf().sample_concatenate_permutation
}

/// Returns the names of the models that the built-in file has lines for.
pub(crate) fn builtin_models() -> Vec<String> {
    let (_, report) = builtin("", SingleStream);
    report.other_models.into_iter().map(|other| other.name).collect()
}

/// Returns the settings after the built-in file, and its report.
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
    use crate::{benchmark::benchmarks, suite};

    /// A benchmark around a model, without settings of its own; of the suites, if they have one of this name.
    fn benchmark(model: &str, task: &str) -> Benchmark {
        let all = |benchmark: &&Benchmark| benchmark.scenarios.len() == Scenario::ALL.len();
        let mut benchmark = benchmarks().find(all).unwrap().clone();
        benchmark.model.id = model.to_owned();
        benchmark.suite = suite::library::find(model).map(|suite| suite.id.clone());
        benchmark.task = task.to_owned();
        benchmark.scenarios.values_mut().for_each(|settings| settings.clear());
        benchmark
    }

    fn value_of(layer: Layer, key: &str) -> Option<Value> {
        layer.values.into_iter().rfind(|(name, _)| name == key).map(|(_, value)| value)
    }

    fn value(name: &str, model: &str, scenario: Scenario, key: &str) -> Option<Value> {
        value_of(preset(name, Rules::default(), &benchmark(model, ""), scenario.into()), key)
    }

    fn round(name: &str) -> Rules {
        name.parse().unwrap()
    }

    fn older_value(rules: Rules, model: &str, scenario: Scenario, key: &str) -> Option<Value> {
        let benchmark = benchmark(model, "");
        let of_row = suite::link::layer(&benchmark, rules, scenario.into(), true);
        of_row
            .and_then(|layer| value_of(layer, key))
            .or_else(|| value_of(preset(OFFICIAL, rules, &benchmark, scenario.into()), key))
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
        let offline = TestSettings { scenario: Offline, ..TestSettings::default() };
        let length = Length { duration_ms: 600_000, queries: 24576, runs: 1 };
        assert_eq!(official_length(&benchmark("resnet50", ""), Offline.into(), &offline), length);
        let length = Length { queries: 10_833, ..length };
        assert_eq!(official_length(&benchmark("bert", ""), Offline.into(), &offline), length);
    }

    /// Tables 2, 3 and 5 of the paper, and the tables of the rules v0.7.
    #[test]
    fn the_official_preset_under_older_rules_has_their_counts_bounds_and_durations() {
        for rules in [round("v0.5"), round("v0.7")] {
            for (scenario, count) in
                [(SingleStream, 1024), (MultiStream, 270_336), (Server, 270_336), (Offline, 24_576)]
            {
                let value = |key| older_value(rules, "resnet50", scenario, key);
                assert_eq!(value("min_query_count"), Some(Value::Integer(count)), "{rules} {scenario}");
                assert_eq!(value("min_duration_ms"), Some(Value::Integer(60_000)));
                let runs = (scenario == Server).then_some(Value::Integer(5));
                assert_eq!(value("server_run_count"), runs);
            }
        }
        let of_05 = |model, scenario, key| older_value(round("v0.5"), model, scenario, key);
        for (model, interval_ms, server_ms, tail, count) in [
            ("resnet50", 50, 15, 0.99, 270_336),
            ("mobilenet", 50, 10, 0.99, 270_336),
            ("ssd-resnet34", 66, 100, 0.99, 270_336),
            ("ssd-mobilenet", 50, 10, 0.99, 270_336),
            ("gnmt", 100, 250, 0.97, 90_112),
        ] {
            let interval = of_05(model, MultiStream, "multi_stream_interval_ms");
            assert_eq!(interval, Some(Value::Number(f64::from(interval_ms))));
            let bound = of_05(model, Server, "server_target_latency_ns");
            assert_eq!(bound, Some(Value::Integer(server_ms * 1_000_000)));
            for (scenario, key) in [
                (MultiStream, "multi_stream_target_latency_percentile"),
                (Server, "server_target_latency_percentile"),
            ] {
                assert_eq!(of_05(model, scenario, key), Some(Value::Number(tail)));
                assert_eq!(of_05(model, scenario, "min_query_count"), Some(Value::Integer(count)));
            }
        }
        let percentile = of_05("gnmt", SingleStream, "single_stream_target_latency_percentile");
        assert_eq!(percentile, Some(Value::Number(0.9)));
    }

    #[test]
    fn a_benchmark_with_a_tail_of_its_own_needs_the_queries_for_that() {
        let mut benchmark = benchmark("mine", "translation");
        let settings = benchmark.scenarios.get_mut(&RoundScenario::from(Server)).unwrap();
        settings.insert("server_target_latency_percentile".to_owned(), Value::Number(0.95));
        let count = |benchmark: &Benchmark| {
            value_of(preset(OFFICIAL, round("v0.5"), benchmark, Server.into()), "min_query_count").unwrap()
        };
        assert_eq!(count(&benchmark), Value::Integer(57_344));
        // A benchmark of the suites has the round's.
        benchmark.suite = Some("gnmt".to_owned());
        assert_eq!(count(&benchmark), Value::Integer(90_112));
    }

    #[test]
    fn the_quick_preset_differs_in_length_only() {
        for (rules, scenario) in
            Rules::all().flat_map(|rules| Scenario::ALL.iter().map(move |it| (rules, *it)))
        {
            let benchmark = benchmark("resnet50", "");
            let official = preset("official", rules, &benchmark, scenario.into());
            for quick in preset("quick", rules, &benchmark, scenario.into()).values {
                let is_length = matches!(quick.0.as_str(), "min_duration_ms" | "min_query_count");
                assert!(is_length || official.values.contains(&quick), "{quick:?}");
            }
        }
        assert_eq!(value("quick", "m", SingleStream, "min_duration_ms"), Some(Value::Integer(2000)));
        assert_eq!(value("quick", "m", Offline, "min_query_count"), Some(Value::Integer(4096)));
    }

    #[test]
    fn the_quick_preset_of_a_slow_benchmark_has_fewer_queries() {
        let count = |scenario: Scenario, key: &str, number| {
            let mut benchmark = benchmark("m", "");
            let scenario = RoundScenario::from(scenario);
            let settings = benchmark.scenarios.get_mut(&scenario).unwrap();
            settings.insert(key.to_owned(), Value::Number(number));
            value_of(preset("quick", Rules::default(), &benchmark, scenario), "min_query_count").unwrap()
        };
        for (qps, expected) in [(1e9, 4096), (100.0, 300), (0.5, 64)] {
            assert_eq!(count(Offline, "offline_expected_qps", qps), Value::Integer(expected));
        }
        for (scenario, key) in [
            (Server, "server_target_latency_percentile"),
            (MultiStream, "multi_stream_target_latency_percentile"),
        ] {
            for (tail, expected) in [(0.9, 100), (0.97, 250), (0.99, 662)] {
                assert_eq!(count(scenario, key, tail), Value::Integer(expected));
            }
        }
    }

    #[test]
    fn the_default_seeds_are_those_of_mlperf_conf() {
        let seeds: Vec<_> = seeds().collect();
        assert!(seeds.contains(&("qsl_rng_seed", Value::Integer(2085463073848966840))));
        assert!(seeds.contains(&("schedule_rng_seed", Value::Integer(16159082839903944936))));
        assert!(seeds.contains(&("accuracy_log_rng_seed", Value::Integer(0))));
    }
}
