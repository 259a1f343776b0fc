//! Markdown: runs as a table.

use std::io::{self, Write};

use proctor_results::RunSummary;

/// Titles of the columns.
const TITLES: [&str; 10] = [
    "run",
    "verdict",
    "benchmark",
    "scenario",
    "plugin",
    "metric",
    "unit",
    "p50 (ms)",
    "p99 (ms)",
    "accuracy",
];

/// Writes a table with a row for each run.
///
/// # Errors
/// If writing fails.
pub fn markdown(runs: &[RunSummary], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "| {} |", TITLES.join(" | "))?;
    writeln!(out, "|{}", "---|".repeat(TITLES.len()))?;
    for run in runs {
        let milliseconds =
            |ns: Option<u64>| ns.map_or_else(String::new, |ns| format!("{:.6}", ns as f64 / 1e6));
        let latency = run.query_latency.as_ref();
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let cells = [
            run.folder.display().to_string(),
            run.marked_outcome(),
            text(&run.benchmark),
            text(&run.scenario),
            text(&run.plugin),
            run.metric.as_ref().map_or_else(String::new, |metric| metric.value.to_string()),
            run.metric.as_ref().map_or_else(String::new, |metric| metric.unit.clone()),
            milliseconds(latency.map(|latency| latency.p50_ns)),
            milliseconds(latency.map(|latency| latency.p99_ns)),
            run.accuracy.as_ref().map_or_else(String::new, |accuracy| {
                let passed = if run.accuracy_passed == Some(true) { "passed" } else { "failed" };
                format!("{} {} ({passed})", accuracy.name, accuracy.value)
            }),
        ];
        writeln!(out, "| {} |", cells.map(|cell| escaped(&cell)).join(" | "))?;
    }
    Ok(())
}

/// Returns a text that stays in its cell, and is no markup.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\r' => escaped.push(' '),
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' => escaped.extend(['\\', letter]),
            _ => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leaves_its_cell() {
        assert_eq!(escaped("a|b\n<i>c_d"), "a\\|b &lt;i>c\\_d");
    }
}
