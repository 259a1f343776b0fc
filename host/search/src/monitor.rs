//! Judges when a running probe has seen enough.

use crate::{
    record::{ConstraintSeen, Dependence, ProbeEnd},
    sequential::{SequentialTest, Side, confidence},
};

/// Minimum number of queries before a load counts as good: a queue that starts empty needs a while to fill.
const FEWEST_QUERIES: u64 = 512;
/// Multiple of the longest bound for which the probe must also last.
const WARM_UP_BOUNDS: u64 = 8;
/// A backlog is hopeless if working it off at the pace so far would take this multiple of the bound.
const HOPELESS_BOUNDS: u64 = 4;
/// Number of standard deviations that it must also be above random accumulation.
const HOPELESS_DEVIATIONS: f64 = 4.0;
/// A backlog of this many times the completed queries is hopeless even in the first moments.
const FLOOD: u64 = 16;
const FLOOD_QUERIES: u64 = 256;

/// The counts of a running probe at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    /// Number of queries issued.
    pub issued_count: u64,
    /// Number of queries completed.
    pub completed_count: u64,
    /// Time since the start.
    pub elapsed_ns: u64,
}

/// A constraint by name, with the share of misses that it allows.
#[derive(Debug, Clone, PartialEq)]
pub struct Constraint {
    /// Name, for people and data.
    pub name: String,
    /// The share of queries that may miss it, in `[0, 1)`.
    pub limit_share: f64,
    /// Dependence of misses on the load.
    pub dependence: Dependence,
}

/// Maximum length of a probe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProbeLimits {
    /// The longest of its latency bounds.
    pub longest_bound_ns: u64,
    /// Number of queries after which it ends in any case.
    pub max_query_count: u64,
    /// The probability with which it may be wrong when it ends as decided.
    pub error_probability: f64,
}

/// The result of a probe.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Side on which the load is.
    pub side: Side,
    /// The probability that this is right.
    pub confidence: f64,
    /// Results for each constraint; without tail ratios.
    pub constraints: Vec<ConstraintSeen>,
}

/// Watches one probe: takes its queries in the order of their issue, and says when there is nothing left to learn.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeMonitor {
    tests: Vec<(Constraint, SequentialTest)>,
    limits: ProbeLimits,
    end: Option<ProbeEnd>,
}

impl ProbeMonitor {
    /// Creates a monitor of a probe.
    #[must_use]
    pub fn new(constraints: Vec<Constraint>, limits: ProbeLimits) -> Self {
        let tests = constraints.into_iter().map(|constraint| {
            let test = SequentialTest::new(constraint.limit_share, limits.error_probability);
            (constraint, test)
        });
        Self { tests: tests.collect(), limits, end: None }
    }

    /// Takes the next query: whether it misses each of the constraints, in their order.
    pub fn push(&mut self, misses: &[bool]) {
        for ((_, test), is_miss) in self.tests.iter_mut().zip(misses) {
            test.push(*is_miss);
        }
    }

    /// Returns the reason why the probe should end now, if there is one. It stays the same from then on.
    pub fn look(&mut self, now: Backlog) -> Option<ProbeEnd> {
        if self.end.is_none() {
            self.end = self.reason(now);
        }
        self.end
    }

    fn reason(&self, now: Backlog) -> Option<ProbeEnd> {
        if self.is_hopeless(now) {
            return Some(ProbeEnd::Hopeless);
        }
        let judged_count = self.tests.first().map_or(0, |(_, test)| test.blocks().seen());
        let is_warm = judged_count >= FEWEST_QUERIES
            && now.elapsed_ns >= self.limits.longest_bound_ns.saturating_mul(WARM_UP_BOUNDS);
        match self.decision() {
            Some(Side::Over) => Some(ProbeEnd::Decided),
            Some(Side::Under) if is_warm => Some(ProbeEnd::Decided),
            _ if now.issued_count >= self.limits.max_query_count => Some(ProbeEnd::Budget),
            _ => None,
        }
    }

    /// Returns Over if one constraint is, Under if all are.
    fn decision(&self) -> Option<Side> {
        let mut decisions = self.tests.iter().map(|(_, test)| test.decision());
        if decisions.clone().any(|side| side == Some(Side::Over)) {
            return Some(Side::Over);
        }
        decisions.all(|side| side == Some(Side::Under)).then_some(Side::Under)
    }

    /// Returns whether more arrives than gets done, so that the queue grows as long as the probe lasts.
    ///
    /// Arrivals and completions of a system that keeps up differ by chance, by about the root of their
    /// number; and its queue is no longer than its throughput within the bound, or the bound would be missed.
    fn is_hopeless(&self, now: Backlog) -> bool {
        let Backlog { issued_count, completed_count, elapsed_ns } = now;
        let outstanding_count = issued_count.saturating_sub(completed_count);
        let chance = (2.0 * issued_count as f64).sqrt();
        if (outstanding_count as f64) < HOPELESS_DEVIATIONS * chance {
            return false;
        }
        // Wait of the newest query: outstanding / (completed / elapsed).
        let wait_ns =
            u128::from(outstanding_count) * u128::from(elapsed_ns) / u128::from(completed_count.max(1));
        let is_long = wait_ns >= u128::from(self.limits.longest_bound_ns.saturating_mul(HOPELESS_BOUNDS));
        let is_flood = completed_count >= FLOOD_QUERIES && outstanding_count >= FLOOD * completed_count;
        is_long && (is_flood || elapsed_ns >= self.limits.longest_bound_ns.saturating_mul(2))
    }

