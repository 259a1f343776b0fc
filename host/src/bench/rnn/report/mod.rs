//! The tables of `host bench rnn`: for people, in Markdown, and as JSON.
//!
//! [`comparison`] has the tables beside other systems, [`stages`] that of the paper's techniques, [`limits`] that of the
//! machine; [`notes`] what has to be known to read them, [`cell`] how a figure is written.

mod cell;
mod comparison;
mod limits;
mod notes;
mod stages;

use std::{
    collections::BTreeSet,
    io::{self, Write},
};

use chrono::{SecondsFormat, Utc};
use proctor_rnn_limits::MachineLimits;
use serde::Serialize;

use super::{
    answer::TOLERANCE,
    cases::Group,
    flags::{Precision, RnnFlags},
    table::{Entry, Row, System},
};
use crate::{bench::report::markdown_table, machine::Machine, result::Program, text};

/// Version of the form of the JSON file.
const SCHEMA_VERSION: u32 = 1;

/// Everything that was measured.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    schema_version: u32,
    program: Program,
    started_at_utc: String,
    /// The command, without the path of the program.
    command: String,
    machine: Machine,
    pub(super) limits: MachineLimits,
    /// Largest difference from the f64 answer that is no mark.
    tolerance: f64,
    threads: Vec<usize>,
    quick: bool,
    /// Whether the program was built with optimisation; without it the figures mean nothing.
    optimized: bool,
    pub(super) is_interrupted: bool,
    is_ablation: bool,
    pub(super) rows: Vec<Row>,
}

/// A table with its head.
struct Table {
    title: String,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Report {
    pub(super) fn new(flags: &RnnFlags, limits: MachineLimits) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            program: Program::this(),
            started_at_utc: Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true),
            command: std::iter::once("host".to_owned())
                .chain(std::env::args().skip(1))
                .collect::<Vec<_>>()
                .join(" "),
            machine: Machine::read(),
            limits,
            tolerance: TOLERANCE,
            threads: flags.threads(),
            quick: flags.quick,
            optimized: !cfg!(debug_assertions),
            is_interrupted: false,
            is_ablation: flags.ablation,
            rows: Vec::new(),
        }
    }

    /// Whether ours ran each layer, and came to the right answer in f32.
    pub(super) fn is_ours_right(&self) -> bool {
        let mut entries = self.rows.iter().flat_map(|row| &row.entries);
        entries.all(|entry| match (&entry.system, entry.measured()) {
            (System::Ours(Precision::F32) | System::Stage(_), Some(measured)) => measured.is_same_answer(),
            (System::Ours(_) | System::Stage(_), measured) => measured.is_some(),
            (System::Peer(_), _) => true,
        })
    }

    /// Writes it as JSON, indented, with a line end.
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, self)?;
        out.write_all(b"\n")
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let mut all = format!("Recurrent layers, {}\n{}\n", self.origin(), self.systems());
        for Table { title, head, rows } in self.tables() {
            let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
            all += &format!("{title}\n{}\n", text::table(&rows));
        }
        all.extend(self.notes().iter().map(|note| format!("  note: {note}\n")));
        all
    }

    /// For a page of documentation.
    pub(super) fn markdown(&self) -> String {
        let mut all =
            format!("`{}` on {}; {}.\n\n{}.\n", self.command, self.machine(), self.origin(), self.systems());
        for Table { title, head, rows } in self.tables() {
            let head: Vec<_> = head.iter().map(String::as_str).collect();
            all += &format!("\n### {title}\n\n{}", markdown_table(&head, rows.into_iter()));
        }
        all.extend(self.notes().iter().map(|note| format!("\n- {note}")));
        all + "\n"
    }

    fn origin(&self) -> String {
        let quick = if self.quick { ", too short for figures to rely on" } else { "" };
        let debug = if self.optimized { "" } else { ", built without optimisation" };
        let part = if self.is_interrupted { ", interrupted" } else { "" };
        format!("medians of single calls in ms{quick}{debug}{part}")
    }

    fn machine(&self) -> String {
        let Machine { cpu_model, cpu_count, kernel, .. } = &self.machine;
        let cpu = cpu_model.as_deref().unwrap_or("an unknown processor");
        let count =
            cpu_count.map_or(String::new(), |count| format!(" ({})", text::counted(count as u64, "core")));
        let kernel = kernel.as_ref().map_or(String::new(), |kernel| format!(", Linux {kernel}"));
        format!("{cpu}{count}{kernel}, {}", self.started_at_utc)
    }

    /// The versions of everything that was measured.
    fn systems(&self) -> String {
        let name = |entry: &Entry| match &entry.system {
            System::Ours(_) | System::Stage(_) => format!("ours is {}", entry.version),
            System::Peer(name) => format!("{name} {}", entry.version),
        };
        let names: BTreeSet<_> = self.rows.iter().flat_map(|row| &row.entries).map(name).collect();
        let mut names: Vec<_> = names.into_iter().collect();
        names.sort_by_key(|name| !name.starts_with("ours"));
        names.join("; ")
    }

    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.limits_table()];
        if self.is_ablation {
            tables.extend(self.threads.iter().map(|threads| self.stages_table(*threads)));
            return tables;
        }
        let groups =
            Group::ALL.into_iter().filter(|group| self.rows.iter().any(|row| row.case.group == *group));
        tables.extend(groups.map(|group| self.group_table(group)));
        tables.extend(self.precision_table());
        tables.extend(self.sets_table());
        tables
    }
}

#[cfg(test)]
mod tests;
