//! A definition that follows its suite benchmark: its bounds and its quality target come from the round.

use std::borrow::Cow;

use proctor_loadgen::Rules;
use proctor_vocabulary::Scenario;

use super::{
    RoundRow, ServerBound, SuiteBenchmark,
    choice::{RoundScenario, Suite},
    interactive,
    library::{find, round_rules},
    metric::MetricKind,
    quality::{Figure, FigureBound, percent},
};
use crate::{
    benchmark::Benchmark,
    error::ConfigError,
    layers::{Effective, Layer},
    origin::Origin,
    preset,
    value::Value,
};

impl Benchmark {
    /// Returns the benchmark of the suites, if it names one.
    #[must_use]
    pub fn suite_benchmark(&self) -> Option<&'static SuiteBenchmark> {
        self.suite.as_deref().and_then(find)
    }

    /// Returns the benchmark of the suites with its row under these rules; `None` if it names none, or the round does
    /// not have that one.
    #[must_use]
    pub fn row(&self, rules: Rules) -> Option<(&'static SuiteBenchmark, &'static RoundRow)> {
        let suite = self.suite_benchmark()?;
        Some((suite, suite.row(rules)?))
    }

    /// Returns the figure that a result reports under these rules: the row's, else the round's.
    #[must_use]
    pub fn metric_kind(&self, rules: Rules, scenario: RoundScenario) -> MetricKind {
        let scenario = scenario.loadgen();
        let of_row = self.row(rules).and_then(|(_, row)| row.metric.get(&scenario).copied());
        of_row.unwrap_or_else(|| round_rules(rules).metric[&scenario])
    }

    /// Returns the name of the model in LoadGen's `mlperf.conf`. If that file has separate lines for
    /// Interactive, they are under another name.
    #[must_use]
    pub fn loadgen_model(&self, scenario: RoundScenario) -> Cow<'_, str> {
        let suite = self.suite_benchmark();
        let model = suite.map_or(&self.model.id, |suite| &suite.loadgen_model);
        let own = match scenario {
            RoundScenario::LoadGen(_) => None,
            RoundScenario::Interactive => Some(format!("{model}{}", interactive::MODEL_SUFFIX)),
        };
        let known = own.filter(|own| preset::builtin_models().contains(own));
        known.map_or(Cow::Borrowed(model.as_str()), Cow::Owned)
    }

    /// Returns the figure of the row that the metric measures, if the row requires only a minimum.
    pub(crate) fn judged_figure<'a>(&self, row: &'a RoundRow) -> Option<&'a Figure> {
        let measured = row.quality.iter().find(|figure| figure.name == self.quality.metric);
        measured.filter(|figure| figure.at_most().is_none())
    }
}

fn origin(suite: &SuiteBenchmark, rules: Rules) -> Origin {
    Origin::Suite { name: suite.id.clone(), round: rules.name.to_owned(), file: suite.file.clone() }
}

/// Returns the seeds of a round as a layer of settings.
pub(crate) fn seeds(rules: Rules) -> Layer {
    let seeds = round_rules(rules).seeds.settings().map(|(key, seed)| (key, Value::Integer(seed)));
    Layer::new(Origin::Round { name: rules.name.to_owned() }, seeds)
}

/// Returns the settings of the row for a scenario, as a layer; nothing without a row. `is_official` adds the settings
/// of official runs only.
pub(crate) fn layer(
    benchmark: &Benchmark,
    rules: Rules,
    scenario: RoundScenario,
    is_official: bool,
) -> Option<Layer> {
    let (suite, row) = benchmark.row(rules)?;
    Some(Layer::new(origin(suite, rules), row.settings(scenario, is_official)))
}

impl RoundRow {
    /// Returns the bound of a scenario whose queries arrive independently of completions.
    pub(crate) fn bound(&self, scenario: RoundScenario) -> Option<ServerBound> {
        match scenario {
            RoundScenario::LoadGen(Scenario::Server) => self.server,
            RoundScenario::Interactive => self.interactive,
            RoundScenario::LoadGen(_) => None,
        }
    }

