//! Service times of a job, by batch size and number of instances.

use proctor_scaling::{Knobs, Surface};

/// Sharpness with which the slower of host and device determines the time of a batch: 1 adds their times, infinity
/// takes the longer one.
///
/// Pinned by the five jobs that Tables 5 and 6 have at two counts (2, 9, 10, 19, 29): of halves, 2.5 leaves the least
/// squares, 0.8 % on average.
pub const SHARPNESS: f64 = 2.5;

/// Share of the device's time that is lost as soon as instances share it.
///
/// Assumed, since no table has it: with 5 %, PNAS-Large at batch 8 loses throughput to a second instance, as in
/// Fig. 12. Counts from 2 on all have it, so it changes nothing that is pinned at 6 to 10 instances.
pub const SHARING_COST: f64 = 0.05;

/// Ratio of the time that each further sample adds to a batch on the device to the first one's.
///
/// Pinned by job 3, the only one whose batches of 32 keep the device busy: with 0.14, the cost of a further
/// sample on the host matches the other jobs of ImageNet.
pub const DEVICE_STEP: f64 = 0.14;

/// Power of the idle device, in watts (section 4.1).
pub const IDLE_W: f64 = 50.0;

/// Standard deviation of the logarithm of the service time of single samples.
///
/// The steady counts of jobs 1, 2 and 10 allow a 95th percentile of at most 1.048, 1.008 and 1.034 times the mean:
/// this is half of the smallest.
pub const SPREAD_ALONE: f64 = 0.0024;

/// Standard deviation of the logarithm of the service time of batches of two or more.
///
/// The steady sizes 28, 4, 7 and 16 of jobs 3, 11, 13 and 15 are where the search of the paper ends if the 95th
/// percentile is 1.637 to 1.643 times the mean; they show no dependence on the size.
pub const SPREAD_BATCH: f64 = 0.335;

/// Parameters of a job, which determine its times in closed form.
///
/// A batch keeps the host busy, each instance for itself, and the device, which all instances share:
///
/// ```text
/// host(b)   = host + host_step (b - 1)
/// device(b) = device (1 + DEVICE_STEP (b - 1))
/// mean(b,m) = (host(b)^p + (m s(m) device(b))^p)^(1/p)    p = SHARPNESS, s(1) = 1, s(m) = 1 + SHARING_COST
/// ```
///
/// Host and device overlap, so that the longer one decides. Times are log-normal around the mean, with the spread
/// [`SPREAD_ALONE`] or [`SPREAD_BATCH`].
#[derive(Debug, Clone, PartialEq)]
pub struct JobSurface {
    /// Time of a batch of one on the host, in ms.
    pub host_ms: Parameter,
    /// Time on the host that each further sample adds, in ms.
    pub host_step_ms: Parameter,
    /// Time of a batch of one on the device, in ms.
    pub device_ms: Parameter,
    /// Power of the busy device above [`IDLE_W`], in watts.
    pub device_w: Parameter,
    /// Number of items per sample, in which the paper counts throughput: 1 except for the frames of a video.
    pub items_per_sample: u32,
}

/// A number of the fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Value of the parameter.
    pub value: f64,
    /// Source of the value.
    pub origin: Origin,
}

/// The source of a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Figures of Table 5 or 6 for this network and data set, under the number of this job.
    Pinned {
        /// Number of the job.
        by: u32,
    },
    /// Same parameter of other jobs; their mean if there are several.
    Borrowed {
        /// Numbers of the jobs.
        from: Vec<u32>,
    },
    /// Only the target is known.
    Assumed,
}

impl JobSurface {
    /// Returns the time of a batch on the host, in ms.
    fn host_batch_ms(&self, batch_size: usize) -> f64 {
        self.host_ms.value + self.host_step_ms.value * further(batch_size)
    }

    /// Returns the time that a batch spends on the device, which all instances share, in ms.
    fn device_batch_ms(&self, knobs: Knobs) -> f64 {
        self.device_ms.value * (1.0 + DEVICE_STEP * further(knobs.batch_size)) * sharing(knobs.instances)
    }

    /// Returns the share of the time in which the device works, in (0, 1].
    #[must_use]
    pub fn device_share(&self, knobs: Knobs) -> f64 {
        self.device_batch_ms(knobs) / self.mean_ms(knobs)
    }

