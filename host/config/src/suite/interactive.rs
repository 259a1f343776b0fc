//! Interactive, which only some rounds have, and these for some of their benchmarks.

use std::fmt;

use proctor_loadgen::Rules;

use super::{RoundRow, SuiteBenchmark, choice::RoundScenario, library::suite_benchmarks};
use crate::{benchmark::Benchmark, error::ConfigError, origin::Origin};

/// Suffix of the names in LoadGen's `mlperf.conf` of models that run as Interactive.
pub(crate) const MODEL_SUFFIX: &str = "-interactive";

/// Rounds in which a benchmark can run as Interactive: if it follows an official one, the rounds that have it for that
/// one; if it is the user's own and has the scenario, the rounds that have it for any, as it brings its own bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RoundsWithInteractive {
    /// Id of their benchmark; `None` of one with its own bounds.
    of: Option<String>,
    /// Names of the rounds, the oldest first.
    rounds: Vec<&'static str>,
}

impl RoundsWithInteractive {
    /// Finds the rounds for a benchmark.
    pub(crate) fn of(benchmark: &Benchmark) -> Self {
        let suite = benchmark.suite_benchmark();
        let has_own = benchmark.scenarios.contains_key(&RoundScenario::Interactive);
        let has = |rules: &Rules| match suite {
            Some(suite) => has_interactive(suite.row(*rules)),
            None => has_own && suite_benchmarks().any(|suite| has_interactive(suite.row(*rules))),
        };
        let mut rounds: Vec<_> = Rules::all().filter(has).map(|rules| rules.name).collect();
        rounds.reverse();
        let of = match suite {
            Some(suite) => Some(suite.id.clone()),
            None => (!has_own).then(|| benchmark.id.clone()),
        };
        Self { of, rounds }
    }
}

impl fmt::Display for RoundsWithInteractive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rounds.as_slice() {
            [] => f.write_str("no round has Interactive")?,
            [round] => write!(f, "{round} has Interactive")?,
            rounds => write!(f, "{} have Interactive", rounds.join(", "))?,
        }
        self.of.as_ref().map_or(Ok(()), |id| write!(f, " for {id}"))
    }
}

/// Checks that the round has the scenario, if that is Interactive.
///
/// Every round has LoadGen's own scenarios, and a benchmark that is run in one that its row lacks deviates. Interactive
/// means nothing without bounds, which only the rounds that have it define.
pub(crate) fn check(
    benchmark: &Benchmark,
    rules: Rules,
    scenario: RoundScenario,
    origin: &Origin,
) -> Result<(), Box<ConfigError>> {
    if scenario != RoundScenario::Interactive {
        return Ok(());
    }
    let having = RoundsWithInteractive::of(benchmark);
    if having.rounds.contains(&rules.name) {
        return Ok(());
    }
    let own = benchmark.suite_benchmark().and_then(|suite| in_its_place(suite, rules));
    let own = own.map(|own| own.id.as_str());
    let having = having.to_string();
    Err(Box::new(ConfigError::NoInteractive { origin: origin.clone(), round: rules.name, own, having }))
}

fn has_interactive(row: Option<&RoundRow>) -> bool {
    row.is_some_and(|row| row.all_scenarios().contains(&RoundScenario::Interactive))
}

/// Returns the benchmark that a round has in place of the scenario: LoadGen knows both by the same name.
fn in_its_place(suite: &SuiteBenchmark, rules: Rules) -> Option<&'static SuiteBenchmark> {
    let model = format!("{}{MODEL_SUFFIX}", suite.loadgen_model);
    suite_benchmarks().find(|other| other.loadgen_model == model && other.row(rules).is_some())
}
