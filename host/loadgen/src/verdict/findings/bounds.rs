//! The bounds of latencies, and early stopping, which is about the same latencies.

use proctor_vocabulary::Scenario;

use super::{
    alone::{Alone, are_over_too_often, concurrency},
    evidence::Evidence,
    finding::{Cause, Finding, Measure, Remedy, Rule, Unit},
    length::{UNIQUE, least_query_count, remedy},
    limits::reached,
    replay::{Replay, Replayed},
};
use crate::{
    issue::end::IssueEnd,
    measure::{latencies::Latencies, order_statistics::Ordered, statistics::percentile},
    verdict::{early_stopping::min_under_latency_queries, results::interval::IntervalResult},
};

/// Factor by which the computed rate is lowered, for effects that the model of the system leaves out.
const MARGIN: f64 = 0.98;
/// Minimum share of the tried rate for considered rates.
const SHARE_MIN: f64 = 1e-3;
/// Halvings of the gap between a good and a bad rate, in their logarithms: to 0.04 % of the rate.
const STEPS: usize = 14;
/// More queries than this are not advised: the share over the bound is at the edge then.
const QUERIES_MAX: u64 = 1 << 24;

/// Advice if a lower rate helps, but the run does not show which.
const SOME_LOWER_RATE: &str = "lower server_target_qps; the run does not tell by how much";

/// Rates below the test's that the run can assess.
enum LowerRates {
    /// Highest rate that keeps the bound, in queries per second.
    UpTo(f64),
    /// No rate keeps the bound: queries alone in the system took this long, in ns.
    TooFast { alone_ns: u64 },
    /// The bound is kept by queries alone in the system, and the run does not show at which rate.
    NotTold,
}

/// A latency with its bound, as a run measured it.
struct Bounded {
    measure: Measure,
    target_ns: u64,
    bound_ns: u64,
    is_met: bool,
}

/// Returns the bounds that the test has: of the latency or, in token runs, of the first and of the further tokens.
fn bounded(evidence: &Evidence<'_>) -> Vec<Bounded> {
    let Evidence { settings, result, .. } = evidence;
    if settings.request.scenario != Scenario::Server {
        return Vec::new();
    }
    let bounded = |measure, target_ns, bound_ns, is_met| Bounded { measure, target_ns, bound_ns, is_met };
    match result.token_latencies() {
        Some(tokens) => {
            let (first, further) = (tokens.first_token.target_ns, tokens.per_output_token.target_ns);
            vec![
                bounded(Measure::FirstToken, first, settings.request.server_ttft_latency, tokens.ttft_met),
                bounded(
                    Measure::PerOutputToken,
                    further,
                    settings.request.server_tpot_latency,
                    tokens.tpot_met,
                ),
            ]
        }
        None => {
            let target_ns = result.sample_latencies.target_ns;
            vec![bounded(
                Measure::Latency,
                target_ns,
                settings.target_latency_ns,
                result.perf_constraints_met,
            )]
        }
    }
}

/// Returns one finding for each bound. None counts as met where samples were not answered, or nothing was measured.
pub(super) fn bounds(evidence: &Evidence<'_>) -> Vec<Finding> {
    let quantile = evidence.settings.target_latency_percentile;
    let finding = |it: Bounded| {
        let rule = Rule::Bound { measure: it.measure, quantile };
        let remedy = if it.is_met { None } else { lower_rate(evidence, it.measure, it.bound_ns) };
        Finding::compared(rule, it.is_met, it.target_ns as f64, it.bound_ns as f64, Unit::Ns).with(remedy)
    };
    let is_sound = |it: &Bounded| !evidence.has_unmeasured && latencies_ns(evidence, it.measure).len() > 0;
    let counts = |it: &Bounded| !it.is_met || is_sound(it);
    bounded(evidence).into_iter().filter(counts).map(finding).collect()
}

