//! Targets, each with its finding.

use super::{
    changes::Change,
    runs::JobRuns,
    tables::{Pair, choice, is_near, is_pinned, of_best, over_axis, yes},
};
use proctor_scaling::{Approach, Knobs};

use crate::paper::{jobs::PaperJob, predictions::P95};

/// A target and whether it is met.
pub(super) struct Target {
    what: &'static str,
    paper: &'static str,
    found: String,
    pub(super) is_met: bool,
}

pub(super) const HEAD: [&str; 4] = ["target", "paper", "found", "met"];

impl Target {
    pub(super) fn cells(&self) -> Vec<String> {
        vec![self.what.to_owned(), self.paper.to_owned(), self.found.clone(), yes(self.is_met)]
    }

    /// Creates a target that is met if no job fails.
    fn of_jobs<'a>(
        what: &'static str,
        paper: &'static str,
        jobs: impl Iterator<Item = &'a JobRuns>,
        is_good: impl Fn(&JobRuns) -> bool,
    ) -> Self {
        let (good, bad): (Vec<_>, Vec<_>) = jobs.partition(|it| is_good(it));
        let bad_numbers: Vec<String> = bad.iter().map(|it| it.job.number.to_string()).collect();
        let but = if bad.is_empty() { String::new() } else { format!(", not {}", bad_numbers.join(", ")) };
        let found = format!("{} of {}{but}", good.len(), good.len() + bad.len());
        Self { what, paper, found, is_met: bad.is_empty() }
    }
}

/// Maximum relative error of a throughput.
const OFF_MAX: f64 = 0.1;

