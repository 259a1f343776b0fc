//! Turns the forms of the files into data that make sense.

mod scenarios;

use std::{collections::BTreeMap, path::Path};

use proctor_loadgen::Rules;
use proctor_vocabulary::{Scenario, did_you_mean};

use super::{
    RoundRow, SUITE_SCHEMA_VERSION, SuiteBenchmark, SuiteScenarios,
    choice::{RoundScenario, Suite},
    definition,
    metric::MetricKind,
    quality::{Figure, FigureBound, Unit},
    round::{Inferred, Length, RoundRules, Seeds},
};
use crate::{
    error::ConfigError,
    form::{self, Checker},
};

/// Keys of a row that the text of the rules may leave open.
const OPEN_KEYS: [&str; 7] = [
    "dataset",
    "performance_sample_count",
    "quality",
    "single_stream_tail",
    "server_ms",
    "ttft_ms",
    "tpot_ms",
];

/// Reads and checks the file of a benchmark. `suites` gives the suites of a round.
pub(super) fn benchmark(
    text: &str,
    file: &Path,
    suites: impl Fn(&str) -> Vec<String>,
) -> Result<SuiteBenchmark, Vec<ConfigError>> {
    let raw: definition::Benchmark = form::parse(text, file)?;
    let mut check = Checker::new(file);
    check.version(raw.schema_version, SUITE_SCHEMA_VERSION);
    check.name("id", &raw.id);
    let words = [
        ("name", Some(&raw.name)),
        ("area", Some(&raw.area)),
        ("task", Some(&raw.task)),
        ("weight", raw.weight.as_ref()),
        ("sample", Some(&raw.sample)),
        ("loadgen_model", Some(&raw.loadgen_model)),
        ("exercised", Some(&raw.exercised)),
        ("needs", Some(&raw.needs)),
        ("stub", raw.stub.as_ref()),
    ];
    words.into_iter().for_each(|(key, words)| check.says_something(key, words));
    for (key, size) in
        [("parameters_millions", raw.parameters_millions), ("gops_per_sample", raw.gops_per_sample)]
    {
        size.into_iter().for_each(|size| check.above_zero(key, size));
    }
    if raw.rounds.is_empty() {
        check.report("rounds", "empty: give at least one round");
    }
    let mut rounds = BTreeMap::new();
    for (round, row) in raw.rounds {
        let key = format!("rounds.{round}");
        if Rules::NAMES.contains(&round.as_str()) {
            let row = check.row(&key, row, &suites(&round));
            rounds.insert(round, row);
        } else {
            let known = Rules::NAMES.join(", ");
            let hint = did_you_mean(&round, Rules::NAMES.iter().copied());
            check.report(&key, format!("unknown round: give one of {known}{hint}"));
        }
    }
    let benchmark = SuiteBenchmark {
        id: raw.id,
        name: raw.name,
        area: raw.area,
        task: raw.task,
        weight: raw.weight,
        sample: raw.sample,
        loadgen_model: raw.loadgen_model,
        parameters_millions: raw.parameters_millions,
        gops_per_sample: raw.gops_per_sample,
        exercised: raw.exercised,
        needs: raw.needs,
        stub: raw.stub,
        rounds,
        file: file.to_owned(),
    };
    check.end(benchmark)
}