    /// Returns the power, in watts: the idle device's, plus the additional power while it works.
    #[must_use]
    pub fn power_w(&self, knobs: Knobs) -> f64 {
        IDLE_W + self.device_w.value * self.device_share(knobs)
    }

    /// Returns the throughput as the paper counts it: images, sentences, speech files or frames in a second.
    #[must_use]
    pub fn items_per_s(&self, knobs: Knobs) -> f64 {
        self.throughput_qps(knobs) * f64::from(self.items_per_sample)
    }
}

impl Surface for JobSurface {
    fn mean_ms(&self, knobs: Knobs) -> f64 {
        hypotenuse(self.host_batch_ms(knobs.batch_size), self.device_batch_ms(knobs))
    }

    fn spread(&self, knobs: Knobs) -> f64 {
        if knobs.batch_size > 1 { SPREAD_BATCH } else { SPREAD_ALONE }
    }
}

/// Returns the number of samples after the first.
fn further(batch_size: usize) -> f64 {
    batch_size.saturating_sub(1) as f64
}

/// Returns the time on the device while this many instances use it, over the time of one alone.
pub(super) fn sharing(instances: usize) -> f64 {
    match instances {
        0 | 1 => 1.0,
        count => count as f64 * (1.0 + SHARING_COST),
    }
}

/// Returns the time of two parts that overlap.
pub(super) fn hypotenuse(one: f64, other: f64) -> f64 {
    (one.powf(SHARPNESS) + other.powf(SHARPNESS)).powf(1.0 / SHARPNESS)
}

/// Returns the part that takes this time together with the other, shorter one.
pub(super) fn leg(whole: f64, other: f64) -> f64 {
    (whole.powf(SHARPNESS) - other.powf(SHARPNESS)).powf(1.0 / SHARPNESS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::jobs;

    fn knobs(batch_size: usize, instances: usize) -> Knobs {
        Knobs { batch_size, instances }
    }

    #[test]
    fn latency_grows_with_both_knobs() {
        for job in jobs() {
            for quantile in [0.5, 0.95, 0.99] {
                let tail =
                    |batch_size, instances| job.surface.tail_ms(knobs(batch_size, instances), quantile);
                for (batch, count) in (1..=128).flat_map(|batch| (1..=16).map(move |count| (batch, count))) {
                    assert!(tail(batch, count + 1) > tail(batch, count), "{} {batch} {count}", job.number);
                    // The median of a batch lies below its mean, the median of a single sample at it.
                    let is_first_step = batch == 1 && quantile < 0.9;
                    assert!(is_first_step || tail(batch + 1, count) > tail(batch, count), "{}", job.number);
                    let mean = |batch| job.surface.mean_ms(knobs(batch, count));
                    assert!(mean(batch + 1) > mean(batch), "{} {batch} {count}", job.number);
                }
            }
        }
    }

    #[test]
    fn the_tail_is_that_of_a_log_normal_time() {
        let surface = &jobs()[2].surface;
        let ratio = |quantile| surface.tail_ratio(knobs(4, 1), quantile);
        // Its logarithm is normal: as far above the median as below it.
        assert!((ratio(0.95) * ratio(0.05) / ratio(0.5).powi(2) - 1.0).abs() < 1e-9);
        assert!((ratio(0.841_344_746) / ratio(0.5) - SPREAD_BATCH.exp()).abs() < 1e-6);
        // Midpoints of a million equal shares: their mean is 1.
        let mean = (0..1_000_000).map(|k| ratio((f64::from(k) + 0.5) / 1e6)).sum::<f64>() / 1e6;
        assert!((mean - 1.0).abs() < 1e-4, "{mean}");
        assert!((surface.tail_ratio(knobs(1, 8), 0.95) - 1.004).abs() < 1e-4);
    }

    #[test]
    fn power_lies_between_the_idle_and_the_busy_device() {
        for job in jobs() {
            for (batch, count) in [(1, 1), (32, 1), (1, 10), (32, 10)] {
                let (share, power_w) =
                    (job.surface.device_share(knobs(batch, count)), job.surface.power_w(knobs(batch, count)));
                assert!(share > 0.0 && share <= 1.0, "{} {share}", job.number);
                // Its limit, by section 4.1.
                assert!(power_w > IDLE_W && power_w < 250.0, "{} {power_w}", job.number);
            }
        }
    }
}
