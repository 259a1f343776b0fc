//! Models the observations as a function of both knobs.

use super::gaussian::Gaussian;
use crate::{
    goal::Goal,
    knobs::Knobs,
    normal::{density, normal_quantile},
    seen::Seen,
};

/// Measurement of one setting.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    pub(super) knobs: Knobs,
    /// Natural logarithm of the mean latency in ns.
    ln_mean: f64,
    /// Natural logarithm of the tail over the mean.
    ln_ratio: f64,
    /// Natural logarithm of samples in a second.
    ln_qps: f64,
    batches: f64,
    /// Variance that a change of the system has added to the latency's.
    stale: f64,
    /// True if it was above the target for longer than chance explains.
    pub(super) is_bad: bool,
}

impl Point {
    /// Returns the setting of a window. It is bad if more samples were above the target than chance explains.
    #[expect(clippy::cast_precision_loss, reason = "counts and times below 2^52")]
    pub(super) fn of(goal: &Goal, seen: &Seen) -> Self {
        let ln_mean = seen.mean_ns.max(1.0).ln();
        Self {
            knobs: seen.knobs,
            ln_mean,
            ln_ratio: (seen.tail_ns.max(1) as f64).ln() - ln_mean,
            ln_qps: seen.throughput_qps.max(1e-9).ln(),
            batches: seen.batches as f64,
            stale: 0.0,
            is_bad: goal.is_exceeded(seen.batches, seen.violations as f64 / seen.samples.max(1) as f64),
        }
    }

    /// Returns the samples in a second that were seen here.
    pub(super) fn throughput_qps(&self) -> f64 {
        self.ln_qps.exp()
    }

    /// Records that the system has become slower by this factor, as far as one point can show.
    pub(super) fn slow_down(&mut self, ln_factor: f64) {
        self.ln_mean += ln_factor;
        self.ln_qps -= ln_factor;
        self.stale += DRIFT_VARIANCE;
        self.is_bad = false;
    }

    fn ln_knobs(&self) -> [f64; 2] {
        ln_knobs(self.knobs)
    }

    /// Returns the standard deviation of the logarithm of log-normal times with this tail over the mean.
    fn spread(&self, goal: &Goal) -> f64 {
        // The logarithm of the ratio is z s - s^2 / 2.
        let z = normal_quantile(goal.tail).max(1.0);
        (z - (z * z - 2.0 * self.ln_ratio).max(0.0).sqrt()).max(SPREAD_MIN)
    }
}

/// Variance of the logarithm that a change of the system adds: 5 % either way.
const DRIFT_VARIANCE: f64 = 0.05 * 0.05;

/// Standard deviation of the logarithm by which a surface may differ from its law far from every point.
const SURFACE_DEVIATION: f64 = 0.12;

/// Minimum standard deviation of the logarithm of a time.
const SPREAD_MIN: f64 = 0.003;

/// Additional distance between a single sample and a batch for the ratio of tail to mean: one says little
/// about the other.
const SINGLE: f64 = 4.0 * LENGTH;

/// Mean squared error of the logarithm by which a law may fit worse and still be as likely: 1 %.
const SAME_FIT: f64 = 1e-4;

/// Distance in the logarithm of a knob over which a difference from the law holds: a factor of 2.
const LENGTH: f64 = 0.7;

/// A surface that was fitted to points.
///
/// The mean latency follows a law that is linear in each knob: `a + b k + max(0, m - s) (c + d k)` for
/// batches of `k` samples on `m` instances, with `s` served in parallel; all coefficients are at least 0, so
/// it grows with both. If the points leave `s` open, an estimate is as uncertain as the fitting laws differ.
/// The difference of a point from the law is treated as a Gaussian process in the logarithms of the knobs.
/// The ratio of tail to mean is such a process around its average.
///
/// If another program occasionally takes the processor for some milliseconds, neighbours differ more than
/// such processes do, and between and beyond them these would promise values never observed. So neither is
/// believed beyond the range of the points.
#[derive(Debug)]
pub(super) struct Model {
    law: Law,
    /// Laws with another number of instances side by side that fit the points about as well.
    rivals: Vec<Law>,
    differences: Gaussian,
    /// Minimum and maximum difference of a point, or 0.
    difference_range: [f64; 2],
    ratio: f64,
    ratios: Gaussian,
    /// Minimum and maximum logarithm of the ratio of a point.
    ratio_range: [f64; 2],
    /// Saturated throughput relative to the latency's prediction, as a logarithm: the loss between batches.
    ln_loss: f64,
}

