//! Service times as a function of both knobs: a known device, for judging policies.

use crate::{goal::Goal, knobs::Knobs, normal};

/// A system whose batches take a known time, log-normal around its mean.
pub trait Surface {
    /// Returns the mean service time of a batch, in ms.
    fn mean_ms(&self, knobs: Knobs) -> f64;

    /// Returns the standard deviation of the logarithm of the service time.
    fn spread(&self, knobs: Knobs) -> f64;

    /// Returns the tail of the service time over its mean, at this quantile in (0, 1). At least 1 for upper quantiles.
    ///
    /// The log-normal distribution of mean 1 has its quantile q at exp(z s - s^2 / 2), where z is the normal
    /// distribution's quantile and s the spread.
    fn tail_ratio(&self, knobs: Knobs, quantile: f64) -> f64 {
        let spread = self.spread(knobs);
        if spread == 0.0 {
            return 1.0;
        }
        (normal::normal_quantile(quantile) * spread - spread * spread / 2.0).exp()
    }

    /// Returns the latency of saturated input below which this fraction of the batches stays, in ms.
    fn tail_ms(&self, knobs: Knobs, quantile: f64) -> f64 {
        self.mean_ms(knobs) * self.tail_ratio(knobs, quantile)
    }

    /// Returns the samples served in a second when there is always another one.
    #[expect(clippy::cast_precision_loss, reason = "both knobs are small")]
    fn throughput_qps(&self, knobs: Knobs) -> f64 {
        (knobs.batch_size * knobs.instances) as f64 * 1000.0 / self.mean_ms(knobs)
    }

    /// Returns the knobs with the maximum throughput among all allowed ones whose tail meets the target, if any does.
    #[expect(clippy::cast_precision_loss, reason = "below 2^52")]
    fn best(&self, goal: &Goal) -> Option<Knobs> {
        let (least, most) = (goal.least(), goal.greatest());
        let all = (least.instances..=most.instances).flat_map(|instances| {
            (least.batch_size..=most.batch_size).map(move |batch_size| Knobs { batch_size, instances })
        });
        let target_ms = goal.target_ns as f64 / 1e6;
        all.filter(|knobs| self.tail_ms(*knobs, goal.tail) <= target_ms)
            .max_by(|one, other| self.throughput_qps(*one).total_cmp(&self.throughput_qps(*other)))
    }
}