/// Returns the share of queries over their interval, in MultiStream at fixed intervals.
pub(super) fn intervals(evidence: &Evidence<'_>) -> Option<Finding> {
    let result = evidence.result.intervals?;
    let (late_count, allowed_count) = (result.record.late_query_count, result.allowed_late_query_count);
    let (measured, bound) = (late_count as f64, allowed_count as f64);
    let finding = Finding::compared(Rule::Intervals, result.met(), measured, bound, Unit::Queries);
    if result.met() {
        return Some(finding);
    }
    let finding = Finding { cause: Some(Cause::Intervals(result)), ..finding };
    // A query without an answer counts as late, however few samples it has.
    if evidence.has_unmeasured {
        return Some(finding);
    }
    let mut latencies_ns = evidence.record.query_latencies_ns.clone();
    latencies_ns.sort_unstable();
    let latency_ns = percentile(&latencies_ns, evidence.settings.target_latency_percentile);
    // Taken for proportional to the number of samples.
    let share = result.record.interval_ns as f64 / latency_ns as f64;
    let proportional = (result.stream_count as f64 * share * MARGIN) as u64;
    let stream_count = streams_in_time(evidence, &result).map_or(proportional, |most| most.min(proportional));
    let remedy = match result.stream_count {
        1 => Remedy::Do("one stream is too many already, so the system has to be faster"),
        most => {
            Remedy::Set { setting: "multi_stream_samples_per_query", value: stream_count.clamp(1, most - 1) }
        }
    };
    Some(finding.with(Some((remedy, None))))
}

/// Returns the maximum number of samples of a query that would have been in time, if they were as fast without the
/// ones behind them. `None` if not even the first is, as in a system that answers all of a query at once.
fn streams_in_time(evidence: &Evidence<'_>, result: &IntervalResult) -> Option<u64> {
    let is_in_time = |sample: &&(u64, u64)| sample.1 <= result.record.interval_ns;
    let queries = evidence.samples.chunks((result.stream_count as usize).max(1));
    let mut in_time: Vec<_> =
        queries.map(|query| query.iter().take_while(is_in_time).count() as u64).collect();
    in_time.sort_unstable();
    in_time.get(result.allowed_late_query_count as usize).copied().filter(|count| *count > 0)
}

/// Returns whether enough queries were seen. Offline asks for none, nor do rounds without early stopping.
/// Where samples were not answered, it never counts as met.
pub(super) fn early_stopping(evidence: &Evidence<'_>) -> Option<Finding> {
    let Evidence { settings, result, record, .. } = evidence;
    let (count, quantile) = (record.issued_query_count, settings.target_latency_percentile);
    let (measure, over_count, bound_met) = match settings.request.scenario {
        _ if !settings.request.rules.stops_early => return None,
        Scenario::Offline => return None,
        Scenario::Server => {
            // Of two latencies the one that decided counts.
            let is_ttft = result.token_latencies().is_some_and(|tokens| tokens.ttft_early_stopping.is_some());
            let judged = bounded(evidence).into_iter().nth_back(usize::from(is_ttft))?;
            let latencies_ns = latencies_ns(evidence, judged.measure);
            let over_count = Ordered::new(latencies_ns).over_count(judged.bound_ns);
            (judged.measure, over_count, judged.is_met)
        }
        // One query may be over a latency that is the result.
        _ => (Measure::Latency, 1, true),
    };
    let needed = min_under_latency_queries(over_count, quantile).saturating_add(over_count);
    let is_met = result.early_stopping.met;
    if is_met && evidence.has_unmeasured {
        return None;
    }
    let rule = Rule::EarlyStopping { measure };
    let finding = Finding::compared(rule, is_met, count as f64, needed as f64, Unit::Queries);
    if is_met {
        return Some(finding);
    }
    if !bound_met {
        return Some(finding.with(Some((Remedy::MeetBoundFirst, None))));
    }
    // Such a run has as many queries as the set has samples for, regardless of its minimum.
    if settings.request.performance_issue_unique {
        return Some(finding.with(Some((UNIQUE, None))));
    }
    let is_server = settings.request.scenario == Scenario::Server;
    // Mend the cause of the early end: asking for as many queries as before, or fewer, changes nothing.
    let has_ended =
        matches!(evidence.end, IssueEnd::Stopped | IssueEnd::Stalled | IssueEnd::TimeStandsStill { .. });
    if has_ended || needed <= least_query_count(evidence) {
        return Some(Finding { ended_by: reached(evidence), ..finding.with(remedy(evidence)) });
    }
    let total = if is_server { total_queries(count, over_count, quantile) } else { Some(needed) };
    let more = |total: u64| {
        let fewest = needed.saturating_sub(count);
        let time_ns = evidence.qps().and_then(|qps| Evidence::time_ns(total.saturating_sub(count), qps));
        (Remedy::MoreQueries { fewest, total }, time_ns)
    };
    // At the edge of the bound no number of queries is enough.
    let judged = || bounded(evidence).into_iter().find(|it| it.measure == measure);
    let advice = total.map(more).or_else(|| lower_rate(evidence, measure, judged()?.bound_ns));
    Some(finding.with(advice))
}

