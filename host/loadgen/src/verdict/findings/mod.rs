//! What a verdict rests on: which rules were met or broken, by how much, and what would make the next run VALID.
//!
//! A [`Finding`] is data: the rule, what was measured, the bound, the remedy, and how long a run takes that follows it.
//! Displayed it is a sentence. [`TestOutcome::findings`](crate::TestOutcome) has those of a test.
//!
//! # How far a remedy can be believed
//! - What follows from the settings (limits, lengths, counts) is exact.
//! - The rate of a Server run whose latency is over its bound is computed from the run itself: its arrivals and
//!   completions tell how long each query kept the system busy, and a queue with these times is fed with the arrivals of
//!   lower rates, which are known, until the bound and early stopping are met. For a system that serves queries one after
//!   the other this is what would happen, if they took as long again. A system that works in batches or in parallel is
//!   less regular: the rate is a good first guess, and the sentence says "about". It is 2 % below what was computed, and
//!   cut to three digits.
//! - The time per output token depends on how many queries are in the system. The rate is lowered in the proportion in
//!   which that number has to fall.
//! - How many queries early stopping needs in all is estimated with the measured share of queries over the bound, and two
//!   standard deviations more of them.

mod bounds;
mod completions;
mod length;
mod replay;
mod text;

use proctor_vocabulary::Scenario;

use crate::{
    issue::end::IssueEnd,
    measure::{missing_samples::MissingSamples, phase_record::PhaseRecord},
    plan::{
        phases::{LoadedSet, PhaseMode, PhasePlan},
        schedule::Schedule,
    },
    record::violations::{Violation, ViolationKind},
    settings::effective::EffectiveSettings,
    verdict::results::PerformanceResult,
};

/// So many queries are enough to compute a rate from; more would only take time and memory.
const SAMPLES_MAX: usize = 1 << 18;

/// Something that the verdict of a test rests on.
///
/// Displays as a sentence: what was measured, and after a colon what to do, if there is something.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Which rule it is about.
    pub rule: Rule,
    /// Whether the rule is kept.
    pub standing: Standing,
    /// What was measured, in [`unit`](Self::unit).
    pub measured: Option<f64>,
    /// What the rule asks for, in the same unit.
    pub bound: Option<f64>,
    /// Unit of both.
    pub unit: Unit,
    /// What would make the next run VALID, as far as this rule is concerned.
    pub remedy: Option<Remedy>,
    /// How long a run takes that follows the remedy, in ns; for more queries at the same rate, how much longer.
    pub time_ns: Option<u64>,
    /// What happened, where the numbers do not say it.
    pub(crate) what: Option<String>,
}

/// A rule that a verdict rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// The bound of a latency at the target quantile of the test.
    Bound {
        /// Which latency.
        measure: Measure,
        /// The quantile, as a fraction.
        quantile: f64,
    },
    /// MultiStream under the older rules: the queries that may be over their interval.
    Intervals,
    /// Enough queries for the percentile to be believed.
    EarlyStopping {
        /// Which latency.
        measure: Measure,
    },
    /// The shortest time that a run may take.
    MinDuration,
    /// The fewest queries that may be issued.
    MinQueryCount,
    /// The fewest samples that may be completed.
    MinSampleCount,
    /// No rule: the rate that was asked for, with no bound near.
    TargetRate,
    /// Each sample is completed once, in time and without an error.
    Completion(ViolationKind),
    /// Each sample is completed at all.
    Missing,
    /// The last query comes to an end.
    Stalled,
    /// The test comes to its end by itself.
    Interrupted,
    /// What the caller or the search for the peak has against the test.
    Other,
}

/// A latency with a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// From the scheduled instant to the completion.
    Latency,
    /// From the scheduled instant to the first token (TTFT).
    FirstToken,
    /// The mean between the tokens after the first (TPOT).
    PerOutputToken,
}

/// Whether a rule is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is not: the test is INVALID.
    Broken,
    /// It is, and it is what limits the result or the length of the run most.
    Limiting,
    /// It is, with room to spare.
    Met,
}

