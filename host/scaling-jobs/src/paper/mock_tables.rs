//! The surface of a job as tables for the plugin `mock`.

use proctor_scaling::{Knobs, Surface};

use super::jobs::PaperJob;

/// Listed batch sizes. The plugin interpolates between them; around the first step, where the spread begins,
/// there is nothing to interpolate.
const BATCH_SIZES: [usize; 9] = [1, 2, 4, 8, 16, 32, 64, 96, 128];
/// All listed numbers of instances.
const INSTANCES: std::ops::RangeInclusive<usize> = 1..=10;

/// The two files of a job for the mock plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MockTables {
    /// Mean service times in microseconds: the option `table`.
    pub table: String,
    /// 95th percentile over mean: the option `table_tail`.
    pub table_tail: String,
}

/// Returns the surface of a job as CSV, a row for each batch size and a column for each number of instances.
#[must_use]
pub fn mock_tables(job: &PaperJob) -> MockTables {
    let row = |first: String, cell: &dyn Fn(usize) -> String| {
        let cells: Vec<String> = INSTANCES.map(cell).collect();
        format!("{first},{}\n", cells.join(","))
    };
    let csv = |cell: &dyn Fn(Knobs) -> String| {
        let title = format!("# Job {}: {} on {}.\n", job.number, job.network, job.dataset);
        let header = row("batch".to_owned(), &|instances| instances.to_string());
        let rows = BATCH_SIZES.map(|batch_size| {
            row(batch_size.to_string(), &|instances| cell(Knobs { batch_size, instances }))
        });
        title + &header + &rows.concat()
    };
    MockTables {
        table: csv(&|knobs| format!("{:.1}", job.surface.mean_ms(knobs) * 1000.0)),
        table_tail: csv(&|knobs| format!("{:.6}", job.surface.tail_ratio(knobs, 0.95))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::jobs;

    /// Cell for a batch size and a number of instances, with interpolation between batch sizes as in the plugin.
    fn cell(csv: &str, batch_size: usize, instances: usize) -> f64 {
        let rows: Vec<Vec<f64>> = csv
            .lines()
            .skip(2)
            .map(|row| row.split(',').map(|cell| cell.parse().unwrap()).collect())
            .collect();
        let after = rows.iter().position(|row| row[0] >= batch_size as f64).unwrap();
        let (low, high) = (&rows[after.saturating_sub(1)], &rows[after]);
        let share = if after == 0 { 0.0 } else { (batch_size as f64 - low[0]) / (high[0] - low[0]) };
        low[instances] + share * (high[instances] - low[instances])
    }

    #[test]
    fn what_is_interpolated_is_near_the_surface() {
        for job in jobs() {
            let tables = mock_tables(job);
            for batch_size in 1..=128 {
                for instances in 1..=10 {
                    let knobs = Knobs { batch_size, instances };
                    let mean_ms = cell(&tables.table, batch_size, instances) / 1000.0;
                    let error = mean_ms / job.surface.mean_ms(knobs) - 1.0;
                    assert!(error.abs() < 0.02, "{} {knobs} {error}", job.number);
                    let tail = cell(&tables.table_tail, batch_size, instances);
                    assert!((tail / job.surface.tail_ratio(knobs, 0.95) - 1.0).abs() < 1e-5);
                }
            }
        }
    }
}
