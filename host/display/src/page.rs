//! Pages of figures: their origin, and tables with their notes, as text and in Markdown.

use serde::Serialize;

use proctor_words::{
    MachinePart, Program, read_machine,
    text::{self, counted},
};

/// Origin of figures: the program, its command, and the machine.
#[derive(Debug, Serialize)]
pub struct Origin {
    /// Version of the form of the JSON file.
    schema_version: u32,
    program: Program,
    /// The command, without the path of the program.
    command: String,
    /// Machine, with the load at the start.
    machine: MachinePart,
    quick: bool,
    /// True if the program was built with optimisation; without it the figures mean nothing.
    optimized: bool,
}

impl Origin {
    /// Describes this process; `program` is the words before the flags of its command, such as `host`.
    #[must_use]
    pub fn here(schema_version: u32, program: &str, quick: bool) -> Self {
        let words: Vec<_> = std::iter::once(program.to_owned()).chain(std::env::args().skip(1)).collect();
        Self {
            schema_version,
            program: Program::this(),
            command: words.join(" "),
            machine: read_machine(),
            quick,
            optimized: !cfg!(debug_assertions),
        }
    }

    /// Creates a made-up machine and command, for tests of pages.
    #[must_use]
    pub fn sample() -> Self {
        Self {
            schema_version: 1,
            program: Program::this(),
            command: "host bench".to_owned(),
            machine: MachinePart {
                cpu_model: Some("Fast CPU".to_owned()),
                cpu_count: Some(2),
                memory_bytes: None,
                os: None,
                kernel: None,
                architecture: Some("x86_64".to_owned()),
                load_average: Some([0.25, 0.5, 1.0]),
            },
            quick: false,
            optimized: true,
        }
    }

    /// Returns the command, without the path of the program.
    #[must_use]
    pub fn command(&self) -> &str {
        &self.command
    }

    /// Returns the machine, in words.
    #[must_use]
    pub fn machine(&self) -> String {
        let MachinePart { cpu_model, cpu_count, kernel, load_average, .. } = &self.machine;
        let cpu = cpu_model.as_deref().unwrap_or("an unknown processor");
        let count = cpu_count.map_or(String::new(), |count| format!(" ({})", counted(count, "core")));
        let kernel = kernel.as_ref().map_or(String::new(), |kernel| format!(", Linux {kernel}"));
        let load = load_average.map_or(String::new(), |[one, ..]| format!(", load {one:.2} before"));
        format!("{cpu}{count}{kernel}{load}")
    }

    /// Returns the reservations about all figures, each after a comma, or an empty text.
    #[must_use]
    pub fn reservations(&self) -> String {
        let quick = if self.quick { ", too short for figures to rely on" } else { "" };
        let debug = if self.optimized { "" } else { ", built without optimisation" };
        format!("{quick}{debug}")
    }
}

/// A table with its head.
pub struct Table {
    /// Title above the table.
    pub title: String,
    /// Heads of the columns.
    pub head: Vec<String>,
    /// Cells, a list for each row.
    pub rows: Vec<Vec<String>>,
}

/// A page of figures.
pub struct Page<'a> {
    /// Title of the page.
    pub title: &'static str,
    /// Origin of the figures.
    pub origin: &'a Origin,
    /// Begin of the measurement, in UTC.
    pub started_at: &'a str,
    /// The kind of figures, such as medians.
    pub what: String,
    /// The versions of everything that was measured.
    pub systems: String,
    /// The tables in their order.
    pub tables: Vec<Table>,
    /// Notes that are needed to read the tables.
    pub notes: Vec<String>,
}

impl Page<'_> {
    /// Returns the text for a terminal.
    #[must_use]
    pub fn text(self) -> String {
        let mut all = format!("{}, {}\n{}\n", self.title, self.what, self.systems);
        for Table { title, head, rows } in self.tables {
            let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
            all += &format!("{title}\n{}\n", text::table(&rows));
        }
        all.extend(self.notes.iter().map(|note| format!("  note: {note}\n")));
        all
    }

    /// Formats Markdown for a page of documentation.
    #[must_use]
    pub fn markdown(self) -> String {
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

/// Returns a table in Markdown.
pub fn markdown_table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let head: Vec<_> = head.iter().map(|cell| (*cell).to_owned()).collect();
    let rule = format!("|{}\n", "---|".repeat(head.len()));
    rows.fold(line(&head) + &rule, |text, row| text + &line(&row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_where_its_figures_come_from_and_has_its_tables_and_notes() {
        let origin = Origin::sample();
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
        let doubtful = Origin { quick: true, optimized: false, ..Origin::sample() };
        assert_eq!(doubtful.reservations(), ", too short for figures to rely on, built without optimisation");
        assert_eq!(Origin::sample().reservations(), "");
    }
}
