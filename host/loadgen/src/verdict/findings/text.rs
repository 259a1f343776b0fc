//! Findings as sentences.

use std::fmt;

use super::{
    finding::{Cause, Finding, Limit, Measure, Remedy, Rule, Status, Unit},
    number::{DIGITS, count, rate, significant},
};
use crate::{issue::end::IssueEnd, measure::phase_error::PhaseError, verdict::peak_search::RateNotMet};

/// All digits that a time can have.
const DIGITS_MAX: usize = 20;

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = self.what();
        // A sentence goes on with what to do.
        f.write_str(if self.remedy.is_some() { what.trim_end_matches('.') } else { &what })?;
        self.write_remedy(f)?;
        if self.lift.is_empty() {
            return Ok(());
        }
        write!(f, "; set {} = 0, which is no limit", self.lift.join(" and "))
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Intervals(result) => f.write_str(&result.reason()),
            Self::Missing(missing) => missing.fmt(f),
            Self::Stalled => IssueEnd::Stalled.fmt(f),
            Self::Order(wrong) => wrong.fmt(f),
            Self::Unload(error) => error.fmt(f),
            Self::Completion(violation) => violation.fmt(f),
            Self::Interrupted(reason) => write!(f, "interrupted: {reason}"),
            Self::PeakSearch(end) => end.fmt(f),
            Self::NextRate { qps, reason } => {
                let what = match reason {
                    RateNotMet::Failed(PhaseError::FailedSamples { .. }) => "failed samples",
                    RateNotMet::Failed(PhaseError::TokenlessSamples { .. }) => "samples without their tokens",
                    RateNotMet::Failed(_) => "an error of the run",
                    RateNotMet::EndedEarly(_) => "too many outstanding queries",
                    RateNotMet::OverBound { .. } => "a latency over its bound",
                };
                write!(f, "{what} at the next rate, {} queries/s", rate(*qps))
            }
            Self::Caller(fault) => fault.fmt(f),
        }
    }
}

impl Finding {
    fn write_remedy(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown_time = self.time_ns.map(|time_ns| time(time_ns, DIGITS));
        let a_run = |f: &mut fmt::Formatter<'_>| {
            shown_time.as_ref().map_or(Ok(()), |time| write!(f, ", a run of about {time}"))
        };
        match &self.remedy {
            None => Ok(()),
            Some(Remedy::LowerRate { qps }) => {
                write!(f, ": lower the rate to about {} queries/s", rate(*qps))?;
                a_run(f)
            }
            Some(Remedy::FasterSystem { alone_ns }) => write!(
                f,
                ": no rate is low enough, for without any queue it is about {}, so the system has to be faster",
                time(*alone_ns, DIGITS)
            ),
            Some(Remedy::MoreQueries { total, .. }) => {
                if let Some(time) = &shown_time {
                    write!(f, ", {time} at this rate")?;
                }
                write!(f, ": set min_query_count = {total}")
            }
            Some(Remedy::MeetBoundFirst) => f.write_str(": meet the bound first"),
            Some(Remedy::Set { setting, value }) => {
                let end = if *value == 0 { ", which is no limit" } else { "" };
                write!(f, ": set {setting} = {value}{end}")?;
                a_run(f)
            }
            Some(Remedy::SetOr { setting, value, other }) => {
                write!(f, ": set {setting} = {value}")?;
                a_run(f)?;
                write!(f, ", or try {other}")
            }
            Some(Remedy::Do(advice)) => write!(f, ": {advice}"),
        }
    }

    /// Returns the measurement or the event, without the remedy.
    #[must_use]
    pub fn what(&self) -> String {
        if let Some(cause) = &self.cause {
            return cause.to_string();
        }
        let (measured, bound) = (self.measured.unwrap_or(0.0), self.bound.unwrap_or(0.0));
        let (measured_text, bound_text) = pair(measured, bound, self.unit);
        let is_broken = self.status == Status::Broken;
        match self.rule {
            Rule::Bound { measure, quantile } => {
                let name = measure.name();
                let percentile = percentile_name(quantile);
                if is_broken {
                    let (excess, run) = (excess(measured, bound), self.in_ended_run());
                    format!("{percentile} {name} {measured_text}, {excess}over the {bound_text} bound{run}")
                } else {
                    format!("{percentile} {name} {measured_text} of {bound_text}")
                }
            }
            Rule::EarlyStopping { .. } if is_broken => self.missing_queries(measured, bound),
            Rule::EarlyStopping { .. } => format!("early stopping: {measured_text} of at least {bound_text}"),
            Rule::MinDuration if is_broken => {
                format!("the run took {measured_text} of at least {bound_text}{}", self.ended())
            }
            Rule::MinDuration => format!("the minimum duration: {measured_text} of at least {bound_text}"),
            Rule::MinQueryCount if is_broken => {
                format!("the run issued {measured_text} of at least {bound_text}{}", self.ended())
            }
            Rule::MinQueryCount => {
                format!("the minimum query count: {measured_text} of at least {bound_text}")
            }
            Rule::MinSampleCount => format!("the run completed {measured_text} of at least {bound_text}"),
            Rule::Intervals => format!("late queries: {measured_text} of at most {bound_text}"),
            Rule::TargetRate => format!("the rate asked for: {bound_text}"),
            // These have a cause.
            Rule::NextRate
            | Rule::Completion(_)
            | Rule::Missing
            | Rule::Stalled
            | Rule::Interrupted
            | Rule::Unload
            | Rule::PeakFound
            | Rule::Order
            | Rule::EngineVerdict
            | Rule::EngineError
            | Rule::Caller => self.rule.name().to_owned(),
        }
    }

    /// Returns the limit that ended the run.
    fn ended(&self) -> String {
        self.ended_by
            .map_or(String::new(), |Limit { setting, value }| format!(", ended by {setting} = {value}"))
    }

    /// Returns the same if the rule is about more than the length of the run.
    fn in_ended_run(&self) -> String {
        let limit = |Limit { setting, value }| format!(" in a run that {setting} = {value} ended");
        self.ended_by.map_or(String::new(), limit)
    }

    /// Returns why the test is INVALID, as in the logs and lists of reasons: with the remedy if the figures give one.
    #[must_use]
    pub fn reason(&self) -> String {
        if self.rule.is_about_figures() { self.to_string() } else { self.what() }
    }

    fn missing_queries(&self, measured: f64, bound: f64) -> String {
        let (missing, run) = (count(bound - measured), self.in_ended_run());
        let text = format!("early stopping needs {missing} more queries{run}");
        match self.remedy {
            Some(Remedy::MoreQueries { fewest, total }) if total as f64 - measured > fewest as f64 => {
                format!(
                    "{text} if all of them are under the bound, about {} at the present share of those over it",
                    count(total as f64 - measured)
                )
            }
            Some(Remedy::MoreQueries { .. }) => text,
            _ => format!("{text}, all of them under the bound"),
        }
    }
}

