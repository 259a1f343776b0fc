//! The tables of docs/scaling-jobs.md.
//!
//! Each function renders one of them; a test holds the page to all.

use proctor_scaling::{Approach, CurveLibrary, Knobs, Surface};

use super::{
    curves::curves_without,
    jobs::{PaperJob, jobs},
    surface::{IDLE_W, Origin, Parameter},
    tables::Efficiency,
};

/// Returns every table of the page, with the name of its section.
#[must_use]
pub fn tables() -> Vec<(&'static str, String)> {
    vec![
        ("parameters", parameters()),
        ("residuals", residuals()),
        ("steady states", steady_states()),
        ("clipper", clipper()),
        ("averages", averages()),
        ("figure 12", figure_12()),
        ("completion", completion()),
    ]
}

/// Formats the parameters of each job, with the source of each.
fn parameters() -> String {
    let row = |job: &PaperJob| {
        let it = &job.surface;
        vec![
            job.number.to_string(),
            job.network.to_owned(),
            job.dataset.to_owned(),
            parameter(&it.host_ms, 3),
            parameter(&it.host_step_ms, 3),
            parameter(&it.device_ms, 3),
            parameter(&it.device_w, 1),
            it.items_per_sample.to_string(),
        ]
    };
    table(
        &["job", "network", "data set", "host ms", "host step ms", "device ms", "device W", "items"],
        jobs().iter().map(row),
    )
}

fn parameter(it: &Parameter, digits: usize) -> String {
    let value = format!("{:.digits$}", it.value);
    match &it.origin {
        Origin::Pinned { by } => format!("{value}, pinned by {by}"),
        Origin::Borrowed { from } if from.len() > 6 => format!("{value}, mean of {}", from.len()),
        Origin::Borrowed { from } => {
            let from: Vec<String> = from.iter().map(u32::to_string).collect();
            format!("{value}, from {}", from.join(", "))
        }
        Origin::Assumed => format!("{value}, assumed"),
    }
}

/// Lists each number that was fitted to, next to the fit.
fn residuals() -> String {
    let mut rows = Vec::new();
    for job in jobs() {
        let mut push = |table: &str, what: String, printed: f64, fitted: f64| {
            let residual = (fitted / printed - 1.0) * 100.0;
            // No residual of -0.00.
            let residual = if residual.abs() < 0.005 { 0.0 } else { residual };
            rows.push(vec![
                job.number.to_string(),
                table.to_owned(),
                what,
                format!("{printed:.2}"),
                format!("{fitted:.2}"),
                format!("{residual:.2} %"),
            ]);
        };
        let per_s = |knobs| job.surface.items_per_s(knobs);
        if let Some(it) = job.profile {
            let eight = Knobs { instances: 8, ..Knobs::LEAST };
            let batch = Knobs { batch_size: 32, ..Knobs::LEAST };
            push("5", format!("items/s, {}", Knobs::LEAST), it.alone_per_s, per_s(Knobs::LEAST));
            push("5", format!("items/s, {eight}"), it.instances_8_per_s, per_s(eight));
            push("5", format!("items/s, {batch}"), it.batch_32_per_s, per_s(batch));
        }
        if let Some(it) = job.efficiency {
            let steady = job.steady_knobs();
            push("6", format!("items/s, {steady}"), it.per_s, per_s(steady));
            push("6", format!("W, {steady}"), it.power_w, job.surface.power_w(steady));
        }
    }
    table(&["job", "table", "figure", "printed", "fitted", "residual"], rows)
}

