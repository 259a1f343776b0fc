//! `host list runs`: the runs below a folder, with their verdicts.

use std::path::Path;

use proctor_results::{Run, RunSummary};
use proctor_words::{HostError, text};

use crate::commands::results::{RUNS, runs_below, unreadable};

/// Titles of the columns.
const TITLES: [&str; 8] = ["run", "verdict", "accuracy", "benchmark", "scenario", "plugin", "metric", "p99"];

/// Returns the table of the runs below the folder that is named, or below [`RUNS`].
///
/// # Errors
/// If the folder cannot be read. A run that cannot be read is a row that says so.
pub(super) fn list(named: Option<&Path>) -> Result<String, HostError> {
    let folders = runs_below(named)?;
    if folders.is_empty() {
        return Ok(format!("{} has no run\n", named.unwrap_or(Path::new(RUNS)).display()));
    }
    let mut rows = vec![TITLES.map(str::to_owned).to_vec()];
    rows.extend(folders.iter().map(|folder| row(folder)));
    Ok(text::table(&rows))
}

fn row(folder: &Path) -> Vec<String> {
    let run = match Run::open(folder) {
        Ok(run) => RunSummary::of(&run),
        Err(error) => {
            return vec![folder.display().to_string(), format!("unreadable: {}", unreadable(error))];
        }
    };
    let given = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let accuracy = match (run.accuracy_passed, &run.accuracy) {
        (Some(passed), Some(accuracy)) => {
            let passed = if passed { "passed" } else { "FAILED" };
            format!("{passed} ({} {})", accuracy.name, text::four_digits(accuracy.value))
        }
        _ => "-".to_owned(),
    };
    let by_engine = run.engine.as_ref().map_or_else(String::new, |engine| format!(" ({engine} engine)"));
    vec![
        run.folder.display().to_string(),
        run.marked_outcome(),
        accuracy,
        given(&run.benchmark),
        given(&run.scenario) + &by_engine,
        given(&run.plugin),
        run.metric
            .as_ref()
            .map_or_else(|| "-".to_owned(), |metric| text::quantity(metric.value, &metric.unit)),
        run.query_latency.map_or_else(|| "-".to_owned(), |latency| text::duration(latency.p99_ns)),
    ]
}
