//! A test at an instant, as shown.

use proctor_loadgen::{PhaseMode, PhaseProgress};
use proctor_vocabulary::Scenario;
use proctor_words::{Knobs, NoiseSoFar, ShownTest, TestPlan};

use super::tally::Tally;

/// A test at an instant.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    pub(super) mode: PhaseMode,
    pub(super) plan: TestPlan,
    pub(super) elapsed_ns: u64,
    pub(super) issued_count: u64,
    pub(super) completed_count: u64,
    /// Since the last look, or since the start.
    pub(super) samples_per_second: f64,
    /// Completed share of the test, from 0 to 1, as far as it is known beforehand.
    pub(super) done_share: f64,
    /// Estimated remaining time; `None` before anything is known.
    pub(super) left_ns: Option<u64>,
    /// Latencies of the samples so far; `None` before the first, and in Offline, where a latency is mostly a place in
    /// the queue.
    pub(super) latencies: Option<SnapshotLatencies>,
    /// Figures of the plugin's own: name, value, unit.
    pub(super) metrics: Vec<(String, f64, String)>,
    pub(super) noise: Option<NoiseSoFar>,
    pub(super) turned: Option<(Knobs, bool)>,
}

/// Latencies of the samples so far, in ns.
#[derive(Debug, Clone, Copy)]
pub(super) struct SnapshotLatencies {
    pub(super) p50_ns: u64,
    pub(super) p90_ns: u64,
    pub(super) p99_ns: u64,
    /// Latency at the quantile of the plan.
    pub(super) at_quantile_ns: u64,
}

/// Observes a test at intervals.
pub(super) struct Viewer {
    test: ShownTest,
    before: Option<PhaseProgress>,
    /// Number of samples of the phases before this one.
    earlier_count: u64,
    tally: Tally,
}

impl Viewer {
    pub(super) fn new(test: ShownTest) -> Self {
        Self { test, before: None, earlier_count: 0, tally: Tally::default() }
    }

    /// Returns the current state of the test; `None` before its first phase.
    pub(super) fn look(&mut self, turned: Option<(Knobs, bool)>) -> Option<Snapshot> {
        let now = self.test.progress.current()?;
        let before = self.before.replace(now);
        if let Some(ended) = before.filter(|before| before.phase_number != now.phase_number) {
            self.earlier_count += ended.completed_count;
        }
        let before = before.filter(|before| before.phase_number == now.phase_number);
        let plan = self.test.plan.clone();
        if plan.scenario != Scenario::Offline {
            self.tally.look(&self.test.progress, now.phase_number, now.issued_count);
        }
        let latencies = (|| {
            Some(SnapshotLatencies {
                p50_ns: self.tally.at(0.5)?,
                p90_ns: self.tally.at(0.9)?,
                p99_ns: self.tally.at(0.99)?,
                at_quantile_ns: self.tally.at(plan.quantile)?,
            })
        })();
        let metrics = (self.test.metrics)();
        let (done_share, left_ns) = done(now, self.earlier_count, &plan);
        Some(Snapshot {
            mode: now.mode,
            elapsed_ns: now.elapsed_ns,
            issued_count: now.issued_count,
            completed_count: now.completed_count,
            samples_per_second: rate(now, before),
            done_share,
            left_ns,
            latencies,
            metrics: metrics.into_iter().map(|(name, it)| (name, it.last, it.unit)).collect(),
            noise: self.test.noise.as_ref().map(|so_far| so_far()),
            turned,
            plan,
        })
    }
}

/// Returns the samples per second since the last look, or since the start.
fn rate(now: PhaseProgress, before: Option<PhaseProgress>) -> f64 {
    let (count, ns) = before.map_or((0, 0), |before| (before.completed_count, before.elapsed_ns));
    match now.elapsed_ns.saturating_sub(ns) {
        0 => 0.0,
        span_ns => now.completed_count.saturating_sub(count) as f64 * 1e9 / span_ns as f64,
    }
}

