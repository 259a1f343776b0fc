//! Plans the number of queries and their due times: the loop that LoadGen generates queries with, run lazily.

use proctor_loadgen_settings::{EffectiveSettings, Offsets};
use proctor_vocabulary::Scenario;

use crate::plan::phases::{PhaseMode, PhasePlan};

/// Totals of the generation of a phase, as the detail log states them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GeneratedTotals {
    /// Number of queries.
    pub query_count: u64,
    /// Number of samples in each query.
    pub samples_per_query: u64,
    /// Offset of the query that would have come next, in ns.
    pub duration_ns: u64,
}

/// The sizes that steer the generation of one phase.
///
/// Source: LoadGen 6.0.17, `GenerateQueries`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GenerationRule {
    /// Offset up to which queries are generated at least, in ns.
    pub duration_ns: u64,
    /// And at least this many.
    pub min_query_count: u64,
    /// Number of samples in each query.
    pub samples_per_query: u64,
    /// Equal issue: the count grows in steps of this, so that every sample comes equally often.
    pub growth: Option<u64>,
    /// Number of permutations of the set that are drawn for equal issue, whether it is on or not.
    pub permutation_count: u64,
}

impl GenerationRule {
    pub fn new(settings: &EffectiveSettings, phase: &PhasePlan) -> Self {
        let set_len = phase.set.indices.len() as u64;
        let offline = settings.request.scenario == Scenario::Offline;
        let accuracy = phase.mode == PhaseMode::Accuracy;
        let mut samples_per_query = settings.samples_per_query;
        if accuracy && offline {
            samples_per_query = phase.set.end as u64;
        }
        // Twice the wanted duration, so that a system which is faster than expected does not run out of queries.
        // Queries with a schedule come at fixed times, however fast the system is.
        let reserve = if settings.has_schedule() { 1 } else { 2 };
        let mut duration_ns = settings.target_duration_ms * reserve * 1_000_000;
        let mut min_query_count = settings.min_query_count;
        if accuracy || settings.request.performance_issue_unique {
            duration_ns = 0;
            min_query_count = set_len / samples_per_query;
        }
        let permutation_count = min_query_count.div_ceil(set_len);
        let equal_issue = settings.request.sample_concatenate_permutation;
        if equal_issue && !accuracy {
            if offline {
                samples_per_query = samples_per_query.next_multiple_of(set_len);
            } else {
                min_query_count = min_query_count.next_multiple_of(set_len);
            }
        }
        let growth = (equal_issue && !offline).then_some(set_len);
        Self { duration_ns, min_query_count, samples_per_query, growth, permutation_count }
    }
}

/// The scheduled offsets of the queries of one phase, in ns from its start, ascending.
///
/// An iterator with the state of one random number generator: its memory does not depend on how many there are. A
/// recorded trace of arrivals is shared.
#[derive(Debug, Clone)]
pub struct Schedule {
    rule: GenerationRule,
    arrivals: Arrivals,
    query_count: u64,
    last_ns: u64,
    next_ns: u64,
}

#[derive(Debug, Clone)]
enum Arrivals {
    /// Arrivals at a fixed distance, in ns.
    Constant(u64),
    /// Server: the offsets of an arrival process, from the second on.
    Process(Offsets),
}

impl Schedule {
    /// Returns the schedule of a phase.
    #[must_use]
    pub fn new(settings: &EffectiveSettings, phase: &PhasePlan) -> Self {
        let arrivals = match settings.request.scenario {
            Scenario::Server => {
                let (process, seed) = (&settings.request.arrivals, settings.request.schedule_rng_seed);
                let mut offsets = process.offsets(settings.target_qps, seed);
                // The first is 0, as everywhere.
                offsets.next();
                Arrivals::Process(offsets)
            }
            // The reciprocal is taken twice (here and in the effective settings), as LoadGen does it: the gap can be
            // 1 ns below the expected latency.
            _ => {
                Arrivals::Constant(settings.interval_ns.unwrap_or(((1.0 / settings.target_qps) * 1e9) as u64))
            }
        };
        Self { rule: GenerationRule::new(settings, phase), arrivals, query_count: 0, last_ns: 0, next_ns: 0 }
    }

    pub(crate) fn rule(&self) -> GenerationRule {
        self.rule
    }

    /// Returns the totals of the whole phase, regardless of the schedule's position.
    ///
    /// At once for evenly spaced queries; for the other arrivals of Server it takes the draws of all queries that are
    /// still to come.
    #[must_use]
    pub fn totals(&self) -> GeneratedTotals {
        let even_spacing = match &self.arrivals {
            Arrivals::Constant(gap_ns) => {
                // Query i (from 0) is at i * gap.
                let first_at = |duration_ns: u64| duration_ns.div_ceil((*gap_ns).max(1));
                let query_count = even_query_count(&self.rule, self.query_count, first_at);
                Some((query_count, query_count.saturating_mul(*gap_ns)))
            }
            Arrivals::Process(offsets) => offsets.even_spacing().map(|spacing| {
                let first_at = |duration_ns| spacing.first_at(duration_ns);
                let query_count = even_query_count(&self.rule, self.query_count, first_at);
                (query_count, spacing.offset_ns(query_count))
            }),
        };
        let (query_count, duration_ns) = even_spacing.unwrap_or_else(|| {
            let mut rest = self.clone();
            rest.by_ref().for_each(drop);
            (rest.query_count, rest.next_ns)
        });
        GeneratedTotals { query_count, samples_per_query: self.rule.samples_per_query, duration_ns }
    }
}

