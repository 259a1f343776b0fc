//! The tables of `host bench rnn`: for people, in Markdown, and as JSON.
//!
//! [`tables`] has the tables, [`notes`] what has to be known to read them, [`cell`] how a figure is written.
//! [`shortfalls`] takes apart what falls short.

mod cell;
mod notes;
mod shortfalls;
mod tables;

use std::collections::BTreeSet;

use proctor_rnn_layer::Precision;
use proctor_rnn_limits::MachineLimits;
use serde::Serialize;

use shortfalls::Shortfall;

use super::{
    answer::TOLERANCE,
    competitor::Interference,
    flags::RnnFlags,
    table::{Entry, Measured, Row, System},
};
use crate::comparison::Begin;
use proctor_display::{Page, Table};

/// All measurements.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    #[serde(flatten)]
    begin: Begin,
    pub(super) limits: MachineLimits,
    /// Maximum difference from the f64 answer without a mark.
    tolerance: f64,
    threads: Vec<usize>,
    is_interrupted: bool,
    is_ablation: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    interference: Option<Interference>,
    rows: Vec<Row>,
    /// Rows that currently fall short.
    shortfalls: Vec<Shortfall>,
}

impl crate::comparison::Report for Report {
    fn page(&self) -> Page<'_> {
        let part = if self.is_interrupted { ", interrupted" } else { "" };
        Page {
            title: "Recurrent layers",
            origin: &self.begin.origin,
            started_at: &self.begin.started_at_utc,
            what: format!("medians of single calls in ms{}{part}", self.begin.origin.reservations()),
            systems: self.systems(),
            tables: self.tables(),
            notes: self.notes(),
        }
    }

    /// Returns whether ours ran each layer, and came to the right answer in f32.
    fn is_right(&self) -> bool {
        let mut entries = self.rows.iter().flat_map(|row| &row.entries);
        entries.all(|entry| match (&entry.system, entry.measured()) {
            (System::Peer(_), _) => true,
            // Less precision gives another answer.
            (System::Ours(Precision::Bf16 | Precision::Int8), measured) => measured.is_some(),
            (_, measured) => measured.is_some_and(Measured::is_same_answer),
        })
    }

    fn set_interrupted(&mut self) {
        self.is_interrupted = true;
    }
}

impl Report {
    pub(super) fn new(flags: &RnnFlags, limits: MachineLimits) -> Self {
        Self {
            begin: Begin::now(flags.quick),
            limits,
            tolerance: TOLERANCE,
            threads: flags.threads(),
            is_interrupted: false,
            is_ablation: flags.ablation,
            interference: flags.interference(),
            rows: Vec::new(),
            shortfalls: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, row: Row) {
        self.rows.push(row);
        // A row may have reached a mean that the new one has it miss.
        self.shortfalls = self.find_shortfalls();
    }

    /// Returns the versions of everything that was measured, ours first.
    fn systems(&self) -> String {
        let is_peer_and_name = |entry: &Entry| match &entry.system {
            System::Ours(_) | System::Stage(_) | System::Streamed => {
                (false, format!("ours is {}", entry.version))
            }
            System::Peer(name) => (true, format!("{name} {}", entry.version)),
        };
        let systems: BTreeSet<_> =
            self.rows.iter().flat_map(|row| &row.entries).map(is_peer_and_name).collect();
        systems.into_iter().map(|(_, name)| name).collect::<Vec<_>>().join("; ")
    }

    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.limits_table()];
        if self.is_ablation {
            tables.extend(self.threads.iter().map(|threads| self.stages_table(*threads)));
            return tables;
        }
        let mut groups: Vec<_> = self.rows.iter().map(|row| row.facts.case.group).collect();
        // Rows of a group lie side by side.
        groups.dedup();
        tables.extend(groups.into_iter().map(|group| self.group_table(group)));
        tables.extend(self.streamed_table());
        tables.extend(self.precision_table());
        tables.extend(self.sets_table());
        tables.extend(self.shortfalls_table());
        tables
    }
}

#[cfg(test)]
mod tests;
