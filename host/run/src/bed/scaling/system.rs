//! The scheduler of a system that is scaled, with its scaler.

use std::{sync::Arc, time::Duration};

use proctor_config::RunSettings;
use proctor_loadgen::{Clock, SystemUnderTest};
use proctor_scaling::{
    Approach, ControlLoop, CurveLibrary, DnnScalerSettings, Goal, Knobs, POLICIES, ScalingPolicy, WindowRule,
};
use proctor_scheduler::{
    BatchObserver, Instance, ScalingBounds, SchedulerConfig, ShutdownReport, SimulatedScheduler,
    ThreadedScheduler,
};
use proctor_vocabulary::CompletionSink;

use crate::{
    bed::{
        clock::HostClock,
        scaling::{scaler::Scaler, supply::Supply, trace::Trace},
    },
    error::HostError,
};

/// Whether a policy of this name scales, and does not only form batches.
pub(crate) fn scales(policy: &str) -> bool {
    POLICIES.iter().any(|entry| entry.name == policy)
}

/// Refuses a policy that scales where the load generator makes a test: there the knobs stay where they are.
///
/// # Errors
/// If the settings name one.
pub(crate) fn refuse(run: &RunSettings) -> Result<(), HostError> {
    match scales(&run.policy) {
        true => Err(HostError::Usage(format!(
            "policy {} scales batch size and instances, which only host scale does; give the setting that it finds by \
             --batch-size and --instances",
            run.policy
        ))),
        false => Ok(()),
    }
}

/// The policy of this name, with the curves that the settings name.
///
/// # Errors
/// If there is none, or the curves cannot be read.
pub(crate) fn policy(run: &RunSettings, name: &str) -> Result<Box<dyn ScalingPolicy>, HostError> {
    let Some(entry) = POLICIES.iter().find(|entry| entry.name == name) else {
        let names: Vec<_> = POLICIES.iter().map(|entry| entry.name).collect();
        let names = names.join(", ");
        return Err(HostError::Usage(format!("policy {name} does not scale; these do: {names}")));
    };
    let curves = match &run.curves {
        Some(path) => CurveLibrary::read(path).map_err(|error| HostError::Usage(error.to_string()))?,
        None => CurveLibrary::of_the_paper(None),
    };
    Ok((entry.make)(DnnScalerSettings { curves, ..DnnScalerSettings::default() }))
}

/// The goal that the settings state.
///
/// `batch_size` and `instances` are the bounds of the knobs. A knob that the approach does not turn stays at its bound.
///
/// # Errors
/// If there is no target, or nothing to turn.
pub(crate) fn goal(run: &RunSettings) -> Result<Goal, HostError> {
    let target_ns = run.slo_ms.map(|ms| (ms * 1e6).round() as u64);
    let Some(target_ns) = target_ns.filter(|target_ns| *target_ns > 0) else {
        return Err(HostError::Usage(
            "a policy that scales needs a latency target: give --slo-ms".to_owned(),
        ));
    };
    let most = Knobs { batch_size: run.batch_size, instances: run.instances };
    let approach = match run.approach.as_str() {
        "batching" => Approach::Batching,
        "multi-tenancy" => Approach::MultiTenancy,
        _ => Approach::Auto,
    };
    let goal = Goal { approach, base: most, ..Goal::new(target_ns, run.tail / 100.0, most) };
    if goal.least() == goal.greatest() {
        return Err(HostError::Usage(format!(
            "there is nothing to scale: batch_size = {} and instances = {} are the most that a policy may set; raise \
             one of them",
            run.batch_size, run.instances
        )));
    }
    Ok(goal)
}

/// Where samples arrive by themselves one of them may find all instances at work, and waits for a batch before its own:
/// its latency is that of two.
const TARGETS_OF_ARRIVALS: u64 = 2;

/// Parts of a system that is to be scaled.
pub(crate) struct ScaledParts {
    pub(crate) name: String,
    pub(crate) run: RunSettings,
    pub(crate) policy: Box<dyn ScalingPolicy>,
    pub(crate) goal: Goal,
    pub(crate) rule: WindowRule,
    /// Length of a span of the course, in ns.
    pub(crate) span_ns: u64,
    /// Whether latency counts from the arrival of a sample, and not from the start of its batch.
    pub(crate) from_arrival: bool,
    pub(crate) queue_capacity: usize,
    pub(crate) supply: Supply,
    pub(crate) sink: Arc<dyn CompletionSink>,
}

