//! Formats the answer of a search for the user: a line for each finished probe, the curve, and the result.

use proctor_results::{CurvePoint, PointKind};
use proctor_search::{ConstraintSeen, Dependence, ProbeRecord, SearchEnd, Side};
use proctor_words::text::{counted, counted_queries, duration, four_digits};

use super::{
    plan::{Bound, FAILED, OUTSTANDING, SearchPlan, TOKENLESS},
    state::State,
};

/// Width of the longest bar of the curve.
const BAR: f64 = 40.0;

/// Returns the head of the lines of probes and full runs.
pub(crate) fn head(plan: &SearchPlan) -> String {
    format!(
        "{:>13}  {:>9}  {:>9}  {:>9}  {:>8}  {:>9}  verdict\n",
        plan.unit(),
        "p50",
        "p99",
        "p99.9",
        "over",
        "queries"
    )
}

/// Returns the line of a probe or a full run.
pub(crate) fn line(plan: &SearchPlan, point: &CurvePoint) -> String {
    // What keeps a looser constraint than the rules have it is not VALID by that.
    let [met, not_met] = if plan.may_fail() { ["met", "not met"] } else { ["VALID", "INVALID"] };
    let verdict = match (point.kind, point.side) {
        (PointKind::FullRun, Side::Under) => format!("full run: {met}"),
        (PointKind::FullRun, Side::Over) => format!("full run: {not_met}"),
        (PointKind::Probe, side) => {
            let side = match side {
                Side::Under => "good",
                // Whether another load helps is decided separately.
                Side::Over if is_of_samples(point) => "bad",
                Side::Over => "too high",
            };
            let is_named = is_of_samples(point) || is_of_limit(point);
            let why = if is_named { format!(": {}", point.constraint) } else { String::new() };
            format!("{side}{why} (confidence {}%)", percent(point.confidence))
        }
    };
    format!(
        "{:>13}  {:>9}  {:>9}  {:>9}  {:>7}%  {:>9}  {verdict}\n",
        four_digits(point.load),
        time(point.p50_ns),
        time(point.p99_ns),
        time(point.p99_9_ns),
        format!("{:.3}", point.over_share * 100.0),
        point.query_count,
    )
}

/// Returns a time, or a dash for none.
fn time(ns: Option<u64>) -> String {
    ns.map_or("-".to_owned(), duration)
}

/// Returns whether a load is bad for failed samples, or for those without their tokens, and not for its latencies.
fn is_of_samples(point: &CurvePoint) -> bool {
    point.side == Side::Over && [FAILED, TOKENLESS].contains(&&*point.constraint)
}

/// Returns whether a load is bad because the limit on outstanding queries ended its probe.
fn is_of_limit(point: &CurvePoint) -> bool {
    point.side == Side::Over && point.constraint == OUTSTANDING
}

/// Returns whole percent, but not 100 if there is doubt.
fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent >= 99.5 && share < 1.0 => "> 99".to_owned(),
        percent => format!("{percent:.0}"),
    }
}

/// Returns the 99th percentile over the load, the lowest first, with the bound.
pub(crate) fn curve(plan: &SearchPlan, state: &State) -> String {
    let mut points: Vec<_> = state.curve.iter().collect();
    points.sort_by(|a, b| a.load.total_cmp(&b.load));
    let bound_ns = plan.longest_bound_ns();
    // Anything far beyond the bound is cut off.
    let longest_ns = points
        .iter()
        .filter_map(|point| point.p99_ns)
        .max()
        .unwrap_or(0)
        .min(bound_ns.saturating_mul(2))
        .max(1);
    let width = |ns: u64| (ns as f64 / longest_ns as f64 * BAR).round().min(BAR) as usize;
    let mut text = format!("{:>13}  {:>9}\n", plan.unit(), "p99");
    for point in points {
        let mut bar: Vec<char> = vec!['#'; point.p99_ns.map_or(0, width)];
        let mark = width(bound_ns);
        if mark < BAR as usize {
            bar.resize(bar.len().max(mark + 1), ' ');
            bar[mark] = '|';
        }
        let cut = if point.p99_ns > Some(longest_ns) { ">" } else { "" };
        let bar: String = bar.into_iter().collect();
        text.push_str(&format!("{:>13}  {:>9}  {bar}{cut}\n", four_digits(point.load), time(point.p99_ns)));
    }
    let (bound, judged) = (duration(bound_ns), trimmed(plan.percentile()));
    text.push_str(&format!("{:>24}  | is the bound of {bound}, which p{judged} has to keep\n", ""));
    text
}