/// What a number of a finding counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Queries.
    Queries,
    /// Samples.
    Samples,
    /// Queries per second.
    QueriesPerSecond,
}

/// What to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Remedy {
    /// Lower `server_target_qps` to about this.
    LowerRate {
        /// Queries per second.
        qps: f64,
    },
    /// The latency of single queries is over the bound already, so no rate would help.
    FasterSystem {
        /// The latency at the target quantile without any queue, in ns.
        alone_ns: u64,
    },
    /// Issue more queries at the same rate: raise `min_query_count`.
    MoreQueries {
        /// How many more are needed if all of them are under the bound.
        fewest: u64,
        /// How many there should be in all, at the measured share of queries over the bound.
        total: u64,
    },
    /// Meet the bound first; then there are enough queries, too.
    MeetBoundFirst,
    /// Change a setting.
    Set {
        /// Name of the setting.
        setting: &'static str,
        /// The value to give it, in its own unit.
        value: u64,
    },
    /// Something else.
    Do(&'static str),
}

impl Rule {
    /// A name for programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bound { measure: Measure::Latency, .. } => "latency_bound",
            Self::Bound { measure: Measure::FirstToken, .. } => "ttft_bound",
            Self::Bound { measure: Measure::PerOutputToken, .. } => "tpot_bound",
            Self::Intervals => "late_queries",
            Self::EarlyStopping { measure: Measure::Latency } => "early_stopping",
            Self::EarlyStopping { measure: Measure::FirstToken } => "ttft_early_stopping",
            Self::EarlyStopping { measure: Measure::PerOutputToken } => "tpot_early_stopping",
            Self::MinDuration => "min_duration",
            Self::MinQueryCount => "min_query_count",
            Self::MinSampleCount => "min_sample_count",
            Self::TargetRate => "target_rate",
            Self::Completion(ViolationKind::Failed) => "failed_samples",
            Self::Completion(ViolationKind::Duplicate) => "duplicate_samples",
            Self::Completion(ViolationKind::Late) => "late_samples",
            Self::Completion(ViolationKind::UnknownId | ViolationKind::NotIssued) => "unknown_samples",
            Self::Completion(_) => "token_reports",
            Self::Missing => "missing_samples",
            Self::Stalled => "stalled",
            Self::Interrupted => "interrupted",
            Self::Other => "other",
        }
    }

    /// Whether it is about how long a run is.
    #[must_use]
    pub fn is_about_length(self) -> bool {
        matches!(
            self,
            Self::EarlyStopping { .. } | Self::MinDuration | Self::MinQueryCount | Self::MinSampleCount
        )
    }
}

impl Finding {
    /// A rule that two numbers decide about.
    fn compared(rule: Rule, is_kept: bool, measured: f64, bound: f64, unit: Unit) -> Self {
        Self {
            rule,
            standing: if is_kept { Standing::Met } else { Standing::Broken },
            measured: Some(measured),
            bound: Some(bound),
            unit,
            remedy: None,
            time_ns: None,
            what: None,
        }
    }

    /// Something that is against the test, in words.
    #[must_use]
    pub fn stated(rule: Rule, what: impl Into<String>, remedy: Option<Remedy>) -> Self {
        Self {
            rule,
            standing: Standing::Broken,
            measured: None,
            bound: None,
            unit: Unit::Samples,
            remedy,
            time_ns: None,
            what: Some(what.into()),
        }
    }

    fn with(self, remedy: Option<(Remedy, Option<u64>)>) -> Self {
        match remedy {
            Some((remedy, time_ns)) => Self { remedy: Some(remedy), time_ns, ..self },
            None => self,
        }
    }

    /// The share of what the rule allows that was used: near 1 there is no room to spare.
    fn use_of_bound(&self) -> f64 {
        let (Some(measured), Some(bound)) = (self.measured, self.bound) else { return 0.0 };
        let (part, whole) = if self.rule.is_about_length() { (bound, measured) } else { (measured, bound) };
        if whole > 0.0 { part / whole } else { 0.0 }
    }
}

