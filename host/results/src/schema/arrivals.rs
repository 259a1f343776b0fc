//! The arrivals of a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{or_default, setting::SettingPart};

/// An arrival process that differs from the rules'.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct ArrivalsPart {
    /// Name of the arrival process.
    pub process: String,
    /// Parameters of the process.
    #[serde(default, deserialize_with = "or_default")]
    pub parameters: BTreeMap<String, SettingPart>,
    /// The recorded trace, if it is one.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub trace: Option<ArrivalTracePart>,
    /// The process in words; not in the file.
    #[serde(skip)]
    pub text: String,
}

/// A trace of arrivals as it was recorded.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct ArrivalTracePart {
    /// Number of arrivals.
    pub arrival_count: u64,
    /// Time until the trace repeats, in ns.
    pub period_ns: u64,
    /// Mean rate of the trace, in queries per second.
    pub queries_per_second: f64,
    /// Number of times that it began again in the performance run.
    pub repetition_count: Option<u64>,
}
