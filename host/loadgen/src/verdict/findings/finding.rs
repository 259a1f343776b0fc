//! One finding: a rule, the measurement, the bound, and a remedy that would make the next run VALID.

use std::{any::Any, fmt, sync::Arc};

use crate::{
    issue::wrong_samples::WrongSamples,
    measure::{missing_samples::MissingSamples, phase_outcome::UnloadError},
    record::violations::{Violation, ViolationKind},
    verdict::{
        peak_search::{PeakEnd, RateNotMet},
        results::interval::IntervalResult,
    },
};

/// A fact that the verdict of a test rests on.
///
/// Displays as a sentence: the measurement, and after a colon the remedy, if there is one.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The rule in question.
    pub rule: Rule,
    /// The part of the test in question.
    pub scope: Scope,
    /// True if the rule is kept.
    pub status: Status,
    /// The measured value, in [`unit`](Self::unit).
    pub measured: Option<f64>,
    /// The bound of the rule, in the same unit.
    pub bound: Option<f64>,
    /// Unit of both numbers.
    pub unit: Unit,
    /// Change that would make the next run VALID, for this rule.
    pub remedy: Option<Remedy>,
    /// Length of a run that follows the remedy, in ns; for more queries at the same rate, the time that they add.
    pub time_ns: Option<u64>,
    /// The limit that ended the run before the rule was kept.
    pub ended_by: Option<Limit>,
    /// Limits that a run which follows the remedy would reach too early, by the names of their settings: to be set to
    /// 0, which is not a limit.
    pub lift: Vec<&'static str>,
    /// Event, if the numbers do not show it.
    pub(crate) cause: Option<Cause>,
}

/// A rule that a verdict rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// The bound of a latency at the target quantile of the test.
    Bound {
        /// Latency that broke the bound.
        measure: Measure,
        /// The quantile, as a fraction.
        quantile: f64,
    },
    /// MultiStream at fixed intervals: the queries that may be over their interval.
    Intervals,
    /// Enough queries for the percentile to be believed.
    EarlyStopping {
        /// Latency that early stopping judged.
        measure: Measure,
    },
    /// The shortest time that a run may take.
    MinDuration,
    /// Minimum number of queries that may be issued.
    MinQueryCount,
    /// Minimum number of samples that may be completed.
    MinSampleCount,
    /// No rule: the requested rate, with no bound near.
    TargetRate,
    /// No rule: the next rate that a search for the peak has tried, which is not met.
    NextRate,
    /// Each sample is completed once, in time and without an error.
    Completion(ViolationKind),
    /// Every issued sample has a completion.
    Missing,
    /// The last query must end.
    Stalled,
    /// The test ends by itself.
    Interrupted,
    /// An engine issues the samples in the order that the settings give.
    Order,
    /// An engine judges as this load generator does.
    EngineVerdict,
    /// An engine logs no error.
    EngineError,
    /// The library unloads the samples that it has loaded.
    Unload,
    /// The search for the peak finds it.
    PeakFound,
    /// Demands of the caller on the system under test.
    Caller,
}

/// The part of a test that a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One phase, by its position in the test; in a search for the peak, one step.
    Phase(usize),
    /// The whole test.
    Test,
    /// The caller, who knows more than the load generator.
    Caller,
    /// The run that the test is a part of, if the caller makes one of several.
    Run,
}

/// A setting that ends a run early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Name of the setting.
    pub setting: &'static str,
    /// Value of the limit, in its own unit.
    pub value: u64,
}

/// An event that numbers do not say.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cause {
    Intervals(IntervalResult),
    Missing(MissingSamples),
    Stalled,
    Order(WrongSamples),
    Unload(UnloadError),
    Completion(Violation),
    /// Reason why the test was stopped.
    Interrupted(String),
    PeakSearch(PeakEnd),
    /// Reason why a search for the peak did not meet the next rate, in queries per second.
    NextRate {
        qps: f64,
        reason: RateNotMet,
    },
    Caller(Fault),
}

/// The caller's objection to a test, of a type that it alone knows.
#[derive(Debug, Clone)]
pub(crate) struct Fault(Arc<dyn DisplayAndDebug>);

/// Requirements on a fault.
trait DisplayAndDebug: fmt::Display + fmt::Debug + Any + Send + Sync {}

impl<T: fmt::Display + fmt::Debug + Any + Send + Sync> DisplayAndDebug for T {}

impl PartialEq for Fault {
    /// Returns whether both are the same one.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A latency with a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Time from the scheduled instant to the completion.
    Latency,
    /// Time from the scheduled instant to the first token (TTFT).
    FirstToken,
    /// The mean between the tokens after the first (TPOT).
    PerOutputToken,
}

/// Whether a rule is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The rule is broken: the test is INVALID.
    Broken,
    /// The rule is met, and limits the result or the length of the run most.
    Limiting,
    /// The rule is met, with room to spare.
    Met,
}

/// The unit of the numbers of a finding.
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

/// The change to make.
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
        /// Number of further queries that suffice if all of them are under the bound.
        fewest: u64,
        /// Number of queries that there should be in all, at the measured share of queries over the bound.
        total: u64,
    },
    /// Meet the bound first; then there are enough queries, too.
    MeetBoundFirst,
    /// Change a setting.
    Set {
        /// Name of the setting.
        setting: &'static str,
        /// New value, in its own unit; for a limit, 0 means none.
        value: u64,
    },
    /// Change a setting, or act otherwise.
    SetOr {
        /// Name of the setting.
        setting: &'static str,
        /// Value to set, in its own unit.
        value: u64,
        /// The other action, as a noun.
        other: &'static str,
    },
    /// Another action.
    Do(&'static str),
}

