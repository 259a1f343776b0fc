//! Choices that a run makes of its round: a scenario and a suite.

use std::{fmt, str::FromStr};

use proctor_vocabulary::{Scenario, registry::UnknownName};

use super::{RoundRow, SuiteScenarios};

/// A scenario of a round: one of the load generator's, or Interactive, which the load generator runs as Server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RoundScenario {
    /// A scenario of the load generator.
    LoadGen(Scenario),
    /// Server with its own bounds, a scenario of some language models since v5.1.
    ///
    /// Source: the result checkers of v5.1 to v6.1. In LoadGen's `mlperf.conf` it is a model key that ends in
    /// `-interactive`.
    Interactive,
}

impl RoundScenario {
    /// All of them, in the order of their columns: LoadGen's first.
    pub const ALL: [Self; 5] = [
        Self::LoadGen(Scenario::SingleStream),
        Self::LoadGen(Scenario::MultiStream),
        Self::LoadGen(Scenario::Server),
        Self::LoadGen(Scenario::Offline),
        Self::Interactive,
    ];

    /// Returns the scenario that the load generator runs.
    #[must_use]
    pub fn loadgen(self) -> Scenario {
        match self {
            Self::LoadGen(scenario) => scenario,
            Self::Interactive => Scenario::Server,
        }
    }

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::LoadGen(scenario) => scenario.name(),
            Self::Interactive => "Interactive",
        }
    }

    /// Returns all names.
    pub(crate) fn names() -> [&'static str; 5] {
        Self::ALL.map(Self::name)
    }
}

impl From<Scenario> for RoundScenario {
    fn from(scenario: Scenario) -> Self {
        Self::LoadGen(scenario)
    }
}

impl fmt::Display for RoundScenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for RoundScenario {
    type Err = UnknownName;

    /// Accepts the name in any case.
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let found = Self::ALL.into_iter().find(|scenario| scenario.name().eq_ignore_ascii_case(text));
        found.ok_or_else(|| UnknownName::new("scenario", text, &Self::names()))
    }
}

/// A suite of a round, with its own benchmarks, scenarios and targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suite {
    /// Systems in data centers.
    Datacenter,
    /// Systems on the edge.
    Edge,
}

impl Suite {
    /// The names of all suites.
    pub const NAMES: &'static [&'static str] = &["datacenter", "edge"];

    /// Returns the name in files of rounds and benchmarks.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Datacenter => "datacenter",
            Self::Edge => "edge",
        }
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Suite {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let found = [Self::Datacenter, Self::Edge].into_iter().find(|suite| suite.name() == text);
        found.ok_or_else(|| UnknownName::new("suite", text, Self::NAMES))
    }
}

impl SuiteScenarios {
    /// Returns the required scenarios of a result, then the optional ones.
    pub(crate) fn all(&self) -> impl Iterator<Item = RoundScenario> {
        self.required.iter().chain(&self.optional).copied()
    }
}

impl RoundRow {
    /// Returns the scenarios that the round has for it, in any suite.
    #[must_use]
    pub fn all_scenarios(&self) -> Vec<RoundScenario> {
        let of_suites = self.suites.values().flat_map(SuiteScenarios::all);
        let mut all: Vec<_> = of_suites.chain(self.scenarios.iter().copied()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Returns the scenarios that a suite has for it, if any; without a suite, the scenarios of all suites.
    pub(crate) fn scenarios_in(&self, suite: Option<Suite>) -> Vec<RoundScenario> {
        let Some(suite) = suite else { return self.all_scenarios() };
        let of_suite = self.suites.get(suite.name());
        of_suite.map_or_else(Vec::new, |it| it.all().collect())
    }

    /// Returns the shares of the reference that a result may aim at in a suite; the row's shares without a
    /// suite, or if the suite does not have the benchmark.
    pub(crate) fn ratios_in(&self, suite: Option<Suite>) -> &[f64] {
        let of_suite = suite.and_then(|suite| self.suites.get(suite.name()));
        of_suite.map_or(&self.target_ratios, |it| &it.target_ratios)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interactive_is_server_to_the_load_generator() {
        assert_eq!(RoundScenario::Interactive.loadgen(), Scenario::Server);
        assert_eq!("interactive".parse(), Ok(RoundScenario::Interactive));
        for scenario in Scenario::ALL {
            let of_round = RoundScenario::from(*scenario);
            assert_eq!((of_round.loadgen(), of_round.name()), (*scenario, scenario.name()));
            assert_eq!(scenario.name().parse(), Ok(of_round));
        }
        assert_eq!(RoundScenario::ALL.len(), Scenario::ALL.len() + 1);
    }

    #[test]
    fn suites_have_the_names_of_the_setting() {
        let names = Suite::NAMES.iter().map(|name| name.parse::<Suite>().unwrap().name());
        assert_eq!(names.collect::<Vec<_>>(), Suite::NAMES);
        assert!("Edge".parse::<Suite>().is_err(), "the setting has taken its case off");
    }
}
