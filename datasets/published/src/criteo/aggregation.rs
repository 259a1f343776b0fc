//! Samples of recommendation: runs of consecutive rows.
//!
//! A row takes microseconds, so one sample is some hundred of them. The rules draw their number from a table of
//! quantiles, with the same generator and seed for everybody; the reference writes the drawn numbers to a trace file.

use std::{ops::Range, path::Path};

use proctor_datasets::{DatasetError, RowAggregation, read_named_text};
use proctor_mt19937::Mt19937;

/// Seed of the draws.
const SEED: u64 = 123;

/// Rows of a sample at the quantiles 0.05, 0.1 .. 1; 270 on average.
///
/// Source: MLPerf Inference, `dist_quantile.txt` of the benchmark dlrm.
pub const QUANTILES: [u32; 20] =
    [100, 100, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 300, 300, 400, 500, 600, 700];

/// Number of rows of each sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregation {
    /// Each the same number, at least 1. The rules do not allow it.
    Fixed(u32),
    /// Drawn uniformly from `least..=most`, `least` at least 1, as NumPy's `randint` does after `seed(123)`. The rules
    /// do not allow it, and the reference draws other numbers, by Python's own generator.
    Uniform {
        /// Minimum number of rows of a sample.
        least: u32,
        /// Maximum number of rows of a sample.
        most: u32,
    },
    /// Drawn from [`QUANTILES`], as in the rules.
    Quantiles,
}

/// The rows of each sample, in order and without gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Samples {
    row_count: u64,
    starts: Starts,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Starts {
    /// Rows of each sample; the last one has perhaps fewer.
    Every(u64),
    /// The first row of each.
    Listed(Vec<u64>),
}

/// A fault of a trace file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum TraceError {
    #[error("line {line} is \"{text}\", which is not \"start, end, count\"")]
    Line {
        /// Number, from 1.
        line: usize,
        text: String,
    },
    #[error("line {line} has rows {start} to {end} and counts {count}")]
    Count {
        /// Number, from 1.
        line: usize,
        start: u64,
        end: u64,
        count: u64,
    },
    #[error("line {line} begins with row {got} instead of {expected}")]
    Gap {
        /// Number, from 1.
        line: usize,
        expected: u64,
        got: u64,
    },
}

impl Aggregation {
    /// Returns the draw that a user asks for. Samples of a trace are read instead.
    pub(super) fn of(rows: &RowAggregation) -> Self {
        match *rows {
            RowAggregation::Fixed(rows) => Self::Fixed(rows),
            RowAggregation::Uniform { least, most } => Self::Uniform { least, most },
            RowAggregation::Quantiles | RowAggregation::Trace(_) => Self::Quantiles,
        }
    }

    /// Returns the samples of `row_count` rows. The last one has the remaining rows.
    ///
    /// # Panics
    /// If a sample may have no rows, or `least` is above `most`.
    #[must_use]
    pub fn samples(self, row_count: u64) -> Samples {
        if let Self::Fixed(rows) = self {
            assert_ne!(rows, 0, "a sample has at least one row");
            return Samples { row_count, starts: Starts::Every(rows.into()) };
        }
        let mut sizes = Sizes::new(self);
        let mut starts = Vec::new();
        let mut row = 0;
        while row < row_count {
            starts.push(row);
            row += u64::from(sizes.next());
        }
        Samples { row_count, starts: Starts::Listed(starts) }
    }

    /// Returns the number of rows of the first `sample_count` samples, each whole.
    ///
    /// # Panics
    /// As [`Aggregation::samples`].
    #[must_use]
    pub fn rows_of(self, sample_count: u64) -> u64 {
        let mut sizes = Sizes::new(self);
        (0..sample_count).map(|_| u64::from(sizes.next())).sum()
    }
}

/// The sizes in sequence.
struct Sizes {
    aggregation: Aggregation,
    rng: Mt19937,
}

