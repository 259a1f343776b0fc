//! What the reports of all benchmarks have in common: where figures come from, and tables with their notes, for people and
//! in Markdown.

use std::io::{self, Write};

use serde::Serialize;

use crate::{
    machine::Machine,
    result::Program,
    text::{self, counted},
};

/// What measured, by which command, and where.
#[derive(Debug, Serialize)]
pub(super) struct Origin {
    /// Version of the form of the JSON file.
    schema_version: u32,
    program: Program,
    /// The command, without the path of the program.
    command: String,
    /// With the load at the start.
    machine: Machine,
    quick: bool,
    /// Whether the program was built with optimisation; without it the figures mean nothing.
    optimized: bool,
}

impl Origin {
    /// This process.
    pub(super) fn here(schema_version: u32, quick: bool) -> Self {
        let words: Vec<_> = std::iter::once("host".to_owned()).chain(std::env::args().skip(1)).collect();
        Self {
            schema_version,
            program: Program::this(),
            command: words.join(" "),
            machine: Machine::read(),
            quick,
            optimized: !cfg!(debug_assertions),
        }
    }

    pub(super) fn command(&self) -> &str {
        &self.command
    }

    /// The machine, in words.
    pub(super) fn machine(&self) -> String {
        let Machine { cpu_model, cpu_count, kernel, load_average, .. } = &self.machine;
        let cpu = cpu_model.as_deref().unwrap_or("an unknown processor");
        let count = cpu_count.map_or(String::new(), |count| format!(" ({})", counted(count as u64, "core")));
        let kernel = kernel.as_ref().map_or(String::new(), |kernel| format!(", Linux {kernel}"));
        let load = load_average.map_or(String::new(), |[one, ..]| format!(", load {one:.2} before"));
        format!("{cpu}{count}{kernel}{load}")
    }

    /// What is to be said against every figure, to follow what they are; empty if nothing is.
    pub(super) fn reservations(&self) -> String {
        let quick = if self.quick { ", too short for figures to rely on" } else { "" };
        let debug = if self.optimized { "" } else { ", built without optimisation" };
        format!("{quick}{debug}")
    }
}

/// A table with its head.
pub(super) struct Table {
    pub(super) title: String,
    pub(super) head: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

/// Everything that people are told.
pub(super) struct Page<'a> {
    pub(super) title: &'static str,
    pub(super) origin: &'a Origin,
    /// When it began, in UTC.
    pub(super) started_at: &'a str,
    /// What the figures are.
    pub(super) what: String,
    /// The versions of everything that was measured.
    pub(super) systems: String,
    pub(super) tables: Vec<Table>,
    /// What has to be known to read the tables.
    pub(super) notes: Vec<String>,
}

impl Page<'_> {
    /// For a terminal.
    pub(super) fn text(self) -> String {
        let mut all = format!("{}, {}\n{}\n", self.title, self.what, self.systems);
        for Table { title, head, rows } in self.tables {
            let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
            all += &format!("{title}\n{}\n", text::table(&rows));
        }
        all.extend(self.notes.iter().map(|note| format!("  note: {note}\n")));
        all
    }

    /// For a page of documentation.
    pub(super) fn markdown(self) -> String {
        let (command, machine) = (self.origin.command(), self.origin.machine());
        let mut all =
            format!("`{command}` on {machine}, {}; {}.\n\n{}.\n", self.started_at, self.what, self.systems);
        for Table { title, head, rows } in self.tables {
            let head: Vec<_> = head.iter().map(String::as_str).collect();
            all += &format!("\n### {title}\n\n{}", markdown_table(&head, rows.into_iter()));
        }
        all.extend(self.notes.iter().map(|note| format!("\n- {note}")));
        all + "\n"
    }
}

pub(super) fn markdown_table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let head: Vec<_> = head.iter().map(|cell| (*cell).to_owned()).collect();
    let rule = format!("|{}\n", "---|".repeat(head.len()));
    rows.fold(line(&head) + &rule, |text, row| text + &line(&row))
}

/// Writes a report as JSON, indented, with a line end.
pub(super) fn write_json(report: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, report)?;
    out.write_all(b"\n")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A machine and a command that never were.
    pub(in crate::bench) fn origin() -> Origin {
        Origin {
            schema_version: 1,
            program: Program::this(),
            command: "host bench".to_owned(),
            machine: Machine {
                cpu_model: Some("Fast CPU".to_owned()),
                cpu_count: Some(2),
                memory_bytes: None,
                os: None,
                kernel: None,
                architecture: "x86_64",
                load_average: Some([0.25, 0.5, 1.0]),
            },
            quick: false,
            optimized: true,
        }
    }

    #[test]
    fn a_page_says_where_its_figures_come_from_and_has_its_tables_and_notes() {
        let origin = origin();
        let page = || Page {
            title: "Figures",
            origin: &origin,
            started_at: "2026-01-31T12:00:00Z",
            what: format!("medians{}", origin.reservations()),
            systems: "host 1; peer 2".to_owned(),
            tables: vec![Table {
                title: "One".to_owned(),
                head: vec!["a".to_owned(), "b".to_owned()],
                rows: vec![vec!["1".to_owned(), "2".to_owned()]],
            }],
            notes: vec!["a is b".to_owned()],
        };
        assert_eq!(
            page().markdown(),
            "`host bench` on Fast CPU (2 cores), load 0.25 before, 2026-01-31T12:00:00Z; medians.\n\nhost 1; peer 2.\n\n\
             ### One\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- a is b\n"
        );
        let text = page().text();
        assert!(text.starts_with("Figures, medians\nhost 1; peer 2\nOne\n"), "{text}");
        assert!(text.ends_with("  note: a is b\n"), "{text}");
    }

    #[test]
    fn what_is_to_be_said_against_figures_follows_them() {
        let doubtful = Origin { quick: true, optimized: false, ..origin() };
        assert_eq!(doubtful.reservations(), ", too short for figures to rely on, built without optimisation");
        assert_eq!(origin().reservations(), "");
    }
}