/// Reads and checks the file of a round.
pub(super) fn round(text: &str, file: &Path) -> Result<RoundRules, Vec<ConfigError>> {
    let raw: definition::Round = form::parse(text, file)?;
    let mut check = Checker::new(file);
    check.version(raw.schema_version, SUITE_SCHEMA_VERSION);
    check.says_something("name", Some(&raw.name));
    check.says_something("source", Some(&raw.source));
    raw.suites.iter().for_each(|suite| check.suite_name(suite));
    for (at, format) in raw.formats.iter().flatten().enumerate() {
        check.says_something(&format!("formats.{at}.name"), Some(&format.name));
        if format.precisions.is_empty() {
            check.report(&format!("formats.{at}.precisions"), "empty: give the names that plugins have");
        }
    }
    let runs = raw.runs.into_iter().filter_map(|(name, count)| {
        let key = format!("runs.{name}");
        let count = check.count(&key, count);
        Some((check.scenario(&key, &name)?, count))
    });
    let runs = runs.collect();
    let length = raw.length.map(|length| Length {
        min_duration_ms: check.count("length.min_duration_ms", length.min_duration_ms),
        single_stream_queries: check.count("length.single_stream_queries", length.single_stream_queries),
        single_stream_tail: check.share("length.single_stream_tail", length.single_stream_tail),
        offline_tail: check.share("length.offline_tail", length.offline_tail),
        other_tail: check.share("length.other_tail", length.other_tail),
    });
    let inferred = raw.inferred.into_iter().enumerate().filter_map(|(at, inferred)| {
        let from = check.scenario(&format!("inferred.{at}.from"), &inferred.from);
        let to = check.scenario(&format!("inferred.{at}.to"), &inferred.to);
        Some(Inferred { from: from?, to: to?, rules: inferred.rules, checker: inferred.checker })
    });
    let inferred = inferred.collect();
    let seeds = Seeds {
        qsl: check.seed("seeds.qsl", &raw.seeds.qsl),
        sample_index: check.seed("seeds.sample_index", &raw.seeds.sample_index),
        schedule: check.seed("seeds.schedule", &raw.seeds.schedule),
    };
    let metric = check.metrics("metric", raw.metric);
    for scenario in Scenario::ALL.iter().filter(|scenario| !metric.contains_key(scenario)) {
        check.report(&format!("metric.{scenario}"), "missing key: give the figure that it reports");
    }
    let metric_by_text = check.metrics("metric_by_text", raw.metric_by_text);
    let round = RoundRules {
        untimed_steps: check.untimed_steps(&raw.untimed_steps),
        name: raw.name,
        source: raw.source,
        suites: raw.suites,
        divisions: raw.divisions,
        categories: raw.categories,
        formats: raw.formats,
        runs,
        length,
        seeds,
        metric,
        metric_by_text,
        inferred,
        checker: raw.checker,
    };
    check.end(round)
}

