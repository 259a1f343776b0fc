//! The tables of the page.

use super::{
    changes::Change,
    runs::{JobRuns, Run, goal},
};
use proctor_scaling::{Approach, Knobs, Surface};

use crate::paper::{jobs::PaperJob, predictions::P95, surface::Origin, tables::Efficiency};

/// Formats knobs briefly.
fn short(knobs: Knobs) -> String {
    format!("{} x {}", knobs.batch_size, knobs.instances)
}

pub(super) fn yes(is_so: bool) -> String {
    if is_so { "yes" } else { "NO" }.to_owned()
}

/// Formats a percentage with a sign, but no -0.0.
fn signed(percent: f64) -> String {
    let percent = if percent.abs() < 0.05 { 0.0 } else { percent };
    format!("{percent:+.1} %")
}

fn method(knobs: Knobs) -> Approach {
    if knobs.instances > 1 { Approach::MultiTenancy } else { Approach::Batching }
}

fn letters(approach: Approach) -> &'static str {
    if approach == Approach::Batching { "B" } else { "MT" }
}

/// Returns whether figures of the paper pin the time of the device, on which the steady state depends most.
pub(super) fn is_pinned(job: &PaperJob) -> bool {
    matches!(job.surface.device_ms.origin, Origin::Pinned { .. })
}

/// Returns the approach that `dnnscaler` chose. Resting on one instance may be either.
pub(super) fn choice(it: &JobRuns) -> Approach {
    // The fourth decision, or a fifth if it looked again, is the first of the chosen Scaler: only the Scaler
    // of batches leaves a second batch size behind.
    let later = it.dnnscaler.path.iter().skip(3).filter(|knobs| knobs.batch_size != 32);
    let has_batch = later.clone().any(|knobs| knobs.batch_size > 1);
    if has_batch { Approach::Batching } else { method(it.dnnscaler.knobs) }
}

/// Returns whether the rests of `dnnscaler` and the paper are within one step: one instance, or the sizes at
/// which the search may rest, between 0.85 of the target and the target, with one more on each side.
pub(super) fn is_near(it: &JobRuns) -> bool {
    let (job, found) = (it.job, it.dnnscaler.knobs);
    match job.method {
        Approach::Batching => {
            let band = job.prediction();
            let from = band.smallest_resting_batch.saturating_sub(1).min(band.largest_batch.unwrap_or(1));
            let sizes = from..=band.largest_batch.unwrap_or(1) + 1;
            found.instances == 1 && sizes.contains(&found.batch_size) && sizes.contains(&job.steady)
        }
        _ => found.batch_size == 1 && found.instances.abs_diff(job.steady) <= 1,
    }
}

pub(super) const CHOICES: [&str; 8] = [
    "job",
    "chosen",
    "paper",
    "rests at batch x instances",
    "paper",
    "device time",
    "within one step",
    "decisions; of the algorithm",
];

pub(super) fn choices(it: &JobRuns) -> Vec<String> {
    let origin = match &it.job.surface.device_ms.origin {
        Origin::Pinned { .. } => "pinned",
        Origin::Borrowed { .. } => "borrowed",
        Origin::Assumed => "assumed",
    };
    vec![
        it.job.number.to_string(),
        letters(choice(it)).to_owned(),
        letters(it.job.method).to_owned(),
        short(it.dnnscaler.knobs),
        short(it.job.steady_knobs()),
        origin.to_owned(),
        yes(is_near(it)),
        format!("{}; {}", it.dnnscaler.decisions, it.algorithm.decisions),
    ]
}

/// A job of Table 6 with the figures of both policies.
pub(super) struct Pair<'a> {
    pub(super) it: &'a JobRuns,
    pub(super) printed: Efficiency,
}

