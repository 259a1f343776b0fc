//! The search: derives the next step from the results so far.

use serde::{Deserialize, Serialize};

use crate::{
    curve::{Bracket, is_telling, steepness},
    full_runs::FullRuns,
    record::{Confirmation, Dependence, ProbeEnd, ProbeRecord},
    sequential::Side,
};

/// Maximum number of probes of a search.
const MAX_PROBES: usize = 48;
/// Step above the last good load, if nothing hints at the limit.
const GROWTH_MAX: f64 = 4.0;
const GROWTH_MIN: f64 = 1.3;
/// A lower load helps if it takes at least this share off the tail of the latency.
const HELP: f64 = 0.05;
/// Ratio below which two loads do not show whether lower loads help.
const HELP_RATIO: f64 = 1.5;
/// Ratio of loads within which nothing is sought where the tail is shortest, if none was good.
const VALLEY_RATIO: f64 = 1.1;
/// Misses come at any load once that is this many times as likely as that they grow with it.
const AT_ANY_LOAD: f64 = 19.0;
/// The probability with which a probe may be wrong: while the limit is sought, and once it lies within this ratio,
/// where full runs depend on it.
const FAR_ERROR: f64 = 0.05;
const NEAR: f64 = 1.15;
const NEAR_ERROR: f64 = 0.002;
/// A higher load is worth another full run if it is higher by this multiple of the resolution.
const WORTH_A_RUN: f64 = 1.5;
/// Logarithm of the share of misses that is assumed if there are too few misses.
const NO_MISSES: f64 = 2.0;
/// The rate that is tried in full runs lies this many standard deviations below the limit that is expected, so that
/// most first runs are VALID.
const MARGIN_DEVIATIONS: f64 = 1.0;

/// The quantity that is searched over.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Axis {
    /// Queries per second, until the limit is known to this fraction.
    Rate {
        /// Relative resolution, such as 0.01.
        resolution: f64,
    },
    /// Whole samples per query.
    Count,
}

/// Settings of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchSettings {
    /// The quantity that is searched over.
    pub axis: Axis,
    /// The first load.
    pub start: f64,
    /// The lowest load.
    pub from: f64,
    /// The highest load.
    pub to: f64,
    /// Number of full runs that have to be VALID at the result.
    pub confirm_runs: u32,
    /// Maximum number of loads for full runs.
    pub full_loads_max: u32,
}

/// The next step of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// A probe at this load.
    Probe {
        /// Load in queries per second, or samples per query.
        load: f64,
        /// The probability with which it may be wrong: the smaller the nearer the limit is.
        error_probability: f64,
    },
    /// A full run at this load.
    Confirm {
        /// Load in queries per second, or samples per query.
        load: f64,
        /// Number of the run at this load, from 1.
        run: u32,
    },
    /// Nothing: the search is over.
    Done(SearchEnd),
}

/// End of a search.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum SearchEnd {
    /// Load at which all full runs were VALID.
    Found {
        /// Load in queries per second, or samples per query.
        load: f64,
        /// True if the range allowed nothing higher.
        at_upper_end: bool,
    },
    /// No load was good.
    NothingGood {
        /// The lowest that was tried.
        lowest: f64,
        /// True if a lower load still made the tail of the latency shorter.
        lower_helps: bool,
    },
    /// A load was good in probes, but too many full runs failed, or one failed for a reason that no load changes.
    NotConfirmed {
        /// The last load that was tried.
        load: f64,
    },
    /// Queries take no time, so there is no limit.
    Timeless,
    /// The fault does not depend on the load: samples fail, or lack the data to judge them by.
    AtAnyLoad {
        /// Lowest load at which that was seen.
        load: f64,
    },
}

/// Whole state of a search: its settings, and its results. The next step follows from these alone, so that an
/// interrupted search continues as if it had not been.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Search {
    /// Settings of the search.
    pub settings: SearchSettings,
    /// The probes, in their order.
    pub probes: Vec<ProbeRecord>,
    /// The full runs, in their order.
    pub confirmations: Vec<Confirmation>,
}

impl Search {
    /// Creates a search without results.
    #[must_use]
    pub fn new(settings: SearchSettings) -> Self {
        Self { settings, probes: Vec::new(), confirmations: Vec::new() }
    }

    /// Returns the next step; a function of the settings and the records alone.
    #[must_use]
    pub fn next_step(&self) -> Step {
        match self.confirmations.last() {
            Some(last) => self.after_full_run(last),
            None => self.seek(),
        }
    }

