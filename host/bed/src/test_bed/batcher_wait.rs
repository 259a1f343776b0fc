//! Gives advice when samples wait for the host's own batches to fill. The load generator cannot see this: to
//! it the system looks too slow at any rate.

use proctor_loadgen::{Finding, Measure, Remedy, Rule, TestOutcome};
use proctor_scheduler::SchedulerConfig;
use proctor_vocabulary::Scenario;

use crate::system::SystemReport;

/// The policy whose batches wait to fill while an instance is idle.
const WAITING_POLICY: &str = "size-or-timeout";
/// Share of a bound from which the wait for a batch is the cause of its breach.
const SHARE_MIN: f64 = 0.5;
/// Utilisation from which samples wait for busy instances.
const BUSY_MAX: f64 = 0.9;
/// Share by which the advised wait is lowered, for variation between batches.
const MARGIN: f64 = 0.9;

const FASTER: &str = "a higher rate, at which batches fill sooner";
const LOWER: &str = "batches wait to fill: lower batch_timeout_us, or raise the rate, at which they fill sooner; the \
                     run does not tell by how much";

/// The batches of a test that wait to fill.
#[derive(Debug, Clone, Copy)]
pub(super) struct BatcherWait {
    timeout_ns: u64,
    batch_size: usize,
}

impl BatcherWait {
    /// Returns `None` if batches do not wait, or if a policy turns their size.
    pub(super) fn of(config: &SchedulerConfig, is_scaled: bool) -> Option<Self> {
        let waits = !is_scaled && config.policy == WAITING_POLICY && config.batch_size > 1;
        waits.then(|| Self { timeout_ns: config.batch_timeout_ns(), batch_size: config.batch_size })
    }

    /// Replaces the load generator's advice if instances were idle while samples waited.
    pub(super) fn advise(self, outcome: &mut TestOutcome, system: &SystemReport, lasted_ns: u64) {
        let Some(statistics) = &system.statistics else { return };
        let instance_ns = lasted_ns as f64 * statistics.busy_ns.len() as f64;
        let busy_ns: u64 = statistics.busy_ns.iter().sum();
        if outcome.effective.request.scenario != Scenario::Server || busy_ns as f64 > BUSY_MAX * instance_ns {
            return;
        }
        let fill_ns = (self.batch_size - 1) as f64 * 1e9 / outcome.effective.target_qps;
        let wait_ns = fill_ns.min(self.timeout_ns as f64);
        for finding in outcome.findings.iter_mut().filter(|finding| is_about_waiting(finding)) {
            let (Some(measured_ns), Some(bound_ns)) = (finding.measured, finding.bound) else { continue };
            if wait_ns < SHARE_MIN * bound_ns {
                continue;
            }
            finding.remedy = Some(remedy(measured_ns - wait_ns, bound_ns));
            finding.time_ns = Some(lasted_ns);
            finding.lift.clear();
        }
    }
}

/// Returns whether a latency with the wait in it is over its bound in a run that ended.
fn is_about_waiting(finding: &Finding) -> bool {
    let is_of_wait =
        matches!(finding.rule, Rule::Bound { measure: Measure::Latency | Measure::FirstToken, .. });
    is_of_wait && finding.is_broken() && finding.ended_by.is_none()
}

/// Returns the wait that the bound allows in addition to the rest of the latency.
fn remedy(rest_ns: f64, bound_ns: f64) -> Remedy {
    let room_us = (MARGIN * (bound_ns - rest_ns) / 1e3).floor();
    match room_us >= 1.0 {
        true => Remedy::SetOr { setting: "batch_timeout_us", value: room_us as u64, other: FASTER },
        false => Remedy::Do(LOWER),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_is_lowered_to_what_the_bound_leaves() {
        let expected = Remedy::SetOr { setting: "batch_timeout_us", value: 8100, other: FASTER };
        assert_eq!(remedy(1e6, 10e6), expected);
        for rest_ns in [10e6, 12e6, 9_999_000.0] {
            assert_eq!(remedy(rest_ns, 10e6), Remedy::Do(LOWER));
        }
    }

    #[test]
    fn only_batches_that_wait_are_blamed() {
        let config = |policy: &str, batch_size| SchedulerConfig {
            policy: policy.to_owned(),
            batch_size,
            ..SchedulerConfig::default()
        };
        assert!(BatcherWait::of(&config(WAITING_POLICY, 64), false).is_some());
        assert!(BatcherWait::of(&config(WAITING_POLICY, 64), true).is_none());
        assert!(BatcherWait::of(&config(WAITING_POLICY, 1), false).is_none());
        assert!(BatcherWait::of(&config("fixed", 64), false).is_none());
    }
}