/// Compares Table 4 with its predictions.
fn steady_states() -> String {
    let row = |job: &PaperJob| {
        let it = job.prediction();
        let found = match job.method {
            Approach::Batching => match it.largest_batch {
                None => "not even batch 1".to_owned(),
                Some(most) if most <= it.smallest_resting_batch => format!("batch {most}"),
                Some(most) => format!("batch {} to {most}", it.smallest_resting_batch),
            },
            Approach::MultiTenancy | Approach::Auto => match it.largest_count {
                None => "not even 1 instance".to_owned(),
                Some(count) => format!("{count} instances"),
            },
        };
        let printed = match job.method {
            Approach::Batching => format!("batch {}", job.steady),
            Approach::MultiTenancy | Approach::Auto => format!("{} instances", job.steady),
        };
        let tail_ms = job.tail_ms(job.steady_knobs());
        vec![
            job.number.to_string(),
            format!("{:.0} %", it.improvement_batch),
            format!("{:.0} %", it.improvement_instances),
            method(it.method).to_owned(),
            method(job.method).to_owned(),
            printed,
            found,
            format!("{}", job.target_ms),
            if tail_ms < 100.0 { format!("{tail_ms:.1}") } else { format!("{tail_ms:.0}") },
            if job.steady_is_predicted() { "yes" } else { "no" }.to_owned(),
        ]
    };
    table(
        &[
            "job",
            "by batch 32",
            "by 8 instances",
            "predicted",
            "paper",
            "steady in the paper",
            "predicted",
            "target ms",
            "p95 there, ms",
            "within one step",
        ],
        jobs().iter().map(row),
    )
}

fn method(approach: Approach) -> &'static str {
    match approach {
        Approach::Batching => "B",
        Approach::MultiTenancy => "MT",
        Approach::Auto => "either",
    }
}

/// Compares Clipper's columns of Table 6 with the largest batch that meets the target, the limit of batching alone.
fn clipper() -> String {
    let row = |job: &PaperJob| {
        let it = job.efficiency?;
        let best = Knobs { batch_size: job.prediction().largest_batch.unwrap_or(1), instances: 1 };
        let (per_s, power_w) = (job.surface.items_per_s(best), job.surface.power_w(best));
        // The same law at Clipper's throughput: the device's power goes with its work.
        let steady = job.surface.items_per_s(job.steady_knobs());
        let power_at_its_own =
            IDLE_W + (job.surface.power_w(job.steady_knobs()) - IDLE_W) * it.per_s_clipper / steady;
        Some(vec![
            job.number.to_string(),
            best.batch_size.to_string(),
            format!("{:.1}", job.profile.map_or(job.surface.items_per_s(Knobs::LEAST), |it| it.alone_per_s)),
            format!("{per_s:.1}"),
            format!("{:.1}", it.per_s_clipper),
            format!("{power_w:.1}"),
            format!("{:.1}", it.power_w_clipper),
            format!("{power_at_its_own:.1}"),
            format!("{:.2}", steady / per_s),
            format!("{:.2}", it.per_s / it.per_s_clipper),
        ])
    };
    table(
        &[
            "job",
            "largest batch",
            "items/s at batch 1",
            "at the largest",
            "Clipper's, printed",
            "W at the largest",
            "Clipper's, printed",
            "W at Clipper's items/s",
            "DNNScaler over batching",
            "over Clipper, printed",
        ],
        jobs().iter().filter_map(row),
    )
}

/// Returns the averages of section 4.3, from the rows of Table 6 as printed and from the predictions.
fn averages() -> String {
    let rows: Vec<_> = jobs().iter().filter_map(|job| Some((job, job.efficiency?))).collect();
    let mean = |value: &dyn Fn(&PaperJob, &Efficiency) -> f64| {
        let sum: f64 = rows.iter().map(|(job, it)| value(job, it)).sum();
        (sum / rows.len() as f64 - 1.0) * 100.0
    };
    let best =
        |job: &PaperJob| Knobs { batch_size: job.prediction().largest_batch.unwrap_or(1), ..Knobs::LEAST };
    let power = |job: &PaperJob| job.surface.power_w(job.steady_knobs()) / job.surface.power_w(best(job));
    let throughput =
        |job: &PaperJob| job.surface.items_per_s(job.steady_knobs()) / job.surface.items_per_s(best(job));
    let printed_throughput = mean(&|_, it| it.per_s / it.per_s_clipper);
    // As if each of the jobs of batching gained 1 %, as job 7 does by the text.
    let over_all =
        (printed_throughput * rows.len() as f64 + (jobs().len() - rows.len()) as f64) / jobs().len() as f64;
    let cells = |what: &str, paper: &str, printed: f64, predicted: Option<f64>| {
        vec![
            what.to_owned(),
            paper.to_owned(),
            format!("{printed:.1} %"),
            predicted.map_or("no figures".to_owned(), |it| format!("{it:.1} %")),
        ]
    };
    table(
        &["over Clipper, mean of the jobs", "paper", "recomputed from Table 6", "predicted, over batching"],
        [
            cells(
                "power",
                "44 %",
                mean(&|_, it| it.power_w / it.power_w_clipper),
                Some(mean(&|job, _| power(job))),
            ),
            cells("throughput", "435 %", printed_throughput, Some(mean(&|job, _| throughput(job)))),
            cells(
                "efficiency",
                "288 %",
                mean(&|_, it| (it.per_s / it.power_w) / (it.per_s_clipper / it.power_w_clipper)),
                Some(mean(&|job, _| throughput(job) / power(job))),
            ),
            cells("throughput, with 1 % for each of the 15 others", "218 %", over_all, None),
        ],
    )
}

