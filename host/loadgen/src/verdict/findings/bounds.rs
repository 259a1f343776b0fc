//! The bounds of latencies, and early stopping, which is about the same latencies.

use proctor_vocabulary::Scenario;

use super::{
    evidence::Evidence,
    finding::{Cause, Finding, Measure, Remedy, Rule, Unit},
    replay::{Replay, Replayed},
};
use crate::{
    measure::{latencies::Latencies, order_statistics::Ordered, statistics::percentile},
    verdict::early_stopping::min_under_latency_queries,
};

/// The computed rate is lowered by this much, for what the model of the system leaves out.
const MARGIN: f64 = 0.98;
/// Rates below this share of the one that was tried are not looked at.
const SHARE_MIN: f64 = 1e-3;
/// Share of the outstanding queries that are allowed that may be there in the replay.
const OUTSTANDING_SHARE: f64 = 0.8;
/// Halvings of the gap between a good and a bad rate, in their logarithms: to 0.04 % of the rate.
const STEPS: usize = 14;
/// More queries than this are not advised: the share over the bound is at the edge then.
const QUERIES_MAX: u64 = 1 << 24;

/// A latency with its bound, as a run measured it.
struct Bounded {
    measure: Measure,
    target_ns: u64,
    bound_ns: u64,
    is_met: bool,
}

/// The bounds that the test has: of the latency or, in token runs, of the first and of the further tokens.
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

/// One finding for each bound. None counts as met where samples were not answered.
pub(super) fn bounds(evidence: &Evidence<'_>) -> Vec<Finding> {
    let quantile = evidence.settings.target_latency_percentile;
    let finding = |it: Bounded| {
        let rule = Rule::Bound { measure: it.measure, quantile };
        let remedy = if it.is_met { None } else { lower_rate(evidence, it.measure, it.bound_ns) };
        Finding::compared(rule, it.is_met, it.target_ns as f64, it.bound_ns as f64, Unit::Ns).with(remedy)
    };
    let counts = |it: &Bounded| !(it.is_met && evidence.has_unanswered);
    bounded(evidence).into_iter().filter(counts).map(finding).collect()
}

/// The share of queries over their interval, in MultiStream at fixed intervals.
pub(super) fn intervals(evidence: &Evidence<'_>) -> Option<Finding> {
    let result = evidence.result.intervals?;
    let (late_count, allowed_count) = (result.record.late_query_count, result.allowed_late_query_count);
    let (measured, bound) = (late_count as f64, allowed_count as f64);
    let finding = Finding::compared(Rule::Intervals, result.met(), measured, bound, Unit::Queries);
    if result.met() {
        return Some(finding);
    }
    let mut latencies_ns = evidence.record.query_latencies_ns.clone();
    latencies_ns.sort_unstable();
    let latency_ns = percentile(&latencies_ns, evidence.settings.target_latency_percentile);
    // Taken for proportional to the number of samples.
    let share = result.record.interval_ns as f64 / latency_ns as f64;
    let stream_count = (result.stream_count as f64 * share * MARGIN) as u64;
    let remedy = match result.stream_count {
        1 => Remedy::Do("one stream is too many already, so the system has to be faster"),
        most => {
            Remedy::Set { setting: "multi_stream_samples_per_query", value: stream_count.clamp(1, most - 1) }
        }
    };
    Some(Finding { cause: Some(Cause::Intervals(result)), ..finding }.with(Some((remedy, None))))
}

/// Whether enough queries were seen. Offline asks for none, nor do rounds without early stopping. Where samples were
/// not answered, it never counts as met.
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
    if is_met && evidence.has_unanswered {
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
    let is_server = settings.request.scenario == Scenario::Server;
    let total = if is_server { total_queries(count, over_count, quantile) } else { Some(needed) };
    let more = |total: u64| {
        let fewest = needed.saturating_sub(count);
        let time_ns = evidence.qps().and_then(|qps| Evidence::time_ns(total.saturating_sub(count), qps));
        (Remedy::MoreQueries { fewest, total }, time_ns)
    };
    // At the edge of the bound no number of queries is enough.
    let judged = || bounded(evidence).into_iter().find(|it| it.measure == measure);
    let remedy = total.map(more).or_else(|| lower_rate(evidence, measure, judged()?.bound_ns));
    Some(finding.with(remedy))
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

/// The latencies of a measure in the order of issue, in ns.
fn latencies_ns<'a>(evidence: &Evidence<'a>, measure: Measure) -> Latencies<'a> {
    let tokens = evidence.record.tokens.as_ref();
    let list = match measure {
        Measure::Latency => return evidence.record.sample_latencies_ns.view(),
        Measure::FirstToken => tokens.map(|tokens| &tokens.first_token_latencies_ns),
        Measure::PerOutputToken => tokens.map(|tokens| &tokens.times_per_output_token_ns),
    };
    Latencies::List(list.map_or(&[], |list| list))
}

