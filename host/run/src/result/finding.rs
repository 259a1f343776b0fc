//! Findings as `result.json` has them.

use proctor_loadgen::{Finding, Limit, Remedy, Standing, Unit};
use serde::{Serialize, Serializer};

/// Something that a verdict rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct FindingPart {
    pub(crate) rule: &'static str,
    /// `broken`, `limiting` or `met`.
    #[serde(serialize_with = "standing_name")]
    pub(crate) standing: Standing,
    /// In `unit`.
    pub(crate) measured: Option<f64>,
    /// In `unit`.
    pub(crate) bound: Option<f64>,
    pub(crate) unit: Option<&'static str>,
    /// The setting that ended the run before the rule was kept; left out if none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ended_by: Option<LimitPart>,
    pub(crate) remedy: Option<RemedyPart>,
    /// Limits to set to 0, which is no limit, along with the remedy; left out if empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) lift: Vec<&'static str>,
    /// Length of a run that follows the remedy; for more queries, the time that they add.
    pub(crate) time_s: Option<f64>,
    /// All of it as a sentence.
    pub(crate) text: String,
}

/// A setting that ended a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct LimitPart {
    pub(crate) setting: &'static str,
    pub(crate) value: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum RemedyPart {
    /// Give a setting a value.
    Set { setting: &'static str, value: f64 },
    /// Issue more queries: `fewest_more` at least, which is what LoadGen says; better `value`.
    MoreQueries { setting: &'static str, value: u64, fewest_more: u64 },
    /// No setting helps: this is the latency at the target percentile without any queue.
    FasterSystem { alone_ns: u64 },
    /// Follows from the bound.
    MeetBoundFirst,
    /// In words.
    Do { advice: &'static str },
}

impl From<&Finding> for FindingPart {
    fn from(finding: &Finding) -> Self {
        Self {
            rule: finding.rule.name(),
            standing: finding.standing,
            measured: finding.measured,
            bound: finding.bound,
            unit: finding.measured.map(|_| unit(finding.unit)),
            ended_by: finding.ended_by.map(|Limit { setting, value }| LimitPart { setting, value }),
            remedy: finding.remedy.as_ref().map(RemedyPart::from),
            lift: finding.lift.clone(),
            time_s: finding.time_ns.map(|time_ns| time_ns as f64 / 1e9),
            text: finding.to_string(),
        }
    }
}

fn standing_name<S: Serializer>(standing: &Standing, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match standing {
        Standing::Broken => "broken",
        Standing::Limiting => "limiting",
        Standing::Met => "met",
    })
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Ns => "ns",
        Unit::Queries => "queries",
        Unit::Samples => "samples",
        Unit::QueriesPerSecond => "queries/s",
    }
}

impl From<&Remedy> for RemedyPart {
    fn from(remedy: &Remedy) -> Self {
        match *remedy {
            Remedy::LowerRate { qps } => Self::Set { setting: "server_target_qps", value: qps },
            Remedy::SetOr { setting, value, .. } | Remedy::Set { setting, value } => {
                Self::Set { setting, value: value as f64 }
            }
            Remedy::MoreQueries { fewest, total } => {
                Self::MoreQueries { setting: "min_query_count", value: total, fewest_more: fewest }
            }
            Remedy::FasterSystem { alone_ns } => Self::FasterSystem { alone_ns },
            Remedy::MeetBoundFirst => Self::MeetBoundFirst,
            Remedy::Do(advice) => Self::Do { advice },
        }
    }
}
