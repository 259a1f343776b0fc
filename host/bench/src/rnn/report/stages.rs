//! Figure 4 of the paper: the same layer in four ways.

use super::cell::{or_none, outcome_cell};
use crate::rnn::report::Report;
use crate::rnn::{
    ablation::{STAGE_COUNT, stage_name},
    table::{Entry, Row, System},
};
use proctor_display::Table;
use proctor_words::text::{self, four_digits};

impl Report {
    /// The four ways beside each other, with what the last one gains over the first.
    pub(super) fn stages_table(&self, threads: usize) -> Table {
        let on = text::counted(threads as u64, "thread");
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
}