    /// Returns the settings of the load generator that it asks for in a scenario.
    pub(crate) fn settings(&self, scenario: RoundScenario, is_official: bool) -> Vec<(&'static str, Value)> {
        let ns = |ms: u64| Value::Integer(ms * 1_000_000);
        let tail = |key, tail: Option<f64>| tail.map(|tail| (key, Value::Number(tail)));
        let mut settings = Vec::new();
        match scenario.loadgen() {
            Scenario::SingleStream => {
                settings.extend(tail("single_stream_target_latency_percentile", self.single_stream_tail));
            }
            Scenario::MultiStream => {
                settings.extend(tail("multi_stream_target_latency_percentile", self.tail));
                let interval = self.interval_ms.map(|ms| Value::Number(ms as f64));
                settings.extend(interval.map(|interval| ("multi_stream_interval_ms", interval)));
            }
            Scenario::Server => {
                settings.extend(tail("server_target_latency_percentile", self.tail));
                match self.bound(scenario) {
                    Some(ServerBound::Latency { ms }) => settings.push(("server_target_latency_ns", ns(ms))),
                    Some(ServerBound::Tokens { ttft_ms, tpot_ms }) => settings.extend([
                        ("use_token_latencies", Value::Bool(true)),
                        ("server_ttft_latency", ns(ttft_ms)),
                        ("server_tpot_latency", ns(tpot_ms)),
                    ]),
                    None => {}
                }
            }
            Scenario::Offline => {
                let samples = self.offline_samples.filter(|_| is_official).map(Value::Integer);
                settings.extend(samples.map(|samples| ("min_query_count", samples)));
            }
        }
        settings
    }
}

/// Checks the setting `suite`. Returns a warning if it has no effect.
pub(crate) fn check_suite(
    benchmark: &Benchmark,
    rules: Rules,
    suite: Option<Suite>,
    origin: &Origin,
) -> Result<Option<String>, Box<ConfigError>> {
    let Some(suite) = suite else { return Ok(None) };
    if round_rules(rules).suites.is_empty() {
        return Err(Box::new(ConfigError::NoSuites { origin: origin.clone(), suite, round: rules.name }));
    }
    let is_idle = benchmark.row(rules).is_none();
    Ok(is_idle
        .then(|| format!("suite has no effect: {} is no benchmark of {rules} ({origin})", benchmark.id)))
}

/// Gives the benchmark the quality target of the row, of a suite if one is given. `chosen` is the setting
/// `quality_target`.
///
/// Returns the origin of the target, and a warning if the setting has no effect.
pub(crate) fn follow_quality(
    benchmark: &mut Benchmark,
    rules: Rules,
    in_suite: Option<Suite>,
    chosen: &Effective,
    errors: &mut Vec<ConfigError>,
) -> (Origin, Option<String>) {
    let own = Origin::Benchmark { name: benchmark.id.clone(), file: benchmark.file.clone() };
    let wanted = match chosen.value {
        Value::Number(wanted) => Some(wanted),
        _ => None,
    };
    let idle = |reason: String| {
        wanted.map(|_| format!("quality_target has no effect: {reason} ({})", chosen.origin))
    };
    let Some((suite, row)) = benchmark.row(rules) else {
        return (own, idle(format!("{} is no benchmark of {rules}", benchmark.id)));
    };
    let Some(figure) = benchmark.judged_figure(row) else {
        let metric = &benchmark.quality.metric;
        return (own, idle(format!("{metric} is no figure that {rules} judges {} by", suite.id)));
    };
    let unit = figure.unit;
    let quality = &mut benchmark.quality;
    match figure.bound {
        FigureBound::Target { reference } => {
            let ratios = row.ratios_in(in_suite);
            let ratio = match wanted {
                None => ratios.first().copied(),
                Some(wanted) => ratios.iter().copied().find(|ratio| percent(*ratio) == wanted),
            };
            match (ratio, wanted) {
                (Some(ratio), _) => {
                    (quality.reference, quality.target_ratio) = (unit.of_metric(reference), ratio)
                }
                (None, wanted) => {
                    let known: Vec<_> = ratios.iter().map(|ratio| percent(*ratio).to_string()).collect();
                    errors.push(ConfigError::NoSuchTarget {
                        origin: chosen.origin.clone(),
                        value: wanted.unwrap_or_default(),
                        benchmark: suite.id.clone(),
                        round: rules.name,
                        suite: in_suite.filter(|suite| row.suites.contains_key(suite.name())),
                        known: known.join(" and "),
                    });
                }
            }
        }
        FigureBound::Shares { reference, at_least, .. } => {
            (quality.reference, quality.target_ratio) = (unit.of_metric(reference), at_least.unwrap_or(0.0));
        }
        FigureBound::Values { at_least, .. } => {
            (quality.reference, quality.target_ratio) = (unit.of_metric(at_least.unwrap_or(0.0)), 1.0);
        }
    }
    let is_idle = !matches!(figure.bound, FigureBound::Target { .. });
    let warning = if is_idle {
        idle(format!("{rules} has one target of {} for {}", figure.name, suite.id))
    } else {
        None
    };
    (origin(suite, rules), warning)
}