impl Rule {
    /// Returns a name for programs.
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
            Self::NextRate => "next_rate",
            Self::Completion(ViolationKind::Failed) => "failed_samples",
            Self::Completion(ViolationKind::Duplicate) => "duplicate_samples",
            Self::Completion(ViolationKind::Late) => "late_samples",
            Self::Completion(ViolationKind::UnknownId | ViolationKind::NotIssued) => "unknown_samples",
            Self::Completion(_) => "token_reports",
            Self::Missing => "missing_samples",
            Self::Stalled => "stalled",
            Self::Interrupted => "interrupted",
            Self::Order => "sample_order",
            Self::EngineVerdict => "engine_verdict",
            Self::EngineError => "engine_error",
            Self::Unload | Self::PeakFound | Self::Caller => "other",
        }
    }

    /// Returns whether the figures of a performance phase decide about it.
    #[must_use]
    pub fn is_about_figures(self) -> bool {
        self.is_about_length()
            || matches!(self, Self::Bound { .. } | Self::Intervals | Self::TargetRate | Self::NextRate)
    }

    /// Returns whether it is about how long a run is.
    #[must_use]
    pub fn is_about_length(self) -> bool {
        matches!(
            self,
            Self::EarlyStopping { .. } | Self::MinDuration | Self::MinQueryCount | Self::MinSampleCount
        )
    }
}

impl Finding {
    /// Creates a rule that two numbers decide about.
    pub(crate) fn compared(rule: Rule, is_kept: bool, measured: f64, bound: f64, unit: Unit) -> Self {
        Self {
            rule,
            scope: Scope::Test,
            status: if is_kept { Status::Met } else { Status::Broken },
            measured: Some(measured),
            bound: Some(bound),
            unit,
            remedy: None,
            time_ns: None,
            ended_by: None,
            lift: Vec::new(),
            cause: None,
        }
    }

    /// Creates an objection to the test that does not depend on its figures.
    pub(crate) fn objection(rule: Rule, scope: Scope, cause: Cause, advice: Option<&'static str>) -> Self {
        Self {
            rule,
            scope,
            status: Status::Broken,
            measured: None,
            bound: None,
            unit: Unit::Samples,
            remedy: advice.map(Remedy::Do),
            time_ns: None,
            ended_by: None,
            lift: Vec::new(),
            cause: Some(cause),
        }
    }

    /// Creates a finding that only the caller can observe, and that makes the test INVALID. `fault` displays
    /// as a sentence, for the logs too; `advice` gives the remedy.
    #[must_use]
    pub fn of_caller(
        fault: impl fmt::Display + fmt::Debug + Send + Sync + 'static,
        advice: Option<&'static str>,
    ) -> Self {
        Self::objection(Rule::Caller, Scope::Caller, Cause::Caller(Fault(Arc::new(fault))), advice)
    }

    /// Creates a finding from the logs of an engine, about its rule; it displays as `fault`, and makes the test INVALID
    /// if the rule is `broken`.
    #[must_use]
    pub fn of_engine(
        rule: Rule,
        fault: impl fmt::Display + fmt::Debug + Send + Sync + 'static,
        is_broken: bool,
    ) -> Self {
        let status = if is_broken { Status::Broken } else { Status::Met };
        Self { rule, status, ..Self::of_caller(fault, None) }
    }

    /// Creates a finding that makes the run INVALID and does not concern a single test. `fault` displays as a sentence,
    /// which also says what to do.
    #[must_use]
    pub fn of_run(fault: impl fmt::Display + fmt::Debug + Send + Sync + 'static) -> Self {
        Self { scope: Scope::Run, ..Self::of_caller(fault, None) }
    }

    /// Returns the fault that the caller gave to [`of_caller`](Self::of_caller) or [`of_run`](Self::of_run), if it is
    /// one of this type.
    #[must_use]
    pub fn caller_fault<T: 'static>(&self) -> Option<&T> {
        match &self.cause {
            Some(Cause::Caller(Fault(fault))) => (&**fault as &dyn Any).downcast_ref(),
            _ => None,
        }
    }

    /// Returns whether it makes the test INVALID.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.status == Status::Broken
    }

    /// Returns whether a search for the peak ended at its first rate.
    pub(crate) fn is_base_not_met(&self) -> bool {
        matches!(self.cause, Some(Cause::PeakSearch(PeakEnd::BaseNotMet(_))))
    }

    pub(crate) fn with(self, remedy: Option<(Remedy, Option<u64>)>) -> Self {
        match remedy {
            Some((remedy, time_ns)) => Self { remedy: Some(remedy), time_ns, ..self },
            None => self,
        }
    }

    /// Returns the used share of the rule's allowance: near 1 there is no room to spare.
    pub(crate) fn use_of_bound(&self) -> f64 {
        let (Some(measured), Some(bound)) = (self.measured, self.bound) else { return 0.0 };
        let (part, whole) = if self.rule.is_about_length() { (bound, measured) } else { (measured, bound) };
        if whole > 0.0 { part / whole } else { 0.0 }
    }
}