/// Returns the result in a sentence, with advice if nothing was found, and the reason why no load counts.
pub(crate) fn summary(plan: &SearchPlan, state: &State, end: SearchEnd) -> String {
    if state.objections.is_empty() {
        return of_end(plan, state, end);
    }
    let objections = state.objections.join("; ");
    match end {
        SearchEnd::Found { .. } | SearchEnd::NotConfirmed { .. } => format!("no load counts: {objections}"),
        _ => format!("{}; nor would a load count: {objections}", of_end(plan, state, end)),
    }
}

/// Returns how the search ended, in a sentence.
fn of_end(plan: &SearchPlan, state: &State, end: SearchEnd) -> String {
    let unit = plan.unit();
    let load = |load: f64| format!("{} {unit}", grouped(load));
    let is_lenient = plan.may_fail();
    let nothing = if is_lenient { "nothing meets the constraints" } else { "nothing is VALID" };
    match end {
        SearchEnd::Found { load: found, at_upper_end } => {
            let of_load = state.judged_full_runs().filter(|(run, met)| run.load == found && *met);
            let word = if is_lenient { "met" } else { "VALID" };
            let runs = counted(of_load.count() as u64, "full run");
            let more = if at_upper_end { "; the highest that --to allows" } else { "" };
            format!("{} {word} (confirmed by {runs}){}{more}", load(found), limited_by(plan, state, found))
        }
        SearchEnd::NothingGood { lowest, lower_helps } => {
            let point = state.curve.iter().rfind(|point| point.load == lowest);
            if let Some(point) = point.filter(|point| is_of_limit(point)) {
                let (limit, queries) = (plan.max_outstanding(), counted_queries(point.query_count));
                return format!(
                    "{nothing}: at {}, the lowest that was tried, server_max_async_queries = {limit} ended the \
                     probe after {queries}; set server_max_async_queries = 0, which is no limit, or lower --from to \
                     look below",
                    load(lowest)
                );
            }
            let samples = point.filter(|point| is_of_samples(point));
            let causes = samples.map_or(String::new(), |_| causes(state));
            let seen = point.map_or(String::new(), |point| {
                let share = format!("{:.3}%", point.over_share * 100.0);
                if is_of_samples(point) {
                    return format!("{share} of the queries have {}{causes}", point.constraint);
                }
                format!(
                    "p99 is {}, and {share} of the queries miss the bound ({})",
                    point.p99_ns.map_or("not known".to_owned(), duration),
                    point.constraint
                )
            });
            let advice = match (lower_helps, samples) {
                (_, Some(_)) if !plan.is_server() && lowest <= 1.0 => "a query cannot have fewer samples",
                (_, Some(_)) => "lower --from to look below, if the load is the reason",
                (true, None) => "lower --from to look below",
                (false, None) => {
                    "fewer queries do not make it shorter: the system itself takes too long for the bound"
                }
            };
            format!("{nothing}: at {}, the lowest that was tried, {seen}; {advice}", load(lowest))
        }
        SearchEnd::NotConfirmed { load: last } => {
            let reasons = state.search.confirmations.last().map(|run| run.reasons.join("; "));
            let none = if is_lenient { "no full run met the constraints" } else { "no full run was VALID" };
            format!("{none}; the last, at {}: {}", load(last), reasons.unwrap_or_default())
        }
        SearchEnd::AtAnyLoad { load: lowest } => {
            let telling = telling_of_any_load(state);
            let of_lowest = telling.iter().find(|(load, _)| *load == lowest);
            let (what, share) = of_lowest.map_or((FAILED, 0.0), |(_, seen)| (&*seen.name, seen.share()));
            let highest = telling.iter().rfind(|(load, seen)| *load > lowest && seen.name == what);
            let beside = highest.map_or(String::new(), |(highest, seen)| {
                format!(" and {:.3}% at {}", seen.share() * 100.0, load(*highest))
            });
            format!(
                "{nothing}: {:.3}% of the queries have {what} at {}{beside}, so that no load helps{}",
                share * 100.0,
                load(lowest),
                causes(state)
            )
        }
        SearchEnd::Timeless => {
            "there is no limit: the system takes no virtual time; give it a service time".to_owned()
        }
    }
}