/// Returns the number of queries that the loop below makes if they are evenly spaced, when `past_query_count` of them
/// have been made. `first_at` gives the number, from 0, of the first query at or behind an offset.
fn even_query_count(rule: &GenerationRule, past_query_count: u64, first_at: impl FnOnce(u64) -> u64) -> u64 {
    // The last query is the first at or behind the duration.
    let for_duration = match rule.duration_ns {
        0 => past_query_count,
        duration_ns => first_at(duration_ns) + 1,
    };
    match rule.growth {
        Some(step) if for_duration > rule.min_query_count => {
            rule.min_query_count + (for_duration - rule.min_query_count).next_multiple_of(step)
        }
        _ => for_duration.max(rule.min_query_count),
    }
}

impl Iterator for Schedule {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.last_ns >= self.rule.duration_ns && self.query_count >= self.rule.min_query_count {
            return None;
        }
        self.last_ns = self.next_ns;
        self.next_ns = match &mut self.arrivals {
            Arrivals::Constant(gap_ns) => self.next_ns.saturating_add(*gap_ns),
            Arrivals::Process(offsets) => offsets.next().expect("the offsets have no end"),
        };
        self.query_count += 1;
        if let Some(step) = self.rule.growth
            && self.query_count >= self.rule.min_query_count
            && self.last_ns < self.rule.duration_ns
        {
            self.rule.min_query_count += step;
        }
        Some(self.last_ns)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;

    use proctor_loadgen_settings::{ArrivalProcess, Trace};
    use proptest::prelude::*;

    use super::*;

    fn schedule(rule: GenerationRule, arrivals: Arrivals) -> Schedule {
        Schedule { rule, arrivals, query_count: 0, last_ns: 0, next_ns: 0 }
    }

    fn process() -> impl Strategy<Value = ArrivalProcess> {
        let trace = Trace::parse("t", b"ns\n3\n5\n5\n9\n30\n").expect("it is a trace");
        prop_oneof![
            Just(ArrivalProcess::Poisson),
            Just(ArrivalProcess::Constant),
            (0.2..5.0).prop_map(|cv| ArrivalProcess::Gamma { cv }),
            (0.001..0.01, 0.001..0.01, 0.0..=1.0)
                .prop_map(|(on_ms, off_ms, off_share)| ArrivalProcess::OnOff { on_ms, off_ms, off_share }),
            (0.001..0.01, 0.0..=1.0)
                .prop_map(|(period_s, amplitude)| ArrivalProcess::Diurnal { period_s, amplitude }),
            Just(ArrivalProcess::Trace(Arc::new(trace))),
        ]
    }

    prop_compose! {
        fn rule(duration_ns_max: u64)(
            duration_ns in 0..duration_ns_max,
            min_query_count in 0_u64..50,
            growth in proptest::option::of(1_u64..20),
        ) -> GenerationRule {
            GenerationRule { duration_ns, min_query_count, samples_per_query: 3, growth, permutation_count: 0 }
        }
    }

    proptest! {
        #[test]
        fn totals_of_even_spacing_are_those_of_the_loop(
            rule in rule(2000),
            gap_ns in 1_u64..300,
            taken in 0_usize..60,
        ) {
            let mut schedule = schedule(rule, Arrivals::Constant(gap_ns));
            let offsets: Vec<u64> = schedule.clone().collect();
            let whole = GeneratedTotals {
                query_count: offsets.len() as u64,
                samples_per_query: 3,
                duration_ns: offsets.len() as u64 * gap_ns,
            };
            prop_assert_eq!(schedule.totals(), whole);
            schedule.by_ref().take(taken).for_each(drop);
            prop_assert_eq!(schedule.totals(), whole);
        }

        #[test]
        fn totals_of_a_process_are_those_of_the_loop(
            process in process(),
            rate_qps in 1e5..3e7,
            seed: u64,
            rule in rule(200_000),
            taken in 0_usize..60,
        ) {
            let mut offsets = process.offsets(rate_qps, seed);
            offsets.next();
            let mut schedule = schedule(rule, Arrivals::Process(offsets));
            let offsets: Vec<u64> = schedule.clone().collect();
            // Next comes the first offset that the loop leaves out.
            let duration_ns = process.offsets(rate_qps, seed).nth(offsets.len()).unwrap();
            let whole = GeneratedTotals { query_count: offsets.len() as u64, samples_per_query: 3, duration_ns };
            prop_assert_eq!(schedule.totals(), whole);
            prop_assert!(offsets.is_sorted() && offsets.first().is_none_or(|first| *first == 0));
            prop_assert!(process.offsets(rate_qps, seed).take(offsets.len()).eq(offsets));
            schedule.by_ref().take(taken).for_each(drop);
            prop_assert_eq!(schedule.totals(), whole);
        }
    }

    #[test]
    fn totals_of_a_long_constant_run_take_no_draws() {
        let rule = GenerationRule {
            duration_ns: 1_000_000_000_000_000_000,
            min_query_count: 1,
            samples_per_query: 1,
            growth: None,
            permutation_count: 0,
        };
        let mut offsets = ArrivalProcess::Constant.offsets(3e5, 1);
        offsets.next();
        let totals = schedule(rule, Arrivals::Process(offsets)).totals();
        // Thirty years.
        assert_eq!(totals.query_count, 300_000_000_000_001);
    }
}
