//! Jobs, with their printed data and derived values.

use std::sync::LazyLock;

use proctor_scaling::{Approach, Knobs};

use super::{
    fit,
    surface::JobSurface,
    tables::{self, Efficiency, Profile, Row},
};

/// A job of Table 4, with its rows in the other tables and the surface that is fitted to them.
#[derive(Debug, Clone, PartialEq)]
pub struct PaperJob {
    /// Number in the paper, from 1 to 30.
    pub number: u32,
    /// Network, by its short name.
    pub network: &'static str,
    /// Name of the data set.
    pub dataset: &'static str,
    /// Target of the 95th percentile of the latency, in ms.
    pub target_ms: f64,
    /// The approach that DNNScaler chose: batching or multi-tenancy.
    pub method: Approach,
    /// Batch size or number of instances, as the method says, that DNNScaler came to rest on.
    pub steady: usize,
    /// Row of Table 5, if it has one.
    pub profile: Option<Profile>,
    /// Row of Table 6, if it has one.
    pub efficiency: Option<Efficiency>,
    /// Times of the job, as fitted.
    pub surface: JobSurface,
}

impl PaperJob {
    /// Returns the knobs at which DNNScaler came to rest.
    #[must_use]
    pub fn steady_knobs(&self) -> Knobs {
        match self.method {
            Approach::Batching => Knobs { batch_size: self.steady, instances: 1 },
            Approach::MultiTenancy | Approach::Auto => Knobs { batch_size: 1, instances: self.steady },
        }
    }
}

/// Returns the jobs in the order of their numbers.
pub fn jobs() -> &'static [PaperJob] {
    static JOBS: LazyLock<Vec<PaperJob>> = LazyLock::new(|| {
        let rows = tables::rows();
        let surfaces = fit::surfaces(&rows);
        let with_surface = |(row, surface): (Row, JobSurface)| PaperJob {
            number: row.number,
            network: row.network,
            dataset: row.dataset,
            target_ms: row.target_ms,
            method: row.method,
            steady: row.steady,
            profile: row.profile,
            efficiency: row.efficiency,
            surface,
        };
        rows.into_iter().zip(surfaces).map(with_surface).collect()
    });
    &JOBS
}

/// Returns the job of this number, from 1 to 30.
#[must_use]
pub fn job(number: u32) -> Option<&'static PaperJob> {
    jobs().iter().find(|job| job.number == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_have_as_many_rows_as_the_paper() {
        let numbers: Vec<u32> = jobs().iter().map(|job| job.number).collect();
        assert_eq!(numbers, (1..=30).collect::<Vec<_>>());
        assert_eq!(jobs().iter().filter(|job| job.profile.is_some()).count(), 10);
        assert_eq!(jobs().iter().filter(|job| job.efficiency.is_some()).count(), 15);
        assert_eq!(jobs().iter().filter(|job| job.method == Approach::Batching).count(), 15);
        assert!(job(31).is_none());
    }

    #[test]
    fn improvements_and_efficiencies_are_those_of_the_figures() {
        for job in jobs() {
            if let Some(it) = job.profile {
                let improvement = |per_s: f64| (per_s / it.alone_per_s - 1.0) * 100.0;
                // Throughput was rounded before it was printed: 0.005 of 15.46 items per second is 0.03 %.
                assert!(
                    (improvement(it.instances_8_per_s) - it.improvement_instances).abs() < 0.1,
                    "{job:?}"
                );
                assert!((improvement(it.batch_32_per_s) - it.improvement_batch).abs() < 0.1, "{job:?}");
            }
            if let Some(it) = job.efficiency {
                assert!((it.per_s / it.power_w - it.per_j).abs() < 0.006, "{job:?}");
                assert!((it.per_s_clipper / it.power_w_clipper - it.per_j_clipper).abs() < 0.006, "{job:?}");
            }
        }
    }

    #[test]
    fn only_jobs_of_multi_tenancy_are_in_table_6() {
        let of_table_6 = jobs().iter().filter(|job| job.efficiency.is_some());
        assert!(of_table_6.clone().all(|job| job.method == Approach::MultiTenancy));
        assert_eq!(
            of_table_6.count(),
            jobs().iter().filter(|job| job.method == Approach::MultiTenancy).count()
        );
    }
}
