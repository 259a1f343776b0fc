//! Determines when a phase of the streams started. The trace has that instant only between two others, a few
//! microseconds apart; LoadGen's decisions and output show the rest.

use proctor_loadgen::{EffectiveSettings, PhaseMode};
use proctor_vocabulary::Scenario;

use crate::differential::{
    logs::Logs,
    timeline::{TimedPhase, Timeline},
};

const NS_PER_MS: u64 = 1_000_000;

/// Returns the start of each phase, in ns from the origin of the trace; the mode of each phase as ours plans
/// it. An error says that no instant agrees with the official LoadGen's behaviour.
pub fn starts_ns(
    timeline: &Timeline,
    modes: &[PhaseMode],
    settings: &EffectiveSettings,
    logs: &Logs,
) -> Result<Vec<u64>, String> {
    let streams = matches!(settings.request.scenario, Scenario::SingleStream | Scenario::MultiStream);
    let start_ns = |(number, phase): (usize, &TimedPhase)| match modes.get(number) {
        _ if !streams => Ok(timeline.samples[phase.samples.start].scheduled_ns),
        Some(PhaseMode::Performance) => of_performance(phase, settings, logs),
        _ => Ok(phase.start_ns.1),
    };
    timeline.phases.iter().enumerate().map(start_ns).collect()
}

fn of_performance(phase: &TimedPhase, settings: &EffectiveSettings, logs: &Logs) -> Result<u64, String> {
    let (mut low, mut high) = phase.start_ns;
    let last_ns = *phase.issues_ns.last().ok_or("a phase without queries")?;
    let mut ends = logs.detail.iter().filter(|entry| entry.value.contains("Ending "));
    let end = ends.next_back().map_or("", |entry| &*entry.value);
    if let Some((_, duration_ns)) = end.split_once("duration_ns ") {
        let duration_ns: u64 = duration_ns.trim().parse().map_err(|_| format!("no duration in {end:?}"))?;
        (low, high) = (low.max(last_ns - duration_ns), high.min(last_ns - duration_ns));
    }
    // Queries that were issued before and after the target duration was reached.
    let target_ns = settings.target_duration_ms * NS_PER_MS;
    let enough = usize::try_from(settings.min_query_count).unwrap_or(usize::MAX).max(1);
    for (number, at_ns) in phase.issues_ns.iter().enumerate().skip(enough - 1) {
        let is_natural_end = number + 1 == phase.issues_ns.len() && end.starts_with("Ending naturally");
        match is_natural_end {
            true => high = high.min(at_ns.saturating_sub(target_ns)),
            false => low = low.max((at_ns + 1).saturating_sub(target_ns)),
        }
    }
    match logs.value("result_min_duration_met") {
        Some("true") => high = high.min(last_ns.saturating_sub(settings.request.min_duration_ms * NS_PER_MS)),
        Some("false") => {
            low = low.max((last_ns + 1).saturating_sub(settings.request.min_duration_ms * NS_PER_MS))
        }
        _ => {}
    }
    if low > high {
        return Err(format!("no start of the phase agrees with its end {end:?}: {low} to {high} ns"));
    }
    // All rates in the summary are also known to the detail log.
    let is_known = logs.value("result_validity").is_some();
    let rates = if is_known { printed_rates(phase, logs) } else { Vec::new() };
    for rate in &rates {
        (low, high) = rate.starts(low, high);
    }
    if low > high {
        let printed: Vec<_> = rates.iter().map(|rate| &*rate.printed).collect();
        return Err(format!(
            "no start of the phase agrees with the rates {}: {low} to {high} ns",
            printed.join(", ")
        ));
    }
    Ok(high)
}

/// A rate that divides by the time from the start.
struct Rate {
    count: f64,
    until_ns: u64,
    printed: String,
    /// The summary has two decimals, the detail log six digits.
    format: fn(f64) -> String,
}

impl Rate {
    /// The rate as it would be printed. A later start makes a higher rate.
    fn printed(&self, start_ns: u64) -> f64 {
        let rate = self.count / ((self.until_ns - start_ns) as f64 / 1e9);
        (self.format)(rate).parse().unwrap_or(f64::NAN)
    }

    /// Returns the first and the last of some starts that make the printed rate.
    fn starts(&self, low: u64, high: u64) -> (u64, u64) {
        let printed = self.printed.parse::<f64>();
        // One query at no distance from the start has no rate.
        let Some(wanted) = printed.ok().filter(|rate| rate.is_finite() && self.count > 0.0) else {
            return (low, high);
        };
        let first = first_in(low, high, |start_ns| self.printed(start_ns) >= wanted);
        let beyond = first_in(first, high, |start_ns| self.printed(start_ns) > wanted);
        (first, beyond.saturating_sub(1))
    }
}

/// Returns the first number of a range for which something holds, as it does for all further ones; one beyond
/// it if there is none.
fn first_in(low: u64, high: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut end) = (low, high + 1);
    while low < end {
        let middle = low + (end - low) / 2;
        match holds(middle) {
            true => end = middle,
            false => low = middle + 1,
        }
    }
    low
}

fn printed_rates(phase: &TimedPhase, logs: &Logs) -> Vec<Rate> {
    let until_ns = phase.issues_ns.last().copied().unwrap_or(0);
    let query_count = phase.issues_ns.len() as f64 - 1.0;
    let token_count = phase.token_count as f64;
    let in_summary = |(prefix, count)| {
        let printed = logs.summary.lines().find_map(|line| line.strip_prefix(prefix))?.to_owned();
        Some(Rate { count, until_ns, printed, format: |rate| format!("{rate:.2}") })
    };
    let in_detail = |(key, count, until_ns)| {
        let printed = logs.value(key)?.to_owned();
        Some(Rate { count, until_ns, printed, format: |rate| format!("{rate:.5e}") })
    };
    let lines = [
        ("QPS w/ loadgen overhead         : ", query_count),
        ("TPS w/ loadgen overhead         : ", token_count),
    ];
    let keys = [
        ("result_qps_with_loadgen_overhead", query_count, until_ns),
        ("result_token_throughput_with_loadgen_overhead", token_count, until_ns),
        ("result_completed_tokens_per_second", token_count, phase.done_ns),
    ];
    lines.into_iter().filter_map(in_summary).chain(keys.into_iter().filter_map(in_detail)).collect()
}
