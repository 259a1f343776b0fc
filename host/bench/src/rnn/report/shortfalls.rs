//! Rows that fall short, with the parts of their time.

use proctor_rnn_layer::Precision;
use proctor_rnn_limits::Reads;
use serde::Serialize;

use super::cell::{milliseconds, or_none, owned};
use crate::rnn::report::Report;
use crate::rnn::{
    cases::sets::{Set, geometric_mean, row_target},
    table::{Figure, Limit, Row},
};
use proctor_display::Table;
use proctor_words::text::four_digits;

/// A row whose ratio of medians or of 99th percentiles is below its target.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Shortfall {
    pub(super) name: String,
    median: Aim,
    p99: Aim,
    /// Number of threads at which ours is best.
    threads: usize,
    median_ns: f64,
    /// Number of cycles of all threads in a call, computing or waiting.
    cycles: Option<f64>,
    /// Number of multiply-add vectors in a call.
    vectors: f64,
    busy_share: Option<f64>,
    limit: Option<Limit>,
}

/// A ratio to the best peer.
#[derive(Debug, Clone, Copy, Serialize)]
struct Aim {
    ratio: f64,
    target: f64,
}

impl Aim {
    fn is_missed(self) -> bool {
        self.ratio < self.target
    }

    fn cell(self) -> String {
        format!("{:.2} of {:.2}", self.ratio, self.target)
    }
}

impl Report {
    pub(super) fn find_shortfalls(&self) -> Vec<Shortfall> {
        self.rows.iter().filter_map(|row| self.shortfall(row)).collect()
    }

    fn shortfall(&self, row: &Row) -> Option<Shortfall> {
        let aim = |figure| Some(Aim { ratio: row.ratio(figure)?, target: self.row_target(row, figure) });
        let (median, p99) = (aim(Figure::Median)?, aim(Figure::P99)?);
        if !median.is_missed() && !p99.is_missed() {
            return None;
        }
        let ours = row.ours(Figure::Median, Precision::F32)?;
        let threads = ours.entry.threads;
        let clock_ghz = self.limits.speeds_of(threads).map(|speeds| speeds.clock_ghz);
        Some(Shortfall {
            name: row.name.clone(),
            median,
            p99,
            threads,
            median_ns: ours.ns,
            cycles: clock_ghz.map(|clock_ghz| ours.ns * clock_ghz * threads as f64),
            vectors: row.facts.flops / (2 * self.limits.lanes) as f64,
            busy_share: ours.measured.busy_share,
            limit: row.limit().copied(),
        })
    }

    /// Returns the minimum ratio of a row: its own, or its smallest set's mean target if that is missed.
    fn row_target(&self, row: &Row, figure: Figure) -> f64 {
        if self.interference.is_some() {
            return 1.0;
        }
        let of_row = match figure {
            Figure::Median => row_target(&row.facts.case),
            // No row may be slower.
            Figure::P99 => 1.0,
        };
        let smallest = Set::ALL
            .iter()
            .filter(|set| set.has(&row.facts.case))
            .find_map(|set| Some((set, self.mean_target(set, figure)?)));
        let of_mean = smallest.and_then(|(set, target)| {
            (geometric_mean(&self.ratios(set, figure))? < target).then_some(target)
        });
        of_mean.map_or(of_row, |of_mean| of_mean.max(of_row))
    }

    /// Lists each shortfall next to its limit, if there are any.
    pub(super) fn shortfalls_table(&self) -> Option<Table> {
        let head = [
            "layer",
            "ratio",
            "p99 ratio",
            "ours",
            "limit",
            "multiply-adds",
            "L1 MB, ms",
            "L2 MB, ms",
            "L3 MB, ms",
            "Mcycles",
            "cycles a vector",
            "busy",
        ];
        let title = "Rows that fall short: ours, the limit and its parts in ms".to_owned();
        let rows = self.shortfalls.iter().map(cells).collect();
        (!self.shortfalls.is_empty()).then(|| Table { title, head: owned(&head), rows })
    }

    /// Explains that table.
    pub(super) fn shortfalls_notes(&self) -> Vec<String> {
        if self.shortfalls.is_empty() {
            return Vec::new();
        }
        let lanes = self.limits.lanes;
        let at_peak = self.limits.speeds.last().map(|speeds| {
            let cycles = speeds.clock_ghz * (2 * lanes) as f64 / speeds.peak_gflops;
            format!("; a vector of {lanes} takes {cycles:.2} cycles at the measured peak")
        });
        vec![
            "rows that fall short: slower than the best peer by one of the ratios, below the least that was laid down for the \
             row, or below a mean that its set misses; of: what the ratio should be at least"
                .to_owned(),
            "multiply-adds: their time at the peak; MB, ms: weights that a call reads from each level in the best possible \
             order, and their time; the limit overlaps all of these in each product"
                .to_owned(),
            format!(
                "cycles: of all threads, from the median of ours at the measured clock; busy: time that they had a processor, of \
                 all that they could have had{}",
                at_peak.unwrap_or_default()
            ),
        ]
    }
}

fn cells(shortfall: &Shortfall) -> Vec<String> {
    let of_limit = |cell: &dyn Fn(&Limit) -> String| or_none(shortfall.limit.as_ref(), cell);
    let reads = |level: usize| {
        let cell = |Reads { bytes, ns }| format!("{}, {}", four_digits(bytes / 1e6), milliseconds(ns));
        of_limit(&|limit| cell(limit.of_layer.reads[level]))
    };
    vec![
        shortfall.name.clone(),
        shortfall.median.cell(),
        shortfall.p99.cell(),
        format!("{}/{}", milliseconds(shortfall.median_ns), shortfall.threads),
        of_limit(&|limit| format!("{}/{}", milliseconds(limit.of_layer.least_time_ns), limit.threads)),
        of_limit(&|limit| milliseconds(limit.of_layer.multiply_adds_ns)),
        reads(0),
        reads(1),
        reads(2),
        or_none(shortfall.cycles, |cycles| four_digits(cycles / 1e6)),
        or_none(shortfall.cycles, |cycles| format!("{:.2}", cycles / shortfall.vectors)),
        or_none(shortfall.busy_share, |share| format!("{:.0} %", share * 100.0)),
    ]
}
