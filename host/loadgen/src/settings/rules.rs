//! Which round's rules judge a run, and what each asks for.

use std::{fmt, str::FromStr};

use proctor_vocabulary::{ParseNameError, Scenario, did_you_mean};

use crate::settings::query_count::statistical_query_count;

/// The rules of a round of MLPerf Inference.
///
/// Those before v5.0 are *older*: MultiStream sends its queries at fixed intervals, a run is judged by its counts, its
/// duration and its percentile, and there is no early stopping.
///
/// Source: MLPerf Inference Benchmark (the paper of v0.5), sections 4.5 and 4.6; MLPerf Inference rules v0.7, table of
/// scenarios; rules v5.0, section 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Rules {
    /// The first round, as the paper describes it.
    V05,
    /// The second round.
    V07,
    /// v5.0 and later: what LoadGen 6 does.
    #[default]
    V50,
}

impl Rules {
    /// All rules, the newest first.
    pub const ALL: &'static [Self] = &[Self::V50, Self::V07, Self::V05];
    /// Their names, in the same order.
    pub const NAMES: &'static [&'static str] = &["v5.0", "v0.7", "v0.5"];

    /// The name of the round.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::V05 => "v0.5",
            Self::V07 => "v0.7",
            Self::V50 => "v5.0",
        }
    }

    /// Whether MultiStream has fixed intervals, and nothing stops early.
    #[must_use]
    pub fn are_older(self) -> bool {
        self < Self::V50
    }

    /// The shortest valid duration, in ms.
    #[must_use]
    pub fn min_duration_ms(self) -> u64 {
        if self.are_older() { 60_000 } else { 600_000 }
    }

    /// How many runs make a result; that of several is their lowest.
    #[must_use]
    pub fn run_count(self, scenario: Scenario) -> u64 {
        if self.are_older() && scenario == Scenario::Server { 5 } else { 1 }
    }

    /// The fewest queries of a valid run, in Offline the fewest samples, where `tail` is the share of queries that has
    /// to meet the latency bound. `None` under rules that leave it to early stopping.
    ///
    /// SingleStream has few queries so that embedded devices come to an end; the counts of the scenarios with a bound
    /// are those that make it believable; that of Offline is the one of the 90th percentile.
    #[must_use]
    pub fn min_query_count(self, scenario: Scenario, tail: f64) -> Option<u64> {
        if !self.are_older() {
            return None;
        }
        Some(match scenario {
            Scenario::SingleStream => 1024,
            Scenario::MultiStream | Scenario::Server => statistical_query_count(tail),
            Scenario::Offline => statistical_query_count(0.9),
        })
    }
}

impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Rules {
    type Err = ParseNameError;

    /// Accepts the name in any case.
    fn from_str(text: &str) -> Result<Self, ParseNameError> {
        let found = Self::ALL.iter().copied().find(|rules| rules.name().eq_ignore_ascii_case(text));
        found.ok_or_else(|| ParseNameError {
            kind: "rules",
            name: text.to_owned(),
            hint: did_you_mean(text, Self::NAMES.iter().copied()),
            known: Self::NAMES.join(", "),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_an_unknown_one_suggests_the_near_one() {
        assert!(Rules::ALL.iter().map(|rules| rules.name()).eq(Rules::NAMES.iter().copied()));
        for rules in Rules::ALL {
            assert_eq!(rules.name().to_uppercase().parse(), Ok(*rules));
        }
        let error = "v0.6".parse::<Rules>().unwrap_err().to_string();
        assert!(error.starts_with("unknown rules \"v0.6\", did you mean \"v0."), "{error}");
    }

    /// Table 5 of the paper, and the table of scenarios of the rules v0.7.
    #[test]
    fn query_counts_are_those_of_the_tables() {
        for (scenario, vision, translation) in [
            (Scenario::SingleStream, 1024, 1024),
            (Scenario::MultiStream, 270_336, 90_112),
            (Scenario::Server, 270_336, 90_112),
            (Scenario::Offline, 24_576, 24_576),
        ] {
            for rules in [Rules::V05, Rules::V07] {
                assert_eq!(rules.min_query_count(scenario, 0.99), Some(vision), "{scenario}");
                assert_eq!(rules.min_query_count(scenario, 0.97), Some(translation), "{scenario}");
            }
            assert_eq!(Rules::V50.min_query_count(scenario, 0.99), None);
        }
    }

    #[test]
    fn server_takes_five_runs_under_the_older_rules() {
        assert_eq!(Rules::V05.run_count(Scenario::Server), 5);
        assert_eq!(Rules::V07.run_count(Scenario::Server), 5);
        assert_eq!(Rules::V05.run_count(Scenario::MultiStream), 1);
        assert_eq!(Rules::V50.run_count(Scenario::Server), 1);
    }
}