impl Pair<'_> {
    pub(super) fn of(all: &[JobRuns]) -> Vec<Pair<'_>> {
        all.iter().filter_map(|it| Some(Pair { it, printed: it.job.efficiency? })).collect()
    }

    pub(super) fn per_s(&self, run: &Run) -> f64 {
        self.it.job.surface.items_per_s(run.knobs)
    }

    fn ratio(&self, runs: [&Run; 2], figure: impl Fn(&PaperJob, Knobs) -> f64) -> f64 {
        figure(self.it.job, runs[0].knobs) / figure(self.it.job, runs[1].knobs)
    }

    fn by_tail(&self) -> [&Run; 2] {
        [&self.it.dnnscaler, &self.it.clipper]
    }

    fn by_mean(&self) -> [&Run; 2] {
        [&self.it.of_mean[0], &self.it.of_mean[1]]
    }

    /// Returns the deviation of the throughput from the paper's.
    pub(super) fn off(&self) -> f64 {
        self.per_s(&self.it.dnnscaler) / self.printed.per_s - 1.0
    }

    /// Returns why the ratio to `clipper` differs from the paper's.
    fn reason(&self) -> &'static str {
        let alone = self.it.job.surface.items_per_s(Knobs::LEAST);
        let found = self.per_s(&self.it.dnnscaler) / self.per_s(&self.it.clipper);
        let printed = self.printed.per_s / self.printed.per_s_clipper;
        if (found / printed - 1.0).abs() < 0.1 {
            "the same within 10 %"
        } else if self.printed.per_s_clipper < alone {
            "Clipper's is below batch 1 on one instance"
        } else if self.printed.per_s_clipper > self.per_s(&self.it.clipper) {
            "Clipper's is above any batch on one instance within the target"
        } else {
            "Clipper's is below the largest batch within the target"
        }
    }
}

fn per_s(job: &PaperJob, knobs: Knobs) -> f64 {
    job.surface.items_per_s(knobs)
}

fn watts(job: &PaperJob, knobs: Knobs) -> f64 {
    job.surface.power_w(knobs)
}

fn per_j(job: &PaperJob, knobs: Knobs) -> f64 {
    per_s(job, knobs) / watts(job, knobs)
}

pub(super) const PAIRS: [&str; 9] = [
    "job",
    "items/s",
    "Table 6",
    "off",
    "clipper, items/s",
    "over clipper",
    "paper",
    "by the mean",
    "why it parts from the paper",
];

pub(super) fn pair(pair: &Pair<'_>) -> Vec<String> {
    vec![
        pair.it.job.number.to_string(),
        format!("{:.1}", pair.per_s(&pair.it.dnnscaler)),
        format!("{:.1}", pair.printed.per_s),
        signed(pair.off() * 100.0),
        format!("{:.1}", pair.per_s(&pair.it.clipper)),
        format!("{:.2}", pair.ratio(pair.by_tail(), per_s)),
        format!("{:.2}", pair.printed.per_s / pair.printed.per_s_clipper),
        format!("{:.2}", pair.ratio(pair.by_mean(), per_s)),
        pair.reason().to_owned(),
    ]
}

pub(super) const AVERAGES: [&str; 4] =
    ["over clipper, mean of the jobs", "paper", "by the tail", "by the mean"];

pub(super) fn averages(all: &[JobRuns]) -> Vec<Vec<String>> {
    let pairs = Pair::of(all);
    let mean = |figure: &dyn Fn(&Pair<'_>) -> f64| {
        let sum: f64 = pairs.iter().map(figure).sum();
        format!("{:+.0} %", (sum / pairs.len() as f64 - 1.0) * 100.0)
    };
    let row = |what: &str, paper: &str, figure: fn(&PaperJob, Knobs) -> f64| {
        let by_tail = mean(&|pair| pair.ratio(pair.by_tail(), figure));
        let by_mean = mean(&|pair| pair.ratio(pair.by_mean(), figure));
        vec![what.to_owned(), paper.to_owned(), by_tail, by_mean]
    };
    let of_all = |runs: fn(&JobRuns) -> [&Run; 2]| {
        let ratio = |it: &JobRuns| {
            let [one, other] = runs(it);
            per_s(it.job, one.knobs) / per_s(it.job, other.knobs)
        };
        let batching = all.iter().filter(|it| it.job.method == Approach::Batching);
        let gain = |ratios: Vec<f64>| {
            format!("{:+.0} %", (ratios.iter().sum::<f64>() / ratios.len() as f64 - 1.0) * 100.0)
        };
        let most = all.iter().map(ratio).fold(0.0, f64::max);
        [gain(all.iter().map(ratio).collect()), gain(batching.map(ratio).collect()), format!("{most:.1}")]
    };
    let tail = of_all(|it| [&it.dnnscaler, &it.clipper]);
    let by_mean = of_all(|it| [&it.of_mean[0], &it.of_mean[1]]);
    let three = |at: usize, what: &str, paper: &str| {
        vec![what.to_owned(), paper.to_owned(), tail[at].clone(), by_mean[at].clone()]
    };
    vec![
        row("power, the 15 jobs of Table 6", "+44 %", watts),
        row("efficiency, the same", "+288 %", per_j),
        row("throughput, the same", "+435 %", per_s),
        three(0, "throughput, all 30", "+218 %"),
        three(1, "throughput, the 15 of batching", "about +1 % (job 7)"),
        three(2, "throughput, the most, as a ratio", "15.5 (\"14x\")"),
    ]
}

