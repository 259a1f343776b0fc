//! Targets and devices that change during a run.

use super::{
    picture::Course,
    runs::{goal, lasts_ns, policy, system},
};
use proctor_scaling::{Approach, Event, Goal, Knobs, Simulated, Simulation, Surface};

use crate::paper::{
    jobs::{PaperJob, job},
    predictions::P95,
    surface::JobSurface,
};

/// A run with a change in the middle.
pub(super) struct Change {
    pub(super) figure: &'static str,
    pub(super) what: String,
    pub(super) job: &'static PaperJob,
    pub(super) policy: &'static str,
    pub(super) before: Knobs,
    pub(super) after: Knobs,
    /// Number of decisions after the change.
    pub(super) decisions: usize,
    pub(super) is_settled: bool,
    /// Throughput over the best of the axes that the policy turns, after the change.
    pub(super) over_best: f64,
    /// Share of the samples above the target since it has settled again.
    pub(super) violations: f64,
    pub(super) course: Course,
}

/// A surface on a device that is slower by a factor.
struct Slowed<'a>(&'a JobSurface, f64);

impl Surface for Slowed<'_> {
    fn mean_ms(&self, knobs: Knobs) -> f64 {
        self.0.mean_ms(knobs) * self.1
    }

    fn spread(&self, knobs: Knobs) -> f64 {
        self.0.spread(knobs)
    }
}

impl Change {
    fn run(
        (figure, policy_name): (&'static str, &'static str),
        number: u32,
        approach: Approach,
        target_ms: f64,
        (what, event): (String, Event),
    ) -> Self {
        let job = job(number).expect("a job of the paper");
        let goal = Goal { target_ns: super::runs::ns(target_ms), approach, ..goal(job, P95) };
        let last_target_ns = if let Event::Target(target_ns) = event { target_ns } else { goal.target_ns };
        let half_ns = lasts_ns(goal.target_ns.max(last_target_ns));
        let events = [(half_ns, event)];
        let simulation = Simulation { events: &events, spans: 240, ..system(job, &job.surface, 2 * half_ns) };
        let it = simulation.run(policy(policy_name, job), goal);
        let slower = if let Event::Slower(factor) = event { factor } else { 1.0 };
        Self::of((figure, policy_name), what, job, &it, half_ns, slower)
    }

    fn of(
        (figure, policy): (&'static str, &'static str),
        what: String,
        job: &'static PaperJob,
        it: &Simulated,
        half_ns: u64,
        slower: f64,
    ) -> Self {
        let surface = Slowed(&job.surface, slower);
        let decisions = it.control.decisions();
        let before = decisions.iter().rfind(|decision| decision.at_ns < half_ns);
        let after = it.control.knobs();
        // What `dnnscaler` may reach is the best on its axis.
        let axis = if policy == "joint" {
            it.control.goal().approach
        } else if after.instances > 1 {
            Approach::MultiTenancy
        } else {
            Approach::Batching
        };
        let best = surface.best(&Goal { approach: axis, ..*it.control.goal() });
        Self {
            figure,
            what,
            job,
            policy,
            before: before.map_or(Knobs::LEAST, |decision| decision.knobs),
            after,
            decisions: decisions.iter().filter(|decision| decision.at_ns >= half_ns).count(),
            is_settled: it.control.is_settled(),
            over_best: best.map_or(1.0, |best| surface.throughput_qps(after) / surface.throughput_qps(best)),
            violations: it.settled.violation_share(),
            course: Course::of(policy, it, 2 * half_ns),
        }
    }
}

/// Returns the changes of sections 4.4 and 4.5, and the ones for `joint`.
pub(super) fn changes() -> Vec<Change> {
    let inception = job(1).expect("a job of the paper");
    let tail_ms = |instances| inception.tail_ms(Knobs { instances, ..Knobs::LEAST });
    let target = |from_ms: f64, to_ms: f64| {
        (format!("target from {from_ms:.0} to {to_ms:.0} ms"), Event::Target(super::runs::ns(to_ms)))
    };
    let slower = || ("power cap: twice as slow".to_owned(), Event::Slower(2.0));
    let (ten_ms, half_ms, four_ms) = (tail_ms(10) * 1.02, tail_ms(10) * 0.525, tail_ms(4) * 1.05);
    let mut all = vec![
        Change::run(("9(a)", "dnnscaler"), 3, Approach::Auto, 419.0, target(419.0, 200.0)),
        Change::run(("9(b)", "dnnscaler"), 3, Approach::Auto, 200.0, target(200.0, 419.0)),
        Change::run(("10(a)", "dnnscaler"), 1, Approach::Auto, ten_ms, target(ten_ms, half_ms)),
        Change::run(("10(b)", "dnnscaler"), 1, Approach::Auto, four_ms, target(four_ms, ten_ms)),
        Change::run(("", "dnnscaler"), 3, Approach::Auto, 419.0, slower()),
        Change::run(("", "dnnscaler"), 1, Approach::Auto, ten_ms, slower()),
    ];
    for number in [1, 3, 14, 18] {
        let target_ms = job(number).expect("a job of the paper").target_ms;
        let events = [target(target_ms, target_ms / 2.0), target(target_ms, target_ms * 2.0), slower()];
        all.extend(
            events
                .into_iter()
                .map(|event| Change::run(("", "joint"), number, Approach::Auto, target_ms, event)),
        );
    }
    all
}

/// Returns the start of `dnnscaler` and `clipper` on a job (Fig. 7).
pub(super) fn starts(number: u32) -> Vec<Course> {
    let job = job(number).expect("a job of the paper");
    let goal = Goal { approach: Approach::Batching, ..goal(job, P95) };
    let until_ns = lasts_ns(goal.target_ns);
    ["dnnscaler", "clipper"]
        .map(|name| {
            let simulation = Simulation { spans: 240, ..system(job, &job.surface, until_ns) };
            Course::of(name, &simulation.run(policy(name, job), goal), until_ns)
        })
        .into()
}