    /// Returns why the probe ended, if it has.
    #[must_use]
    pub fn end(&self) -> Option<ProbeEnd> {
        self.end
    }

    /// Returns the verdict on the queries so far.
    #[must_use]
    pub fn judge(&self) -> Judgement {
        let ratios = self.tests.iter().map(|(_, test)| test.log_ratio());
        let largest = ratios.fold(f64::NEG_INFINITY, f64::max);
        let is_hopeless = self.end == Some(ProbeEnd::Hopeless);
        let side = match is_hopeless || largest > 0.0 {
            true => Side::Over,
            false => Side::Under,
        };
        let confidence = match is_hopeless {
            // Four standard deviations.
            true => confidence(largest.max(0.0)).max(1.0 - 3.2e-5),
            // A limit of 0 that nothing has broken says nothing; the others speak.
            false => {
                let kept = self.tests.iter().filter(|(constraint, _)| constraint.limit_share > 0.0);
                let weakest = kept.map(|(_, test)| test.log_ratio()).fold(f64::NEG_INFINITY, f64::max);
                confidence(if side == Side::Over { largest } else { weakest })
            }
        };
        let constraints = self.tests.iter().map(|(constraint, test)| ConstraintSeen {
            name: constraint.name.clone(),
            limit_share: constraint.limit_share,
            dependence: constraint.dependence,
            judged_count: test.blocks().seen(),
            missed_count: test.blocks().missed(),
            dispersion: test.blocks().dispersion(),
            log_ratio: test.log_ratio(),
            tail_ratio: None,
        });
        Judgement { side, confidence, constraints: constraints.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn monitor(limits: &[f64]) -> ProbeMonitor {
        let constraint = |limit_share: &f64| Constraint {
            name: "c".to_owned(),
            limit_share: *limit_share,
            dependence: Dependence::OnLoad,
        };
        let limits_of_probe =
            ProbeLimits { longest_bound_ns: 10 * MS, max_query_count: 10_000, error_probability: 0.05 };
        ProbeMonitor::new(limits.iter().map(constraint).collect(), limits_of_probe)
    }

    fn backlog(issued_count: u64, completed_count: u64, elapsed_ms: u64) -> Backlog {
        Backlog { issued_count, completed_count, elapsed_ns: elapsed_ms * MS }
    }

    #[test]
    fn one_constraint_that_is_missed_is_enough_and_all_have_to_hold() {
        let mut probe = monitor(&[0.01, 0.1]);
        for _ in 0..3000 {
            probe.push(&[false, false]);
        }
        assert_eq!(probe.look(backlog(3000, 3000, 3000)), Some(ProbeEnd::Decided));
        assert_eq!(probe.judge().side, Side::Under);
        assert!(probe.judge().confidence >= 0.95);

        let mut probe = monitor(&[0.01, 0.1]);
        for number in 0..1000 {
            probe.push(&[false, number % 2 == 0]);
        }
        assert_eq!(probe.look(backlog(1000, 1000, 1000)), Some(ProbeEnd::Decided));
        let judgement = probe.judge();
        assert_eq!((judgement.side, judgement.constraints[1].missed_count), (Side::Over, 500));
    }

    #[test]
    fn a_failed_sample_ends_a_probe_that_allows_none() {
        let mut probe = monitor(&[0.01, 0.0]);
        probe.push(&[false, false]);
        assert_eq!(probe.look(backlog(1, 1, 1)), None);
        probe.push(&[false, true]);
        assert_eq!(probe.look(backlog(2, 2, 2)), Some(ProbeEnd::Decided));
        assert_eq!((probe.judge().side, probe.judge().confidence), (Side::Over, 1.0));
    }

    #[test]
    fn a_backlog_that_grows_is_hopeless_before_anything_is_missed() {
        let mut probe = monitor(&[0.01]);
        // Twice as much arrives as gets done; 100 done in 20 ms, so that 100 outstanding wait for 20 ms.
        assert_eq!(probe.look(backlog(200, 100, 20)), None);
        assert_eq!(probe.look(backlog(400, 200, 40)), Some(ProbeEnd::Hopeless));
        assert_eq!(probe.judge().side, Side::Over);
        assert!(probe.judge().confidence > 0.999);
        // A flood is seen in the first moments.
        assert_eq!(monitor(&[0.01]).look(backlog(8000, 300, 15)), Some(ProbeEnd::Hopeless));
    }

    #[test]
    fn a_large_batch_in_flight_is_not_hopeless() {
        // 1000 queries a second are served in batches of a quarter of the bound.
        let mut probe = monitor(&[0.01]);
        for (issued, completed, ms) in [(9, 0, 9), (90, 40, 90), (400, 391, 400)] {
            assert_eq!(probe.look(backlog(issued, completed, ms)), None);
        }
    }

    #[test]
    fn a_probe_near_the_limit_ends_with_its_budget_and_says_how_little_it_knows() {
        let mut probe = monitor(&[0.01]);
        for number in 0..10_000 {
            probe.push(&[number % 100 == 0]);
        }
        assert_eq!(probe.look(backlog(10_000, 10_000, 10_000)), Some(ProbeEnd::Budget));
        assert!(probe.judge().confidence < 0.95);
    }

    #[test]
    fn a_cold_queue_is_not_called_good() {
        let mut probe = monitor(&[0.5]);
        for _ in 0..600 {
            probe.push(&[false]);
        }
        assert_eq!(probe.look(backlog(600, 600, 79)), None);
        assert_eq!(probe.look(backlog(600, 600, 80)), Some(ProbeEnd::Decided));
    }
}
