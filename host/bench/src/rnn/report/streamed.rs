//! Steps with carried states, beside calls of one step.

use proctor_rnn_layer::Precision;

use super::cell::{microseconds, or_none, owned, ratio_cell};
use crate::rnn::report::Report;
use crate::rnn::{
    cases::CALL_FLOOR,
    table::{Best, Entry, Figure, Row, System},
};
use proctor_display::Table;

impl Report {
    /// The rows that were streamed, if there are any.
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

    /// How to read that table, and what bounds the set-up of a step.
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
}