/// Returns the completed share of the plan, and the remaining time until both duration and samples are reached.
fn done(now: PhaseProgress, earlier_count: u64, plan: &TestPlan) -> (f64, Option<u64>) {
    let is_accuracy = now.mode == PhaseMode::Accuracy;
    let count = if is_accuracy { earlier_count + now.completed_count } else { now.completed_count };
    let of = |done: u64, wanted: u64| match wanted {
        0 => 1.0,
        _ => (done as f64 / wanted as f64).min(1.0),
    };
    let (time, samples) = (of(now.elapsed_ns, plan.least_duration_ns), of(count, plan.least_sample_count));
    let time_left_ns = plan.least_duration_ns.saturating_sub(now.elapsed_ns) as f64;
    let samples_left = plan.least_sample_count.saturating_sub(count) as f64;
    let samples_left_ns = samples_left * now.elapsed_ns as f64 / now.completed_count as f64;
    let left_ns = match samples_left {
        0.0 => Some(time_left_ns),
        _ => Some(time_left_ns.max(samples_left_ns)).filter(|_| now.completed_count > 0),
    };
    (time.min(samples), left_ns.map(|ns| ns as u64))
}

#[cfg(test)]
pub(super) mod tests {
    use proctor_vocabulary::TestMode;

    use super::*;

    pub(in crate::progress) fn progress(issued: u64, completed: u64, elapsed_ns: u64) -> PhaseProgress {
        PhaseProgress {
            phase_number: 1,
            mode: PhaseMode::Performance,
            issued_count: issued,
            completed_count: completed,
            elapsed_ns,
        }
    }

    pub(in crate::progress) fn plan() -> TestPlan {
        TestPlan {
            mode: TestMode::PerformanceOnly,
            scenario: Scenario::Server,
            least_duration_ns: 10_000_000_000,
            least_sample_count: 1000,
            quantile: 0.99,
            bound_ns: Some(10_000_000),
        }
    }

    /// Returns a Server test of 10 s after 6.2 s.
    pub(in crate::progress) fn snapshot() -> Snapshot {
        Snapshot {
            mode: PhaseMode::Performance,
            plan: plan(),
            elapsed_ns: 6_200_000_000,
            issued_count: 5015,
            completed_count: 5012,
            samples_per_second: 812.34,
            done_share: 0.62,
            left_ns: Some(3_800_000_000),
            latencies: Some(SnapshotLatencies {
                p50_ns: 1_234_567,
                p90_ns: 2_500_000,
                p99_ns: 4_560_000,
                at_quantile_ns: 4_560_000,
            }),
            metrics: vec![
                ("power".to_owned(), 45.12, "W".to_owned()),
                ("hits".to_owned(), 0.5, String::new()),
            ],
            noise: Some(NoiseSoFar { observed_ns: 6_000_000_000, noisy_ns: 1_000_000_000 }),
            turned: None,
        }
    }

    #[test]
    fn the_rate_is_that_since_the_last_look() {
        let before = progress(100, 100, 1_000_000_000);
        assert_eq!(rate(progress(351, 350, 1_500_000_000), Some(before)), 500.0);
        assert_eq!(rate(progress(351, 350, 500_000_000), None), 700.0);
        assert_eq!(rate(progress(1, 0, 0), None), 0.0);
    }

    #[test]
    fn a_test_is_done_when_both_time_and_samples_are() {
        let plan = plan();
        // 100 of 1000 samples in 5 of 10 s: 45 s more.
        assert_eq!(done(progress(120, 100, 5_000_000_000), 0, &plan), (0.1, Some(45_000_000_000)));
        assert_eq!(done(progress(5000, 5000, 5_000_000_000), 0, &plan), (0.5, Some(5_000_000_000)));
        assert_eq!(done(progress(5000, 5000, 12_000_000_000), 0, &plan), (1.0, Some(0)));
        assert_eq!(done(progress(0, 0, 0), 0, &plan), (0.0, None));
        let accuracy = PhaseProgress { mode: PhaseMode::Accuracy, ..progress(250, 250, 1_000_000_000) };
        let plan = TestPlan { least_duration_ns: 0, ..plan };
        assert_eq!(done(accuracy, 500, &plan), (0.75, Some(1_000_000_000)));
    }
}
