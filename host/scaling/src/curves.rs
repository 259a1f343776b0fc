//! Measured latencies of networks by number of instances, and their conclusions about one that was measured at a few.
//!
//! [`CurveLibrary`] is a matrix of networks and numbers of instances, which `file` keeps in CSV; `completion`
//! estimates a network's row from a few known cells, and `svd` decomposes the matrix for it.

mod completion;
mod file;
mod svd;

use std::path::Path;

use self::completion::{RANK, complete};
pub use self::file::{CurvesError, LineFault};

/// Latencies of networks by number of instances, in ms: a row for each network, from 1 instance on.
///
/// # Example
/// ```
/// use proctor_scaling::CurveLibrary;
///
/// // Inception-V1 was measured alone and with 8 instances; without its own curve in the library:
/// let library = CurveLibrary::of_the_paper().without("Inc-V1 on ImageNet");
/// let estimates = library.complete(&[(1, 8.43), (8, 33.4)], 10);
/// assert!((estimates[4] / 21.0 - 1.0).abs() < 0.1);
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CurveLibrary {
    /// Number of columns, 0 while there is no row.
    count: usize,
    curves: Vec<(String, Vec<f64>)>,
}

/// Latencies of the jobs of the DNNScaler paper that Table 5 pins, at 1 to 10 instances: docs/scaling-jobs.md.
const OF_THE_PAPER: &str = include_str!("curves/paper.csv");

impl CurveLibrary {
    /// Returns the curves of the jobs of the DNNScaler paper.
    ///
    /// # Panics
    /// Never: a test reads them.
    #[must_use]
    pub fn of_the_paper() -> Self {
        Self::parse(Path::new("curves/paper.csv"), OF_THE_PAPER).expect("curves that can be read")
    }

    /// Estimates the latency at 1 to `count` instances from `known`: numbers of instances with latencies, in
    /// any unit.
    ///
    /// By completion of the matrix at rank 2; with no rows, by a straight line. Estimates never fall, and are empty if
    /// nothing is known.
    #[must_use]
    pub fn complete(&self, known: &[(usize, f64)], count: usize) -> Vec<f64> {
        self.complete_at(RANK, known, count)
    }

    /// Returns the same at another rank, to compare.
    #[must_use]
    pub fn complete_at(&self, rank: usize, known: &[(usize, f64)], count: usize) -> Vec<f64> {
        let rows: Vec<Vec<f64>> = self.curves.iter().map(|(_, latencies)| latencies.clone()).collect();
        complete(&rows, known, count, rank)
    }

    /// Returns the library without the curve of this name.
    #[must_use]
    pub fn without(mut self, network: &str) -> Self {
        self.curves.retain(|(name, _)| name != network);
        self
    }

    /// Returns the number of columns: latencies of each network.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the networks with their latencies in ms, from 1 instance on.
    pub fn curves(&self) -> impl Iterator<Item = (&str, &[f64])> {
        self.curves.iter().map(|(network, latencies)| (network.as_str(), latencies.as_slice()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curves_of_the_paper_can_be_read_and_left_out() {
        let library = CurveLibrary::of_the_paper();
        assert_eq!((library.curves().count(), library.count), (10, 10));
        assert!(library.curves().all(|(_, latencies)| latencies.is_sorted()));
        assert_eq!(library.without("Inc-V1 on ImageNet").curves().count(), 9);
    }
}