    /// Returns the queries issued so far.
    #[must_use]
    pub fn query_count(&self) -> u64 {
        let full_runs = self.confirmations.iter().map(|confirmation| confirmation.seen.query_count);
        self.probes.iter().map(|probe| probe.query_count).chain(full_runs).sum()
    }

    /// Returns the step after a full run. Once there is a candidate, full runs decide, and are evidence for
    /// the limit: after a failed one the load is lowered by the amount of its miss; after one that leaves
    /// more room than the resolution it is raised.
    fn after_full_run(&self, last: &Confirmation) -> Step {
        let full_runs = FullRuns::new(&self.confirmations);
        let load = last.seen.load;
        let is_last_try = full_runs.load_count() >= self.settings.full_loads_max as usize;
        let Some(good) = full_runs.good else {
            let lower = self.lowered(&full_runs);
            let is_over = is_last_try || last.is_at_any_load;
            return match is_over || lower < self.settings.from || lower <= 0.0 {
                true => Step::Done(SearchEnd::NotConfirmed { load }),
                false => Step::Confirm { load: lower, run: 1 },
            };
        };
        if let Some(higher) = self.raised(&full_runs, good).filter(|_| !is_last_try) {
            return Step::Confirm { load: higher, run: 1 };
        }
        let load = good.load;
        let run = self.confirmations.iter().filter(|run| run.seen.load == load).count();
        match u32::try_from(run) {
            Ok(run) if run < self.settings.confirm_runs => Step::Confirm { load, run: run + 1 },
            _ => Step::Done(SearchEnd::Found { load, at_upper_end: load >= self.settings.to }),
        }
    }

    /// Returns the next lower load for a full run, if none was good.
    fn lowered(&self, full_runs: &FullRuns<'_>) -> f64 {
        let Some(bad) = full_runs.bad else { return 0.0 };
        match self.settings.axis {
            Axis::Count => bad.load - 1.0,
            Axis::Rate { resolution } => {
                let Some(log_share) = bad.log_share().filter(|_| !bad.breaks_zero_limit()) else {
                    // Nothing says by how much it is too high, so each step is twice the last.
                    let doubled = 2_f64.powi(i32::try_from(full_runs.load_count()).unwrap_or(i32::MAX) - 1);
                    return bad.load * (1.0 - (resolution * doubled).min(0.5));
                };
                let limit = bad.load * (-log_share.max(0.0) / self.steepness()).exp();
                (limit * (1.0 - resolution / 2.0)).min(bad.load * (1.0 - resolution))
            }
        }
    }

    /// Returns the next higher load for a full run, if the best good one leaves room for one.
    fn raised(&self, full_runs: &FullRuns<'_>, good: &ProbeRecord) -> Option<f64> {
        let Axis::Rate { resolution } = self.settings.axis else { return None };
        let (_, above) = self.ends();
        let limit = match (full_runs.bad, good.log_share(), above) {
            (Some(bad), _, _) => {
                Bracket { lower: good, upper: bad }.limit().min(bad.load * (1.0 - resolution / 2.0))
            }
            // Most queries of all have said so; probes above it had fewer.
            (None, Some(log_share), _) => good.load * (-log_share.min(0.0) / self.steepness()).exp(),
            (None, None, Some(above)) => Bracket { lower: good, upper: above }.limit(),
            // Nothing says how much room there is.
            (None, None, None) => good.load * (NO_MISSES / self.steepness()).exp(),
        };
        let next = self.allowed(limit * (1.0 - resolution / 2.0));
        (next > good.load * (1.0 + WORTH_A_RUN * resolution)).then_some(next)
    }

    fn steepness(&self) -> f64 {
        steepness(self.records())
    }

    /// Probes and full runs.
    fn records(&self) -> impl Iterator<Item = &ProbeRecord> {
        self.probes.iter().chain(self.confirmations.iter().map(|confirmation| &confirmation.seen))
    }

    fn seek(&self) -> Step {
        let Some(first) = self.probes.first() else {
            return explore(self.allowed(self.settings.start));
        };
        if self.probes.iter().any(|probe| probe.is_under() && probe.tail_ratio() == Some(0.0)) {
            return Step::Done(SearchEnd::Timeless);
        }
        if let Some(load) = self.bad_at_any_load() {
            return Step::Done(SearchEnd::AtAnyLoad { load });
        }
        let (lower, upper) = self.ends();
        match (lower, upper) {
            (Some(lower), Some(upper)) => self.narrow(Bracket { lower, upper }),
            (Some(lower), None) => self.ascend(lower),
            (None, _) => self.descend(first),
        }
    }

