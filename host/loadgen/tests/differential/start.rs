//! When a phase of the streams started. The trace has that instant only between two others, a few microseconds apart;
//! what LoadGen decided and printed tells the rest.

use proctor_loadgen::{EffectiveSettings, PhaseMode};
use proctor_vocabulary::Scenario;

use crate::{
    logs::Logs,
    timeline::{TimedPhase, Timeline},
};

const NS_PER_MS: u64 = 1_000_000;
/// How far the printed rates may be from where the search for them ends, in ns.
const REACH_NS: u64 = 1000;

/// The start of each phase, in ns from the origin of the trace; the mode of each phase as ours plans it. An error says
/// that there is no instant that agrees with what the official LoadGen did.
pub fn starts_ns(
    timeline: &Timeline,
    modes: &[PhaseMode],
    settings: &EffectiveSettings,
    logs: &Logs,
) -> Result<Vec<u64>, String> {
    let streams = matches!(settings.scenario, Scenario::SingleStream | Scenario::MultiStream);
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
    // Which queries were issued before and after the target duration was reached.
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
        Some("true") => high = high.min(last_ns.saturating_sub(settings.min_duration_ms * NS_PER_MS)),
        Some("false") => low = low.max((last_ns + 1).saturating_sub(settings.min_duration_ms * NS_PER_MS)),
        _ => {}
    }
    if low > high {
        return Err(format!("no start of the phase agrees with its end {end:?}: {low} to {high} ns"));
    }
    let rates = printed_rates(phase, logs);
    let start_ns = nearest(&rates, low, high);
    let mut candidates = (0..=REACH_NS).flat_map(|by| [start_ns.saturating_sub(by), start_ns + by]);
    let fits =
        |start_ns: &u64| (low..=high).contains(start_ns) && rates.iter().all(|rate| rate.fits(*start_ns));
    candidates.find(fits).ok_or_else(|| {
        let rates: Vec<_> = rates.iter().map(|rate| rate.printed.clone()).collect();
        format!("no start of the phase from {low} to {high} ns agrees with {}", rates.join(", "))
    })
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
    fn value(&self, start_ns: u64) -> f64 {
        self.count / ((self.until_ns - start_ns) as f64 / 1e9)
    }

    fn fits(&self, start_ns: u64) -> bool {
        let rate = self.value(start_ns);
        let printed = self.printed.parse().map(self.format);
        // One query at no distance from the start has no rate.
        !rate.is_finite() || printed.is_ok_and(|printed| printed == (self.format)(rate))
    }
}

fn printed_rates(phase: &TimedPhase, logs: &Logs) -> Vec<Rate> {
    let until_ns = phase.issues_ns.last().copied().unwrap_or(0);
    let query_count = phase.issues_ns.len() as f64 - 1.0;
    let token_count = phase.token_count as f64;
    let in_summary = |(prefix, count)| {
        let printed = logs.summary.lines().find_map(|line| line.strip_prefix(prefix))?.to_owned();
        Some(Rate { count, until_ns, printed, format: |rate| format!("{rate:.2}") })
    };
    let in_detail = |(key, until_ns)| {
        let printed = logs.value(key)?.to_owned();
        Some(Rate { count: token_count, until_ns, printed, format: |rate| format!("{rate:.5e}") })
    };
    let lines = [
        ("QPS w/ loadgen overhead         : ", query_count),
        ("TPS w/ loadgen overhead         : ", token_count),
    ];
    let keys = [
        ("result_token_throughput_with_loadgen_overhead", until_ns),
        ("result_completed_tokens_per_second", phase.done_ns),
    ];
    lines.into_iter().filter_map(in_summary).chain(keys.into_iter().filter_map(in_detail)).collect()
}

/// The start at which the finest of the rates comes next to what was printed, by bisection: a later start makes a higher
/// rate.
fn nearest(rates: &[Rate], low: u64, high: u64) -> u64 {
    let finest = rates.iter().max_by(|a, b| a.printed.len().cmp(&b.printed.len()));
    let finest = finest.and_then(|rate| Some((rate, rate.printed.parse::<f64>().ok()?)));
    let Some((rate, printed)) = finest.filter(|(rate, _)| rate.count > 0.0) else { return high };
    let (mut low, mut high) = (low, high);
    while low < high {
        let middle = low + (high - low) / 2;
        match rate.value(middle) < printed {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}
