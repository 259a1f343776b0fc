//! Service times as a function of both knobs: a device that is known, to judge policies by.

use crate::knobs::Knobs;

/// A system whose batches take a known time.
pub trait Surface {
    /// Mean service time of a batch, in ms.
    fn mean_ms(&self, knobs: Knobs) -> f64;

    /// The tail of the service time over its mean, at this quantile in (0, 1). At least 1 for upper quantiles.
    fn tail_ratio(&self, knobs: Knobs, quantile: f64) -> f64;

    /// Latency of saturated input below which this fraction of the batches stays, in ms.
    fn tail_ms(&self, knobs: Knobs, quantile: f64) -> f64 {
        self.mean_ms(knobs) * self.tail_ratio(knobs, quantile)
    }

    /// Samples served in a second when there is always another one.
    #[expect(clippy::cast_precision_loss, reason = "both knobs are small")]
    fn throughput_qps(&self, knobs: Knobs) -> f64 {
        (knobs.batch_size * knobs.instances) as f64 * 1000.0 / self.mean_ms(knobs)
    }
}
