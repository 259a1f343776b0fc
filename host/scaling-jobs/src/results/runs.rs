//! The runs behind the page.

use std::{sync::LazyLock, thread};

use proctor_scaling::{
    Approach, DnnScalerSettings, Goal, Knobs, POLICIES, ScalingPolicy, Settled, Simulated, Simulation,
    Surface,
};

use crate::paper::{
    curves::curves_without,
    jobs::{PaperJob, jobs},
    predictions::{MOST, P95},
    surface::JobSurface,
};

/// Seed of the service times.
const SEED: u64 = 3;
/// Shortest run, in ns: ten minutes.
const RUN_NS: u64 = 600_000_000_000;
/// Minimum length of a run, in targets, if the target is long.
const RUN_TARGETS: u64 = 3600;

/// A policy on a job, to the end.
#[derive(Debug, Clone)]
pub(super) struct Run {
    /// Knobs at the end.
    pub(super) knobs: Knobs,
    /// Number of decisions until it had settled for the first time; all if it never has.
    pub(super) to_settle: usize,
    pub(super) decisions: usize,
    /// Batches since it had settled for the first time.
    pub(super) since_first: Settled,
    /// The knobs, decision by decision.
    pub(super) path: Vec<Knobs>,
}

impl Run {
    fn of(it: &Simulated) -> Self {
        let decisions = it.control.decisions();
        let first = decisions.iter().position(|decision| decision.is_settled);
        Self {
            knobs: it.control.knobs(),
            to_settle: first.map_or(decisions.len(), |at| at + 1),
            decisions: decisions.len(),
            since_first: it.since_first.unwrap_or_default(),
            path: decisions.iter().map(|decision| decision.knobs).collect(),
        }
    }
}

/// A surface on which every batch takes the mean: a tail on it is the mean.
pub(super) struct Mean<'a>(pub(super) &'a JobSurface);

impl Surface for Mean<'_> {
    fn mean_ms(&self, knobs: Knobs) -> f64 {
        self.0.mean_ms(knobs)
    }

    fn spread(&self, _: Knobs) -> f64 {
        0.0
    }
}

#[derive(Debug, Clone)]
pub(super) struct JobRuns {
    pub(super) job: &'static PaperJob,
    pub(super) dnnscaler: Run,
    pub(super) algorithm: Run,
    pub(super) clipper: Run,
    pub(super) joint: Run,
    /// `dnnscaler` with the approach given: batching, and multi-tenancy.
    pub(super) axes: [Run; 2],
    /// `dnnscaler` and `clipper` where every batch takes the mean.
    pub(super) of_mean: [Run; 2],
    /// `joint` under the 99th percentile.
    pub(super) joint_p99: Run,
}

impl JobRuns {
    fn of(job: &'static PaperJob) -> Self {
        let surface = &job.surface;
        let mean = Mean(surface);
        let goal = goal(job, P95);
        let named = |name| run(job, surface, policy(name, job), goal);
        let axis = |approach| run(job, surface, policy("dnnscaler", job), Goal { approach, ..goal });
        Self {
            job,
            dnnscaler: named("dnnscaler"),
            algorithm: named("dnnscaler-algorithm"),
            clipper: named("clipper"),
            joint: named("joint"),
            axes: [axis(Approach::Batching), axis(Approach::MultiTenancy)],
            of_mean: ["dnnscaler", "clipper"].map(|name| run(job, &mean, policy(name, job), goal)),
            joint_p99: run(job, surface, policy("joint", job), self::goal(job, 0.99)),
        }
    }
}

/// Returns the runs of all jobs, made once.
pub(super) fn all() -> &'static [JobRuns] {
    static ALL: LazyLock<Vec<JobRuns>> = LazyLock::new(|| {
        thread::scope(|scope| {
            let handles: Vec<_> = jobs().iter().map(|job| scope.spawn(move || JobRuns::of(job))).collect();
            handles.into_iter().map(|handle| handle.join().expect("a run does not panic")).collect()
        })
    });
    &ALL
}

/// Returns the goal of a job, with the tail at this quantile.
pub(super) fn goal(job: &PaperJob, tail: f64) -> Goal {
    Goal::new(ns(job.target_ms), tail, MOST)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time below 2^52 ns")]
pub(super) fn ns(ms: f64) -> u64 {
    (ms * 1e6) as u64
}

/// Returns a policy that knows the paper's curves except the job's own.
pub(super) fn policy(name: &str, job: &PaperJob) -> Box<dyn ScalingPolicy> {
    let entry = POLICIES.iter().find(|entry| entry.name == name).expect("a policy of this name");
    (entry.make)(DnnScalerSettings { curves: curves_without(job.network), ..DnnScalerSettings::default() })
}

/// Returns how long a policy runs on a job with this target, in ns.
pub(super) fn lasts_ns(target_ns: u64) -> u64 {
    RUN_NS.max(RUN_TARGETS * target_ns)
}

pub(super) fn system<'a>(job: &PaperJob, surface: &'a dyn Surface, until_ns: u64) -> Simulation<'a> {
    Simulation { seed: SEED + u64::from(job.number), ..Simulation::of(surface, until_ns) }
}

fn run(job: &PaperJob, surface: &dyn Surface, policy: Box<dyn ScalingPolicy>, goal: Goal) -> Run {
    Run::of(&system(job, surface, lasts_ns(goal.target_ns)).run(policy, goal))
}
