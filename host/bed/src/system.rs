//! The system under test: the scheduler over instances of the plugin, or the plugin alone if it takes whole queries.

pub(crate) mod busy;
pub(crate) mod whole_queries;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use proctor_config::RunSettings;
use proctor_loadgen::SystemUnderTest;
use proctor_plugin_host::{Call, CallUnderWay, calls_under_way, expect_last_words, last_words_are_awaited};
use proctor_results::ScalingPart;
use proctor_scaling::POLICIES;
use proctor_scheduler::{
    InFlight, SchedulerConfig, SchedulerError, ShutdownReport, SimulatedScheduler, Statistics,
    ThreadedScheduler, policies,
};
use proctor_vocabulary::registry::UnknownName;
use proctor_words::HostError;

use crate::{
    fault::{Fault, FirstError},
    scaling::{
        settings::{fixed_knobs, scales},
        system::ScaledSystem,
    },
    system::{busy::BusyCounts, whole_queries::WholeQueries},
};

/// Time between two looks whether a thread of an instance has crashed at its end.
const THREADS_SLICE: Duration = Duration::from_millis(50);

/// The system that the load generator drives in one test.
pub(crate) enum System {
    /// Batches on threads, with the number of the plugin's instance behind each of the scheduler's.
    Threaded(Arc<ThreadedScheduler>, Vec<usize>),
    /// Batches in virtual time.
    Simulated(SimulatedScheduler),
    Whole(Arc<WholeQueries>),
    /// Batches in either time, with knobs that are turned.
    Scaled(ScaledSystem),
}

/// Report of a system on a test that is over.
#[derive(Debug, Default)]
pub struct SystemReport {
    /// Counts of the scheduler, if there was one.
    pub statistics: Option<Statistics>,
    /// Queries that the plugin was BUSY for, if it took whole queries.
    pub busy: Option<BusyCounts>,
    /// Each reason why the test is INVALID.
    pub faults: Vec<Fault>,
    /// Course of the policy, if one turned the knobs.
    pub scaling: Option<ScalingPart>,
    /// True if a thread is still in the plugin, so that nothing can be released.
    pub hangs: bool,
}

impl System {
    pub(crate) fn sut(&self) -> &dyn SystemUnderTest {
        match self {
            Self::Threaded(scheduler, _) => &**scheduler,
            Self::Simulated(scheduler) => scheduler,
            Self::Whole(queries) => &**queries,
            Self::Scaled(scaled) => scaled.as_sut(),
        }
    }

    /// Returns the system for an engine that drives it from a thread of its own; `None` in virtual time, and with knobs
    /// that are turned.
    pub(crate) fn shared(&self) -> Option<Arc<dyn SystemUnderTest + Send>> {
        match self {
            Self::Threaded(scheduler, _) => Some(Arc::clone(scheduler) as _),
            Self::Whole(queries) => Some(Arc::clone(queries) as _),
            Self::Simulated(_) | Self::Scaled(_) => None,
        }
    }

    /// Ends the system. Waits for instances that are still working, up to `limit`. `first_error` is the first
    /// error of the instances; the pair is the start and the length of the load, both in ns.
    pub(crate) fn end(
        self,
        limit: Duration,
        first_error: &FirstError,
        begun_lasted_ns: (u64, u64),
    ) -> SystemReport {
        let of_scheduler = |statistics: &Statistics| {
            let problems = statistics.problems().into_iter();
            problems.map(|problem| Fault::Scheduler(problem, first_error.get().cloned())).collect::<Vec<_>>()
        };
        match self {
            Self::Threaded(scheduler, owners) => {
                let (hung, hangs) = end_threads(limit, |slice| scheduler.shutdown(slice));
                let statistics = of_owners(scheduler.statistics(), &owners);
                let mut faults = of_scheduler(&statistics);
                faults.extend(hung.iter().map(|hung| hung_fault(hung, owners[hung.instance])));
                SystemReport { statistics: Some(statistics), faults, hangs, ..SystemReport::default() }
            }
            Self::Simulated(scheduler) => {
                let statistics = scheduler.statistics();
                let faults = of_scheduler(&statistics);
                SystemReport { statistics: Some(statistics), faults, ..SystemReport::default() }
            }
            Self::Scaled(scaled) => {
                let (hung, hangs) = end_threads(limit, |slice| scaled.end(slice));
                let statistics = scaled.statistics();
                let mut faults = of_scheduler(&statistics);
                faults.extend(hung.iter().map(|hung| hung_fault(hung, hung.instance)));
                let (statistics, scaling) = (Some(statistics), Some(scaled.course(begun_lasted_ns)));
                SystemReport { statistics, faults, scaling, hangs, ..SystemReport::default() }
            }
            Self::Whole(queries) => {
                let (faults, busy) = (queries.faults(), Some(queries.busy_counts()));
                SystemReport { faults, busy, ..SystemReport::default() }
            }
        }
    }
}