/// At which rate the bound would be met, and how long a run takes there.
pub(super) fn lower_rate(
    evidence: &Evidence<'_>,
    measure: Measure,
    bound_ns: u64,
) -> Option<(Remedy, Option<u64>)> {
    let latencies_ns = latencies_ns(evidence, measure);
    if evidence.samples.is_empty() || latencies_ns.len() < evidence.samples.len() as u64 {
        // Some sample has no such latency, which is a finding of its own.
        return None;
    }
    let found = match measure {
        Measure::PerOutputToken => rate_by_concurrency(evidence, latencies_ns, bound_ns),
        Measure::Latency | Measure::FirstToken => {
            let arrivals = evidence.samples.iter().map(|it| it.0);
            let samples: Vec<_> = arrivals.zip(latencies_ns.iter()).collect();
            rate_by_replay(evidence, &Replay::new(&samples)?, bound_ns)
        }
    };
    let qps = match found {
        Ok(qps) => three_digits(qps * MARGIN),
        Err(alone_ns) => return Some((Remedy::FasterSystem { alone_ns }, None)),
    };
    Some((Remedy::LowerRate { qps }, Evidence::time_ns(queries_at(evidence, qps), qps)))
}

/// Returns the number of queries of a run at this rate.
fn queries_at(evidence: &Evidence<'_>, qps: f64) -> u64 {
    let for_duration = qps * evidence.settings.request.min_duration_ms as f64 / 1e3;
    evidence.settings.min_query_count.max(for_duration.ceil() as u64).max(1)
}

/// The highest rate at which the replayed run keeps the bound; else the latency of the queries alone.
fn rate_by_replay(evidence: &Evidence<'_>, replay: &Replay, bound_ns: u64) -> Result<f64, u64> {
    let settings = evidence.settings;
    let quantile = settings.target_latency_percentile;
    let alone_ns = percentile(&replay.alone_ns(), quantile);
    if alone_ns > bound_ns {
        return Err(alone_ns);
    }
    let run = |qps: f64| replay.run(evidence.arrivals_ns(qps), bound_ns);
    let keeps_bound = |it: Replayed| {
        let limit = settings.max_async_queries as f64 * OUTSTANDING_SHARE;
        it.over_count as f64 <= (1.0 - quantile) * it.count as f64
            && (settings.max_async_queries == 0 || it.outstanding_max as f64 <= limit.max(1.0))
    };
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
    let qps = highest(&|it| keeps_bound(it) && is_believed(it)).or_else(|| highest(&keeps_bound));
    Ok(qps.unwrap_or(SHARE_MIN * settings.target_qps))
}

/// The most queries that are outstanding at once at the rate of the test, if it keeps the bound without a limit on
/// them.
pub(super) fn outstanding_within_bound(evidence: &Evidence<'_>) -> Option<u64> {
    let settings = evidence.settings;
    if evidence.result.token_latencies().is_some() {
        return None;
    }
    let replay = Replay::new(&evidence.samples)?;
    let it = replay.run(evidence.arrivals_ns(settings.target_qps), settings.target_latency_ns);
    let allowed = (1.0 - settings.target_latency_percentile) * it.count as f64;
    (it.over_count as f64 <= allowed).then_some(it.outstanding_max)
}

/// The highest rate up to this one at which this holds, if it holds at the lowest one that is looked at.
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

/// The rate lowered as far as the number of queries in the system has to fall; else the time of those that had the
/// fewest beside them.
fn rate_by_concurrency(evidence: &Evidence<'_>, times_ns: Latencies<'_>, bound_ns: u64) -> Result<f64, u64> {
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
    match most {
        Some(most) => Ok(evidence.settings.target_qps * (most as f64 / usual as f64).min(1.0)),
        None => {
            let fewest = beside[0].0;
            let mut alone: Vec<_> = beside.iter().take_while(|it| it.0 == fewest).map(|it| it.1).collect();
            alone.sort_unstable();
            Err(percentile(&alone, quantile))
        }
    }
}

/// Returns the number of queries in the system when each arrived, itself included.
fn concurrency(samples: &[(u64, u64)]) -> Vec<u64> {
    let mut ends_ns = std::collections::BinaryHeap::new();
    let count = |&(arrival_ns, latency_ns): &(u64, u64)| {
        while ends_ns.peek().is_some_and(|std::cmp::Reverse(end_ns)| *end_ns <= arrival_ns) {
            ends_ns.pop();
        }
        ends_ns.push(std::cmp::Reverse(arrival_ns + latency_ns));
        ends_ns.len() as u64
    };
    samples.iter().map(count).collect()
}

/// The number cut to three digits.
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
        // None over: what the rules state.
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

    #[test]
    fn queries_are_in_the_system_until_they_end() {
        assert_eq!(concurrency(&[(0, 10), (5, 100), (10, 1), (11, 5), (200, 1)]), [1, 2, 2, 2, 1]);
    }
}
