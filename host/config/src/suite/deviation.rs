//! Lists how a run departs from the rules of its round.

pub(crate) mod whole_run;

use std::{fmt, path::PathBuf};

use proctor_loadgen::{Rules, TestSettings};
use proctor_vocabulary::Scenario;
use serde::Serialize;

use super::{
    CheckedKey, RoundRow, Stated, SuiteBenchmark,
    choice::{RoundScenario, Suite},
    library::round_rules,
    round::UntimedStep,
};
use crate::{
    benchmark::{Benchmark, QslCounts},
    preset::{issues_permutations, official_accuracy_limit, official_values},
    run_settings::RunSettings,
    value::Value,
};

/// A departure of a run from the rules of its round.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Deviation {
    /// The round does not have the benchmark.
    Benchmark {
        /// Id of the suite benchmark or, if the definition follows none, its own id.
        benchmark: String,
    },
    /// The data set has another number of samples than the round's.
    DataSet {
        /// Number of samples that it has.
        sample_count: u64,
        /// Number of samples of the round's.
        wanted: u64,
    },
    /// The run searches for the peak rate.
    Search,
    /// Time is virtual: the plugin says how long its work would take.
    VirtualTime,
    /// The system is reached by a network, and the round, or the suite of the run, has no division for that.
    Network {
        /// Suite of the run, if it has one.
        #[serde(skip_serializing_if = "Option::is_none")]
        suite: Option<&'static str>,
    },
    /// The plugin computes in a precision that is not on the round's list of numerical formats.
    Precision {
        /// Name of the precision.
        precision: String,
        /// Allowed precisions.
        allowed: Vec<String>,
    },
    /// A step of preprocessing is done before the clock starts, and the round wants it to be timed.
    UntimedStep {
        /// Step that is done before the clock starts.
        step: UntimedStep,
    },
    /// The round, or the suite of it that the run is for, does not have the benchmark in this scenario.
    Scenario {
        /// Benchmark of the suites.
        benchmark: String,
        /// Scenario of the run.
        scenario: &'static str,
        /// Suite of the run, if it has one.
        #[serde(skip_serializing_if = "Option::is_none")]
        suite: Option<&'static str>,
    },
    /// The round judges the answers by a figure that is not measured.
    Figure {
        /// Benchmark of the suites.
        benchmark: String,
        /// Name of the figure.
        figure: String,
    },
    /// A bound is looser than the round's.
    Bound {
        /// Name of the setting.
        setting: &'static str,
        /// Value of the setting.
        value: Value,
        /// Value of the round.
        wanted: Value,
    },
    /// A setting differs from the round's for every run, such as a percentile that is reported, samples per
    /// query, or a setting of tokens.
    Fixed {
        /// Name of the setting.
        setting: &'static str,
        /// Value of the setting.
        value: Value,
        /// Value of the round.
        wanted: Value,
    },
    /// The accuracy run does not score the samples that the round wants: all of them, or the part that it names.
    AccuracySet {
        /// Number of samples whose answers are scored.
        sample_count: u64,
        /// Number of samples that the round wants.
        wanted: u64,
    },
    /// A seed is not the round's.
    Seed {
        /// Name of the setting.
        setting: &'static str,
        /// Value of the setting.
        value: u64,
        /// Value of the round.
        wanted: u64,
    },
    /// Samples are issued as in an audit: each once, or one of them alone.
    Issue {
        /// Name of the setting.
        setting: &'static str,
    },
    /// The round disagrees on whether samples are issued in permutations of the set.
    Permutations {
        /// True if they are.
        on: bool,
    },
    /// The settings of an audit file are in effect.
    Audit {
        /// Name of the file.
        file: PathBuf,
    },
    /// Samples lie in the memory of a device before the clock starts.
    DeviceMemory,
    /// A search accepts loads at which some samples fail.
    FailedSamples {
        /// Share of samples that may fail, above 0.
        allowed_share: f64,
    },
    /// Samples consist of other rows than in the rules.
    Rows {
        /// Way in which they are made.
        row_aggregation: String,
    },
    /// The performance set is smaller than the round's.
    PerformanceSet {
        /// Number of samples that are loaded.
        sample_count: u64,
        /// Number of samples that the round wants.
        wanted: u64,
    },
}