impl Sizes {
    fn new(aggregation: Aggregation) -> Self {
        if let Aggregation::Uniform { least, most } = aggregation {
            assert!(0 < least && least <= most, "a sample has {least} to {most} rows");
        }
        Self { aggregation, rng: Mt19937::new(SEED) }
    }

    fn next(&mut self) -> u32 {
        match self.aggregation {
            Aggregation::Fixed(rows) => rows,
            Aggregation::Uniform { least, most } => least + self.up_to(most - least),
            Aggregation::Quantiles => QUANTILES[self.up_to(QUANTILES.len() as u32 - 1) as usize],
        }
    }

    /// Returns a number from 0 to `most`: as many low bits of a draw as `most` has, the draws above it left out.
    ///
    /// Source: NumPy's `randint` after `seed`, as the reference calls it.
    fn up_to(&mut self, most: u32) -> u32 {
        let mask = u32::MAX.checked_shr(most.leading_zeros()).unwrap_or(0);
        // NumPy draws nothing where there is no choice.
        if mask == 0 {
            return 0;
        }
        loop {
            let draw = self.rng.next_u32() & mask;
            if draw <= most {
                return draw;
            }
        }
    }
}

impl Samples {
    /// Returns the number of samples.
    #[must_use]
    pub fn count(&self) -> u64 {
        match &self.starts {
            Starts::Every(rows) => self.row_count.div_ceil(*rows),
            Starts::Listed(starts) => starts.len() as u64,
        }
    }

    /// Returns the number of rows of all samples.
    #[must_use]
    pub fn row_count(&self) -> u64 {
        self.row_count
    }

    /// Returns the rows of a sample; `None` if there is no such sample.
    #[must_use]
    pub fn rows(&self, index: u64) -> Option<Range<u64>> {
        if index >= self.count() {
            return None;
        }
        match &self.starts {
            Starts::Every(rows) => Some(index * rows..((index + 1) * rows).min(self.row_count)),
            Starts::Listed(starts) => {
                let index = usize::try_from(index).ok()?;
                Some(starts[index]..starts.get(index + 1).copied().unwrap_or(self.row_count))
            }
        }
    }

    /// Returns the names of the samples, which are their rows: `0..200`.
    pub(super) fn names(&self) -> Vec<String> {
        let rows = (0..self.count()).filter_map(|index| self.rows(index));
        rows.map(|Range { start, end }| format!("{start}..{end}")).collect()
    }

    /// Checks that a file of `row_count` rows is complete.
    pub(super) fn fit(&self, row_count: u64, path: &Path) -> Result<(), DatasetError> {
        if self.row_count <= row_count {
            return Ok(());
        }
        let reason = format!(
            "its samples are {row_count} rows, but the trace has {}; take the trace of this set",
            self.row_count
        );
        Err(DatasetError::Malformed { path: path.to_owned(), reason })
    }

    /// Returns the samples of the trace that a user names, if one is named.
    ///
    /// # Errors
    /// [`DatasetError::Read`] or [`DatasetError::Malformed`] for the trace.
    pub(super) fn of_trace(rows: &RowAggregation) -> Result<Option<Self>, DatasetError> {
        let RowAggregation::Trace(path) = rows else { return Ok(None) };
        let samples = Self::from_trace(&read_named_text(path)?);
        samples.map(Some).map_err(|error| DatasetError::Malformed {
            path: path.clone(),
            reason: format!("{error}; give a trace as the reference writes it"),
        })
    }