/// Returns the number of queries that there should be in all, if the share over the bound stays as it is, and of the
/// further ones two standard deviations more than that are over it. `None` if no number is enough, or an absurd one.
fn total_queries(count: u64, over_count: u64, quantile: f64) -> Option<u64> {
    let share = over_count as f64 / count.max(1) as f64;
    let is_enough = |total: u64| {
        let further = share * (total - count) as f64;
        let over = over_count + (further + 2.0 * further.sqrt()).ceil() as u64;
        min_under_latency_queries(over, quantile).saturating_add(over) <= total
    };
    let mut enough = count.max(1);
    while !is_enough(enough) {
        enough = enough.checked_mul(2).filter(|it| *it <= QUERIES_MAX)?;
    }
    let mut too_few = enough / 2;
    while enough - too_few > 1 {
        let middle = too_few + (enough - too_few) / 2;
        if middle >= count && is_enough(middle) { enough = middle } else { too_few = middle }
    }
    Some(enough)
}

/// Returns the latencies of a measure in the order of issue, in ns.
fn latencies_ns<'a>(evidence: &Evidence<'a>, measure: Measure) -> Latencies<'a> {
    let tokens = evidence.record.tokens.as_ref();
    let list = match measure {
        Measure::Latency => return evidence.record.sample_latencies_ns.view(),
        Measure::FirstToken => tokens.map(|tokens| &tokens.first_token_latencies_ns),
        Measure::PerOutputToken => tokens.map(|tokens| &tokens.times_per_output_token_ns),
    };
    Latencies::List(list.map_or(&[], |list| list))
}

/// Returns the rate at which the bound would be met, and how long a run takes there.
pub(super) fn lower_rate(
    evidence: &Evidence<'_>,
    measure: Measure,
    bound_ns: u64,
) -> Option<(Remedy, Option<u64>)> {
    let latencies_ns = latencies_ns(evidence, measure);
    let rates = match measure {
        Measure::PerOutputToken if tells(evidence, latencies_ns) => {
            rates_by_concurrency(evidence, latencies_ns, bound_ns)
        }
        Measure::PerOutputToken => return None,
        Measure::Latency | Measure::FirstToken => {
            rates_by_replay(evidence, &replay(evidence, latencies_ns)?, latencies_ns, bound_ns)
        }
    };
    let qps = match rates {
        LowerRates::UpTo(qps) => three_digits(qps * MARGIN),
        LowerRates::TooFast { alone_ns } => return Some((Remedy::FasterSystem { alone_ns }, None)),
        LowerRates::NotTold => return Some((Remedy::Do(SOME_LOWER_RATE), None)),
    };
    Some((Remedy::LowerRate { qps }, time_at(evidence, qps)))
}