/// Returns the throughput of both knobs together, in items per second.
fn figure_12() -> String {
    let row = |number: usize, knobs: [Knobs; 4]| {
        let job = &jobs()[number - 1];
        let first = job.surface.items_per_s(knobs[0]);
        let mut cells = vec![format!("{} ({number}, {})", job.network, job.dataset), knobs[0].to_string()];
        cells.extend(knobs.iter().map(|knobs| {
            let it = job.surface.items_per_s(*knobs);
            format!("{it:.0}, {:.0} ms ({:+.0} %)", job.surface.mean_ms(*knobs), (it / first - 1.0) * 100.0)
        }));
        cells
    };
    let counts = [1, 2, 3, 4].map(|instances| Knobs { batch_size: 8, instances });
    let sizes = [1, 2, 4, 8].map(|batch_size| Knobs { batch_size, instances: 5 });
    table(
        &["network", "from", "1", "2", "3 instances or batch 4", "4 instances or batch 8"],
        [row(12, counts), row(22, counts), row(18, sizes), row(5, sizes), row(20, sizes)],
    )
}

/// Lists the largest errors of completion from the times at 1 and 8 instances, with the network left out.
fn completion() -> String {
    let row = |job: &PaperJob| {
        job.profile?;
        let at = |instances| job.surface.mean_ms(Knobs { instances, ..Knobs::LEAST });
        let known = [(1, at(1)), (8, at(8))];
        let library = curves_without(job.network);
        let largest = |estimates: Vec<f64>| {
            let errors =
                estimates.iter().zip(1..).map(|(estimate, instances)| estimate / at(instances) - 1.0);
            let worst = errors.zip(1..).max_by(|(one, _), (other, _)| one.abs().total_cmp(&other.abs()));
            worst
                .map_or(String::new(), |(error, instances)| format!("{:+.1} % at {instances}", error * 100.0))
        };
        let at_rank = |rank| largest(library.complete_at(rank, &known, 10));
        Some(vec![
            job.number.to_string(),
            job.network.to_owned(),
            at_rank(2),
            at_rank(1),
            largest(CurveLibrary::default().complete(&known, 10)),
        ])
    };
    table(&["job", "network", "rank 2", "rank 1", "straight line"], jobs().iter().filter_map(row))
}

/// Returns a table in Markdown.
pub(crate) fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let header: Vec<String> = header.iter().map(|name| (*name).to_owned()).collect();
    let rule = format!("|{}\n", "---|".repeat(header.len()));
    let rows: String = rows.into_iter().map(|row| line(&row)).collect();
    line(&header) + &rule + &rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_tables_as_they_are_now() {
        let page = include_str!("../../../../docs/scaling-jobs.md");
        let stale: Vec<_> = tables().into_iter().filter(|(_, table)| !page.contains(table)).collect();
        let listed: String = stale.iter().map(|(name, table)| format!("\n{name}:\n{table}")).collect();
        assert!(stale.is_empty(), "docs/scaling-jobs.md lacks these tables as they are now\n{listed}");
    }
}
