//! The report of a suite.

mod junit;
mod text;

use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    case::Case,
    messages::{FoundModel, PluginFacts},
};

/// Version of the form of the JSON.
const SCHEMA_VERSION: u32 = 1;

/// Outcome of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Outcome {
    /// The plugin keeps the rule.
    Pass,
    /// The plugin breaks the rule, or hangs.
    Fail,
    /// The case is not about this plugin.
    Skip,
    /// The plugin ended the process of the case.
    Crash,
}

impl Outcome {
    /// All outcomes, in the order in which they are counted.
    pub const ALL: [Self; 4] = [Self::Pass, Self::Fail, Self::Skip, Self::Crash];

    /// Returns the word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::Skip => "SKIP",
            Self::Crash => "CRASH",
        }
    }
}

/// A case with how it ended.
#[derive(Debug, Clone)]
pub struct CaseResult {
    /// The judged case.
    pub case: &'static Case,
    /// Outcome of the case.
    pub outcome: Outcome,
    /// Reason, unless it passed.
    pub reason: String,
    /// Last output of the plugin and the host, for a case that failed or crashed.
    pub output: String,
    /// Time that it took.
    pub seconds: f64,
}

/// The results of a suite.
#[derive(Debug, Clone)]
pub struct Report {
    /// The plugin; `None` if it could not be loaded.
    pub plugin: Option<PluginFacts>,
    /// Model of the plugin; `None` if there was none.
    pub model: Option<FoundModel>,
    /// Case results in execution order.
    pub results: Vec<CaseResult>,
    /// Time that all of it took.
    pub seconds: f64,
}

impl Report {
    /// Returns whether no case failed or crashed.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.count(Outcome::Fail) + self.count(Outcome::Crash) == 0
    }

    /// Returns the number of cases that ended so.
    #[must_use]
    pub fn count(&self, outcome: Outcome) -> usize {
        self.results.iter().filter(|result| result.outcome == outcome).count()
    }

    /// Returns the report as text: a line for each case, and reason, rule and fix if it failed.
    #[must_use]
    pub fn text(&self) -> String {
        text::text(self)
    }

    /// Returns the report for programs. A key that is added leaves `schema_version` as it is.
    #[must_use]
    pub fn json(&self) -> Value {
        let case = |result: &CaseResult| {
            let CaseResult { case, outcome, reason, output, seconds } = result;
            let reason = (!reason.is_empty()).then_some(reason);
            let output = (!output.is_empty()).then_some(output);
            json!({
                "name": case.name, "outcome": outcome, "reason": reason, "about": case.about, "rule": case.rule,
                "fix": case.fix, "seconds": seconds, "output": output,
            })
        };
        let counts: serde_json::Map<_, _> = Outcome::ALL
            .iter()
            .map(|outcome| (outcome.name().to_owned(), self.count(*outcome).into()))
            .collect();
        json!({
            "schema_version": SCHEMA_VERSION,
            "plugin": self.plugin,
            "model": self.model,
            "is_good": self.is_good(),
            "counts": counts,
            "seconds": self.seconds,
            "cases": self.results.iter().map(case).collect::<Vec<_>>(),
        })
    }

    /// Returns the report in the format of JUnit, for CI systems.
    #[must_use]
    pub fn junit(&self) -> String {
        junit::junit(self)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::cases::cases;

    /// Returns a report with a case of each outcome.
    pub(crate) fn report() -> Report {
        let results = cases().zip(Outcome::ALL).map(|(case, outcome)| CaseResult {
            case,
            outcome,
            reason: if outcome == Outcome::Pass {
                String::new()
            } else {
                "<so> & \"so\"\u{1b}[2J".to_owned()
            },
            output: if outcome == Outcome::Crash { "one\ntwo ]]>\n".to_owned() } else { String::new() },
            seconds: 0.25,
        });
        Report { plugin: None, model: None, results: results.collect(), seconds: 1.0 }
    }

    #[test]
    fn the_json_has_every_case_and_the_counts() {
        let json = report().json();
        assert_eq!(json["cases"].as_array().map(Vec::len), Some(4));
        assert_eq!(json["counts"]["CRASH"], 1);
        assert_eq!(json["is_good"], false);
        assert_eq!(json["cases"][0]["outcome"], "PASS");
        assert!(json["cases"][0]["reason"].is_null());
        assert_eq!(json["cases"][3]["output"], "one\ntwo ]]>\n");
    }
}