    /// Returns the samples of a trace file.
    ///
    /// # Errors
    /// Returns the first line that does not go on where the one before it ended.
    pub fn from_trace(text: &str) -> Result<Self, TraceError> {
        let mut starts = Vec::new();
        let mut row_count = 0;
        for (index, text) in text.lines().enumerate() {
            let line = index + 1;
            let fault = || TraceError::Line { line, text: text.to_owned() };
            let numbers: Result<Vec<u64>, _> = text.split(", ").map(str::parse).collect();
            let [start, end, count] =
                numbers.ok().and_then(|found| found.try_into().ok()).ok_or_else(fault)?;
            if start >= end || end - start != count {
                return Err(TraceError::Count { line, start, end, count });
            }
            if start != row_count {
                return Err(TraceError::Gap { line, expected: row_count, got: start });
            }
            starts.push(start);
            row_count = end;
        }
        Ok(Self { row_count, starts: Starts::Listed(starts) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of rows of the test half of day 23.
    const ROW_COUNT: u64 = 89_137_319;

    #[test]
    fn the_published_totals_come_out() {
        let samples = Aggregation::Quantiles.samples(ROW_COUNT);
        assert_eq!(samples.count(), 330_067);
        let sizes: Vec<_> =
            (0..10).map(|index| samples.rows(index).unwrap()).map(|rows| rows.end - rows.start).collect();
        assert_eq!(sizes, [200, 200, 200, 200, 500, 700, 200, 100, 100, 500]);
        assert_eq!(samples.rows(99).unwrap().end, 27_000);
        assert_eq!(Aggregation::Quantiles.rows_of(100), 27_000);
        assert_eq!(samples.rows(330_066).unwrap().end, ROW_COUNT);
        assert_eq!(samples.rows(330_067), None);
        let line = |rows: Range<u64>| format!("{}, {}, {}\n", rows.start, rows.end, rows.end - rows.start);
        let trace: String = (0..samples.count()).filter_map(|index| samples.rows(index)).map(line).collect();
        assert_eq!(Samples::from_trace(&trace).unwrap(), samples);
    }

    #[test]
    fn the_first_draws_are_those_of_the_reference() {
        let mut sizes = Sizes::new(Aggregation::Quantiles);
        let draws: Vec<_> = (0..10).map(|_| sizes.up_to(19)).collect();
        assert_eq!(draws, [13, 2, 2, 6, 17, 19, 10, 1, 0, 17]);
    }

    #[test]
    fn a_draw_takes_as_many_bits_as_it_needs() {
        let mut sizes = Sizes::new(Aggregation::Quantiles);
        assert_eq!(sizes.up_to(0), 0);
        let full = sizes.up_to(u32::MAX);
        assert_eq!(full, Mt19937::new(SEED).next_u32());
        assert!((0..1000).all(|_| sizes.up_to(4) <= 4));
    }

    #[test]
    fn fixed_and_uniform_samples_cover_all_rows() {
        let fixed = Aggregation::Fixed(300).samples(1000);
        assert_eq!((fixed.count(), fixed.rows(3), fixed.rows(4)), (4, Some(900..1000), None));
        let uniform = Aggregation::Uniform { least: 2, most: 5 }.samples(1001);
        let all: Vec<_> = (0..uniform.count()).map(|index| uniform.rows(index).unwrap()).collect();
        assert!(
            all.windows(2)
                .all(|pair| pair[0].end == pair[1].start && (2..=5).contains(&(pair[0].end - pair[0].start)))
        );
        assert_eq!((all[0].start, all[all.len() - 1].end), (0, 1001));
        assert_eq!(Aggregation::Quantiles.samples(0).count(), 0);
    }

    #[test]
    fn a_trace_with_a_gap_or_a_wrong_number_is_refused() {
        let refusal = |text: &str| Samples::from_trace(text).unwrap_err();
        assert_eq!(refusal("0, 5, 5\n6, 7, 1\n"), TraceError::Gap { line: 2, expected: 5, got: 6 });
        assert_eq!(refusal("0, 5, 4\n"), TraceError::Count { line: 1, start: 0, end: 5, count: 4 });
        assert_eq!(refusal("0, 0, 0\n"), TraceError::Count { line: 1, start: 0, end: 0, count: 0 });
        for text in ["0, 5", "0,5,5", "0, 5, 5, 5", "-1, 5, 6", "", "0, 5, x"] {
            let expected = TraceError::Line { line: 1, text: text.to_owned() };
            assert_eq!(refusal(&format!("{text}\n")), expected);
        }
    }
}
