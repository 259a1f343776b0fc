//! Defines records of probes and full runs, which the search uses for decisions and which are kept as data.

use serde::{Deserialize, Serialize};

use crate::sequential::Side;

/// Reason why a probe ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeEnd {
    /// The sequential test decided.
    Decided,
    /// The backlog grew without end: the system gets less done than arrives.
    Hopeless,
    /// The probe issued as many queries as it may.
    Budget,
    /// A limit of the settings ended the probe before it had issued all its queries, as it would end a full run.
    Limit,
}

/// Dependence of a constraint's misses on the load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dependence {
    /// A higher load may cause them, as it does late queries.
    #[default]
    OnLoad,
    /// They came while hardly anything was outstanding, as samples do that fail for their own reason. They depend on
    /// the load only if a lower one has a smaller share of them.
    Doubtful,
    /// The failures occur at any load.
    Never,
}

/// Result for a constraint in a probe or a full run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConstraintSeen {
    /// Name, such as `latency` or `failed samples`.
    pub name: String,
    /// The share of misses that is allowed.
    pub limit_share: f64,
    /// Dependence of the misses on the load.
    #[serde(default)]
    pub dependence: Dependence,
    /// Number of queries that were judged by it.
    pub judged_count: u64,
    /// Number of them that missed.
    pub missed_count: u64,
    /// Number of misses that count as one independent one.
    pub dispersion: f64,
    /// Logarithm of how much likelier a share over the limit is than one under it.
    #[serde(with = "finite")]
    pub log_ratio: f64,
    /// Bounded value at the quantile that the limit leaves, over its bound; absent if there is no such value.
    pub tail_ratio: Option<f64>,
}

impl ConstraintSeen {
    /// Returns the share of queries that missed it.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.missed_count as f64 / self.judged_count.max(1) as f64
    }

    /// Returns whether it was missed by more than it allows.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.missed_count > 0 && self.log_ratio > 0.0
    }

    /// Returns the logarithm of the share of misses over its limit, 0 at the limit, if there are enough misses.
    #[must_use]
    pub fn log_share(&self) -> Option<f64> {
        const TELLING: u64 = 5;
        let share = self.missed_count as f64 / self.judged_count as f64;
        (self.missed_count >= TELLING && self.limit_share > 0.0).then(|| (share / self.limit_share).ln())
    }
}

/// A probe, or a full run in the form of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProbeRecord {
    /// Load in queries per second, or samples per query.
    pub load: f64,
    /// Side of the constraints on which the load is.
    pub side: Side,
    /// The probability that this is right.
    pub confidence: f64,
    /// Reason why it ended.
    pub end: ProbeEnd,
    /// Number of queries that were issued.
    pub query_count: u64,
    /// Number of queries that a full run at this load has.
    pub full_query_count: u64,
    /// Number of completed queries per second.
    pub throughput_qps: f64,
    /// Results for each constraint.
    pub constraints: Vec<ConstraintSeen>,
}

impl ProbeRecord {
    /// Returns whether all constraints hold.
    #[must_use]
    pub fn is_under(&self) -> bool {
        self.side == Side::Under
    }

    /// Returns the constraint that is nearest to its limit, or furthest beyond; the first of several.
    #[must_use]
    pub fn limiting(&self) -> Option<&ConstraintSeen> {
        let pressure = |seen: &ConstraintSeen| match seen.tail_ratio {
            _ if seen.log_ratio == f64::INFINITY => f64::INFINITY,
            Some(ratio) => ratio,
            // A limit of 0 that is kept limits nothing.
            None if seen.limit_share == 0.0 => 0.0,
            None => seen.share() / seen.limit_share,
        };
        self.constraints.iter().rev().max_by(|a, b| pressure(a).total_cmp(&pressure(b)))
    }

    /// Returns the first constraint that is broken and depends on the load in this way.
    #[must_use]
    pub fn broken(&self, dependence: Dependence) -> Option<&ConstraintSeen> {
        self.constraints.iter().find(|seen| seen.dependence == dependence && seen.is_broken())
    }

    /// Returns the largest of the tail ratios; `None` if a constraint without a ratio is broken, so that the
    /// ratios do not decide.
    #[must_use]
    pub(crate) fn tail_ratio(&self) -> Option<f64> {
        let mut without = self.constraints.iter().filter(|seen| seen.tail_ratio.is_none());
        if without.any(|seen| seen.log_ratio > 0.0) {
            return None;
        }
        self.constraints.iter().filter_map(|seen| seen.tail_ratio).max_by(f64::total_cmp)
    }

    /// Returns whether it missed a constraint that allows no miss: no share shows how far the load is too high.
    #[must_use]
    pub(crate) fn breaks_zero_limit(&self) -> bool {
        self.constraints.iter().any(|seen| seen.limit_share == 0.0 && seen.is_broken())
    }

    /// Returns [`ConstraintSeen::log_share`] of the constraint whose share is largest for its limit.
    #[must_use]
    pub(crate) fn log_share(&self) -> Option<f64> {
        self.constraints.iter().filter_map(ConstraintSeen::log_share).max_by(f64::total_cmp)
    }
}

/// A full run at a load, judged by the rules, or by looser ones if the caller so decides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Confirmation {
    /// True if it was VALID.
    pub is_valid: bool,
    /// Reasons why it is not VALID.
    pub reasons: Vec<String>,
    /// True if the system's error occurs at any load: runs at lower ones are not worth their time.
    #[serde(default)]
    pub is_at_any_load: bool,
    /// The figures of the run.
    pub seen: ProbeRecord,
}

/// Numbers that JSON cannot represent: certainty is a large number there.
mod finite {
    use serde::{Deserialize, Deserializer, Serializer};

    const CERTAIN: f64 = 1e9;

    pub(super) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(value.clamp(-CERTAIN, CERTAIN))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        let value = f64::deserialize(deserializer)?;
        Ok(if value.abs() >= CERTAIN { value * f64::INFINITY } else { value })
    }
}
