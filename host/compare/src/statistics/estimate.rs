//! A figure of one side of a comparison: its value, and its variation on repetition.
//!
//! Everything is in logarithms, so that a difference of two sides is their ratio, and an exchange of the sides its
//! inverse.

use proctor_mt19937::Mt19937;

use super::{
    measured::{Measured, Table},
    random::below,
};
use crate::figure::Figure;

/// Number of resamples: the ends of an interval are then certain to 3 % of its width.
pub(crate) const RESAMPLES: usize = 2000;
/// Latencies and rates below this count as this: there are no logarithms of nothing. A latency of 1 ns is the unit of
/// the clock.
const LEAST: f64 = 1.0;

/// A figure of one side.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) log: f64,
    /// Values of the resamples, less the value itself.
    pub(crate) deviations: Vec<f64>,
    /// Ratio of the value's variance to the resamples'.
    pub(crate) inflation: f64,
    /// Number of degrees of freedom of the variance.
    pub(crate) freedom: f64,
    /// Variance of the value by how the runs vary, of a side that is resampled together with the other.
    pub(crate) between: Option<Between>,
}

impl Estimate {
    /// Estimates a figure of the runs of a side. `random` makes the random numbers of a run by its number; with equal
    /// ones and a `block_len` of both, two sides are resampled together. `between` is the variance between runs to
    /// assume for a side of a single run.
    ///
    /// Returns `None` if a run lacks the figure.
    pub(crate) fn of(
        runs: &[&Measured],
        figure: Figure,
        block_len: Option<usize>,
        between: Option<Between>,
        random: &dyn Fn(&[u64]) -> Mt19937,
    ) -> Option<Self> {
        let tables = runs.iter().map(|run| run.table(figure)).collect::<Option<Vec<_>>>()?;
        let own = |(table, run): (&&Table, &&Measured)| {
            let length = block_len.unwrap_or(table.correlation.block_len);
            of_run(table, figure, length, random(&[run.digest]))
        };
        let runs_alone: Vec<_> = tables.iter().zip(runs).map(own).collect();
        match (&runs_alone[..], between) {
            ([], _) => None,
            ([one], None) => Some(one.clone()),
            ([one], _) if block_len.is_some() => Some(Self { between, ..one.clone() }),
            ([one], Some(between)) => Some(one.clone().with_variance(between)),
            (several, _) if block_len.is_some() => Some(Self::of_repeats_together(several)),
            (several, _) => Some(Self::of_repeats(several, &mut random(&digests(runs)))),
        }
    }

    /// Averages repeats that have the same arrivals, resample by resample: each draws the same blocks of all
    /// of them, so that the effect of the arrivals is drawn once and not once for each run.
    fn of_repeats_together(runs: &[Self]) -> Self {
        let count = runs.len() as f64;
        let mean = |of: &dyn Fn(&Self) -> f64| runs.iter().map(of).sum::<f64>() / count;
        let log = mean(&|run| run.log);
        let of_resamples = mean(&|run| variance_of(&run.deviations));
        let variance = count / (count - 1.0) * mean(&|run| (run.log - log).powi(2));
        Self {
            log,
            deviations: (0..RESAMPLES).map(|number| mean(&|run| run.deviations[number])).collect(),
            inflation: if of_resamples > 0.0 { mean(&Self::variance) / of_resamples } else { 1.0 },
            freedom: runs.iter().map(|run| run.freedom).fold(f64::INFINITY, f64::min),
            between: Some(Between { variance: variance / count, freedom: count - 1.0 }),
        }
    }

    /// Draws repeats, and of each one of its resamples.
    fn of_repeats(runs: &[Self], random: &mut Mt19937) -> Self {
        let count = runs.len() as f64;
        let log = runs.iter().map(|run| run.log).sum::<f64>() / count;
        let mut one = || {
            let drawn = (0..runs.len()).map(|_| {
                let run = &runs[below(random, runs.len())];
                run.log - log + run.deviations[below(random, RESAMPLES)]
            });
            drawn.sum::<f64>() / count
        };
        let deviations: Vec<_> = (0..RESAMPLES).map(|_| one()).collect();
        let squares = runs.iter().map(|run| (run.log - log).powi(2)).sum::<f64>();
        let within = runs.iter().map(Self::variance).sum::<f64>() / count;
        let side = Self { log, deviations, inflation: 1.0, freedom: 1.0, between: None };
        // The variance between the runs includes the variance within, which is known better and is a lower bound.
        let variance = (squares / (count - 1.0)).max(within) / count;
        side.with_variance(Between { variance, freedom: count - 1.0 })
    }

    /// Returns the same, with another variance if that is greater.
    fn with_variance(mut self, between: Between) -> Self {
        let of_resamples = variance_of(&self.deviations);
        if of_resamples > 0.0 {
            self.inflation = between.variance.max(0.0) / of_resamples;
        }
        self.freedom = between.freedom;
        self
    }

    pub(crate) fn variance(&self) -> f64 {
        self.inflation * variance_of(&self.deviations)
    }
}

/// A variance between runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Between {
    pub(crate) variance: f64,
    pub(crate) freedom: f64,
}

impl Between {
    /// Returns the degrees of freedom of the sum of both variances (one is above 0), by Welch and Satterthwaite.
    pub(crate) fn freedom_with(self, other: Self) -> f64 {
        let own = |one: Self| one.variance.powi(2) / one.freedom;
        (self.variance + other.variance).powi(2) / (own(self) + own(other))
    }
}

/// Returns the mean square minus the square of the mean.
pub(crate) fn variance_of(deviations: &[f64]) -> f64 {
    let count = deviations.len().max(1) as f64;
    let mean = deviations.iter().sum::<f64>() / count;
    deviations.iter().map(|deviation| (deviation - mean).powi(2)).sum::<f64>() / count
}

fn digests(runs: &[&Measured]) -> Vec<u64> {
    runs.iter().map(|run| run.digest).collect()
}

fn log(figure: Figure, value: f64) -> f64 {
    if figure.is_latency() { value.max(LEAST).ln() } else { value.max(f64::MIN_POSITIVE).ln() }
}

/// Resamples a run by blocks of `block_len` atoms on the circle of its atoms.
fn resample(table: &Table, figure: Figure, block_len: usize, mut random: Mt19937) -> Vec<f64> {
    let atom_count = table.atom_count();
    let mut blocks = Vec::new();
    let log_value = log(figure, table.value);
    let mut one = || {
        blocks.clear();
        let mut left = atom_count;
        while left > 0 {
            let length = block_len.min(left);
            let start = below(&mut random, atom_count);
            let end = start + length;
            blocks.push((start, end.min(atom_count)));
            if end > atom_count {
                blocks.push((0, end - atom_count));
            }
            left -= length;
        }
        log(figure, table.value_of(&blocks)) - log_value
    };
    (0..RESAMPLES).map(|_| one()).collect()
}

/// Returns one run of a side, resampled.
fn of_run(table: &Table, figure: Figure, block_len: usize, random: Mt19937) -> Estimate {
    let shortened = table.correlation;
    Estimate {
        log: log(figure, table.value),
        deviations: resample(table, figure, block_len, random),
        inflation: shortened.inflation,
        freedom: shortened.freedom,
        between: None,
    }
}
