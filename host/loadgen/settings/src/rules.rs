//! The choice of a round's rules.

use std::{fmt, ops::Deref, str::FromStr};

use proctor_vocabulary::registry::UnknownName;

use super::rounds::{DEFAULT, ROUNDS, Round};

/// Rules of a round of MLPerf Inference: dereferences to [`Round`].
///
/// ```
/// # use proctor_loadgen_settings::Rules;
/// let rules: Rules = "v0.7".parse().expect("it is the name of a round");
/// assert!(rules.has_intervals && !rules.stops_early);
/// ```
#[derive(Clone, Copy)]
pub struct Rules(&'static Round);

impl Rules {
    /// Names of all rules, the newest first, which is not the default.
    pub const NAMES: &'static [&'static str] = &names();

    /// Name of the default.
    pub const DEFAULT_NAME: &'static str = DEFAULT.name;

    /// Returns all rules, the newest first, which is not the default.
    pub fn all() -> impl Iterator<Item = Self> {
        ROUNDS.iter().copied().map(Self)
    }
}

const fn names() -> [&'static str; ROUNDS.len()] {
    let mut names = [""; ROUNDS.len()];
    let mut round = 0;
    while round < ROUNDS.len() {
        names[round] = ROUNDS[round].name;
        round += 1;
    }
    names
}

impl From<&'static Round> for Rules {
    /// Takes any round, also one that is not in the list.
    fn from(round: &'static Round) -> Self {
        Self(round)
    }
}

impl Default for Rules {
    /// Returns v5.0, the last round whose text is followed here, which is not the newest.
    fn default() -> Self {
        Self(DEFAULT)
    }
}

impl Deref for Rules {
    type Target = Round;

    fn deref(&self) -> &Round {
        self.0
    }
}

impl PartialEq for Rules {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Rules {}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

impl FromStr for Rules {
    type Err = UnknownName;

    /// Accepts the name in any case.
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let found = Self::all().find(|rules| rules.name.eq_ignore_ascii_case(text));
        found.ok_or_else(|| UnknownName::new("rules", text, Self::NAMES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rounds since v5.0 are other names of it for the load generator.
    #[test]
    fn a_later_round_differs_in_its_name_alone() {
        for name in ["v5.1", "v6.0", "v6.1"] {
            let round: Rules = name.parse().unwrap();
            assert_eq!(*round, Round { name, ..*Rules::default() });
        }
    }

    #[test]
    fn names_round_trip_and_an_unknown_one_lists_the_known() {
        assert!(Rules::all().map(|rules| rules.name).eq(Rules::NAMES.iter().copied()));
        for rules in Rules::all() {
            assert_eq!(rules.name.to_uppercase().parse(), Ok(rules));
        }
        assert_eq!(Rules::NAMES, ["v6.1", "v6.0", "v5.1", "v5.0", "v0.7", "v0.5"]);
        assert_eq!((Rules::default().name, Rules::DEFAULT_NAME), ("v5.0", "v5.0"));
        let error = |text: &str| text.parse::<Rules>().unwrap_err().to_string();
        let known = "; known are v6.1, v6.0, v5.1, v5.0, v0.7, v0.5";
        // A round that there was, and whose rules are not here.
        assert_eq!(error("v4.1"), format!("unknown rules \"v4.1\"{known}"));
        assert_eq!(error("6.1"), format!("unknown rules \"6.1\", did you mean \"v6.1\"?{known}"));
    }
}
