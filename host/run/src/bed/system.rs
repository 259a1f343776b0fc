//! The system under test: the scheduler over instances of the plugin, or the plugin alone if it takes whole queries.

use std::time::Duration;

use proctor_config::RunSettings;
use proctor_loadgen::SystemUnderTest;
use proctor_scheduler::{SchedulerConfig, SimulatedScheduler, Statistics, ThreadedScheduler};

use crate::{
    bed::{
        busy::BusyCounts,
        fault::{Fault, FirstError},
        scaling::system::scales,
        whole_queries::WholeQueries,
    },
    error::HostError,
};

/// The system that the load generator drives in one test.
pub(crate) enum System {
    /// Batches on threads, with the number of the plugin's instance behind each of the scheduler's.
    Threaded(ThreadedScheduler, Vec<usize>),
    /// Batches in virtual time.
    Simulated(SimulatedScheduler),
    Whole(Box<WholeQueries>),
}

/// Report of a system on a test that is over.
#[derive(Debug, Default)]
pub(crate) struct SystemReport {
    /// Counts of the scheduler, if there was one.
    pub(crate) statistics: Option<Statistics>,
    /// Queries that the plugin was BUSY for, if it took whole queries.
    pub(crate) busy: Option<BusyCounts>,
    /// Each reason why the test is INVALID.
    pub(crate) faults: Vec<Fault>,
    /// Whether a thread is still in the plugin, so that nothing can be taken down.
    pub(crate) hangs: bool,
}

impl System {
    pub(crate) fn sut(&self) -> &dyn SystemUnderTest {
        match self {
            Self::Threaded(scheduler, _) => scheduler,
            Self::Simulated(scheduler) => scheduler,
            Self::Whole(queries) => &**queries,
        }
    }

    /// Ends the system. Waits for instances that are still at work, up to `limit`. `first_error` is that of the
    /// instances.
    pub(crate) fn end(self, limit: Duration, first_error: &FirstError) -> SystemReport {
        let of_scheduler = |statistics: &Statistics| {
            let problems = statistics.problems().into_iter();
            problems.map(|problem| Fault::Scheduler(problem, first_error.get().cloned())).collect::<Vec<_>>()
        };
        match self {
            Self::Threaded(scheduler, owners) => {
                let end = scheduler.shutdown(limit);
                let statistics = of_owners(scheduler.statistics(), &owners);
                let mut faults = of_scheduler(&statistics);
                faults.extend(end.hung.iter().map(|hung| Fault::Hung {
                    instance: owners[hung.instance],
                    sample_count: hung.samples.len(),
                    first: hung.samples.first().map(|sample| sample.index),
                }));
                let hangs = !end.hung.is_empty();
                SystemReport { statistics: Some(statistics), faults, hangs, ..SystemReport::default() }
            }
            Self::Simulated(scheduler) => {
                let statistics = scheduler.statistics();
                let faults = of_scheduler(&statistics);
                SystemReport { statistics: Some(statistics), faults, ..SystemReport::default() }
            }
            Self::Whole(queries) => {
                let (faults, busy) = (queries.faults(), Some(queries.busy_counts()));
                SystemReport { faults, busy, ..SystemReport::default() }
            }
        }
    }
}

/// Statistics in which the busy time is that of the plugin's instances: each the sum of its own in the scheduler.
fn of_owners(statistics: Statistics, owners: &[usize]) -> Statistics {
    let mut busy_ns = vec![0; owners.last().map_or(0, |last| last + 1)];
    for (owner, busy) in owners.iter().zip(&statistics.busy_ns) {
        busy_ns[*owner] += busy;
    }
    Statistics { busy_ns, ..statistics }
}

/// The scheduler's settings as they were given, checked.
///
/// # Errors
/// If the policy is unknown or a number is out of range.
pub(crate) fn scheduler_config(run: &RunSettings) -> Result<SchedulerConfig, HostError> {
    // A policy that scales has all that waits go at once.
    let (policy, batch_timeout_us) = match scales(&run.policy) {
        true => ("size-or-timeout".to_owned(), 0),
        false => (run.policy.clone(), run.batch_timeout_us),
    };
    let config = SchedulerConfig {
        policy,
        batch_size: run.batch_size,
        instances: run.instances,
        scaling: None,
        batch_timeout_us,
        queue_capacity: run.queue_capacity.max(run.batch_size),
    };
    config.validate()?;
    Ok(config)
}