impl Measure {
    fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::FirstToken => "time to first token",
            Self::PerOutputToken => "time per output token",
        }
    }
}

/// Formats a percentile: `p99`, `p99.9`.
fn percentile_name(quantile: f64) -> String {
    // Multiplying a fraction by 100 leaves dust at the end.
    format!("p{}", (quantile * 1e8).round() / 1e6)
}

/// Returns the excess in words, unless it says nothing.
fn excess(measured: f64, bound: f64) -> String {
    let percent = (measured / bound - 1.0) * 100.0;
    match percent {
        percent if percent >= 1000.0 && percent.is_finite() => {
            format!("{} times ", significant(measured / bound, DIGITS))
        }
        percent if (0.1..1000.0).contains(&percent) => format!("{} % ", significant(percent, 2)),
        _ => String::new(),
    }
}

/// Formats two numbers of a unit, with enough digits to distinguish them.
fn pair(measured: f64, bound: f64, unit: Unit) -> (String, String) {
    match unit {
        Unit::Ns => {
            let (measured_ns, bound_ns) = (measured as u64, bound as u64);
            let texts = |digits| (time(measured_ns, digits), time(bound_ns, digits));
            let distinct = (DIGITS..DIGITS_MAX).map(texts).find(|(measured, bound)| measured != bound);
            distinct.unwrap_or_else(|| texts(DIGITS))
        }
        Unit::Queries => (counted(measured, "query", "queries"), count(bound)),
        Unit::Samples => (counted(measured, "sample", "samples"), count(bound)),
        Unit::QueriesPerSecond => {
            (format!("{} queries/s", rate(measured)), format!("{} queries/s", rate(bound)))
        }
    }
}

/// Returns a time in the unit that suits it: `9.6 ms`, `3 min 12 s`.
fn time(ns: u64, digits: usize) -> String {
    let whole_s = ns / 1_000_000_000;
    // Rounded up, a time can belong to the next unit.
    for (unit, unit_ns) in [("ns", 1.0), ("us", 1e3), ("ms", 1e6)] {
        let text = significant(ns as f64 / unit_ns, digits);
        if text.parse().is_ok_and(|value: f64| value < 1000.0) {
            return format!("{text} {unit}");
        }
    }
    match ns {
        _ if whole_s < 60 || digits > DIGITS => format!("{} s", significant(ns as f64 / 1e9, digits)),
        _ if whole_s < 3600 => format!("{} min {} s", whole_s / 60, whole_s % 60),
        _ => format!("{} h {} min", whole_s / 3600, whole_s / 60 % 60),
    }
}

