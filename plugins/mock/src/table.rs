//! Measured figures by batch size and instances, from a CSV file.

use std::{fmt::Display, path::Path, str::FromStr};

use proctor_plugin_api::PluginError;

use crate::lines::Lines;

/// A figure of batches by their size and by the number of busy instances: a latency in microseconds, or the ratio of
/// the tail to the mean.
///
/// ```text
/// batch,1,2,4
/// 1,800,900,1300
/// 8,2100,2600,4100
/// ```
/// The first line lists numbers of instances, the first column batch sizes, both ascending. The text in the corner
/// does not matter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table {
    instances: Vec<u64>,
    batches: Vec<u64>,
    /// `[batch, instances]`, row-major.
    figures: Vec<f64>,
}

impl Table {
    pub(crate) fn read(path: &Path) -> Result<Self, PluginError> {
        let lines = Lines::read(path)?;
        let mut rows = lines.iter();
        let (number, header) = rows.next().ok_or_else(|| lines.empty("line with numbers of instances"))?;
        let fail = |number, problem: String| lines.error(number, problem);
        let mut table = Self { instances: Vec::new(), batches: Vec::new(), figures: Vec::new() };
        for cell in header.split(',').skip(1) {
            push_ascending(&mut table.instances, cell, "numbers of instances")
                .map_err(|why| fail(number, why))?;
        }
        if table.instances.is_empty() {
            return Err(fail(number, "no number of instances, expected a line such as batch,1,2,4".into()));
        }
        for (number, row) in rows {
            table.push_row(row).map_err(|why| fail(number, why))?;
        }
        if table.batches.is_empty() {
            return Err(lines.empty("line with a batch size and its figures"));
        }
        Ok(table)
    }

    fn push_row(&mut self, row: &str) -> Result<(), String> {
        let mut cells = row.split(',');
        push_ascending(&mut self.batches, cells.next().unwrap_or_default(), "batch sizes")?;
        let before = self.figures.len();
        for cell in cells {
            let figure: f64 = parse(cell, "a number of 0 or more")?;
            if !figure.is_finite() || figure < 0.0 {
                return Err(format!("\"{}\" is not a number of 0 or more", cell.trim()));
            }
            self.figures.push(figure);
        }
        let got = self.figures.len() - before;
        let expected = self.instances.len();
        if got == expected {
            return Ok(());
        }
        Err(format!("expected {expected} figures, one for each number of instances, got {got}"))
    }

    /// Returns the figure for a batch and a number of instances, linear between the listed ones. Beyond them, the
    /// nearest figure.
    pub(crate) fn at(&self, batch: usize, instances: u32) -> f64 {
        let (rows, row_share) = between(&self.batches, u64::try_from(batch).unwrap_or(u64::MAX));
        let (columns, column_share) = between(&self.instances, instances.into());
        let cell = |row: usize, column: usize| self.figures[row * self.instances.len() + column];
        let in_row = |row| mixed(cell(row, columns.0), cell(row, columns.1), column_share);
        mixed(in_row(rows.0), in_row(rows.1), row_share)
    }

    /// Returns all figures, for checks.
    pub(crate) fn figures(&self) -> &[f64] {
        &self.figures
    }
}

/// Returns the positions of the two entries of the ascending, non-empty `listed` around `asked`, and how far `asked` is
/// from the first towards the second, as a share. Both are the same if `asked` is listed or lies beyond the ends.
fn between(listed: &[u64], asked: u64) -> ((usize, usize), f64) {
    let last = listed.len() - 1;
    let upper = listed.partition_point(|entry| *entry < asked).min(last);
    if upper == 0 || listed[upper] <= asked {
        return ((upper, upper), 0.0);
    }
    let (low, high) = (listed[upper - 1], listed[upper]);
    ((upper - 1, upper), (asked - low) as f64 / (high - low) as f64)
}

fn mixed(low: f64, high: f64, share: f64) -> f64 {
    // Exact where both are the same, as at what is listed.
    low + share * (high - low)
}

fn push_ascending(listed: &mut Vec<u64>, cell: &str, what: &str) -> Result<(), String> {
    let value: u64 = parse(cell, "a whole number")?;
    if value == 0 || listed.last().is_some_and(|last| *last >= value) {
        return Err(format!("{what} must ascend from 1 or more, so {value} cannot stand here"));
    }
    listed.push(value);
    Ok(())
}

fn parse<T: FromStr<Err: Display>>(cell: &str, what: &str) -> Result<T, String> {
    let cell = cell.trim();
    cell.parse().map_err(|error| format!("\"{cell}\" is not {what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Result<Table, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("latency.csv");
        std::fs::write(&path, text).unwrap();
        Table::read(&path).map_err(|error| error.message)
    }

    #[test]
    fn is_linear_between_entries_and_keeps_to_them_beyond() {
        let table =
            table("# ResNet on a card\nbatch,1, 2,4\n\n1,800,900,1300\n8,2100,2600.5,4100\n").unwrap();
        for (batch, instances, latency_us) in [
            (1, 1, 800.0),
            (1, 2, 900.0),
            (1, 3, 1100.0),
            (2, 1, 985.714_285_714_285_7),
            (4, 3, 2_064.392_857_142_857),
            (8, 2, 2600.5),
            (9, 1, 2100.0),
            (usize::MAX, u32::MAX, 4100.0),
        ] {
            assert_eq!(table.at(batch, instances), latency_us, "batch {batch}, instances {instances}");
        }
    }

    #[test]
    fn a_bad_file_is_named_with_its_line() {
        for (text, parts) in [
            ("", "latency.csv holds no line with numbers of instances"),
            ("batch\n", "line 1: no number of instances"),
            ("batch,1,x\n", "line 1: \"x\" is not a whole number"),
            ("batch,2,1\n", "line 1: numbers of instances must ascend from 1 or more, so 1 cannot"),
            ("batch,0\n", "so 0 cannot stand here"),
            ("batch,1\n", "latency.csv holds no line with a batch size"),
            (
                "batch,1,2\n# note\n4,1\n",
                "line 3: expected 2 figures, one for each number of instances, got 1",
            ),
            ("batch,1\n4,1\n4,1\n", "line 3: batch sizes must ascend"),
            ("batch,1\n4,fast\n", "line 2: \"fast\" is not a number of 0 or more"),
            ("batch,1\n4,-3\n", "line 2: \"-3\" is not a number of 0 or more"),
            ("batch,1\n4,inf\n", "line 2: \"inf\" is not a number of 0 or more"),
        ] {
            let message = table(text).unwrap_err();
            assert!(message.contains(parts), "{message}");
        }
    }
}