impl fmt::Display for Deviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Benchmark { benchmark } => write!(f, "the round has no benchmark {benchmark}"),
            Self::DataSet { sample_count, wanted } => {
                write!(f, "the data set has {sample_count} samples, and the round wants {wanted}")
            }
            Self::Search => {
                f.write_str("FindPeakPerformance searches for a rate, and the round wants a run at one")
            }
            Self::VirtualTime => f.write_str("time is virtual"),
            Self::Network { suite: None } => {
                f.write_str("the system is reached by a network, and the round has no division for that")
            }
            Self::Network { suite: Some(suite) } => {
                write!(
                    f,
                    "the system is reached by a network, and the round's suite {suite} has no division for that"
                )
            }
            Self::Precision { precision, allowed } => {
                write!(f, "{precision} is not among the round's numerical formats, {}", allowed.join(", "))
            }
            Self::UntimedStep { step } => write!(f, "{step} is done untimed"),
            Self::Scenario { benchmark, scenario, suite: None } => {
                write!(f, "the round has no {scenario} for {benchmark}")
            }
            Self::Scenario { benchmark, scenario, suite: Some(suite) } => {
                write!(f, "the round's suite {suite} has no {scenario} for {benchmark}")
            }
            Self::Figure { benchmark, figure } => {
                write!(f, "{figure}, by which the round judges {benchmark}, is not measured")
            }
            Self::Bound { setting, value, wanted } | Self::Fixed { setting, value, wanted } => {
                write!(f, "{setting} is {value}, and the round wants {wanted}")
            }
            Self::AccuracySet { sample_count, wanted } => {
                write!(f, "the accuracy run has {sample_count} samples, and the round wants {wanted}")
            }
            Self::Seed { setting, value, wanted } => {
                write!(f, "{setting} is {value}, and the round announced {wanted}")
            }
            Self::Issue { setting } => write!(f, "{setting} is on, which belongs to audits"),
            Self::Permutations { on } => {
                let (value, wanted) = (on, !on);
                write!(f, "sample_concatenate_permutation is {value}, and the round wants {wanted}")
            }
            Self::Audit { file } => write!(f, "{} makes an audit of the run", file.display()),
            Self::DeviceMemory => {
                f.write_str("samples lie in the memory of a device before the clock starts")
            }
            Self::FailedSamples { allowed_share } => {
                // A share in percent has dust at its end.
                let percent = (allowed_share * 1e8).round() / 1e6;
                write!(f, "{percent} % of the samples may fail, and the round wants none to")
            }
            Self::Rows { row_aggregation } => {
                write!(f, "row_aggregation is {row_aggregation}, and the round wants quantiles")
            }
            Self::PerformanceSet { sample_count, wanted } => {
                write!(f, "the performance set has {sample_count} samples, and the round wants {wanted}")
            }
        }
    }
}

/// Returns the deviations of a run with these settings over a library of these sizes, in this precision.
pub(crate) fn deviations(
    benchmark: &Benchmark,
    counts: QslCounts,
    run: &RunSettings,
    test: &TestSettings,
    precision: &str,
) -> Vec<Deviation> {
    let rules: Rules = test.rules;
    let round = round_rules(rules);
    let mut deviations = Vec::new();
    if !round.allows(precision) {
        let formats = round.formats.iter().flatten();
        deviations.push(Deviation::Precision {
            precision: precision.to_owned(),
            allowed: formats.map(|format| format.name.clone()).collect(),
        });
    }
    deviations.extend(of_issue(benchmark, run.scenario, test));
    let steps = benchmark.untimed_steps.iter().filter(|step| !round.untimed_steps.contains(step));
    deviations.extend(steps.map(|step| Deviation::UntimedStep { step: *step }));
    if let Some((suite, row)) = benchmark.row(rules) {
        if !run.row_aggregation.is_of_the_rules() {
            deviations.push(Deviation::Rows { row_aggregation: run.row_aggregation.to_string() });
        }
        deviations.extend(of_row(suite, row, benchmark, counts, run, test));
    }
    deviations.extend(of_every_run(benchmark, run, test));
    deviations
}

/// Returns the deviations of the issued queries and their times.
fn of_issue(benchmark: &Benchmark, scenario: RoundScenario, test: &TestSettings) -> Vec<Deviation> {
    let seeds = [test.qsl_rng_seed, test.sample_index_rng_seed, test.schedule_rng_seed];
    let wanted = round_rules(test.rules).seeds.settings();
    let other = seeds.into_iter().zip(wanted).filter(|(value, (_, wanted))| value != wanted);
    let mut deviations: Vec<_> =
        other.map(|(value, (setting, wanted))| Deviation::Seed { setting, value, wanted }).collect();
    for (setting, is_on) in [
        ("performance_issue_unique", test.performance_issue_unique),
        ("performance_issue_same", test.performance_issue_same),
    ] {
        deviations.extend(is_on.then_some(Deviation::Issue { setting }));
    }
    let on = test.sample_concatenate_permutation;
    if on != issues_permutations(benchmark, test.rules, scenario) {
        deviations.push(Deviation::Permutations { on });
    }
    deviations
}