fn counted(value: f64, one: &str, many: &str) -> String {
    format!("{} {}", count(value), if value == 1.0 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(measured_ns: f64, bound_ns: f64, remedy: Option<Remedy>, time_ns: Option<u64>) -> Finding {
        let rule = Rule::Bound { measure: Measure::Latency, quantile: 0.990_000_000_000_000_1 };
        let finding = Finding::compared(rule, measured_ns <= bound_ns, measured_ns, bound_ns, Unit::Ns);
        Finding { remedy, time_ns, ..finding }
    }

    fn early(measured: f64, bound: f64, remedy: Option<Remedy>, time_ns: Option<u64>) -> Finding {
        let rule = Rule::EarlyStopping { measure: Measure::Latency };
        let finding = Finding::compared(rule, measured >= bound, measured, bound, Unit::Queries);
        Finding { remedy, time_ns, ..finding }
    }

    #[test]
    fn sentences_say_rule_excess_remedy_and_time() {
        let minutes = Some(605_000_000_000);
        for (finding, expected) in [
            (
                bound(13.1e6, 10e6, Some(Remedy::LowerRate { qps: 812.0 }), minutes),
                "p99 latency 13.1 ms, 31 % over the 10 ms bound: lower the rate to about 812 queries/s, a run of about \
                 10 min 5 s",
            ),
            (
                bound(5e9, 10e6, Some(Remedy::FasterSystem { alone_ns: 12_340_000 }), None),
                "p99 latency 5 s, 500 times over the 10 ms bound: no rate is low enough, for without any queue it is \
                 about 12.3 ms, so the system has to be faster",
            ),
            (
                bound(100_000_001.0, 100_000_000.0, None, None),
                "p99 latency 100.000001 ms, over the 100 ms bound",
            ),
            (
                Finding {
                    ended_by: Some(Limit { setting: "server_max_async_queries", value: 12 }),
                    remedy: Some(Remedy::Set { setting: "server_max_async_queries", value: 0 }),
                    ..bound(13.1e6, 10e6, None, minutes)
                },
                "p99 latency 13.1 ms, 31 % over the 10 ms bound in a run that server_max_async_queries = 12 ended: set \
                 server_max_async_queries = 0, which is no limit, a run of about 10 min 5 s",
            ),
            (bound(9.6e6, 10e6, None, None), "p99 latency 9.6 ms of 10 ms"),
            (
                early(
                    6000.0,
                    7184.0,
                    Some(Remedy::MoreQueries { fewest: 1184, total: 7184 }),
                    Some(192_000_000_000),
                ),
                "early stopping needs 1,184 more queries, 3 min 12 s at this rate: set min_query_count = 7184",
            ),
            (
                early(
                    6000.0,
                    7184.0,
                    Some(Remedy::MoreQueries { fewest: 1184, total: 9000 }),
                    Some(4_000_000_000_000),
                ),
                "early stopping needs 1,184 more queries if all of them are under the bound, about 3,000 at the present \
                 share of those over it, 1 h 6 min at this rate: set min_query_count = 9000",
            ),
            (
                early(6000.0, 7184.0, Some(Remedy::MeetBoundFirst), None),
                "early stopping needs 1,184 more queries, all of them under the bound: meet the bound first",
            ),
            (early(7184.0, 7184.0, None, None), "early stopping: 7,184 queries of at least 7,184"),
        ] {
            assert_eq!(finding.to_string(), expected);
        }
    }

    #[test]
    fn lengths_read_well() {
        let finding =
            |rule, is_kept, measured, bound, unit| Finding::compared(rule, is_kept, measured, bound, unit);
        let set = Some((Remedy::Set { setting: "max_query_count", value: 1100 }, Some(1_000_000_000)));
        for (finding, expected) in [
            (
                finding(Rule::MinDuration, false, 0.25e9, 1e9, Unit::Ns).with(set),
                "the run took 250 ms of at least 1 s: set max_query_count = 1100, a run of about 1 s",
            ),
            (
                Finding {
                    ended_by: Some(Limit { setting: "server_max_async_queries", value: 12 }),
                    lift: vec!["max_query_count", "max_duration_ms"],
                    remedy: Some(Remedy::LowerRate { qps: 812.0 }),
                    ..finding(Rule::MinQueryCount, false, 20.0, 1000.0, Unit::Queries)
                },
                "the run issued 20 queries of at least 1,000, ended by server_max_async_queries = 12: lower the rate to \
                 about 812 queries/s; set max_query_count and max_duration_ms = 0, which is no limit",
            ),
            (
                finding(Rule::MinDuration, true, 600.02e9, 600e9, Unit::Ns),
                "the minimum duration: 600.02 s of at least 600 s",
            ),
            (
                finding(Rule::MinQueryCount, false, 1.0, 5000.0, Unit::Queries),
                "the run issued 1 query of at least 5,000",
            ),
            (
                finding(Rule::TargetRate, true, 0.5, 0.5, Unit::QueriesPerSecond),
                "the rate asked for: 0.5 queries/s",
            ),
        ] {
            assert_eq!(finding.to_string(), expected);
        }
    }

    #[test]
    fn numbers_have_the_digits_that_they_need() {
        assert_eq!(
            [999, 12_340, 999_999, 59_990_000_000].map(|ns| time(ns, 3)),
            ["999 ns", "12.3 us", "1 ms", "60 s"]
        );
        assert_eq!([1e6, 999.0, 12_345.0].map(count), ["1,000,000", "999", "12,345"]);
        assert_eq!([812.0, 1_230_000.0, 0.0123, 99.9].map(rate), ["812", "1,230,000", "0.0123", "99.9"]);
        assert_eq!(percentile_name(0.999 * 1.000_000_000_000_000_2), "p99.9");
    }
}