/// What is known of a performance phase.
pub(crate) struct Evidence<'a> {
    pub(crate) settings: &'a EffectiveSettings,
    pub(crate) result: &'a PerformanceResult,
    pub(crate) record: &'a PhaseRecord,
    /// Why issuing ended, if it is known; else nothing can be said about what kept the run short.
    pub(crate) end: Option<IssueEnd>,
    /// Scheduled instant and latency of completed samples in the order of issue, in ns; without any, no rate can be
    /// advised.
    pub(crate) samples: Vec<(u64, u64)>,
}

impl<'a> Evidence<'a> {
    pub(crate) fn new(
        settings: &'a EffectiveSettings,
        result: &'a PerformanceResult,
        record: &'a PhaseRecord,
        end: Option<IssueEnd>,
        samples: impl Iterator<Item = (u64, u64)>,
    ) -> Self {
        Self { settings, result, record, end, samples: samples.take(SAMPLES_MAX).collect() }
    }

    /// The rules about figures, in the order of the summary: bounds, duration, queries, early stopping.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        let mut findings = bounds::bounds(self);
        findings.extend(bounds::intervals(self));
        findings.extend(length::lengths(self));
        findings.extend(bounds::early_stopping(self));
        mark_limits(&mut findings, self);
        findings
    }

    /// Queries per second of this run: the rate that was asked for, or what a system without one did.
    fn qps(&self) -> f64 {
        match self.settings.scenario {
            Scenario::Server => self.settings.target_qps,
            Scenario::Offline => {
                self.record.sample_latencies_ns.len() as f64 * 1e9 / self.record.max_latency_ns as f64
            }
            _ => self.record.issued_query_count as f64 * 1e9 / self.record.final_query_issued_ns as f64,
        }
    }

    /// When the queries of a run at this rate are due, the first of them, in ns.
    fn arrivals_ns(&self, qps: f64) -> impl Iterator<Item = u64> {
        let settings = EffectiveSettings { target_qps: qps, ..self.settings.clone() };
        // A Server query has no padding.
        let indices = self.record.loaded_set.clone();
        let set = LoadedSet { end: indices.len(), indices };
        Schedule::new(&settings, &PhasePlan { mode: PhaseMode::Performance, set }).take(SAMPLES_MAX)
    }

    /// How long so many queries take at a rate, in ns.
    fn time_ns(query_count: u64, qps: f64) -> Option<u64> {
        let ns = query_count as f64 * 1e9 / qps;
        (ns.is_finite() && ns >= 0.0).then_some(ns as u64)
    }
}

/// A bound of which so much is used is what limits a Server.
const NEAR_BOUND: f64 = 0.8;

/// Marks what limits the result and what limits the length, if nothing is broken.
fn mark_limits(findings: &mut Vec<Finding>, evidence: &Evidence<'_>) {
    if findings.iter().any(|finding| finding.standing == Standing::Broken) {
        return;
    }
    let mark = |findings: &mut [Finding], is_about_length: bool, least: f64| {
        let chosen = findings.iter_mut().filter(|finding| finding.rule.is_about_length() == is_about_length);
        let tightest = chosen.max_by(|a, b| a.use_of_bound().total_cmp(&b.use_of_bound()));
        tightest.filter(|it| it.use_of_bound() > least).map(|it| it.standing = Standing::Limiting).is_some()
    };
    let is_bounded = mark(findings, false, NEAR_BOUND);
    mark(findings, true, 0.0);
    if evidence.settings.scenario == Scenario::Server && !is_bounded {
        let qps = evidence.settings.target_qps;
        let mut rate = Finding::compared(Rule::TargetRate, true, qps, qps, Unit::QueriesPerSecond);
        rate.standing = Standing::Limiting;
        findings.insert(0, rate);
    }
}

/// What is against a test beyond its figures, one finding for each sentence.
pub(crate) fn objections(
    sentences: &[String],
    missing: &[&MissingSamples],
    violations: &[Violation],
) -> Vec<Finding> {
    sentences.iter().map(|sentence| completions::objection(sentence, missing, violations)).collect()
}
