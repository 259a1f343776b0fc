//! The tables: this engine and other systems, layer by layer, in other number formats and over sets of rows; streamed
//! steps; figure 4 of the paper, the same layer in four ways; and the limits of the machine.

use proctor_rnn_layer::Precision;
use proctor_rnn_limits::Speeds;

use super::cell::{
    best_cell, microseconds, milliseconds, or_none, outcome_cell, owned, peer_cell, ratio_cell,
};
use crate::rnn::{
    ablation::{STAGE_COUNT, stage_name},
    cases::{
        CALL_FLOOR, Group,
        sets::{Set, geometric_mean},
    },
    flags::precision_name,
    report::Report,
    table::{Best, Entry, Figure, Row, System},
};
use proctor_display::Table;
use proctor_words::text::{counted, four_digits};

impl Report {
    /// Returns the measured peers, in the order of the first row that has them.
    fn peers(&self) -> Vec<&'static str> {
        let mut names = Vec::new();
        for entry in self.rows.iter().flat_map(|row| &row.entries) {
            if let System::Peer(name) = entry.system
                && !names.contains(&name)
            {
                names.push(name);
            }
        }
        names
    }

    pub(super) fn group_table(&self, group: Group) -> Table {
        let peers = self.peers();
        let mut head = vec!["layer".to_owned()];
        head.extend(self.threads.iter().map(|threads| format!("ours/{threads}")));
        head.extend(owned(&["p99", "GFLOP/s", "limit", "of limit", "error"]));
        head.extend(peers.iter().map(|name| (*name).to_owned()));
        head.extend(owned(&["best peer's p99", "ratio", "p99 ratio"]));
        let rows = self.rows.iter().filter(|row| row.facts.case.group == group);
        let rows = rows.map(|row| self.cells(row, &peers)).collect();
        Table { title: format!("{}{}", title(group), self.beside()), head, rows }
    }

    /// Returns the end of the title of a table of times.
    pub(super) fn beside(&self) -> &'static str {
        if self.interference.is_some() { ", beside a competitor" } else { "" }
    }

    fn cells(&self, row: &Row, peers: &[&'static str]) -> Vec<String> {
        let ours = |figure| row.ours(figure, Precision::F32);
        let on = |threads: &usize| or_none(row.on(&System::Ours(Precision::F32), *threads), outcome_cell);
        let mut cells = vec![row.name.clone()];
        cells.extend(self.threads.iter().map(on));
        cells.extend([
            or_none(ours(Figure::P99), |best| best_cell(&best)),
            or_none(row.gflops(), |gflops| format!("{gflops:.0}")),
            or_none(row.limit_ns(), milliseconds),
            or_none(row.share_of_limit(), |share| format!("{:.0} %", share * 100.0)),
            or_none(ours(Figure::Median), |best| format!("{:.1e}", best.measured.max_abs_error)),
        ]);
        let fastest = row.best_peer(Figure::Median);
        for name in peers {
            let best = row.best(Figure::Median, |system| *system == System::Peer(name));
            let is_fastest = best.zip(fastest).is_some_and(|(best, fastest)| best.ns == fastest.ns);
            cells.push(or_none(best, |best| peer_cell(&best, is_fastest)));
        }
        cells.push(or_none(row.best_peer(Figure::P99), |best| best_cell(&best)));
        cells.extend(Figure::ALL.map(|figure| or_none(row.ratio(figure), ratio_cell)));
        cells
    }

    /// Compares our results in other number formats, if there are any.
    pub(super) fn precision_table(&self) -> Option<Table> {
        let formats = [Precision::Bf16, Precision::Int8];
        let has = |row: &&Row| formats.iter().any(|format| row.ours(Figure::Median, *format).is_some());
        let mut head = owned(&["layer", "f32"]);
        for format in formats {
            head.extend([precision_name(format).to_owned(), "faster".to_owned(), "error".to_owned()]);
        }
        let cells = |row: &Row| {
            let f32 = row.ours(Figure::Median, Precision::F32);
            let mut cells = vec![row.name.clone(), or_none(f32, |best| best_cell(&best))];
            for format in formats {
                let best = row.ours(Figure::Median, format);
                let faster = best.zip(f32).map(|(best, f32)| f32.ns / best.ns);
                cells.push(or_none(best, |best| best_cell(&best)));
                cells.push(or_none(faster, |faster| format!("{faster:.2}")));
                cells.push(or_none(best, |best| format!("{:.1e}", best.measured.max_abs_error)));
            }
            cells
        };
        let rows: Vec<_> = self.rows.iter().filter(has).map(cells).collect();
        (!rows.is_empty()).then(|| Table {
            title: "Other number formats of the weights".to_owned(),
            head,
            rows,
        })
    }

    /// Returns the ratios of the rows of a set.
    pub(super) fn ratios(&self, set: &Set, figure: Figure) -> Vec<f64> {
        let rows = self.rows.iter().filter(|row| set.has(&row.facts.case));
        rows.filter_map(|row| row.ratio(figure)).collect()
    }

    /// Returns the minimum mean of these ratios that was laid down, which is for a quiet machine.
    pub(super) fn mean_target(&self, set: &Set, figure: Figure) -> Option<f64> {
        set.targets[figure as usize].filter(|_| self.interference.is_none())
    }

    /// Returns the geometric means over sets of rows.
    pub(super) fn sets_table(&self) -> Option<Table> {
        let cells = |set: &Set| {
            let rows: Vec<_> = self.rows.iter().filter(|row| set.has(&row.facts.case)).collect();
            let shares: Vec<_> = rows.iter().filter_map(|row| row.share_of_limit()).collect();
            let lost: Vec<_> = rows.iter().filter_map(|row| row.is_lost()).collect();
            let mut cells = vec![set.name.to_owned(), lost.len().to_string()];
            for figure in Figure::ALL {
                let ratios = self.ratios(set, figure);
                let mean = geometric_mean(&ratios)?;
                let met =
                    |target: f64| format!("{target:.2} {}", if mean >= target { "met" } else { "MISSED" });
                cells.extend([
                    format!("{mean:.2}"),
                    ratio_cell(ratios.iter().copied().fold(f64::INFINITY, f64::min)),
                    or_none(self.mean_target(set, figure), met),
                ]);
            }
            cells.extend([
                lost.iter().filter(|is_lost| **is_lost).count().to_string(),
                or_none(geometric_mean(&shares), |share| format!("{:.0} %", share * 100.0)),
            ]);
            Some(cells)
        };
        let rows: Vec<_> = Set::ALL.iter().filter_map(cells).collect();
        let head = [
            "rows",
            "count",
            "ratio",
            "least",
            "target",
            "p99 ratio",
            "least p99",
            "p99 target",
            "lost",
            "of limit",
        ];
        let head = owned(&head);
        let title = "Geometric means of the ratio to the best peer".to_owned();
        (!rows.is_empty()).then_some(Table { title, head, rows })
    }

    /// Returns the rows that were streamed, if there are any.
    pub(super) fn streamed_table(&self) -> Option<Table> {
        let mut head = owned(&["layer", "call", "call p99"]);
        head.extend(self.threads.iter().map(|threads| format!("step/{threads}")));
        head.extend(owned(&["step p99", "best peer's call", "its p99", "ratio", "p99 ratio"]));
        let cells = |row: &Row| {
            let best = |best: Option<Best<'_>>| {
                or_none(best, |best| format!("{}/{}", microseconds(best.ns), best.entry.threads))
            };
            let mut cells = vec![row.name.clone()];
            cells.extend(Figure::ALL.map(|figure| best(row.ours(figure, Precision::F32))));
            cells.extend(self.threads.iter().map(|threads| {
                let measured = row.on(&System::Streamed, *threads).and_then(Entry::measured);
                or_none(measured, |measured| microseconds(measured.times.median_ns))
            }));
            cells.push(best(row.streamed(Figure::P99)));
            cells.extend(Figure::ALL.map(|figure| best(row.best_peer(figure))));
            cells.extend(Figure::ALL.map(|figure| {
                let ratio = row.streamed(figure).and_then(|best| row.ratio_of(figure, best));
                or_none(ratio, ratio_cell)
            }));
            cells
        };
        let rows: Vec<_> = self.streamed_rows().map(cells).collect();
        let beside = self.beside();
        let title = format!("Streamed steps, each from the states of the one before, in us{beside}");
        (!rows.is_empty()).then_some(Table { title, head, rows })
    }

    /// Returns an explanation of that table, and of the bounds of a step's set-up.
    pub(super) fn streamed_notes(&self) -> Vec<String> {
        if self.streamed_rows().next().is_none() {
            return Vec::new();
        }
        let mut notes = vec![
            "step: of the engine's Stream, which carries the states, as the decoders of gnmt and rnnt call it; call: of one \
             step through the plugin boundary, states in and out; a time contains one reading of the clock"
                .to_owned(),
        ];
        let floor = self.rows.iter().find(|row| row.facts.case.role == CALL_FLOOR);
        if let Some((floor, best)) = floor.and_then(|row| Some((row, row.streamed(Figure::Median)?))) {
            let (us, name) = (microseconds(best.ns), &floor.name);
            notes.push(format!("a step of {name} takes {us} us in all, so what sets a step up takes less"));
        }
        notes
    }

    fn streamed_rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.streamed(Figure::Median).is_some())
    }

    /// Returns the four ways side by side, with the gain of the last one over the first.
    pub(super) fn stages_table(&self, threads: usize) -> Table {
        let on = counted(threads as u64, "thread");
        let title =
            format!("What each technique brings, on {on}: median, and MB of weights into private caches");
        let mut head = vec!["layer".to_owned()];
        for stage in 0..STAGE_COUNT {
            head.extend([stage_name(stage).to_owned(), "MB".to_owned()]);
        }
        head.push("faster".to_owned());
        let cells = |row: &Row| {
            let find = |stage| row.on(&System::Stage(stage), threads);
            let mut cells = vec![row.name.clone()];
            for entry in (0..STAGE_COUNT).map(find) {
                let bytes = entry.and_then(Entry::measured).and_then(|measured| measured.weight_bytes);
                cells.push(or_none(entry, outcome_cell));
                cells.push(or_none(bytes, |bytes| four_digits(bytes as f64 / 1e6)));
            }
            let median = |stage| Some(find(stage)?.measured()?.times.median_ns);
            let faster = median(0).zip(median(STAGE_COUNT - 1)).map(|(first, last)| first / last);
            cells.push(or_none(faster, |faster| format!("{faster:.2}")));
            cells
        };
        Table { title, head, rows: self.rows.iter().map(cells).collect() }
    }

    /// Returns a row for each number of cores.
    pub(super) fn limits_table(&self) -> Table {
        let row = |speeds: &Speeds| {
            vec![
                speeds.cores.to_string(),
                format!("{:.2}", speeds.clock_ghz),
                format!("{:.0}", speeds.peak_gflops),
                format!("{:.0}", speeds.l1_gb_per_s),
                format!("{:.0}", speeds.l2_gb_per_s),
                format!("{:.1}", speeds.l3_gb_per_s),
                or_none(speeds.l3_shared_gb_per_s, |speed| format!("{speed:.1}")),
            ]
        };
        let caches = self.limits.caches;
        let l3 = caches.l3_bytes.map_or(String::new(), |bytes| format!(", L3 {} MB", bytes >> 20));
        let title = format!(
            "Limits of this machine, for each core ({}, L1 {} KB, L2 {} KB{l3})",
            self.limits.isa,
            caches.l1_bytes >> 10,
            caches.l2_bytes >> 10
        );
        let head = ["cores", "GHz", "f32 GFLOP/s", "L1 GB/s", "L2 GB/s", "L3 GB/s", "L3 GB/s, shared lines"];
        Table { title, head: owned(&head), rows: self.limits.speeds.iter().map(row).collect() }
    }
}

fn title(group: Group) -> &'static str {
    match group {
        Group::Table1 => "Table 1, forward (input, hidden, batch, time)",
        Group::Table1Lbr0 => "Table 1, GRU with the reset gate before the product",
        Group::Table1Bidir => "Table 1, both directions",
        Group::Models => "Layers of text similarity, attention sum reader and BiDAF",
        Group::Extra => "A small layer, single steps from a given state, and the call alone",
        Group::SweepDimension => "Dimension swept: LSTM, input as wide as hidden",
        Group::SweepTime => "Time swept: LSTM",
        Group::SweepBatch => "Batch swept: LSTM",
        Group::Random => "Layers drawn at random (input, hidden, batch, time)",
    }
}