/// Estimate of the model for a setting.
#[derive(Debug, Clone, Copy)]
pub(super) struct Estimate {
    pub(super) tail_ns: f64,
    /// Standard deviation of the tail's logarithm.
    pub(super) deviation: f64,
    pub(super) throughput_qps: f64,
    /// Standard deviation of the logarithm of the mean latency, and so of the throughput.
    pub(super) mean_deviation: f64,
}

impl Model {
    /// Fits a surface to at least one point.
    pub(super) fn fit(points: &[Point], goal: &Goal) -> Self {
        let (law, rivals) = Law::fit(points);
        let coordinates: Vec<_> = points.iter().map(Point::ln_knobs).collect();
        let residuals: Vec<_> = points.iter().map(|point| point.ln_mean - law.ln_mean(point.knobs)).collect();
        let total: f64 = points.iter().map(|point| point.batches).sum();
        let ratio = points.iter().map(|point| point.ln_ratio * point.batches).sum::<f64>() / total;
        let mean_noise: Vec<_> = points
            .iter()
            .map(|point| point.spread(goal).powi(2) / point.batches + 1e-6 + point.stale)
            .collect();
        let tail_noise: Vec<_> = points
            .iter()
            .map(|point| quantile_variance(goal.tail, point.batches) * point.spread(goal).powi(2) + 1e-6)
            .collect();
        let ratio_residuals: Vec<_> = points.iter().map(|point| point.ln_ratio - ratio).collect();
        let ratio_variance =
            points.iter().map(|point| (point.ln_ratio - ratio).powi(2) * point.batches).sum::<f64>() / total;
        let ln_loss =
            points.iter().map(|point| point.ln_qps - ln_ideal_qps(point.knobs, point.ln_mean)).sum::<f64>()
                / points.len() as f64;
        Self {
            law,
            rivals,
            difference_range: range(residuals.iter().copied().chain([0.0])),
            ratio_range: range(points.iter().map(|point| point.ln_ratio)),
            differences: Gaussian::learn(
                coordinates,
                &residuals,
                &mean_noise,
                SURFACE_DEVIATION * SURFACE_DEVIATION,
                LENGTH,
            ),
            ratio,
            ratios: Gaussian::learn(
                points.iter().map(|point| ratio_coordinates(point.knobs)).collect(),
                &ratio_residuals,
                &tail_noise,
                (0.5 * ratio).powi(2).max(ratio_variance).max(1e-4),
                2.0 * LENGTH,
            ),
            ln_loss,
        }
    }

    pub(super) fn at(&self, knobs: Knobs) -> Estimate {
        let coordinates = ln_knobs(knobs);
        let (difference, deviation) = self.differences.at(&coordinates);
        let law_ln_mean = self.law.ln_mean(knobs);
        let dispute = |rival: &Law| (rival.ln_mean(knobs) - law_ln_mean).abs();
        let mean_deviation = deviation.hypot(self.rivals.iter().map(dispute).fold(0.0, f64::max));
        let (ratio, ratio_deviation) = self.ratios.at(&ratio_coordinates(knobs));
        let [least, greatest] = self.difference_range;
        let ln_mean = law_ln_mean + difference.clamp(least, greatest);
        let [least, greatest] = self.ratio_range;
        Estimate {
            tail_ns: (ln_mean + (self.ratio + ratio).clamp(least, greatest)).exp(),
            deviation: mean_deviation.hypot(ratio_deviation),
            mean_deviation,
            throughput_qps: (ln_ideal_qps(knobs, ln_mean) + self.ln_loss).exp(),
        }
    }
}