/// Returns the loads whose probes show that no load helps, the lowest first, with the constraints missed there. A load
/// that may have overloaded the system shows nothing of the kind.
fn telling_of_any_load(state: &State) -> Vec<(f64, &ConstraintSeen)> {
    let probes = state.search.probes.iter().filter_map(|probe| {
        let seen = probe.broken(Dependence::Never).or_else(|| probe.broken(Dependence::Doubtful));
        Some((probe.load, seen?))
    });
    let mut telling: Vec<_> = probes.collect();
    telling.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    telling
}

/// Returns the reasons of the first probe whose samples failed or lacked their tokens.
fn causes(state: &State) -> String {
    match &state.causes[..] {
        [] => String::new(),
        causes => format!("; the first: {}", causes.join("; ")),
    }
}

/// Returns the constraint that the next worse load has missed, as it is in the full runs at this load; where nothing
/// above was bad, the one that is nearest to its limit in them.
pub(crate) fn limited_by(plan: &SearchPlan, state: &State, load: f64) -> String {
    let search = &state.search;
    let full_runs = search.confirmations.iter().map(|run| &run.seen);
    let worse = search.probes.iter().chain(full_runs.clone());
    let worse = worse.filter(|seen| seen.load > load && !seen.is_under());
    let worse = worse.min_by(|a, b| a.load.total_cmp(&b.load));
    let broken = worse.and_then(|worse| Some((worse.load, worse.limiting()?)));
    let is_bounded = |seen: &ConstraintSeen| plan.bounds.iter().any(|bound| bound.what.name() == seen.name);
    if let Some((worse, seen)) = broken.filter(|(_, seen)| seen.is_broken() && !is_bounded(seen)) {
        return format!(", limited by {} at {} {}", seen.name, grouped(worse), plan.unit());
    }
    let of_load = || full_runs.clone().filter(move |seen| seen.load == load);
    let largest = |a: &&ConstraintSeen, b: &&ConstraintSeen| {
        a.tail_ratio.partial_cmp(&b.tail_ratio).unwrap_or(std::cmp::Ordering::Equal)
    };
    let missed_above = broken.filter(|(_, seen)| seen.is_broken()).and_then(|(_, missed)| {
        let same = of_load().flat_map(|seen| &seen.constraints).filter(|seen| seen.name == missed.name);
        same.max_by(largest)
    });
    let limiting = missed_above.or_else(|| of_load().filter_map(ProbeRecord::limiting).max_by(largest));
    let Some(seen) = limiting else { return String::new() };
    let bound = plan.bounds.iter().find(|bound| bound.what.name() == seen.name);
    match (bound, seen.tail_ratio) {
        (Some(Bound { bound_ns, .. }), Some(ratio)) => {
            let tail = duration((ratio * *bound_ns as f64).round() as u64);
            format!(
                ", limited by p{} {} {tail} of {}",
                trimmed(plan.percentile()),
                seen.name,
                duration(*bound_ns)
            )
        }
        _ if seen.name == FAILED => ", limited by failed samples".to_owned(),
        _ => String::new(),
    }
}