fn of_row(
    suite: &SuiteBenchmark,
    row: &RoundRow,
    benchmark: &Benchmark,
    counts: QslCounts,
    run: &RunSettings,
    test: &TestSettings,
) -> Vec<Deviation> {
    let mut deviations = Vec::new();
    if !row.scenarios_in(run.suite).contains(&run.scenario) {
        deviations.push(Deviation::Scenario {
            benchmark: suite.id.clone(),
            scenario: run.scenario.name(),
            suite: run.suite.map(Suite::name),
        });
    }
    let judged = benchmark.judged_figure(row);
    let missing = row.quality.iter().filter(|figure| judged != Some(figure));
    deviations.extend(
        missing.map(|figure| Deviation::Figure { benchmark: suite.id.clone(), figure: figure.name.clone() }),
    );
    for (setting, wanted) in row.settings(run.scenario, false) {
        let value: Value = test.get(setting).expect("rows have settings of the load generator").into();
        if deviates(test.rules, setting, &value, &wanted) {
            deviations.push(Deviation::Bound { setting, value, wanted });
        }
    }
    let sample_count = match test.performance_sample_count_override {
        0 => counts.performance_sample_count,
        count => count.min(counts.total_sample_count),
    };
    // A set that holds the whole data set cannot hold more, unless that is a part of the library, for accuracy alone.
    let wanted = match official_accuracy_limit(test.rules, benchmark, run.scenario) {
        0 => row.performance_sample_count.min(row.total_sample_count),
        _ => row.performance_sample_count,
    };
    if sample_count < wanted {
        deviations.push(Deviation::PerformanceSet { sample_count, wanted });
    }
    deviations.extend(over_checked_bound(row, test));
    deviations
}

/// Returns the deviation of a Server run whose latency bound is longer than the round's result checker accepts.
fn over_checked_bound(row: &RoundRow, test: &TestSettings) -> Option<Deviation> {
    let difference = row.checker.iter().find(|it| it.key == Some(CheckedKey::ServerTargetLatencyMs))?;
    let Stated::Number(limit_ms) = difference.checker else { return None };
    let (value, wanted) = (test.server_target_latency_ns, (limit_ms * 1e6) as u64);
    (test.scenario == Scenario::Server && value > wanted).then_some(Deviation::Bound {
        setting: "server_target_latency_ns",
        value: Value::Integer(value),
        wanted: Value::Integer(wanted),
    })
}

/// Returns the settings that a round fixes for every run of a scenario, in every benchmark.
///
/// Source: the lines of LoadGen's `mlperf.conf` for any model, and values that only that file may set; the
/// tables of scenarios of v0.5 and v0.7, where the samples of a MultiStream query are the result. Rounds
/// leave open what submitters set in their `user.conf`, including `server_coalesce_queries`.
fn fixed_settings(rules: Rules, scenario: Scenario) -> Vec<&'static str> {
    let of_scenario: &[&str] = match scenario {
        Scenario::SingleStream => &["single_stream_target_latency_percentile"],
        Scenario::MultiStream if rules.has_intervals => &["multi_stream_target_latency_percentile"],
        Scenario::MultiStream => {
            &["multi_stream_target_latency_percentile", "multi_stream_samples_per_query"]
        }
        Scenario::Server => &["server_target_latency_percentile"],
        Scenario::Offline => &[],
    };
    [of_scenario, &["accuracy_log_probability"]].concat()
}

/// The settings of tokens, which a round has for each of its benchmarks.
const TOKEN_SETTINGS: [&str; 3] =
    ["use_token_latencies", "infer_token_latencies", "token_latency_scaling_factor"];

/// Returns the deviations of settings that are not bounds of the row.
fn of_every_run(benchmark: &Benchmark, run: &RunSettings, test: &TestSettings) -> Vec<Deviation> {
    let rules = test.rules;
    let row = benchmark.row(rules).map(|(_, row)| row);
    let mut settings = fixed_settings(rules, test.scenario);
    settings.extend(TOKEN_SETTINGS.iter().filter(|_| row.is_some() && rules.has_tokens));
    let bounds = row.map(|row| row.settings(run.scenario, false)).unwrap_or_default();
    settings.retain(|setting| bounds.iter().all(|(bound, _)| bound != setting));
    let official = official_values(rules, benchmark, run.scenario);
    let mut deviations = Vec::new();
    for setting in settings {
        let value: Value = test.get(setting).expect("it is a setting of the load generator").into();
        let wanted = official[setting].clone();
        if deviates(rules, setting, &value, &wanted) {
            deviations.push(Deviation::Fixed { setting, value, wanted });
        }
    }
    deviations
}

/// Returns whether a value departs from the one that the round wants.
///
/// A bound may be stricter than the round's: a higher percentile, a lower latency. A percentile that is itself the
/// result has to be the round's, as has everything else that is not a bound.
fn deviates(rules: Rules, setting: &str, value: &Value, wanted: &Value) -> bool {
    match (value, wanted) {
        (Value::Number(value), Value::Number(wanted)) => {
            // LoadGen's files have percentiles in percent, which rounds differently from a fraction.
            let is_same = (value - wanted).abs() < 1e-9;
            let is_stricter = match setting {
                "server_target_latency_percentile" => value > wanted,
                "multi_stream_target_latency_percentile" => rules.has_intervals && value > wanted,
                "multi_stream_interval_ms" => value < wanted,
                _ => false,
            };
            !is_same && !is_stricter
        }
        (Value::Integer(value), Value::Integer(wanted)) if is_latency_bound(setting) => value > wanted,
        (value, wanted) => value != wanted,
    }
}

fn is_latency_bound(setting: &str) -> bool {
    ["server_target_latency_ns", "server_ttft_latency", "server_tpot_latency"].contains(&setting)
}