/// Returns the minimum and the maximum of some values.
fn range(values: impl Iterator<Item = f64>) -> [f64; 2] {
    values.fold([f64::INFINITY, f64::NEG_INFINITY], |[least, greatest], value| {
        [least.min(value), greatest.max(value)]
    })
}

/// Returns the variance of a quantile that is estimated from a number of draws of a standard normal distribution.
fn quantile_variance(quantile: f64, draws: f64) -> f64 {
    quantile * (1.0 - quantile) / (draws * density(normal_quantile(quantile)).powi(2))
}

/// Returns the samples in a second if instances never pause, as a logarithm.
fn ln_ideal_qps(knobs: Knobs, ln_mean: f64) -> f64 {
    let [ln_batch, ln_instances] = ln_knobs(knobs);
    ln_batch + ln_instances - ln_mean + 1e9_f64.ln()
}

#[expect(clippy::cast_precision_loss, reason = "both knobs are small")]
fn ln_knobs(knobs: Knobs) -> [f64; 2] {
    [(knobs.batch_size as f64).ln(), (knobs.instances as f64).ln()]
}

/// Returns the coordinates for the tail over the mean.
fn ratio_coordinates(knobs: Knobs) -> [f64; 2] {
    let [ln_batch, ln_instances] = ln_knobs(knobs);
    [if knobs.batch_size > 1 { ln_batch + SINGLE } else { ln_batch }, ln_instances]
}

/// The law that a [`Model`] follows.
#[derive(Debug, Clone, Copy)]
struct Law {
    coefficients: [f64; 4],
    /// Number of instances that are served in parallel without slowing each other.
    side_by_side: f64,
}

