//! Latencies of the jobs by number of instances, as `dnnscaler` knows them.

use proctor_scaling::CurveLibrary;

/// Returns the curves of the paper's jobs except a network's own, which would be its own answer.
pub(crate) fn curves_without(network: &str) -> CurveLibrary {
    let all = CurveLibrary::of_the_paper();
    let is_of_network = |name: &str| name.strip_prefix(network).is_some_and(|rest| rest.starts_with(" on "));
    let own: Vec<_> =
        all.curves().map(|(name, _)| name.to_owned()).filter(|name| is_of_network(name)).collect();
    own.iter().fold(all, |library, name| library.without(name))
}

#[cfg(test)]
mod tests {
    use proctor_scaling::{Knobs, Surface as _};

    use super::*;
    use crate::paper::{PaperJob, job, jobs};

    /// Jobs whose surfaces are pinned by Table 5.
    fn pinned() -> impl Iterator<Item = &'static PaperJob> {
        jobs().iter().filter(|job| job.profile.is_some())
    }

    fn latency_ms(job: &PaperJob, instances: usize) -> f64 {
        job.surface.mean_ms(Knobs { instances, ..Knobs::LEAST })
    }

    #[test]
    fn the_library_that_is_shipped_has_the_curves_of_the_surfaces() {
        let library = CurveLibrary::of_the_paper();
        let shipped: Vec<_> =
            library.curves().map(|(name, latencies)| (name.to_owned(), latencies.to_vec())).collect();
        let fitted: Vec<_> = pinned()
            .map(|job| {
                let latencies = (1..=10).map(|count| latency_ms(job, count)).collect::<Vec<_>>();
                (format!("{} on {}", job.network, job.dataset), latencies)
            })
            .collect();
        let lines = fitted.iter().map(|(name, latencies)| {
            let cells: Vec<_> = latencies.iter().map(ToString::to_string).collect();
            format!("{name},{}", cells.join(","))
        });
        assert!(
            shipped == fitted,
            "curves/paper.csv of proctor-scaling is to be\n{}",
            lines.collect::<Vec<_>>().join("\n")
        );
    }

    #[test]
    fn the_network_that_it_is_asked_about_is_left_out() {
        let networks = |number| {
            let library = curves_without(job(number).unwrap().network);
            library.curves().map(|(network, _)| network.to_owned()).collect::<Vec<_>>()
        };
        // Job 14 is job 1's network on another data set, and Inc-V2 is there with both.
        assert_eq!(networks(14).len(), 9);
        assert!(networks(14).iter().all(|network| !network.starts_with("Inc-V1 ")));
        assert_eq!(networks(2).len(), 8);
        assert_eq!(networks(12).len(), 10);
    }

    #[test]
    fn estimates_without_the_network_are_within_a_tenth() {
        for job in pinned() {
            let estimates =
                curves_without(job.network).complete(&[(1, latency_ms(job, 1)), (8, latency_ms(job, 8))], 10);
            for (instances, estimate) in (1..).zip(&estimates) {
                let error = estimate / latency_ms(job, instances) - 1.0;
                assert!(error.abs() < 0.1, "{} {instances} {error}", job.number);
            }
        }
    }

    #[test]
    fn jobs_begin_within_one_step_of_where_they_rest() {
        for number in [1, 2, 10, 29, 30] {
            let job = job(number).unwrap();
            let estimates =
                curves_without(job.network).complete(&[(1, latency_ms(job, 1)), (8, latency_ms(job, 8))], 10);
            let first = estimates.iter().take_while(|latency_ms| **latency_ms <= job.target_ms).count();
            assert!(first.abs_diff(job.steady) <= 1, "{number}: {first}");
        }
    }
}