    /// Returns the lowest load of probes that are bad for a reason that no load changes, if there is such a reason.
    fn bad_at_any_load(&self) -> Option<f64> {
        // A good one says that another load does help: an overloaded system may cut its answers short.
        if self.probes.iter().any(ProbeRecord::is_under) {
            return None;
        }
        let broken = |dependence: Dependence| {
            let of_probe = move |probe: &ProbeRecord| Some((probe.load, probe.broken(dependence)?.share()));
            self.probes.iter().filter_map(of_probe)
        };
        let doubtful: Vec<_> = broken(Dependence::Doubtful).collect();
        let is_same = log_ratio_of_same_share(&doubtful) >= AT_ANY_LOAD.ln();
        let of_same = doubtful.into_iter().filter(|_| is_same);
        broken(Dependence::Never).chain(of_same).map(|(load, _)| load).min_by(f64::total_cmp)
    }

    /// Returns the highest load that is good and the lowest that is not. Where they contradict each other, the probe
    /// with fewer queries is ignored; one that is hopeless, or that a limit ended, needs no more queries. A bad probe
    /// is ignored, too, if more load shortens the tail around it: the good load above it is then no accident.
    fn ends(&self) -> (Option<&ProbeRecord>, Option<&ProbeRecord>) {
        let mut records: Vec<_> = self.records().collect();
        let weight = |record: &ProbeRecord| match record.end {
            // A probe that a limit ended cannot have more queries.
            ProbeEnd::Hopeless | ProbeEnd::Limit => u64::MAX,
            ProbeEnd::Decided | ProbeEnd::Budget => record.query_count,
        };
        loop {
            let of = |side: Side| records.iter().copied().filter(move |record| record.side == side);
            let lower = of(Side::Under).max_by(|a, b| a.load.total_cmp(&b.load));
            let upper = of(Side::Over).min_by(|a, b| a.load.total_cmp(&b.load));
            let (Some(good), Some(bad)) = (lower, upper) else { return (lower, upper) };
            if good.load < bad.load {
                return (lower, upper);
            }
            // Full runs correct wrong hopes.
            let is_lighter = weight(good) < weight(bad) && !self.is_eased_by_load(bad);
            let lighter = if is_lighter { good } else { bad };
            records.retain(|record| !std::ptr::eq(*record, lighter));
        }
    }

    /// Returns whether the tail at this bad load is no longer than at another one that is clearly lower, or
    /// no shorter than at one that is clearly higher, so that it does not come from too much load.
    fn is_eased_by_load(&self, bad: &ProbeRecord) -> bool {
        let tail = |probe: &ProbeRecord| match (probe.side, probe.end) {
            (Side::Under, _) | (_, ProbeEnd::Hopeless) => None,
            _ => probe.tail_ratio(),
        };
        let Some(own) = tail(bad) else { return false };
        self.probes.iter().any(|probe| match tail(probe) {
            Some(other) if probe.load * HELP_RATIO <= bad.load => other >= own * (1.0 - HELP),
            Some(other) if probe.load >= bad.load * HELP_RATIO => own >= other * (1.0 - HELP),
            _ => false,
        })
    }

    /// Returns the next step while no load was good: to lower loads, as long as that helps; then above the tried ones,
    /// where a system may be better that waits for its batches to fill; then to where the tail is shortest.
    fn descend(&self, first: &ProbeRecord) -> Step {
        let by_load = |a: &&ProbeRecord, b: &&ProbeRecord| a.load.total_cmp(&b.load);
        let lowest = self.probes.iter().min_by(by_load).unwrap_or(first);
        let highest = self.probes.iter().max_by(by_load).unwrap_or(first);
        let lower_helps = self.lower_helps(lowest);
        let next = self.allowed(self.below(lowest));
        if lower_helps && next < lowest.load && self.probes.len() < MAX_PROBES {
            return explore(next);
        }
        let next = self.allowed(highest.load * 2.0);
        let is_overrun = matches!(highest.end, ProbeEnd::Hopeless | ProbeEnd::Limit);
        let may_ease = !is_overrun && !self.is_lengthened_by_load(highest);
        if may_ease && next > highest.load && self.probes.len() < MAX_PROBES {
            return explore(next);
        }
        match self.in_the_valley(lowest).filter(|_| !lower_helps && self.probes.len() < MAX_PROBES) {
            Some(load) => explore(load),
            None => Step::Done(SearchEnd::NothingGood { lowest: lowest.load, lower_helps }),
        }
    }