impl Law {
    /// Numbers of instances that are tried as `side_by_side`.
    const SIDE_BY_SIDE: [f64; 6] = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0];

    /// Returns the law with the least squared relative errors; of several that fit as well, the one with the fewest
    /// side by side. The others come with it.
    fn fit(points: &[Point]) -> (Self, Vec<Self>) {
        let error = |law: &Self| {
            let errors = points.iter().map(|point| (law.ln_mean(point.knobs) - point.ln_mean).powi(2));
            errors.sum::<f64>() / points.len() as f64 + 1e-5 * law.side_by_side
        };
        let mut laws = Self::SIDE_BY_SIDE
            .map(|side_by_side| Self::fit_to(points, side_by_side))
            .map(|law| (error(&law), law));
        laws.sort_by(|one, other| one.0.total_cmp(&other.0));
        let [(least, law), rivals @ ..] = laws;
        let rivals = rivals.into_iter().filter(|(error, _)| *error <= least + SAME_FIT);
        (law, rivals.map(|(_, law)| law).collect())
    }

    /// Finds the coefficients that minimise the sum of squared relative errors, none below 0, by coordinate descent.
    ///
    /// If there are fewer points than coefficients, a weak pull decides: towards a batch with half of its
    /// time growing with its samples, and towards instances that slow each other by the same factor for any
    /// batch.
    fn fit_to(points: &[Point], side_by_side: f64) -> Self {
        /// Weights of the pull: the first, strong ones lead quickly to the result for which the last one takes long.
        const PULLS: [f64; 3] = [1e-1, 1e-2, 1e-3];
        const SWEEPS: usize = 150;
        /// Default share of the latency that another instance adds.
        const SLOW_DOWN: f64 = 0.5;
        let terms = |point: &Point| Self::terms(point.knobs, side_by_side);
        let smallest = points.iter().min_by_key(|point| point.knobs.batch_size * point.knobs.instances);
        let scale = smallest.map_or(1.0, |point| point.ln_mean.exp() / terms(point)[1]);
        let rows: Vec<[f64; 4]> =
            points.iter().map(|point| terms(point).map(|term| term / point.ln_mean.exp())).collect();
        let knows_instances = points.iter().any(|point| terms(point)[2] > 0.0);
        let mut law = [0.5, 0.5, 0.25, 0.25].map(|share| share * scale);
        for pull in PULLS.iter().flat_map(|pull| [pull / (scale * scale); SWEEPS]) {
            for at in 0..law.len() {
                let alone = (law[0] + law[1]).max(f64::MIN_POSITIVE);
                let slow_down = if knows_instances { (law[2] + law[3]) / alone } else { SLOW_DOWN };
                let towards = [scale / 2.0, scale / 2.0, law[0] * slow_down, law[1] * slow_down][at];
                let (mut above, mut below) = (pull * towards, pull);
                for row in &rows {
                    let others = (0..law.len()).filter(|other| *other != at);
                    let others: f64 = others.map(|other| row[other] * law[other]).sum();
                    above += row[at] * (1.0 - others);
                    below += row[at] * row[at];
                }
                law[at] = (above / below).max(0.0);
            }
        }
        Self { coefficients: law, side_by_side }
    }

    #[expect(clippy::cast_precision_loss, reason = "both knobs are small")]
    fn terms(knobs: Knobs, side_by_side: f64) -> [f64; 4] {
        let (size, others) = (knobs.batch_size as f64, (knobs.instances as f64 - side_by_side).max(0.0));
        [1.0, size, others, others * size]
    }

    fn ln_mean(&self, knobs: Knobs) -> f64 {
        let terms = Self::terms(knobs, self.side_by_side);
        terms
            .iter()
            .zip(self.coefficients)
            .map(|(term, coefficient)| term * coefficient)
            .sum::<f64>()
            .max(1.0)
            .ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goal() -> Goal {
        Goal::new(2_000_000, 0.95, Knobs { batch_size: 128, instances: 4 })
    }

    /// Batches, instances, mean and p95 in us.
    fn point((batch_size, instances, mean_us, tail_us): (usize, usize, f64, f64)) -> Point {
        let seen = Seen {
            knobs: Knobs { batch_size, instances },
            batches: 500,
            samples: 500 * batch_size as u64,
            violations: 0,
            duration_ns: 200_000_000,
            mean_ns: mean_us * 1e3,
            tail_ns: (tail_us * 1e3) as u64,
            served_qps: None,
            throughput_qps: (batch_size * instances) as f64 * 1e6 / mean_us,
        };
        Point::of(&goal(), &seen)
    }

    #[test]
    fn time_slices_of_others_do_not_promise_what_was_never_seen() {
        // From two busy cores: a mean with slices in it, tails without.
        let points = [
            (57, 2, 381.0, 294.0),
            (73, 1, 296.0, 356.0),
            (44, 2, 324.0, 260.0),
            (128, 4, 2150.0, 13640.0),
            (56, 3, 624.0, 3265.0),
            (56, 2, 444.0, 2826.0),
            (1, 1, 8.0, 12.0),
            (37, 4, 602.0, 217.0),
        ]
        .map(point);
        let model = Model::fit(&points, &goal());
        let greatest = points.iter().map(Point::throughput_qps).fold(0.0, f64::max);
        for instances in 1..=4 {
            for batch_size in 1..=128 {
                let knobs = Knobs { batch_size, instances };
                let Estimate { tail_ns, throughput_qps, .. } = model.at(knobs);
                assert!(
                    tail_ns > 1000.0 && throughput_qps < 3.0 * greatest,
                    "{knobs}: {tail_ns} {throughput_qps}"
                );
            }
        }
    }

    #[test]
    fn how_many_are_served_side_by_side_is_in_doubt_until_it_was_seen() {
        // Two cores, with only one instance and four observed.
        let mut points =
            [(1, 1, 9.5, 12.0), (16, 1, 77.0, 80.0), (1, 4, 19.0, 24.0), (128, 4, 1200.0, 1300.0)]
                .map(point)
                .to_vec();
        let on_two = Knobs { batch_size: 96, instances: 2 };
        let before = Model::fit(&points, &goal()).at(on_two);
        assert!(before.throughput_qps < 400_000.0 && before.hoped_qps() > 425_000.0, "{before:?}");
        points.push(point((96, 2, 450.0, 500.0)));
        let after = Model::fit(&points, &goal()).at(Knobs { batch_size: 80, instances: 2 });
        assert!(after.hoped_qps() < 1.1 * after.throughput_qps, "{after:?}");
    }
}
