//! Scenarios of rounds and rows, and the bounds that belong to them.

use std::collections::BTreeMap;

use proctor_vocabulary::{Scenario, did_you_mean};

use crate::{
    form::Checker,
    suite::{ServerBound, SuiteScenarios, choice::RoundScenario, definition},
};

impl Checker<'_> {
    /// Returns a scenario of the load generator.
    pub(super) fn scenario(&mut self, key: &str, name: &str) -> Option<Scenario> {
        let found = Scenario::ALL.iter().copied().find(|scenario| scenario.name() == name);
        if found.is_none() {
            let known: Vec<_> = Scenario::ALL.iter().map(|scenario| scenario.name()).collect();
            self.unknown_scenario(key, name, &known);
        }
        found
    }

    fn unknown_scenario(&mut self, key: &str, name: &str, known: &[&str]) {
        let hint = did_you_mean(name, known.iter().copied());
        let list = known.join(", ");
        self.report(key, format!("unknown scenario \"{name}\": give one of {list}{hint}"));
    }

    fn scenarios(&mut self, key: &str, names: &[String]) -> Vec<RoundScenario> {
        let mut scenarios = Vec::new();
        for name in names {
            match RoundScenario::ALL.into_iter().find(|scenario| scenario.name() == name) {
                Some(scenario) if scenarios.contains(&scenario) => {
                    self.report(key, format!("{name} stands there twice"));
                }
                Some(scenario) => scenarios.push(scenario),
                None => self.unknown_scenario(key, name, &RoundScenario::names()),
            }
        }
        scenarios
    }

    pub(super) fn row_scenarios(
        &mut self,
        row: &str,
        raw: BTreeMap<String, definition::Scenarios>,
        names: &[String],
        target_ratios: &[f64],
        suites: &[String],
    ) -> (BTreeMap<String, SuiteScenarios>, Vec<RoundScenario>) {
        let scenarios = self.scenarios(&format!("{row}.scenarios"), names);
        if suites.is_empty() && scenarios.is_empty() {
            let problem = "missing key: the round has no suites, so give the scenarios here";
            self.report(&format!("{row}.scenarios"), problem);
        } else if !suites.is_empty() && (raw.is_empty() || !names.is_empty()) {
            let list = suites.join(", ");
            let problem = format!("give the scenarios of each suite in a table of its own, of {list}");
            self.report(&format!("{row}.suites"), problem);
        }
        let mut by_suite = BTreeMap::new();
        for (name, raw) in raw {
            let key = format!("{row}.suites.{name}");
            if !suites.contains(&name) {
                let hint = did_you_mean(&name, suites.iter().map(String::as_str));
                self.report(&key, format!("the round has no such suite{hint}"));
            }
            let required = self.scenarios(&format!("{key}.required"), &raw.required);
            let optional = self.scenarios(&format!("{key}.optional"), &raw.optional);
            if required.is_empty() {
                self.report(&format!("{key}.required"), "empty: give at least one scenario");
            }
            if let Some(both) = optional.iter().find(|scenario| required.contains(scenario)) {
                self.report(&format!("{key}.optional"), format!("{both} is a required one"));
            }
            let own = raw.target_ratios.unwrap_or_else(|| target_ratios.to_vec());
            let own = self.ratios(&format!("{key}.target_ratios"), own);
            if own.iter().any(|ratio| !target_ratios.contains(ratio)) {
                let problem = "give some of those of the round";
                self.report(&format!("{key}.target_ratios"), problem);
            }
            by_suite.insert(name, SuiteScenarios { required, optional, target_ratios: own });
        }
        (by_suite, scenarios)
    }

    /// Returns the bound that a table with this key has, if it has one.
    pub(super) fn bound_of(&mut self, table: &str, raw: &definition::Bound) -> Option<ServerBound> {
        let key = |name: &str| format!("{table}.{name}");
        match (raw.server_ms, raw.ttft_ms, raw.tpot_ms) {
            (None, None, None) => None,
            (Some(ms), None, None) => Some(ServerBound::Latency { ms: self.count(&key("server_ms"), ms) }),
            (None, Some(ttft), Some(tpot)) => Some(ServerBound::Tokens {
                ttft_ms: self.count(&key("ttft_ms"), ttft),
                tpot_ms: self.count(&key("tpot_ms"), tpot),
            }),
            _ => {
                let problem = "give either server_ms or both ttft_ms and tpot_ms";
                self.report(&key("server_ms"), problem);
                None
            }
        }
    }

    /// Returns the bound of Interactive, which a row has if, and only if, it has that scenario.
    pub(super) fn interactive(
        &mut self,
        row: &str,
        raw: Option<&definition::Bound>,
        has_scenario: bool,
    ) -> Option<ServerBound> {
        let key = format!("{row}.interactive");
        match raw {
            None if has_scenario => {
                let problem = "missing key: give the bounds of the scenario Interactive, which the row has";
                self.report(&key, problem);
            }
            Some(_) if !has_scenario => {
                let problem = "leave it out: no suite of the row has the scenario Interactive";
                self.report(&key, problem);
            }
            Some(definition::Bound { server_ms: None, ttft_ms: None, tpot_ms: None }) => {
                self.report(&key, "empty: give either server_ms or both ttft_ms and tpot_ms");
            }
            _ => {}
        }
        self.bound_of(&key, raw?)
    }
}