/// Returns a percentile without dust at its end.
fn trimmed(percentile: f64) -> f64 {
    (percentile * 1e6).round() / 1e6
}

/// Returns four digits at least, with commas between thousands.
fn grouped(value: f64) -> String {
    let text = four_digits(value);
    let (whole, fraction) =
        text.split_once('.').map_or((text.as_str(), None), |(whole, fraction)| (whole, Some(fraction)));
    let mut grouped = String::new();
    for (position, digit) in whole.chars().enumerate() {
        if position > 0 && (whole.len() - position).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    match fraction {
        Some(fraction) if fraction.chars().any(|digit| digit != '0') => format!("{grouped}.{fraction}"),
        _ => grouped,
    }
}

#[cfg(test)]
mod tests {
    use proctor_bed::Fault;
    use proctor_config::Loader;
    use proctor_loadgen::Finding;

    use super::super::options::FindMaxOptions;
    use super::*;
    use crate::objections;

    fn plan(max_error_share: f64) -> SearchPlan {
        let settings = Loader::new().set("scenario=Server").load().unwrap();
        SearchPlan::new(&settings, &FindMaxOptions { max_error_share, ..FindMaxOptions::default() }).unwrap()
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!([1234.4, 812.34, 9.0, 1_234_567.0].map(grouped), ["1,234", "812.3", "9", "1,234,567"]);
        assert_eq!([0.5, 0.953, 0.9999, 1.0].map(percent), ["50", "95", "> 99", "100"]);
    }

    #[test]
    fn where_something_speaks_against_all_loads_none_is_found() {
        let plan = plan(0.0);
        let mut state = State::new(&plan, &Loader::new().set("scenario=Server").load().unwrap());
        let found = SearchEnd::Found { load: 100.0, at_upper_end: false };
        assert_eq!(state.judged(found), found);
        let objection = "the plugin could read the answers";
        let exposed = Finding::of_run(Fault::Exposed(objection.to_owned()));
        assert!(objections::add(&mut state.objections, &exposed));
        let end = state.judged(found);
        assert_eq!(end, SearchEnd::NotConfirmed { load: 100.0 });
        assert_eq!(summary(&plan, &state, end), format!("no load counts: {objection}"));
        let nothing = SearchEnd::NothingGood { lowest: 1.0, lower_helps: true };
        assert_eq!(state.judged(nothing), nothing);
        let text = summary(&plan, &state, nothing);
        assert!(text.starts_with("nothing is VALID") && text.ends_with(objection), "{text}");
    }

    #[test]
    fn a_line_has_the_columns_of_its_head() {
        let point = CurvePoint {
            kind: PointKind::Probe,
            load: 812.5,
            p50_ns: Some(1_000_000),
            p90_ns: Some(2_000_000),
            p99_ns: Some(9_800_000),
            p99_9_ns: Some(12_300_000),
            constraint: "latency".to_owned(),
            over_share: 0.0087,
            side: Side::Under,
            confidence: 0.961,
            query_count: 48_000,
            duration_ns: 60_000_000_000,
        };
        assert_eq!(
            line(&plan(0.0), &point),
            "        812.5   1.000 ms   9.800 ms   12.30 ms    0.870%      48000  good (confidence 96%)\n"
        );
        let unanswered = CurvePoint { p50_ns: None, p99_ns: None, p99_9_ns: None, ..point.clone() };
        assert_eq!(
            line(&plan(0.0), &unanswered),
            "        812.5          -          -          -    0.870%      48000  good (confidence 96%)\n"
        );
        for (error_share, side, verdict) in [
            (0.0, Side::Under, "full run: VALID\n"),
            (0.0, Side::Over, "full run: INVALID\n"),
            (0.05, Side::Under, "full run: met\n"),
            (0.05, Side::Over, "full run: not met\n"),
        ] {
            let full = CurvePoint { kind: PointKind::FullRun, side, ..point.clone() };
            assert!(line(&plan(error_share), &full).ends_with(verdict), "{error_share}");
        }
    }
}