    /// Returns whether the tail at the highest load is clearly longer than at the next one below: then a queue waits
    /// there, which more load makes longer still.
    fn is_lengthened_by_load(&self, highest: &ProbeRecord) -> bool {
        let below = self.probes.iter().filter(|probe| probe.load < highest.load);
        let below = below.max_by(|a, b| a.load.total_cmp(&b.load)).and_then(ProbeRecord::tail_ratio);
        matches!((below, highest.tail_ratio()), (Some(below), Some(own)) if own * (1.0 - HELP) > below)
    }

    /// Returns a load between the one with the shortest tail and the next above it, where more load has made the tail
    /// shorter: it may be good between two that are not.
    fn in_the_valley(&self, lowest: &ProbeRecord) -> Option<f64> {
        let queued = self.probes.iter().filter(|probe| probe.end != ProbeEnd::Hopeless);
        let tails = queued.filter_map(|probe| Some((probe.load, probe.tail_ratio()?)));
        let (best, tail) = tails.min_by(|a, b| a.1.total_cmp(&b.1))?;
        let is_shorter = lowest.tail_ratio().is_some_and(|at_lowest| tail < at_lowest * (1.0 - HELP));
        let above = self.probes.iter().map(|probe| probe.load).filter(|load| *load > best);
        let above =
            above.min_by(f64::total_cmp).filter(|above| is_shorter && *above > best * VALLEY_RATIO)?;
        let load = self.allowed((best * above).sqrt());
        (best < load && load < above).then_some(load)
    }

    /// Returns whether the tail was clearly shorter at the lowest load than at the next one. A hopeless probe
    /// ends before its tail has grown, which therefore says nothing.
    fn lower_helps(&self, lowest: &ProbeRecord) -> bool {
        let above = self.probes.iter().filter(|probe| probe.load > lowest.load);
        let Some(next) = above.min_by(|a, b| a.load.total_cmp(&b.load)) else { return true };
        match (lowest.tail_ratio(), next.tail_ratio()) {
            _ if [lowest.end, next.end].contains(&ProbeEnd::Hopeless) => true,
            (None, _) | (_, None) => true,
            (Some(low), Some(high)) => low < high * (1.0 - HELP) || next.load < lowest.load * HELP_RATIO,
        }
    }

    /// Returns a load at which the limit may hold, below one at which it does not.
    fn below(&self, lowest: &ProbeRecord) -> f64 {
        let load = lowest.load;
        if lowest.end == ProbeEnd::Hopeless {
            return (0.7 * lowest.throughput_qps).clamp(load / 64.0, load / GROWTH_MIN);
        }
        let hopeless = self.probes.iter().filter(|probe| probe.end == ProbeEnd::Hopeless);
        let capacity = hopeless.map(|probe| probe.throughput_qps).fold(f64::INFINITY, f64::min);
        match lowest.tail_ratio() {
            // The inverse of the tail is a line through zero at the capacity.
            Some(ratio) if capacity.is_finite() && capacity > load => {
                (capacity - (capacity - load) * ratio).clamp(load / GROWTH_MAX, load / 1.1)
            }
            // The system had room: a little less load is no help, and far less shows whether any load helps.
            _ if lowest.broken(Dependence::Doubtful).is_some() => load / GROWTH_MAX,
            _ => load / 2.0,
        }
    }

    /// Moves to higher loads while nothing was bad, by as much as the tail of the latency suggests.
    fn ascend(&self, lower: &ProbeRecord) -> Step {
        if lower.load >= self.settings.to || self.probes.len() >= MAX_PROBES {
            return Step::Confirm { load: lower.load, run: 1 };
        }
        let room = lower.tail_ratio().map_or(1.0, |ratio| 1.0 / ratio);
        // A little beyond, since a bad end is missing.
        let next = lower.load * (1.1 * room.sqrt()).clamp(GROWTH_MIN, GROWTH_MAX);
        explore(self.allowed(self.rounded(next).max(self.above(lower.load))))
    }

