//! Estimates the limit between a good load and a bad one.
//!
//! Two shapes of a queue are used. The logarithm of the share of misses is nearly a straight line over the logarithm
//! of the rate, near the limit, where there are misses on both sides. Further away there are none; but the tail of
//! the waiting time grows like 1 / (capacity - rate), so that its inverse is nearly a straight line over the rate,
//! which is zero at the capacity: the rate at which a hopeless probe got its queries done.
//!
//! Source: the exponential tail of the waiting time and its heavy-traffic limit (Kingman 1961; Kleinrock, *Queueing
//! Systems*, volume 2, section 2.2).

use crate::record::{ProbeEnd, ProbeRecord};

/// The loads above which nothing, and below which everything, is known to be under the limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bracket<'a> {
    pub(crate) lower: &'a ProbeRecord,
    pub(crate) upper: &'a ProbeRecord,
}

impl Bracket<'_> {
    /// Returns the load at which the limit is expected, between both ends.
    pub(crate) fn limit(&self) -> f64 {
        let (lower, upper) = (self.lower.load, self.upper.load);
        let guess = self.by_share().or_else(|| self.by_tail());
        guess.filter(|load| lower < *load && *load < upper).unwrap_or((lower * upper).sqrt())
    }

    /// Estimates the crossing from the shares of misses.
    fn by_share(&self) -> Option<f64> {
        let slope = self.slope()?;
        let lower = self.lower.log_share()?;
        Some(self.lower.load * (-lower / slope).exp())
    }

    /// Returns by how much the logarithm of the share grows with the load's, if misses on both sides show it.
    fn slope(&self) -> Option<f64> {
        // In a hopeless probe the share is as large as the probe is long.
        if self.upper.end == ProbeEnd::Hopeless {
            return None;
        }
        let rise = self.upper.log_share()? - self.lower.log_share()?;
        (rise > 0.0).then(|| rise / (self.upper.load / self.lower.load).ln())
    }

    /// Estimates the crossing from the tails of the latency.
    fn by_tail(&self) -> Option<f64> {
        let inverse = |record: &ProbeRecord| Some(1.0 / record.tail_ratio().filter(|ratio| *ratio > 0.0)?);
        let lower = inverse(self.lower)?;
        let (load, upper) = match self.upper.end {
            ProbeEnd::Hopeless if self.upper.throughput_qps > self.lower.load => {
                (self.upper.throughput_qps.min(self.upper.load), 0.0)
            }
            ProbeEnd::Hopeless => return None,
            _ => (self.upper.load, inverse(self.upper)?),
        };
        // The limit is where the inverse is 1.
        Some(self.lower.load + (load - self.lower.load) * (lower - 1.0) / (lower - upper))
    }
}

/// Returns by how much the logarithm of the share of misses grows with the load's, near the limit: a line through all
/// informative records, each as heavy as its independent misses. Returns the usual value if too little is known.
pub(crate) fn steepness<'a>(records: impl Iterator<Item = &'a ProbeRecord>) -> f64 {
    let points: Vec<_> =
        records.filter(|record| record.end != ProbeEnd::Hopeless).filter_map(point).collect();
    let weight: f64 = points.iter().map(|[_, _, weight]| weight).sum();
    let mean = |axis: usize| points.iter().map(|point| point[axis] * point[2]).sum::<f64>() / weight;
    let (load, share) = (mean(0), mean(1));
    let spread: f64 = points.iter().map(|point| point[2] * (point[0] - load).powi(2)).sum();
    let along: f64 = points.iter().map(|point| point[2] * (point[0] - load) * (point[1] - share)).sum();
    let slope = along / spread;
    let shares = points.iter().map(|point| point[1]);
    let rise = shares.clone().fold(f64::NEG_INFINITY, f64::max) - shares.fold(f64::INFINITY, f64::min);
    match slope.is_finite() && rise >= TELLING_RISE {
        true => slope.clamp(LEAST_STEEPNESS, MOST_STEEPNESS),
        false => USUAL_STEEPNESS,
    }
}

/// Returns whether the record shows how far its load is from the limit: a few misses, and not far away.
pub(crate) fn is_telling(record: &ProbeRecord) -> bool {
    record.log_share().is_some_and(|log_share| log_share.abs() <= FAR)
}

/// Returns the logarithms of load and share, and the weight. Far from the limit the line is bent.
fn point(record: &ProbeRecord) -> Option<[f64; 3]> {
    let log_share = record.log_share().filter(|_| is_telling(record))?;
    let seen = record.limiting()?;
    Some([record.load.ln(), log_share, seen.missed_count as f64 / seen.dispersion])
}

/// Steepness of a queue whose bound is some ten service times.
const USUAL_STEEPNESS: f64 = 12.0;
const LEAST_STEEPNESS: f64 = 3.0;
const MOST_STEEPNESS: f64 = 500.0;
/// Smaller differences may be noise.
const TELLING_RISE: f64 = 0.4;
const FAR: f64 = 2.0;
