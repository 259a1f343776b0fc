//! The ways in which a run is none by the rules of its round.

use std::{fmt, path::PathBuf};

use proctor_loadgen::{Rules, TestSettings};
use serde::Serialize;

use super::{
    RoundRow, SuiteBenchmark,
    choice::{RoundScenario, Suite},
    library::round_rules,
    round::UntimedStep,
};
use crate::{benchmark::Benchmark, preset::issues_permutations, run_settings::RunSettings, value::Value};

/// A way in which a run is none by the rules of its round.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Deviation {
    /// The plugin computes in a precision that is not on the round's list of numerical formats.
    Precision {
        /// Name of the precision.
        precision: String,
        /// The list.
        allowed: Vec<String>,
    },
    /// A step of preprocessing is done before the clock starts, and the round wants it to be timed.
    UntimedStep {
        /// Which one.
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
        /// The setting.
        setting: &'static str,
        /// Its value.
        value: Value,
        /// Value of the round.
        wanted: Value,
    },
    /// A seed is not the round's.
    Seed {
        /// The setting.
        setting: &'static str,
        /// Its value.
        value: u64,
        /// Value of the round.
        wanted: u64,
    },
    /// Samples are issued as in an audit: each once, or one of them alone.
    Issue {
        /// The setting.
        setting: &'static str,
    },
    /// Samples are issued in permutations of the set, or are not, and the round has it otherwise.
    Permutations {
        /// Whether they are.
        on: bool,
    },
    /// The settings of an audit file are in effect.
    Audit {
        /// The file.
        file: PathBuf,
    },
    /// Samples lie in the memory of a device before the clock starts.
    DeviceMemory,
    /// Samples are made of other rows than the rules have it.
    Rows {
        /// How they are made.
        row_aggregation: String,
    },
    /// The performance set is smaller than the round's.
    PerformanceSet {
        /// Samples that are loaded.
        sample_count: u64,
        /// Samples that the round wants.
        wanted: u64,
    },
}

impl fmt::Display for Deviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Precision { precision, allowed } => {
                write!(f, "{precision} is none of its numerical formats, {}", allowed.join(", "))
            }
            Self::UntimedStep { step } => write!(f, "{step} is done untimed"),
            Self::Scenario { benchmark, scenario, suite: None } => {
                write!(f, "it has no {scenario} for {benchmark}")
            }
            Self::Scenario { benchmark, scenario, suite: Some(suite) } => {
                write!(f, "its suite {suite} has no {scenario} for {benchmark}")
            }
            Self::Figure { benchmark, figure } => {
                write!(f, "{figure}, by which it judges {benchmark}, is not measured")
            }
            Self::Bound { setting, value, wanted } => {
                write!(f, "{setting} is {value}, and it wants {wanted}")
            }
            Self::Seed { setting, value, wanted } => {
                write!(f, "{setting} is {value}, and it announced {wanted}")
            }
            Self::Issue { setting } => write!(f, "{setting} is on, which belongs to audits"),
            Self::Permutations { on } => {
                let (value, wanted) = (on, !on);
                write!(f, "sample_concatenate_permutation is {value}, and it wants {wanted}")
            }
            Self::Audit { file } => write!(f, "{} makes an audit of it", file.display()),
            Self::DeviceMemory => {
                f.write_str("samples lie in the memory of a device before the clock starts")
            }
            Self::Rows { row_aggregation } => {
                write!(f, "row_aggregation is {row_aggregation}, and it wants quantiles")
            }
            Self::PerformanceSet { sample_count, wanted } => {
                write!(f, "the performance set has {sample_count} samples, and it wants {wanted}")
            }
        }
    }
}

/// The deviations of a run with these settings, in this precision.
pub(crate) fn deviations(
    benchmark: &Benchmark,
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
        deviations.extend(of_row(suite, row, benchmark, run, test));
    }
    deviations
}

/// The deviations of what is issued, and when.
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
        if is_looser(setting, &value, &wanted) {
            deviations.push(Deviation::Bound { setting, value, wanted });
        }
    }
    let sample_count = match test.performance_sample_count_override {
        0 => benchmark.qsl.performance_sample_count,
        count => count.min(benchmark.qsl.total_sample_count),
    };
    // A set that holds the whole data set cannot hold more.
    let wanted = row.performance_sample_count.min(row.total_sample_count);
    if sample_count < wanted {
        deviations.push(Deviation::PerformanceSet { sample_count, wanted });
    }
    deviations
}

/// Whether a bound allows more than the wanted one. A percentile allows more if it is lower, a latency if it is higher.
fn is_looser(setting: &str, value: &Value, wanted: &Value) -> bool {
    match (value, wanted) {
        (Value::Number(value), Value::Number(wanted)) if setting.ends_with("_percentile") => value < wanted,
        (Value::Number(value), Value::Number(wanted)) => value > wanted,
        (Value::Integer(value), Value::Integer(wanted)) => value > wanted,
        (value, wanted) => value != wanted,
    }
}
