//! Tables 4, 5 and 6.

use proctor_scaling::Approach;

/// Row of Table 5: throughput in items per second, and improvements in percent as printed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Profile {
    /// Batch 1 on one instance.
    pub alone_per_s: f64,
    /// Batch 1 on 8 instances.
    pub instances_8_per_s: f64,
    /// Improvement by 8 instances, which the paper calls TI_MT.
    pub improvement_instances: f64,
    /// Batch 32 on one instance.
    pub batch_32_per_s: f64,
    /// Improvement by batch 32, which the paper calls TI_B.
    pub improvement_batch: f64,
}

/// Row of Table 6: throughput in items per second, power, and their quotient as printed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Efficiency {
    /// Power with DNNScaler, in watts.
    pub power_w: f64,
    /// Power with Clipper, in watts.
    pub power_w_clipper: f64,
    /// Throughput with DNNScaler.
    pub per_s: f64,
    /// Throughput with Clipper.
    pub per_s_clipper: f64,
    /// Number of items per joule with DNNScaler.
    pub per_j: f64,
    /// Number of items per joule with Clipper.
    pub per_j_clipper: f64,
}

/// A row of Table 4 with the other tables' data about the same job.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) number: u32,
    pub(super) network: &'static str,
    pub(super) dataset: &'static str,
    pub(super) target_ms: f64,
    pub(super) method: Approach,
    pub(super) steady: usize,
    pub(super) profile: Option<Profile>,
    pub(super) efficiency: Option<Efficiency>,
}

/// Returns the rows of Table 4.
pub(super) fn rows() -> Vec<Row> {
    let profiles = figures(include_str!("table5.csv"));
    let efficiencies = figures(include_str!("table6.csv"));
    let of = |table: &[(u32, Vec<f64>)], number| {
        table.iter().find(|(job, _)| *job == number).map(|(_, figures)| figures.clone())
    };
    let row = |cells: Vec<&'static str>| {
        let number = parsed(cells[0]);
        Row {
            number,
            network: cells[1],
            dataset: cells[2],
            target_ms: parsed(cells[3]),
            method: if cells[4] == "B" { Approach::Batching } else { Approach::MultiTenancy },
            steady: parsed(cells[5]),
            profile: of(&profiles, number).map(|figures| Profile {
                alone_per_s: figures[0],
                instances_8_per_s: figures[1],
                improvement_instances: figures[2],
                batch_32_per_s: figures[3],
                improvement_batch: figures[4],
            }),
            efficiency: of(&efficiencies, number).map(|figures| Efficiency {
                power_w: figures[0],
                power_w_clipper: figures[1],
                per_s: figures[2],
                per_s_clipper: figures[3],
                per_j: figures[4],
                per_j_clipper: figures[5],
            }),
        }
    };
    cells(include_str!("table4.csv")).map(row).collect()
}

/// Returns the job and the figures of each row.
fn figures(table: &'static str) -> Vec<(u32, Vec<f64>)> {
    let row = |cells: Vec<&str>| (parsed(cells[0]), cells[1..].iter().map(|cell| parsed(cell)).collect());
    cells(table).map(row).collect()
}

/// Returns the rows of a table, without comments and the line of names.
fn cells(table: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    let lines = table.lines().filter(|line| !line.starts_with('#')).skip(1);
    lines.map(|line| line.split(',').collect())
}

fn parsed<T: std::str::FromStr>(cell: &str) -> T {
    cell.parse()
        .unwrap_or_else(|_| panic!("the tables of the paper are part of the program, and have \"{cell}\""))
}