impl Checker<'_> {
    fn suite_name(&mut self, name: &str) {
        if !Suite::NAMES.contains(&name) {
            let hint = did_you_mean(name, Suite::NAMES.iter().copied());
            let list = Suite::NAMES.join(", ");
            self.report("suites", format!("\"{name}\": give some of {list}{hint}"));
        }
    }

    fn says_something(&mut self, key: &str, words: Option<&String>) {
        if words.is_some_and(|words| words.trim().is_empty()) {
            self.report(key, "empty: say it in a few words");
        }
    }

    fn share(&mut self, key: &str, value: f64) -> f64 {
        if !(value > 0.0 && value < 1.0) {
            self.report(key, format!("{value}: give a number above 0 and below 1"));
        }
        value
    }

    fn seed(&mut self, key: &str, text: &str) -> u64 {
        text.parse().unwrap_or_else(|_| {
            self.report(key, format!("\"{text}\": give a whole number of at most 64 bits, in quotes"));
            0
        })
    }

    fn metrics(&mut self, table: &str, raw: BTreeMap<String, String>) -> BTreeMap<Scenario, MetricKind> {
        let mut metrics = BTreeMap::new();
        for (scenario, name) in raw {
            let key = format!("{table}.{scenario}");
            let scenario = self.scenario(&key, &scenario);
            let kind = self.one_of(&key, &name, MetricKind::ALL, MetricKind::name);
            metrics.extend(scenario.zip(kind));
        }
        metrics
    }

    fn ratios(&mut self, key: &str, ratios: Vec<f64>) -> Vec<f64> {
        for ratio in &ratios {
            if !(*ratio > 0.0 && *ratio <= 1.0) {
                self.report(key, format!("{ratio}: give numbers above 0, at most 1"));
            }
        }
        ratios
    }

    fn row(&mut self, row: &str, raw: definition::Row, suites: &[String]) -> RoundRow {
        let key = |name: &str| format!("{row}.{name}");
        self.says_something(&key("source"), Some(&raw.source));
        self.says_something(&key("dataset"), Some(&raw.dataset));
        for (at, about) in raw.open_in_rules.iter().enumerate() {
            self.one_of(&key(&format!("open_in_rules.{at}")), about, &OPEN_KEYS, |known| known);
        }
        let target_ratios = self.ratios(&key("target_ratios"), raw.target_ratios);
        let (by_suite, scenarios) =
            self.row_scenarios(row, raw.suites, &raw.scenarios, &target_ratios, suites);
        let mut optional_share =
            |name: &str, value: Option<f64>| value.map(|value| self.share(&key(name), value));
        let tail = optional_share("tail", raw.tail);
        let single_stream_tail = optional_share("single_stream_tail", raw.single_stream_tail);
        let of_server =
            definition::Bound { server_ms: raw.server_ms, ttft_ms: raw.ttft_ms, tpot_ms: raw.tpot_ms };
        let server = self.bound_of(row, &of_server);
        let of_suites = by_suite.values().flat_map(SuiteScenarios::all);
        let has_interactive =
            scenarios.iter().copied().chain(of_suites).any(|scenario| scenario == RoundScenario::Interactive);
        let interactive = self.interactive(row, raw.interactive.as_ref(), has_interactive);
        let has_bound = server.or(interactive).is_some() || raw.interval_ms.is_some();
        if tail.is_none() && has_bound {
            self.report(&key("tail"), "missing key: give the share of queries that has to meet the bound");
        }
        let mut optional_count =
            |name: &str, value: Option<i64>| value.map(|value| self.count(&key(name), value));
        let interval_ms = optional_count("interval_ms", raw.interval_ms);
        let offline_samples = optional_count("offline_samples", raw.offline_samples);
        RoundRow {
            total_sample_count: self.count(&key("total_sample_count"), raw.total_sample_count),
            performance_sample_count: self
                .count(&key("performance_sample_count"), raw.performance_sample_count),
            quality: self.quality(row, raw.quality, &target_ratios),
            ingress: self.elements(&key("ingress"), raw.ingress),
            egress: self.elements(&key("egress"), raw.egress),
            source: raw.source,
            dataset: raw.dataset,
            input: raw.input,
            target_ratios,
            tail,
            single_stream_tail,
            interval_ms,
            server,
            interactive,
            offline_samples,
            metric: self.metrics(&key("metric"), raw.metric),
            inference: raw.inference,
            suites: by_suite,
            scenarios,
            open_in_rules: raw.open_in_rules,
            checker: raw.checker,
        }
    }

    fn quality(&mut self, row: &str, raw: Vec<definition::Figure>, ratios: &[f64]) -> Vec<Figure> {
        if raw.is_empty() {
            self.report(&format!("{row}.quality"), "empty: give at least one figure");
        }
        let mut figures: Vec<Figure> = Vec::new();
        for (at, raw) in raw.into_iter().enumerate() {
            let key = format!("{row}.quality.{at}");
            self.says_something(&format!("{key}.figure"), Some(&raw.figure));
            if figures.iter().any(|figure| figure.name == raw.figure) {
                self.report(&format!("{key}.figure"), format!("\"{}\" stands there twice", raw.figure));
            }
            let unit = match raw.unit.as_deref() {
                None => Unit::Plain,
                Some("percent") => Unit::Percent,
                Some("percent-as-fraction") => Unit::PercentAsFraction,
                Some(other) => {
                    let problem =
                        format!("\"{other}\": give percent or percent-as-fraction, or leave it out");
                    self.report(&format!("{key}.unit"), problem);
                    Unit::Plain
                }
            };
            let values = [raw.reference, raw.at_least_ratio, raw.at_most_ratio, raw.at_least, raw.at_most];
            for (name, value) in
                ["reference", "at_least_ratio", "at_most_ratio", "at_least", "at_most"].iter().zip(values)
            {
                value.into_iter().for_each(|value| self.above_zero(&format!("{key}.{name}"), value));
            }
            if let Some(bound) = self.bound(&key, values, ratios) {
                figures.push(Figure { name: raw.figure, unit, bound });
            }
        }
        figures
    }

    /// Returns the bound of a figure with these values: reference, least and greatest share, least and greatest value.
    fn bound(&mut self, key: &str, values: [Option<f64>; 5], ratios: &[f64]) -> Option<FigureBound> {
        let empty = |at_least: Option<f64>, at_most: Option<f64>| {
            at_least.zip(at_most).is_some_and(|(least, most)| least > most)
        };
        match values {
            [Some(_), None, None, None, None] if ratios.is_empty() => {
                let problem = "needs the round's target_ratios, or bounds of its own";
                self.report(key, problem);
                None
            }
            [Some(reference), None, None, None, None] => Some(FigureBound::Target { reference }),
            [Some(reference), at_least, at_most, None, None] if !empty(at_least, at_most) => {
                Some(FigureBound::Shares { reference, at_least, at_most })
            }
            [None, None, None, at_least, at_most]
                if at_least.or(at_most).is_some() && !empty(at_least, at_most) =>
            {
                Some(FigureBound::Values { at_least, at_most })
            }
            _ => {
                let problem = "give reference alone, reference with at_least_ratio or at_most_ratio, or at_least and \
                               at_most, the least not above the greatest";
                self.report(key, problem);
                None
            }
        }
    }

    fn elements(&mut self, key: &str, raw: Option<Vec<i64>>) -> Option<Vec<u64>> {
        raw.map(|counts| counts.into_iter().map(|count| self.count(key, count)).collect())
    }
}
