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
    /// Ends of its interval; `None` if the samples do not support one.
    pub(crate) interval: Option<(f64, f64)>,
    /// True if the correlation of neighbours reaches too far for the length of a run.
    pub(crate) reaches_too_far: bool,
}

/// Method of making intervals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Method {
    /// Probability that an interval holds the true difference, above 0 and at most [`Self::CONFIDENCE_MAX`].
    pub confidence: f64,
    /// Seed of the resamples.
    pub seed: u64,
}

impl Method {
    /// Maximum confidence: ten resamples lie beyond each end of its interval.
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
    let together = match have_same_arrivals(a, b) {
        true => tables.iter().map(|(_, correlation)| correlation.block_len).max(),
        false => None,
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
    let spread = if together.is_some() { spread_together } else { spread_apart };
    let interval = carries.then(|| spread(&of_a, &of_b).ends(method.confidence));
    Some(Difference {
        value_a: of_a.log.exp(),
        value_b: of_b.log.exp(),
        log_ratio,
        interval: interval.map(|(low, high)| (log_ratio + low.min(0.0), log_ratio + high.max(0.0))),
        reaches_too_far,
    })
}

/// Returns whether the queries of all runs of both sides arrived at the same instants. They are drawn
/// together then: an effect of the arrivals on both sides is not a difference.
pub(crate) fn have_same_arrivals(a: &[&Measured], b: &[&Measured]) -> bool {
    a.iter().chain(b).all(|run| (run.schedule, run.count) == (a[0].schedule, a[0].count))
}

/// Returns the variance of a single run compared with a side of `count` runs.
fn borrowed(several: &Estimate, count: usize, single: &Estimate) -> Between {
    let count = count as f64;
    match several.between {
        // What varies within a run is looked at for both sides together.
        Some(between) => Between { variance: between.variance * count, ..between },
        None => Between {
            variance: (several.variance() * count).max(single.variance()),
            freedom: several.freedom,
        },
    }
}

/// Resamples of a difference, less the difference itself, and their required spread.
struct Spread {
    deviations: Vec<f64>,
    variance: f64,
    freedom: f64,
}

/// Returns the spread of independent sides.
fn spread_apart(a: &Estimate, b: &Estimate) -> Spread {
    let [of_a, of_b] = [a, b].map(|side| Between { variance: side.variance(), freedom: side.freedom });
    Spread {
        deviations: differences(a, b),
        variance: of_a.variance + of_b.variance,
        freedom: of_a.freedom_with(of_b),
    }
}

/// Returns the spread of sides with the same arrivals: their effect on both is in the resamples alone, and cancels in
/// the difference.
fn spread_together(a: &Estimate, b: &Estimate) -> Spread {
    let deviations = differences(a, b);
    let alone = variance_of(&a.deviations) + variance_of(&b.deviations);
    // The part of a side in the variance of the difference.
    let within = |side: &Estimate| match alone > 0.0 {
        true => side.variance() * variance_of(&deviations) / alone,
        false => 0.0,
    };
    let (of_a, of_b) = (within(a), within(b));
    let Some((between_a, between_b)) = a.between.zip(b.between) else {
        // The two are one sequence.
        return Spread { deviations, variance: of_a + of_b, freedom: a.freedom.min(b.freedom) };
    };
    // The variance between the runs includes the variance within, which is known better and is a lower bound.
    let of_a = Between { variance: between_a.variance.max(of_a), ..between_a };
    let of_b = Between { variance: between_b.variance.max(of_b), ..between_b };
    Spread { deviations, variance: of_a.variance + of_b.variance, freedom: of_a.freedom_with(of_b) }
}

fn differences(a: &Estimate, b: &Estimate) -> Vec<f64> {
    a.deviations.iter().zip(&b.deviations).map(|(a, b)| b - a).collect()
}

impl Spread {
    /// Returns the ends of the interval relative to the difference: the ends of the resamples, widened for
    /// the variance and its degrees of freedom.
    fn ends(self, confidence: f64) -> (f64, f64) {
        let Self { mut deviations, variance, freedom } = self;
        if variance <= 0.0 {
            return (0.0, 0.0);
        }
        let fraction = f64::midpoint(1.0, confidence);
        let student = student_quantile(fraction, freedom);
        let of_resamples = variance_of(&deviations);
        if of_resamples <= 0.0 {
            // All variation is between runs.
            let half = student * variance.sqrt();
            return (-half, half);
        }
        let factor = student / normal_quantile(fraction) * (variance / of_resamples).sqrt();
        deviations.sort_by(f64::total_cmp);
        // The resample at a fraction, rounded away from the middle.
        let last = deviations.len() - 1;
        let high = ((fraction * deviations.len() as f64) as usize).min(last);
        (factor * deviations[last - high], factor * deviations[high])
    }
}

fn mix_figure(figure: Figure) -> u64 {
    match figure {
        Figure::Percentile(tenths) => tenths.into(),
        Figure::Mean => 10_000,
        Figure::Throughput => 20_000,
        Figure::Accuracy => 30_000,
    }
}
