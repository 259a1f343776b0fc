//! Measured latencies of networks by number of instances, and what they say about one that was measured at a few.
//!
//! [`CurveLibrary`] is a matrix of networks and numbers of instances, which `file` keeps in CSV; `completion` estimates
//! the row of a network of which a few cells are known, and `svd` takes the matrix apart for it.

mod completion;
mod file;
mod svd;

use self::completion::{RANK, complete};
pub use self::file::{CurvesError, LineFault};
use crate::{knobs::Knobs, paper::jobs::jobs, surface::Surface};

/// Latencies of networks by number of instances, in ms: a row for each network, from 1 instance on.
///
/// # Example
/// ```
/// use proctor_scaling::CurveLibrary;
///
/// // Inception-V1 was measured alone and with 8 instances; without its own curve in the library:
/// let estimates = CurveLibrary::of_the_paper(Some(1)).complete(&[(1, 8.43), (8, 33.4)], 10);
/// assert!((estimates[4] / 21.0 - 1.0).abs() < 0.1);
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CurveLibrary {
    /// Number of columns, 0 while there is no row.
    count: usize,
    curves: Vec<(String, Vec<f64>)>,
}

/// Largest number of instances in the paper.
const PAPER_COUNT: usize = 10;

impl CurveLibrary {
    /// Curves of the paper's jobs whose surfaces are pinned by Table 5, but not those of the network of job `asked`,
    /// which would be its own answer.
    #[must_use]
    pub fn of_the_paper(asked: Option<u32>) -> Self {
        let asked = jobs().iter().find(|job| Some(job.number) == asked).map(|job| job.network);
        let kept = jobs().iter().filter(|job| job.profile.is_some() && Some(job.network) != asked);
        let curve = |instances| Knobs { instances, ..Knobs::LEAST };
        let curves = kept.map(|job| {
            let latencies = (1..=PAPER_COUNT).map(|count| job.surface.mean_ms(curve(count))).collect();
            (format!("{} on {}", job.network, job.dataset), latencies)
        });
        Self { count: PAPER_COUNT, curves: curves.collect() }
    }

    /// Estimates of the latency at 1 to `count` instances, from what is `known`: numbers of instances with latencies,
    /// in any unit.
    ///
    /// By completion of the matrix at rank 2; with no rows, by a straight line. Estimates never fall, and are empty if
    /// nothing is known.
    #[must_use]
    pub fn complete(&self, known: &[(usize, f64)], count: usize) -> Vec<f64> {
        self.complete_at(RANK, known, count)
    }

    /// The same at another rank, to compare.
    pub(crate) fn complete_at(&self, rank: usize, known: &[(usize, f64)], count: usize) -> Vec<f64> {
        let rows: Vec<Vec<f64>> = self.curves.iter().map(|(_, latencies)| latencies.clone()).collect();
        complete(&rows, known, count, rank)
    }

    /// The library without the curve of this name.
    #[must_use]
    pub fn without(mut self, network: &str) -> Self {
        self.curves.retain(|(name, _)| name != network);
        self
    }

    /// The networks with their latencies in ms, from 1 instance on.
    pub fn curves(&self) -> impl Iterator<Item = (&str, &[f64])> {
        self.curves.iter().map(|(network, latencies)| (network.as_str(), latencies.as_slice()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::job;

    #[test]
    fn the_library_leaves_out_the_network_that_it_is_asked_about() {
        let networks = |asked| {
            let library = CurveLibrary::of_the_paper(asked);
            library.curves().map(|(network, _)| network.to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(networks(None).len(), 10);
        // Job 14 is job 1's network on another data set, and Inc-V2 is there with both.
        assert_eq!(networks(Some(14)).len(), 9);
        assert!(networks(Some(14)).iter().all(|network| !network.starts_with("Inc-V1 ")));
        assert_eq!(networks(Some(2)).len(), 8);
        assert_eq!(networks(Some(12)).len(), 10);
    }

    #[test]
    fn estimates_without_the_network_are_within_a_tenth() {
        for job in jobs().iter().filter(|job| job.profile.is_some()) {
            let at = |instances| job.surface.mean_ms(Knobs { instances, ..Knobs::LEAST });
            let library = CurveLibrary::of_the_paper(Some(job.number));
            let estimates = library.complete(&[(1, at(1)), (8, at(8))], 10);
            for (instances, estimate) in (1..).zip(&estimates) {
                let error = estimate / at(instances) - 1.0;
                assert!(error.abs() < 0.1, "{} {instances} {error}", job.number);
            }
        }
    }

    #[test]
    fn jobs_of_the_paper_begin_within_one_step_of_where_they_rest() {
        for number in [1, 2, 10, 29, 30] {
            let job = job(number).unwrap();
            let at = |instances| job.surface.mean_ms(Knobs { instances, ..Knobs::LEAST });
            let library = CurveLibrary::of_the_paper(Some(number));
            let estimates = library.complete(&[(1, at(1)), (8, at(8))], 10);
            let first = estimates.iter().take_while(|latency_ms| **latency_ms <= job.target_ms).count();
            assert!(first.abs_diff(job.steady) <= 1, "{number}: {first}");
        }
    }
}
