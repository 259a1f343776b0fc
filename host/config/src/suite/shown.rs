//! A row of a round in words: the cells of its tables.

use proctor_vocabulary::Scenario::{MultiStream, Offline, Server, SingleStream};

use super::{
    RoundRow, ServerBound, SuiteBenchmark, choice::RoundScenario, quality::percent, round::RoundRules,
};
use crate::benchmark::library::benchmarks;

/// The cells of a benchmark in the table of a round, or of one of its suites. Values that the text of the rules leaves
/// open, and the round's result checker has, end in `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowCells {
    /// Data set, with the size of a sample.
    pub dataset: String,
    /// Samples of the performance set, and of the whole library.
    pub samples: String,
    /// Figures with their targets.
    pub quality: Vec<String>,
    /// Bounds of the scenarios.
    pub constraints: Vec<String>,
    /// Required scenarios.
    pub required: String,
    /// Further scenarios.
    pub optional: String,
}

impl RowCells {
    /// Returns the cells in a suite of the round, or in the round as a whole; `None` if the suite does not have the
    /// benchmark.
    #[must_use]
    pub fn new(row: &RoundRow, suite: Option<&str>) -> Option<Self> {
        let (required, optional, ratios) = match suite {
            None => (Vec::new(), row.all_scenarios(), &row.target_ratios),
            Some(suite) => {
                let suite = row.suites.get(suite)?;
                (suite.required.clone(), suite.optional.clone(), &suite.target_ratios)
            }
        };
        let marked = |key: &str, text: String| {
            let is_open = row.open_in_rules.iter().any(|open| open == key);
            if is_open { format!("{text}*") } else { text }
        };
        let size = row.input.iter().map(|input| format!(", {input}"));
        let figures = row.quality.iter().map(|figure| format!("{} {}", figure.name, figure.shown(ratios)));
        let all: Vec<_> = required.iter().chain(&optional).copied().collect();
        let constraints = all.iter().filter_map(|scenario| row.constraint(*scenario)).collect();
        Some(Self {
            dataset: marked("dataset", row.dataset.clone() + &size.collect::<String>()),
            samples: format!(
                "{} of {}",
                marked("performance_sample_count", row.performance_sample_count.to_string()),
                row.total_sample_count
            ),
            quality: figures.map(|figure| marked("quality", figure)).collect(),
            constraints,
            required: names(&required),
            optional: names(&optional),
        })
    }
}

impl RoundRules {
    /// Returns the rules that hold for all benchmarks of the round, each with its name, in words.
    #[must_use]
    pub fn shown(&self) -> Vec<(&'static str, String)> {
        let steps: Vec<_> = self.untimed_steps.iter().map(ToString::to_string).collect();
        let formats = self.formats.as_ref().map_or_else(
            || "no list".to_owned(),
            |formats| formats.iter().map(|format| format.name.as_str()).collect::<Vec<_>>().join(", "),
        );
        let runs: Vec<_> =
            self.runs.iter().map(|(scenario, count)| format!("{count} of {scenario}")).collect();
        vec![
            ("divisions", self.divisions.join(", ")),
            ("categories", self.categories.join(", ")),
            ("untimed steps", steps.join(", ")),
            ("numerical formats", formats),
            ("runs for a result", if runs.is_empty() { "1".to_owned() } else { runs.join(", ") }),
        ]
    }
}

impl RoundRow {
    /// Returns the bound of a scenario in words; `None` if it has no bound of its own.
    fn constraint(&self, scenario: RoundScenario) -> Option<String> {
        let is_open = |keys: &[&str]| self.open_in_rules.iter().any(|open| keys.contains(&open.as_str()));
        let mark = |keys: &[&str]| if is_open(keys) { "*" } else { "" };
        let share =
            |tail: Option<f64>| tail.map(|tail| format!(" for {} %", percent(tail))).unwrap_or_default();
        let tail = share(self.tail);
        match scenario.loadgen() {
            SingleStream => {
                let tail = self.single_stream_tail.map(percent)?;
                Some(format!("SingleStream at the {tail}th percentile{}", mark(&["single_stream_tail"])))
            }
            MultiStream => {
                let interval_ms = self.interval_ms?;
                Some(format!("MultiStream every {interval_ms} ms{tail}"))
            }
            Server => Some(match self.bound(scenario)? {
                ServerBound::Latency { ms } => format!("{scenario} {ms} ms{tail}{}", mark(&["server_ms"])),
                ServerBound::Tokens { ttft_ms, tpot_ms } => format!(
                    "{scenario} TTFT {ttft_ms} ms and TPOT {tpot_ms} ms{tail}{}",
                    mark(&["ttft_ms", "tpot_ms"])
                ),
            }),
            Offline => self.offline_samples.map(|count| format!("Offline {count} samples")),
        }
    }
}

impl SuiteBenchmark {
    /// Returns the size of the model, such as `25.6 M parameters, 7.8 GOPS per sample`; empty if unknown.
    #[must_use]
    pub fn size(&self) -> String {
        let parameters = self.parameters_millions.map(|millions| format!("{millions} M parameters"));
        let operations = self.gops_per_sample.map(|gops| format!("{gops} GOPS per sample"));
        parameters.into_iter().chain(operations).collect::<Vec<_>>().join(", ")
    }

    /// Returns the ids of the built-in definitions that link to it.
    pub fn definitions(&self) -> impl Iterator<Item = &'static str> {
        let links = benchmarks().filter(|definition| definition.suite.as_ref() == Some(&self.id));
        links.map(|definition| definition.id.as_str())
    }

    /// Returns the definitions by which it can be run here, or why it cannot.
    #[must_use]
    pub fn availability(&self) -> String {
        let definitions: Vec<_> = self.definitions().collect();
        match &self.stub {
            Some(reason) => format!("no definition yet: {reason}"),
            None if definitions.is_empty() => "no definition yet".to_owned(),
            None => format!("--benchmark {}", definitions.join(" or ")),
        }
    }
}

fn names(scenarios: &[RoundScenario]) -> String {
    let names: Vec<_> = scenarios.iter().map(|scenario| scenario.name()).collect();
    if names.is_empty() { "-".to_owned() } else { names.join(", ") }
}