pub(super) fn targets(all: &[JobRuns], changes: &[Change]) -> Vec<Target> {
    let pairs = Pair::of(all);
    let of_table_6 = || pairs.iter().map(|pair| pair.it);
    let off =
        |it: &JobRuns| pairs.iter().find(|pair| pair.it.job.number == it.job.number).map_or(0.0, Pair::off);
    let moves = |policy: &str, is_good: &dyn Fn(&Change) -> bool| {
        let of_policy: Vec<_> = changes.iter().filter(|change| change.policy == policy).collect();
        let good = of_policy.iter().filter(|change| is_good(change)).count();
        (format!("{good} of {}", of_policy.len()), good == of_policy.len())
    };
    let (recovers, all_recover) =
        moves("joint", &|it| it.is_settled && it.decisions <= 10 && it.violations <= 0.05);
    let (near_again, all_near_again) = moves("joint", &|it| it.over_best >= 0.95);
    let (follows, all_follow) = moves("dnnscaler", &|it| it.is_settled && it.violations <= 0.05);
    let tenancy = changes.iter().find(|change| change.figure == "10(a)");
    let counts = tenancy.map_or((0, 0), |change| (change.before.instances, change.after.instances));
    let batching = || all.iter().filter(|it| it.job.method == Approach::Batching);
    vec![
        Target::of_jobs(
            "choice of the profiler, jobs of Table 5",
            "10 of 10",
            all.iter().filter(|it| it.job.profile.is_some()),
            |it| choice(it) == it.job.method,
        ),
        Target::of_jobs(
            "choice of the profiler, the others of Table 4",
            "20 of 20",
            all.iter().filter(|it| it.job.profile.is_none()),
            |it| choice(it) == it.job.method,
        ),
        Target::of_jobs(
            "steady state within one step, where figures pin the surface",
            "Table 4",
            all.iter().filter(|it| is_pinned(it.job)),
            is_near,
        ),
        Target::of_jobs("`dnnscaler` within 10 % of its throughput", "Table 6", of_table_6(), |it| {
            off(it).abs() <= OFF_MAX
        }),
        Target::of_jobs("more power-efficient than `clipper`", "15 of 15", of_table_6(), |it| {
            let per_j = |knobs| it.job.surface.items_per_s(knobs) / it.job.surface.power_w(knobs);
            per_j(it.dnnscaler.knobs) > per_j(it.clipper.knobs)
        }),
        Target::of_jobs(
            "`dnnscaler`: 95 % of the samples within the target after settling",
            "Fig. 6",
            all.iter(),
            |it| it.dnnscaler.since_first.violation_share() <= 1.0 - P95,
        ),
        Target::of_jobs(
            "`dnnscaler`: fewer decisions than `clipper`, both from batch 1, where it rests on 20 samples or more",
            "Fig. 7, two jobs",
            batching().filter(|it| it.axes[0].knobs.batch_size >= 20),
            |it| it.axes[0].to_settle < it.clipper.to_settle,
        ),
        Target {
            what: "`dnnscaler`: settles within the target after a change",
            paper: "Figs. 9, 10",
            found: follows,
            is_met: all_follow,
        },
        Target {
            what: "Inception-v1, a target nearly halved",
            paper: "10 to 5 instances",
            found: format!("{} to {} instances", counts.0, counts.1),
            is_met: counts == (10, 5),
        },
        Target::of_jobs(
            "batching alone beats multi-tenancy where it was chosen",
            "Fig. 11, six jobs",
            batching(),
            |it| it.job.surface.items_per_s(it.axes[0].knobs) > it.job.surface.items_per_s(it.axes[1].knobs),
        ),
        Target {
            what: "who gains by both knobs: ResV2-152 and MobV1-1, not PNAS-Large and MobV1-025",
            paper: "Fig. 12",
            found: "the same".to_owned(),
            is_met: gains_as_in_figure_12(all),
        },
        Target::of_jobs("`joint`: at least the better axis alone", "", all.iter(), |it| {
            over_axis(it) >= 0.995
        }),
        Target::of_jobs(
            "`joint`: more than 5 % over the axis where the best of the grid is",
            "",
            all.iter(),
            |it| {
                let best = over_axis(it) / of_best(it, &it.joint, P95);
                best <= 1.05 || over_axis(it) > 1.05
            },
        ),
        Target::of_jobs("`joint`: within 5 % of the best, p95", "", all.iter(), |it| {
            of_best(it, &it.joint, P95) >= 0.95
        }),
        Target::of_jobs("`joint`: within 5 % of the best, p99", "", all.iter(), |it| {
            of_best(it, &it.joint_p99, 0.99) >= 0.95
        }),
        Target::of_jobs("`joint`: at most 1 % above the target after settling, p99", "", all.iter(), |it| {
            it.joint_p99.since_first.violation_share() <= 0.01
        }),
        Target::of_jobs("`joint`: fewer than 10 decisions to settle", "", all.iter(), |it| {
            it.joint.to_settle < 10 && it.joint_p99.to_settle < 10
        }),
        Target::of_jobs("`joint`: at most 3 decisions after that in the whole run", "", all.iter(), |it| {
            let later = |run: &super::runs::Run| run.decisions - run.to_settle;
            later(&it.joint) <= 3 && later(&it.joint_p99) <= 3
        }),
        Target {
            what: "`joint`: settles within the target in 10 decisions after half, twice the target and half the speed",
            paper: "",
            found: recovers,
            is_met: all_recover,
        },
        Target {
            what: "`joint`: within 5 % of the best after that",
            paper: "",
            found: near_again,
            is_met: all_near_again,
        },
    ]
}

/// Returns whether batches of 8 gain by instances, and 5 instances by batches of 8, as they do in the paper.
fn gains_as_in_figure_12(all: &[JobRuns]) -> bool {
    let gain = |number: u32, from: (usize, usize)| {
        let at = |job: &PaperJob, (batch_size, instances)| {
            job.surface.items_per_s(Knobs { batch_size, instances })
        };
        let to = if from.0 == 8 { (8, 4) } else { (8, 5) };
        all.iter().find(|it| it.job.number == number).map_or(1.0, |it| at(it.job, to) / at(it.job, from))
    };
    gain(12, (8, 1)) > 1.3 && gain(22, (8, 1)) < 1.0 && gain(18, (1, 5)) > 1.3 && gain(5, (1, 5)) < 1.12
}
