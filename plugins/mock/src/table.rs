//! Measured latencies: latency[batch][instances], from a CSV file.

use std::{fmt::Display, path::Path, str::FromStr};

use proctor_plugin_api::PluginError;

use crate::lines::Lines;

/// How long a batch takes by its size and by the number of busy instances, in microseconds.
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
    latency_us: Vec<f64>,
}

impl Table {
    pub(crate) fn read(path: &Path) -> Result<Self, PluginError> {
        let lines = Lines::read(path)?;
        let mut rows = lines.iter();
        let (number, header) = rows.next().ok_or_else(|| lines.empty("line with numbers of instances"))?;
        let fail = |number, problem: String| lines.error(number, problem);
        let mut table = Self { instances: Vec::new(), batches: Vec::new(), latency_us: Vec::new() };
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
            return Err(lines.empty("line with a batch size and its latencies"));
        }
        Ok(table)
    }

    fn push_row(&mut self, row: &str) -> Result<(), String> {
        let mut cells = row.split(',');
        push_ascending(&mut self.batches, cells.next().unwrap_or_default(), "batch sizes")?;
        let before = self.latency_us.len();
        for cell in cells {
            let latency_us: f64 = parse(cell, "a latency in microseconds")?;
            if !latency_us.is_finite() || latency_us < 0.0 {
                return Err(format!("\"{}\" is not a latency in microseconds", cell.trim()));
            }
            self.latency_us.push(latency_us);
        }
        let got = self.latency_us.len() - before;
        let expected = self.instances.len();
        if got == expected {
            return Ok(());
        }
        Err(format!("expected {expected} latencies, one for each number of instances, got {got}"))
    }

    /// The latency of the smallest listed batch and number of instances that are at least what is asked for; where
    /// none is, the largest.
    pub(crate) fn latency_us(&self, batch: usize, instances: u32) -> f64 {
        let row = at_least(&self.batches, u64::try_from(batch).unwrap_or(u64::MAX));
        let column = at_least(&self.instances, instances.into());
        self.latency_us[row * self.instances.len() + column]
    }
}

/// Position of the smallest entry of the ascending, non-empty `listed` that is at least `asked`, else of the last.
fn at_least(listed: &[u64], asked: u64) -> usize {
    listed.partition_point(|entry| *entry < asked).min(listed.len() - 1)
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
    fn looks_up_the_next_larger_entry_or_the_largest() {
        let table =
            table("# ResNet on a card\nbatch,1, 2,4\n\n1,800,900,1300\n8,2100,2600.5,4100\n").unwrap();
        for (batch, instances, latency_us) in [
            (1, 1, 800.0),
            (1, 2, 900.0),
            (1, 3, 1300.0),
            (2, 1, 2100.0),
            (8, 2, 2600.5),
            (9, 1, 2100.0),
            (usize::MAX, u32::MAX, 4100.0),
        ] {
            assert_eq!(
                table.latency_us(batch, instances),
                latency_us,
                "batch {batch}, instances {instances}"
            );
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
                "line 3: expected 2 latencies, one for each number of instances, got 1",
            ),
            ("batch,1\n4,1\n4,1\n", "line 3: batch sizes must ascend"),
            ("batch,1\n4,fast\n", "line 2: \"fast\" is not a latency"),
            ("batch,1\n4,-3\n", "line 2: \"-3\" is not a latency"),
            ("batch,1\n4,inf\n", "line 2: \"inf\" is not a latency"),
        ] {
            let message = table(text).unwrap_err();
            assert!(message.contains(parts), "{message}");
        }
    }
}