/// Ends the threads of instances. Waits for them up to `limit`, but not after a crash there: that thread waits until
/// results are written, and is solely to blame. Returns which instances hang, and whether any thread runs on.
fn end_threads(limit: Duration, shut_down: impl Fn(Duration) -> ShutdownReport) -> (Vec<InFlight>, bool) {
    expect_last_words();
    let begun = Instant::now();
    loop {
        let left = limit.saturating_sub(begun.elapsed());
        let hung = shut_down(left.min(THREADS_SLICE)).hung;
        if last_words_are_awaited() {
            return (Vec::new(), true);
        }
        if hung.is_empty() || left.is_zero() {
            let hangs = !hung.is_empty();
            return (hung, hangs);
        }
    }
}

fn hung_fault(hung: &InFlight, instance: usize) -> Fault {
    let first = hung.samples.first().map(|sample| sample.index);
    // Beside a batch, a thread of an instance begins and ends.
    let is_its = |it: &CallUnderWay| it.instance.is_some_and(|number| number as usize == instance);
    let call = calls_under_way().find(is_its).map_or(Call::Execute, |it| it.call);
    Fault::Hung { instance, call, sample_count: hung.samples.len(), first }
}

/// Returns statistics with the busy time of the plugin's instances, each summed over its scheduler instances.
fn of_owners(statistics: Statistics, owners: &[usize]) -> Statistics {
    let mut busy_ns = vec![0; owners.last().map_or(0, |last| last + 1)];
    for (owner, busy) in owners.iter().zip(&statistics.busy_ns) {
        busy_ns[*owner] += busy;
    }
    Statistics { busy_ns, ..statistics }
}

/// Returns the scheduler's settings as given, checked; with a policy that scales, the settings of a test
/// without scaling.
///
/// # Errors
/// If the policy is unknown or a number is out of range, or a policy that scales has no goal.
pub fn scheduler_config(run: &RunSettings) -> Result<SchedulerConfig, HostError> {
    // A policy that scales sends all waiting samples at once.
    let (policy, batch_timeout_us) = match scales(&run.policy) {
        true => ("size-or-timeout".to_owned(), 0),
        false => (run.policy.clone(), run.batch_timeout_us),
    };
    let knobs = fixed_knobs(run)?;
    let config = SchedulerConfig {
        policy,
        batch_size: knobs.batch_size,
        instances: knobs.instances,
        scaling: None,
        batch_timeout_us,
        queue_capacity: run.queue_capacity.max(run.batch_size),
    };
    config.validate().map_err(with_all_policies)?;
    Ok(config)
}

/// Returns the same error, with the scaling policies added to the list of known ones.
fn with_all_policies(error: SchedulerError) -> SchedulerError {
    match error {
        SchedulerError::UnknownPolicy(UnknownName { kind, name, .. }) => {
            let forming = policies().into_iter().map(|entry| entry.name);
            let known: Vec<_> = forming.chain(POLICIES.iter().map(|entry| entry.name)).collect();
            SchedulerError::UnknownPolicy(UnknownName::new(kind, &name, &known))
        }
        other => other,
    }
}