/// Gives the advice of [`lower_rate`] for the first bound that a whole run at the present rate breaks, if its
/// queries are like the queries of this one. `None` if it keeps all.
pub(super) fn lower_rate_if_broken(evidence: &Evidence<'_>) -> Option<(Remedy, Option<u64>)> {
    let is_broken = |it: &Bounded| {
        let replay = match it.measure {
            Measure::PerOutputToken => return !it.is_met,
            measure => replay(evidence, latencies_ns(evidence, measure)),
        };
        let replayed =
            replay.map(|replay| replay.run(evidence.arrivals_ns(evidence.settings.target_qps), it.bound_ns));
        replayed.is_some_and(|replayed| !keeps_bound(evidence, replayed))
    };
    let mut broken = bounded(evidence).into_iter().filter(is_broken);
    broken.find_map(|it| lower_rate(evidence, it.measure, it.bound_ns))
}

/// Returns the length of a run at this rate, in ns.
pub(super) fn time_at(evidence: &Evidence<'_>, qps: f64) -> Option<u64> {
    let for_duration = qps * evidence.settings.request.min_duration_ms as f64 / 1e3;
    let query_count = evidence.settings.min_query_count.max(for_duration.ceil() as u64).max(1);
    Evidence::time_ns(query_count, qps)
}

/// Returns whether every sample has such a latency. If one has none, that is a separate finding.
fn tells(evidence: &Evidence<'_>, latencies_ns: Latencies<'_>) -> bool {
    !evidence.samples.is_empty() && latencies_ns.len() >= evidence.samples.len() as u64
}

/// Returns the run as a queue of queries with these latencies.
fn replay(evidence: &Evidence<'_>, latencies_ns: Latencies<'_>) -> Option<Replay> {
    if !tells(evidence, latencies_ns) {
        return None;
    }
    let arrivals = evidence.samples.iter().map(|it| it.0);
    let samples: Vec<_> = arrivals.zip(latencies_ns.iter()).collect();
    Replay::new(&samples)
}

/// Returns whether a replayed run has no more queries over the bound than allowed.
fn keeps_bound(evidence: &Evidence<'_>, replayed: Replayed) -> bool {
    replayed.over_count as f64 <= (1.0 - evidence.settings.target_latency_percentile) * replayed.count as f64
}

/// Searches by the replayed run: ignores a limit on outstanding queries, as the advice lifts one in the way.
fn rates_by_replay(
    evidence: &Evidence<'_>,
    replay: &Replay,
    latencies_ns: Latencies<'_>,
    bound_ns: u64,
) -> LowerRates {
    let settings = evidence.settings;
    let quantile = settings.target_latency_percentile;
    let alone = Alone::new(&evidence.samples, latencies_ns.iter());
    let alone_ns = percentile(&alone.lone_ns, quantile);
    if are_over_too_often(&alone.lone_ns, bound_ns, quantile) {
        return LowerRates::TooFast { alone_ns };
    }
    // The replay knows one server: what several take at once, it takes for a wait.
    if are_over_too_often(&alone.unqueued_ns, bound_ns, quantile) {
        return LowerRates::NotTold;
    }
    if percentile(&replay.alone_ns(), quantile) > bound_ns {
        // A system that works in batches is replayed as one that takes the time of a whole batch for a query alone.
        let is_too_slow = alone_ns > bound_ns;
        return if is_too_slow { LowerRates::TooFast { alone_ns } } else { LowerRates::NotTold };
    }
    let run = |qps: f64| replay.run(evidence.arrivals_ns(qps), bound_ns);
    // Another run has other queries over the bound: one standard deviation more of them.
    let is_believed = |it: Replayed| {
        if !settings.request.rules.stops_early {
            return true;
        }
        let over_count = it.over_count + (it.over_count as f64).sqrt().ceil() as u64;
        min_under_latency_queries(over_count, quantile).saturating_add(over_count) <= it.count
    };
    let highest = |holds: &dyn Fn(Replayed) -> bool| highest(settings.target_qps, |qps| holds(run(qps)));
    // A run that is too short to be believed at any rate is a finding of its own.
    let qps = highest(&|it| keeps_bound(evidence, it) && is_believed(it))
        .or_else(|| highest(&|it| keeps_bound(evidence, it)));
    qps.map_or(LowerRates::NotTold, LowerRates::UpTo)
}