/// A system that is scaled.
pub(crate) struct ScaledSystem {
    scheduler: Scheduler,
    targets: u64,
    pub(crate) scaler: Arc<Scaler>,
}

enum Scheduler {
    Threaded(Arc<ThreadedScheduler>),
    Simulated(Arc<SimulatedScheduler>),
}

impl ScaledSystem {
    /// Starts the scheduler with the first knobs of the policy.
    ///
    /// # Errors
    /// If the plugin has no first instance, or the scheduler cannot start.
    pub(crate) fn start(clock: &HostClock, parts: ScaledParts) -> Result<Self, HostError> {
        let ScaledParts {
            name,
            run,
            policy,
            goal,
            rule,
            span_ns,
            from_arrival,
            queue_capacity,
            mut supply,
            sink,
        } = parts;
        let now = clock.reader();
        let now_ns = now();
        let first =
            supply.take()?.ok_or_else(|| HostError::PluginCannot("the plugin has no instance".to_owned()))?;
        let config = SchedulerConfig {
            // Whatever waits goes at once, in batches as large as the knob allows.
            policy: "size-or-timeout".to_owned(),
            batch_timeout_us: 0,
            batch_size: 1,
            instances: 1,
            scaling: Some(ScalingBounds {
                batch_size_max: run.batch_size,
                // One that was retired counts until its batch is over.
                instances_max: (2 * run.instances).min(SchedulerConfig::INSTANCES_MAX),
            }),
            queue_capacity: queue_capacity.max(run.batch_size),
        };
        let targets = if from_arrival { TARGETS_OF_ARRIVALS } else { 1 };
        let goal = Goal { target_ns: goal.target_ns / targets, ..goal };
        let rule = WindowRule { is_saturated: !from_arrival, ..rule };
        let control = ControlLoop::new(policy, goal, rule, now_ns);
        let is_virtual = matches!(clock, HostClock::Virtual(_));
        let trace = Trace::new(span_ns, now_ns, targets);
        let scaler = Scaler::new(control, supply, trace, now, (is_virtual, from_arrival));
        let observer = Some(Arc::clone(&scaler) as Arc<dyn BatchObserver>);
        let instances: Vec<Box<dyn Instance>> = vec![first];
        let (scheduler, knobs) = match clock {
            HostClock::Real(clock) => {
                let scheduler =
                    ThreadedScheduler::start(name, &config, instances, sink, Arc::clone(clock), observer)?;
                let knobs = scheduler.knobs();
                (Scheduler::Threaded(Arc::new(scheduler)), knobs)
            }
            HostClock::Virtual(clock) => {
                let scheduler =
                    SimulatedScheduler::new(name, &config, instances, sink, Arc::clone(clock), observer)?;
                let knobs = scheduler.knobs();
                (Scheduler::Simulated(Arc::new(scheduler)), knobs)
            }
        };
        scaler.begin(knobs);
        Ok(Self { scheduler, targets, scaler })
    }

    /// Has another latency target hold from now on.
    pub(crate) fn set_target(&self, now_ns: u64, target_ns: u64) {
        self.scaler.set_target(now_ns, target_ns / self.targets);
    }

    /// The system as the load sees it.
    pub(crate) fn sut(&self) -> Arc<dyn SystemUnderTest + Send> {
        match &self.scheduler {
            Scheduler::Threaded(scheduler) => Arc::clone(scheduler) as _,
            Scheduler::Simulated(scheduler) => Arc::clone(scheduler) as _,
        }
    }

    /// Ends the scheduler, and waits for instances that are still at work, up to `limit`.
    pub(crate) fn end(&self, limit: Duration) -> ShutdownReport {
        match &self.scheduler {
            Scheduler::Threaded(scheduler) => scheduler.shutdown(limit),
            Scheduler::Simulated(_) => ShutdownReport::default(),
        }
    }
}

/// Waits on the clock, and has what is due by then happen in virtual time.
pub(crate) fn wait_until(clock: &HostClock, at_ns: u64) {
    let wake = proctor_loadgen::Wake::new();
    match clock {
        HostClock::Real(clock) => clock.wait_until(at_ns, &wake),
        HostClock::Virtual(clock) => clock.wait_until(at_ns, &wake),
    };
}