pub(super) const JOINTS: [&str; 9] = [
    "job",
    "better axis alone, items/s",
    "joint, batch x instances",
    "items/s",
    "over the axis",
    "of the best",
    "decisions to settle; in all",
    "above target",
    "at p99: of the best; above target; decisions",
];

/// Returns the throughput of `joint` relative to the better Scaler on one axis alone.
pub(super) fn over_axis(it: &JobRuns) -> f64 {
    let axis = it.axes.iter().chain([&it.clipper]).map(|run| per_s(it.job, run.knobs)).fold(0.0, f64::max);
    per_s(it.job, it.joint.knobs) / axis
}

/// Returns the throughput of a run relative to the best of the grid.
pub(super) fn of_best(it: &JobRuns, run: &Run, tail: f64) -> f64 {
    let best = it.job.surface.best(&goal(it.job, tail)).unwrap_or(Knobs::LEAST);
    per_s(it.job, run.knobs) / per_s(it.job, best)
}

pub(super) fn joint(it: &JobRuns) -> Vec<String> {
    let percent = |share: f64| format!("{:.2} %", share * 100.0);
    let p99 = &it.joint_p99;
    let found = per_s(it.job, it.joint.knobs);
    vec![
        it.job.number.to_string(),
        format!("{:.1}", found / over_axis(it)),
        short(it.joint.knobs),
        format!("{found:.1}"),
        format!("{:.2}", over_axis(it)),
        format!("{:.3}", of_best(it, &it.joint, P95)),
        format!("{}; {}", it.joint.to_settle, it.joint.decisions),
        percent(it.joint.since_first.violation_share()),
        format!(
            "{:.3}; {}; {}",
            of_best(it, p99, 0.99),
            percent(p99.since_first.violation_share()),
            p99.to_settle
        ),
    ]
}

pub(super) const CHANGES: [&str; 8] = [
    "Fig.",
    "job",
    "policy",
    "change",
    "before",
    "after",
    "decisions from then on",
    "of the best; above target",
];

pub(super) fn change(it: &Change) -> Vec<String> {
    vec![
        it.figure.to_owned(),
        it.job.number.to_string(),
        it.policy.to_owned(),
        it.what.clone(),
        short(it.before),
        short(it.after),
        it.decisions.to_string(),
        format!("{:.3}; {:.2} %", it.over_best, it.violations * 100.0),
    ]
}

pub(super) const FORMS: [&str; 4] = ["job", "text", "algorithm", "Fig. 8"];

/// Returns the numbers of instances after the profile, in both forms.
pub(super) fn forms(all: &[JobRuns]) -> Vec<Vec<String>> {
    let counts = |run: &Run| {
        let counts: Vec<_> = run.path.iter().skip(3).map(|knobs| knobs.instances).collect();
        if counts.iter().all(|count| *count == 1) {
            return "chose batching".to_owned();
        }
        counts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    };
    [(2, "10, then 9"), (14, "10 at once")]
        .into_iter()
        .filter_map(|(number, paper)| {
            let it = all.iter().find(|it| it.job.number == number)?;
            Some(vec![number.to_string(), counts(&it.dnnscaler), counts(&it.algorithm), paper.to_owned()])
        })
        .collect()
}

pub(super) const ALONE: [&str; 4] =
    ["job", "batching, items/s", "multi-tenancy, items/s", "batching is better"];

/// Returns both approaches on the jobs of batching (Fig. 11).
pub(super) fn alone(it: &JobRuns) -> Option<Vec<String>> {
    let [batching, instances] = it.axes.each_ref().map(|run| per_s(it.job, run.knobs));
    (it.job.method == Approach::Batching).then(|| {
        vec![
            it.job.number.to_string(),
            format!("{batching:.1}"),
            format!("{instances:.1}"),
            yes(batching > instances),
        ]
    })
}