    /// Returns the step between a good and a bad load: to the expected limit, until that is known well enough.
    fn narrow(&self, bracket: Bracket<'_>) -> Step {
        let Bracket { lower, upper } = bracket;
        let limit = bracket.limit();
        let is_narrow = match self.settings.axis {
            Axis::Count => upper.load - lower.load <= 1.0,
            Axis::Rate { resolution } => {
                let is_near = |probe: &&ProbeRecord| {
                    is_telling(probe) && (probe.load / limit).ln().abs() <= resolution / 2.0
                };
                upper.load / lower.load <= 1.0 + resolution || self.probes.iter().any(|probe| is_near(&probe))
            }
        };
        if is_narrow || self.probes.len() >= MAX_PROBES {
            return Step::Confirm { load: self.candidate(bracket, limit), run: 1 };
        }
        let is_near = upper.load / lower.load <= NEAR;
        let error_probability = if is_near { NEAR_ERROR } else { FAR_ERROR };
        Step::Probe { load: self.inside(bracket, limit), error_probability }
    }

    /// Returns the next load to probe: the expected one, moved away from the ends, and towards the end that
    /// has not moved for a while, so that the bracket closes even if the expectation is wrong.
    fn inside(&self, bracket: Bracket<'_>, limit: f64) -> f64 {
        let (lower, upper) = (bracket.lower.load, bracket.upper.load);
        let width = (upper / lower).ln();
        let mut share = (limit / lower).ln() / width;
        let last = self.probes.last().map(|probe| probe.side);
        let same = self.probes.iter().rev().take_while(|probe| Some(probe.side) == last).count();
        if same >= 2 {
            let pull = 0.3 * (same - 1).min(3) as f64;
            let target = if last == Some(Side::Under) { 1.0 } else { 0.0 };
            share += (target - share) * pull.min(0.6);
        }
        let load = lower * (width * share.clamp(0.08, 0.92)).exp();
        match self.settings.axis {
            Axis::Rate { .. } => load,
            Axis::Count => load.round().clamp(lower + 1.0, upper - 1.0),
        }
    }

    /// Returns the load for the first full run: below the expected limit by the probes' uncertainty about it.
    fn candidate(&self, bracket: Bracket<'_>, limit: f64) -> f64 {
        let Axis::Rate { resolution } = self.settings.axis else { return bracket.lower.load };
        let telling = self.probes.iter().filter(|probe| is_telling(probe));
        let distance = |probe: &ProbeRecord| (probe.load / limit).ln().abs();
        let nearest = telling.min_by(|a, b| distance(a).total_cmp(&distance(b)));
        let deviation = nearest.and_then(|probe| {
            // The probe is the beginning of the full run, whose unobserved rest may differ.
            let seen = probe.limiting()?;
            let unseen =
                1.0 / seen.judged_count as f64 - 1.0 / probe.full_query_count.max(seen.judged_count) as f64;
            Some((seen.dispersion / seen.limit_share * unseen).sqrt() / self.steepness())
        });
        // If nothing misses up to the limit, only the best good load is known.
        let Some(deviation) = deviation else { return bracket.lower.load };
        let margin = deviation.min(3.0 * resolution) * MARGIN_DEVIATIONS;
        self.allowed(limit * (-margin).exp())
    }

    fn allowed(&self, load: f64) -> f64 {
        self.rounded(load).clamp(self.settings.from, self.settings.to)
    }

    fn rounded(&self, load: f64) -> f64 {
        match self.settings.axis {
            Axis::Rate { .. } => load,
            Axis::Count => load.floor().max(1.0),
        }
    }

    /// Returns the smallest load above this one that differs from it.
    fn above(&self, load: f64) -> f64 {
        match self.settings.axis {
            Axis::Rate { resolution } => load * (1.0 + resolution),
            Axis::Count => load + 1.0,
        }
    }
}

/// Returns the logarithm of how much likelier it is that misses come in the same share at all loads than in one that
/// grows as the load does; of each probe, its load and share.
///
/// Returns the log ratio for a constant share. In a system with room, misses caused by the load grow at least as often
/// as one query meets another. A probe that allows none ends with its first, hence each counts as one miss after a wait
/// of one over its share, and the likelihood is that of waiting times, at the rate of misses that fits best.
fn log_ratio_of_same_share(probes: &[(f64, f64)]) -> f64 {
    let waits = || probes.iter().map(|(load, share)| (load, 1.0 / share));
    let mean_load =
        waits().map(|(load, wait)| load * wait).sum::<f64>() / waits().map(|(_, wait)| wait).sum::<f64>();
    probes.iter().map(|(load, _)| (mean_load / load).ln()).sum()
}

/// Returns a probe far from the known loads.
fn explore(load: f64) -> Step {
    Step::Probe { load, error_probability: FAR_ERROR }
}
