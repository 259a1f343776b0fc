//! The interval of a difference of two sides.

use super::{
    estimate::{Between, Estimate, RESAMPLES, variance_of},
    measured::Measured,
    random::sequence,
    student::{normal_quantile, student_quantile},
};
use crate::figure::Figure;

/// The difference of a figure between two sides, as the logarithm of the ratio of B to A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Difference {
    /// Geometric mean of the runs of A.
    pub(crate) value_a: f64,
    /// Geometric mean of the runs of B.
    pub(crate) value_b: f64,
    /// Logarithm of the ratio.
    pub(crate) log_ratio: f64,
    /// Ends of its interval; `None` where the samples do not carry one.
    pub(crate) interval: Option<(f64, f64)>,
    /// Whether the correlation of neighbours reaches too far for the length of a run.
    pub(crate) reaches_too_far: bool,
}

/// How intervals are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Method {
    /// Probability that an interval holds the true difference, above 0 and at most [`Self::CONFIDENCE_MAX`].
    pub confidence: f64,
    /// Seed of the resamples.
    pub seed: u64,
}

impl Method {
    /// Greatest confidence: ten resamples lie beyond each end of its interval.
    pub const CONFIDENCE_MAX: f64 = 1.0 - 20.0 / RESAMPLES as f64;
}

impl Default for Method {
    fn default() -> Self {
        Self { confidence: 0.95, seed: 0 }
    }
}

/// Compares a figure of the runs of two sides; `None` if one lacks it.
pub(crate) fn difference(
    a: &[&Measured],
    b: &[&Measured],
    figure: Figure,
    method: Method,
) -> Option<Difference> {
    let table_of = |run: &&Measured| run.table(figure).map(|table| (table.carries, table.correlation));
    let tables = a.iter().chain(b).map(table_of).collect::<Option<Vec<_>>>()?;
    let carries = tables.iter().all(|(carries, _)| *carries);
    let reaches_too_far = tables.iter().any(|(_, correlation)| correlation.reaches_too_far);
    // Queries that arrived at the same instants on both sides are drawn together: what the arrivals do to both of them
    // is no difference.
    let together = match (a, b) {
        ([a], [b]) if a.schedule == b.schedule && a.count == b.count => {
            tables.iter().map(|(_, correlation)| correlation.block_len).max()
        }
        _ => None,
    };
    let purpose = mix_figure(figure);
    let alone = |own: &[u64]| {
        let words = [purpose].into_iter().chain(own.iter().copied());
        sequence(method.seed, &words.collect::<Vec<_>>())
    };
    let shared = |_: &[u64]| sequence(method.seed, &[purpose]);
    let random: &dyn Fn(&[u64]) -> _ = if together.is_some() { &shared } else { &alone };
    let estimate = |runs, between| Estimate::of(runs, figure, together, between, random);
    let (mut of_a, mut of_b) = (estimate(a, None)?, estimate(b, None)?);
    // A side of one run is taken to vary from run to run as the other does.
    if b.len() > 1 && a.len() == 1 {
        of_a = estimate(a, Some(borrowed(&of_b, b.len(), &of_a)))?;
    } else if a.len() > 1 && b.len() == 1 {
        of_b = estimate(b, Some(borrowed(&of_a, a.len(), &of_b)))?;
    }
    let log_ratio = of_b.log - of_a.log;
    let digests = |runs: &[&Measured]| {
        let mut digests: Vec<_> = runs.iter().map(|run| run.digest).collect();
        digests.sort_unstable();
        digests
    };
    // Both sides are the same to the last sample: there is nothing to be uncertain of.
    if digests(a) == digests(b) {
        let value = of_a.log.exp();
        let interval = Some((0.0, 0.0));
        return Some(Difference {
            value_a: value,
            value_b: value,
            log_ratio: 0.0,
            interval,
            reaches_too_far,
        });
    }
    let interval = carries.then(|| interval(&of_a, &of_b, together.is_some(), method.confidence));
    Some(Difference {
        value_a: of_a.log.exp(),
        value_b: of_b.log.exp(),
        log_ratio,
        interval: interval.map(|(low, high)| (log_ratio + low.min(0.0), log_ratio + high.max(0.0))),
        reaches_too_far,
    })
}

/// The variance of a single run beside a side of `count` runs.
fn borrowed(several: &Estimate, count: usize, single: &Estimate) -> Between {
    let variance = (several.variance() * count as f64).max(single.variance());
    Between { variance, freedom: several.freedom }
}

/// Ends of the interval, from the difference itself: those of the resamples, as far apart as the variance and its
/// degrees of freedom want them.
fn interval(a: &Estimate, b: &Estimate, are_together: bool, confidence: f64) -> (f64, f64) {
    let mut deviations: Vec<_> = a.deviations.iter().zip(&b.deviations).map(|(a, b)| b - a).collect();
    let of_resamples = variance_of(&deviations);
    if of_resamples <= 0.0 {
        return (0.0, 0.0);
    }
    let (variance_a, variance_b) = (a.variance(), b.variance());
    let sum = variance_a + variance_b;
    let variance = if are_together {
        // What both have in common is in the resamples alone.
        of_resamples * sum / (variance_of(&a.deviations) + variance_of(&b.deviations))
    } else {
        sum
    };
    // Welch and Satterthwaite; drawn together, the two are one sequence.
    let freedom = if are_together {
        a.freedom.min(b.freedom)
    } else {
        sum.powi(2) / (variance_a.powi(2) / a.freedom + variance_b.powi(2) / b.freedom)
    };
    let fraction = f64::midpoint(1.0, confidence);
    let widening = student_quantile(fraction, freedom) / normal_quantile(fraction);
    let factor = widening * (variance / of_resamples).sqrt();
    deviations.sort_by(f64::total_cmp);
    // The resample at a fraction, rounded away from the middle.
    let last = deviations.len() - 1;
    let high = ((fraction * deviations.len() as f64) as usize).min(last);
    (factor * deviations[last - high], factor * deviations[high])
}

fn mix_figure(figure: Figure) -> u64 {
    match figure {
        Figure::Percentile(tenths) => tenths.into(),
        Figure::Mean => 10_000,
        Figure::Throughput => 20_000,
        Figure::Accuracy => 30_000,
    }
}
