//! Findings: the rules that a verdict rests on.

use serde::{Deserialize, Serialize};

use super::or_default;

/// A rule that the verdict rests on.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct Finding {
    /// Name of the broken rule.
    pub rule: String,
    /// True if it is kept.
    pub standing: Status,
    /// Measured value, in `unit`.
    pub measured: Option<f64>,
    /// Bound of the rule, in `unit`.
    pub bound: Option<f64>,
    /// Unit of both numbers.
    pub unit: Option<String>,
    /// The setting that ended the run before the rule was kept, if one did.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<LimitPart>,
    /// Change that would make the next run VALID; `None` if the rule is kept, or a later version has it.
    #[serde(default, deserialize_with = "or_default")]
    pub remedy: Option<RemedyPart>,
    /// Limits to set to 0, which is not a limit, along with the remedy.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub lift: Vec<String>,
    /// Length of a run that follows the remedy; for more queries, the time that they add.
    #[serde(default)]
    pub time_s: Option<f64>,
    /// The whole finding as a sentence.
    pub text: String,
}

/// Whether a rule is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The rule is broken: the test is INVALID.
    Broken,
    /// The rule is met, and limits the result or the length most.
    Limiting,
    /// The bound is met.
    Met,
}

/// A setting that ended a run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct LimitPart {
    /// Name of the setting.
    pub setting: String,
    /// Value of the setting.
    pub value: u64,
}

/// A change that would make the next run VALID.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RemedyPart {
    /// Give a setting a value.
    Set {
        /// Name of the setting.
        setting: String,
        /// Value of the setting.
        value: f64,
    },
    /// Issue more queries.
    MoreQueries {
        /// The setting that determines the number.
        setting: String,
        /// Value of the setting.
        value: u64,
        /// Minimum number of additional queries, as LoadGen says.
        fewest_more: u64,
    },
    /// No setting helps.
    FasterSystem {
        /// Latency at the target percentile without any queue, in ns.
        alone_ns: u64,
    },
    /// Follows from the bound.
    MeetBoundFirst,
    /// An action in words.
    Do {
        /// Advice in words.
        advice: String,
    },
}