/// Returns the highest rate up to this one at which this holds, if it holds at the lowest tested one.
fn highest(target_qps: f64, holds: impl Fn(f64) -> bool) -> Option<f64> {
    let (mut good, mut bad) = (SHARE_MIN * target_qps, target_qps);
    if holds(bad) {
        return Some(bad);
    }
    if !holds(good) {
        return None;
    }
    for _ in 0..STEPS {
        let middle = (good * bad).sqrt();
        if holds(middle) { good = middle } else { bad = middle }
    }
    Some(good)
}

/// Lowers the rate by the number of queries in the system.
fn rates_by_concurrency(evidence: &Evidence<'_>, times_ns: Latencies<'_>, bound_ns: u64) -> LowerRates {
    let quantile = evidence.settings.target_latency_percentile;
    let mut beside: Vec<_> = concurrency(&evidence.samples).into_iter().zip(times_ns.iter()).collect();
    beside.sort_unstable();
    let usual = beside[((beside.len() as f64 * quantile) as usize).min(beside.len() - 1)].0;
    let (mut over_count, mut most) = (0_u64, None);
    for (index, (concurrency, time_ns)) in beside.iter().enumerate() {
        over_count += u64::from(*time_ns > bound_ns);
        let is_last_of_its_kind = beside.get(index + 1).is_none_or(|next| next.0 > *concurrency);
        if is_last_of_its_kind && over_count as f64 <= (1.0 - quantile) * (index + 1) as f64 {
            most = Some(*concurrency);
        }
    }
    if let Some(most) = most {
        return LowerRates::UpTo(evidence.settings.target_qps * (most as f64 / usual as f64).min(1.0));
    }
    // The first query is always alone in the system.
    let mut alone: Vec<_> = beside.iter().take_while(|it| it.0 == beside[0].0).map(|it| it.1).collect();
    alone.sort_unstable();
    LowerRates::TooFast { alone_ns: percentile(&alone, quantile) }
}

/// Returns the number cut to three digits.
fn three_digits(value: f64) -> f64 {
    let digits = value.log10().floor() as i32 - 2;
    // A negative power of ten is no double, a positive one is.
    if digits < 0 {
        let scale = 10_f64.powi(-digits);
        (value * scale).floor() / scale
    } else {
        let scale = 10_f64.powi(digits);
        (value / scale).floor() * scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_cut_to_three_digits() {
        for (value, expected) in
            [(812.7, 812.0), (1_234_567.0, 1_230_000.0), (0.012_39, 0.0123), (99.99, 99.9)]
        {
            assert_eq!(three_digits(value), expected);
        }
    }

    #[test]
    fn more_queries_are_needed_where_more_are_over_the_bound() {
        // No query over: the count that the rules state.
        assert_eq!(total_queries(100, 0, 0.99), Some(459));
        let few = total_queries(2000, 10, 0.99).unwrap();
        let many = total_queries(2000, 15, 0.99).unwrap();
        assert!(2000 < few && few < many, "{few} {many}");
        for (over, total) in [(10, few), (15, many)] {
            let expected = over * total / 2000;
            assert!(min_under_latency_queries(expected, 0.99) + expected <= total);
        }
        // A share of 1 % never is enough.
        assert_eq!(total_queries(2000, 20, 0.99), None);
    }
}
