//! The scheduler of a system that is scaled, with its scaler.

use std::{sync::Arc, time::Duration};

use proctor_config::RunSettings;
use proctor_loadgen::{Clock, SystemUnderTest};
use proctor_results::{LatencyFrom, ScalingPart};
use proctor_scaling::{ControlLoop, Goal, ScalingPolicy, WindowRule};
use proctor_scheduler::{
    BatchObserver, Instance, ScalingBounds, SchedulerConfig, ShutdownReport, SimulatedScheduler, Statistics,
    ThreadedScheduler,
};
use proctor_vocabulary::{CompletionSink, QuerySample};
use proctor_words::{HostError, PluginError};

use crate::{
    clock::HostClock,
    scaling::{course::course_of, scaler::Scaler, supply::Supply, timeline::Timeline},
};

/// Parts of a system to be scaled.
pub struct ScaledParts {
    /// Name of the system for reports.
    pub name: String,
    /// Settings of the run.
    pub run: RunSettings,
    /// Name of the policy.
    pub policy_name: String,
    /// Policy that turns the knobs.
    pub policy: Box<dyn ScalingPolicy>,
    /// The latency target, and the bounds of the knobs.
    pub goal: Goal,
    /// Length of the load, in ns.
    pub duration_ns: u64,
    /// Length of a span of the timeline, in ns; `None` for one without spans.
    pub span_ns: Option<u64>,
    /// Instant from which latency is measured.
    pub latency_from: LatencyFrom,
    /// Maximum number of waiting samples.
    pub queue_capacity: usize,
    /// Instances of the plugin.
    pub supply: Supply,
    /// Sink that takes the completions.
    pub sink: Arc<dyn CompletionSink>,
}

/// A system that is scaled.
pub struct ScaledSystem {
    scheduler: Scheduler,
    policy: String,
    goal: Goal,
    latency_from: LatencyFrom,
    /// Scaler that turns the knobs.
    pub scaler: Arc<Scaler>,
}

/// Takes the samples of a load.
pub trait Intake: Send + Sync {
    /// Takes samples that were due at an instant, from which their latency is measured; `None` for now.
    fn take(&self, samples: &[QuerySample], due_ns: Option<u64>);
}

impl Intake for ThreadedScheduler {
    fn take(&self, samples: &[QuerySample], due_ns: Option<u64>) {
        match due_ns {
            Some(due_ns) => self.issue_arrived(due_ns, samples),
            None => self.issue(samples),
        }
    }
}

impl Intake for SimulatedScheduler {
    /// Takes samples; in virtual time a load is never late.
    fn take(&self, samples: &[QuerySample], _: Option<u64>) {
        self.issue(samples);
    }
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
    pub fn start(clock: &HostClock, parts: ScaledParts) -> Result<Self, HostError> {
        let ScaledParts {
            name,
            run,
            policy_name,
            policy,
            goal,
            duration_ns,
            span_ns,
            latency_from,
            queue_capacity,
            mut supply,
            sink,
        } = parts;
        let now = clock.reader();
        let now_ns = now();
        let first = supply.take()?.ok_or(PluginError::Stated("the plugin has no instance"))?;
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
        let rule = WindowRule {
            is_saturated: latency_from == LatencyFrom::BatchStart,
            // At least twenty windows.
            duration_max_ns: (duration_ns / 20).min(WindowRule::default().duration_max_ns),
            ..WindowRule::default()
        };
        let of_service = Goal { target_ns: goal.target_ns / latency_from.service_times(), ..goal };
        let control = ControlLoop::new(policy, of_service, rule, now_ns);
        let is_virtual = matches!(clock, HostClock::Virtual(_));
        let timeline = Timeline::new(span_ns, now_ns, latency_from);
        let scaler = Scaler::new(control, supply, timeline, now, latency_from, is_virtual);
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
        Ok(Self { scheduler, policy: policy_name, goal, latency_from, scaler })
    }

    /// Sets a new latency target from this instant on.
    pub fn set_target(&self, now_ns: u64, target_ns: u64) {
        self.scaler.set_target(now_ns, target_ns / self.latency_from.service_times());
    }

    /// Returns the system as a load sees it that reports when samples were due.
    pub fn intake(&self) -> Arc<dyn Intake> {
        match &self.scheduler {
            Scheduler::Threaded(scheduler) => Arc::clone(scheduler) as _,
            Scheduler::Simulated(scheduler) => Arc::clone(scheduler) as _,
        }
    }

    /// Returns the system as the load generator sees it.
    pub(crate) fn as_sut(&self) -> &dyn SystemUnderTest {
        match &self.scheduler {
            Scheduler::Threaded(scheduler) => &**scheduler,
            Scheduler::Simulated(scheduler) => &**scheduler,
        }
    }

    /// Returns the counts of the scheduler.
    pub(crate) fn statistics(&self) -> Statistics {
        match &self.scheduler {
            Scheduler::Threaded(scheduler) => scheduler.statistics(),
            Scheduler::Simulated(scheduler) => scheduler.statistics(),
        }
    }

    /// Returns the course of a load from its start and its length, both in ns. The scheduler has ended.
    pub fn course(&self, begun_lasted_ns: (u64, u64)) -> ScalingPart {
        let (decisions, timeline, events) = self.scaler.end();
        let Self { policy, goal, latency_from, .. } = self;
        course_of(policy, *goal, *latency_from, begun_lasted_ns, decisions, &timeline, events)
    }

    /// Ends the scheduler, and waits for instances that are still at work, up to `limit`.
    pub fn end(&self, limit: Duration) -> ShutdownReport {
        match &self.scheduler {
            Scheduler::Threaded(scheduler) => scheduler.shutdown(limit),
            Scheduler::Simulated(_) => ShutdownReport::default(),
        }
    }
}

/// Waits on the clock, and in virtual time runs the events that are due by then.
pub fn wait_until(clock: &HostClock, at_ns: u64) {
    let wake = proctor_loadgen::Wake::new();
    match clock {
        HostClock::Real(clock) => clock.wait_until(at_ns, &wake),
        HostClock::Virtual(clock) => clock.wait_until(at_ns, &wake),
    };
}
