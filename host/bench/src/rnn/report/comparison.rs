//! Ours beside other systems: layer by layer, in other number formats, and over sets of rows.

use proctor_rnn_layer::Precision;

use super::cell::{best_cell, milliseconds, or_none, outcome_cell, owned, peer_cell, ratio_cell};
use crate::rnn::report::Report;
use crate::rnn::{
    cases::{
        Group,
        sets::{Set, geometric_mean},
    },
    flags::precision_name,
    table::{Row, System},
};
use proctor_display::Table;

impl Report {
    /// Peers that were measured, in the order of the first row that has them.
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
        head.extend(owned(&["best peer's p99", "ratio"]));
        let rows = self.rows.iter().filter(|row| row.facts.case.group == group);
        let rows = rows.map(|row| self.cells(row, &peers)).collect();
        Table { title: title(group).to_owned(), head, rows }
    }

    fn cells(&self, row: &Row, peers: &[&'static str]) -> Vec<String> {
        let ours = row.ours(Precision::F32);
        let on = |threads: &usize| or_none(row.ours_on(*threads), outcome_cell);
        let mut cells = vec![row.name.clone()];
        cells.extend(self.threads.iter().map(on));
        cells.extend([
            or_none(ours, |best| milliseconds(best.measured.times.p99_ns)),
            or_none(row.gflops(), |gflops| format!("{gflops:.0}")),
            or_none(row.limit_ns(), milliseconds),
            or_none(row.share_of_limit(), |share| format!("{:.0} %", share * 100.0)),
            or_none(ours, |best| format!("{:.1e}", best.measured.max_abs_error)),
        ]);
        let fastest = row.best_peer();
        for name in peers {
            let best = row.best(|system| *system == System::Peer(name));
            let is_fastest =
                best.zip(fastest).is_some_and(|(best, fastest)| best.median_ns() == fastest.median_ns());
            cells.push(or_none(best, |best| peer_cell(&best, is_fastest)));
        }
        cells.push(or_none(fastest, |best| milliseconds(best.measured.times.p99_ns)));
        cells.push(or_none(row.ratio(), ratio_cell));
        cells
    }

    /// Ours in other number formats, where there are any.
    pub(super) fn precision_table(&self) -> Option<Table> {
        let formats = [Precision::Bf16, Precision::Int8];
        let has = |row: &&Row| formats.iter().any(|format| row.ours(*format).is_some());
        let mut head = owned(&["layer", "f32"]);
        for format in formats {
            head.extend([precision_name(format).to_owned(), "faster".to_owned(), "error".to_owned()]);
        }
        let cells = |row: &Row| {
            let f32 = row.ours(Precision::F32);
            let mut cells = vec![row.name.clone(), or_none(f32, |best| best_cell(&best))];
            for format in formats {
                let best = row.ours(format);
                let faster = best.zip(f32).map(|(best, f32)| f32.median_ns() / best.median_ns());
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

    /// Geometric means over sets of rows.
    pub(super) fn sets_table(&self) -> Option<Table> {
        let cells = |set: &Set| {
            let rows: Vec<_> = self.rows.iter().filter(|row| set.has(&row.facts.case)).collect();
            let ratios: Vec<_> = rows.iter().filter_map(|row| row.ratio()).collect();
            let shares: Vec<_> = rows.iter().filter_map(|row| row.share_of_limit()).collect();
            let mean = geometric_mean(&ratios)?;
            let worst = ratios.iter().copied().fold(f64::INFINITY, f64::min);
            Some(vec![
                set.name.to_owned(),
                ratios.len().to_string(),
                format!("{mean:.2}"),
                ratio_cell(worst),
                or_none(set.target, |target| format!("{target:.2}")),
                or_none(set.target, |target| if mean >= target { "yes" } else { "NO" }.to_owned()),
                or_none(geometric_mean(&shares), |share| format!("{:.0} %", share * 100.0)),
            ])
        };
        let rows: Vec<_> = Set::ALL.iter().filter_map(cells).collect();
        let head = owned(&["rows", "count", "ratio", "least", "target", "met", "of limit"]);
        let title = "Geometric means of the ratio to the best peer".to_owned();
        (!rows.is_empty()).then_some(Table { title, head, rows })
    }
}

fn title(group: Group) -> &'static str {
    match group {
        Group::Table1 => "Table 1, forward (input, hidden, batch, time)",
        Group::Table1Lbr0 => "Table 1, GRU with the reset gate before the product",
        Group::Table1Bidir => "Table 1, both directions",
        Group::Models => "Layers of text similarity, attention sum reader and BiDAF",
        Group::Extra => "A small layer, single steps from a given state, and the call alone",
        Group::Random => "Layers drawn at random (input, hidden, batch, time)",
    }
}
