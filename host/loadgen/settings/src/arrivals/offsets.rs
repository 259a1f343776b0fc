//! The offsets of an arrival process, drawn one after another.

use std::{f64::consts::TAU, sync::Arc};

use proctor_mt19937::Mt19937;

use crate::arrivals::{ArrivalProcess, trace::Trace};

impl ArrivalProcess {
    /// Returns the scheduled offsets at this mean rate, in ns from the first, ascending and without an end.
    ///
    /// Parameters and rate must pass [`check`](Self::check): with others the offsets mean nothing, or take very long to
    /// draw.
    ///
    /// ```
    /// # use proctor_loadgen_settings::ArrivalProcess;
    /// let offsets = ArrivalProcess::Constant.offsets(1000.0, 7);
    /// assert_eq!(offsets.take(3).collect::<Vec<_>>(), [0, 1_000_000, 2_000_000]);
    /// ```
    #[must_use]
    pub fn offsets(&self, rate_qps: f64, seed: u64) -> Offsets {
        Offsets::new(self, rate_qps, seed)
    }
}

/// The scheduled offsets of a process, in ns, ascending and without an end. The first is 0.
///
/// Its memory does not depend on how many are taken; a trace is shared.
#[derive(Debug, Clone)]
pub struct Offsets {
    next_ns: u64,
    draw: Draw,
}

/// The state that the next offset follows from.
#[derive(Debug, Clone)]
enum Draw {
    Poisson { rng: Box<Mt19937>, rate_qps: f64 },
    Constant(EvenSpacing),
    Gamma { rng: Box<Mt19937>, gap: GammaGap, clock: FineClock },
    OnOff { rng: Box<Mt19937>, periods: Periods, clock: FineClock },
    Diurnal { rng: Box<Mt19937>, wave: Wave, clock: FineClock },
    Trace { trace: Arc<Trace>, stretch: f64, count: u64 },
}

impl Offsets {
    fn new(process: &ArrivalProcess, rate_qps: f64, seed: u64) -> Self {
        let mut rng = Box::new(Mt19937::new(seed));
        let (mean_gap_ns, clock) = (1e9 / rate_qps, FineClock::default());
        let draw = match process {
            ArrivalProcess::Poisson => Draw::Poisson { rng, rate_qps },
            ArrivalProcess::Constant => Draw::Constant(EvenSpacing { gap_ns: mean_gap_ns, count: 1 }),
            // The gaps are exponential, so this is the Poisson process.
            ArrivalProcess::Gamma { cv: 1.0 } => Draw::Poisson { rng, rate_qps },
            ArrivalProcess::Gamma { cv } => Draw::Gamma { rng, gap: GammaGap::new(mean_gap_ns, *cv), clock },
            ArrivalProcess::OnOff { on_ms, off_ms, off_share } => {
                let periods = Periods::new(mean_gap_ns, [on_ms * 1e6, off_ms * 1e6], *off_share, &mut rng);
                Draw::OnOff { rng, periods, clock }
            }
            ArrivalProcess::Diurnal { period_s, amplitude } => {
                let wave = Wave { period_ns: (period_s * 1e9) as u64, amplitude: *amplitude, mean_gap_ns };
                Draw::Diurnal { rng, wave, clock }
            }
            ArrivalProcess::Trace(trace) => {
                Draw::Trace { trace: Arc::clone(trace), stretch: trace.rate_qps() / rate_qps, count: 1 }
            }
        };
        Self { next_ns: 0, draw }
    }

    /// Returns the spacing, if it is even.
    #[must_use]
    pub fn even_spacing(&self) -> Option<EvenSpacing> {
        if let Draw::Constant(spacing) = &self.draw { Some(*spacing) } else { None }
    }
}

impl Iterator for Offsets {
    type Item = u64;

    #[inline] // Into the loop that issues, in another crate.
    fn next(&mut self) -> Option<u64> {
        let offset_ns = self.next_ns;
        self.next_ns = match &mut self.draw {
            Draw::Poisson { rng, rate_qps } => offset_ns.saturating_add(rng.exponential_ns(*rate_qps)),
            Draw::Constant(spacing) => spacing.next_ns(),
            Draw::Gamma { rng, gap, clock } => clock.after(offset_ns, gap.draw_ns(rng)),
            Draw::OnOff { rng, periods, clock } => clock.after(offset_ns, periods.draw_ns(rng)),
            Draw::Diurnal { rng, wave, clock } => {
                let gap_ns = wave.draw_ns(rng, offset_ns, clock.fraction_ns);
                clock.after(offset_ns, gap_ns)
            }
            Draw::Trace { trace, stretch, count } => {
                *count += 1;
                stretched(trace.offset_ns(*count - 1), *stretch)
            }
        };
        Some(offset_ns)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::MAX, None)
    }
}

/// Returns a recorded offset at another rate. At the rate of the trace itself it stays as it is, to the nanosecond.
fn stretched(offset_ns: u128, stretch: f64) -> u64 {
    if stretch == 1.0 {
        return u64::try_from(offset_ns).unwrap_or(u64::MAX);
    }
    (offset_ns as f64 * stretch) as u64
}

/// Offsets at a fixed distance, which need not be whole nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct EvenSpacing {
    gap_ns: f64,
    /// Number of offsets so far.
    count: u64,
}

impl EvenSpacing {
    fn next_ns(&mut self) -> u64 {
        self.count += 1;
        self.offset_ns(self.count - 1)
    }

    /// Returns the offset of the query with this number, from 0.
    #[inline] // As `Offsets::next`.
    #[must_use]
    pub fn offset_ns(&self, number: u64) -> u64 {
        (number as f64 * self.gap_ns) as u64
    }

    /// Returns the number of the first query at or behind this offset.
    #[must_use]
    pub fn first_at(&self, offset_ns: u64) -> u64 {
        // The quotient may be off by one, from rounding here or in the offsets.
        let mut number = (offset_ns as f64 / self.gap_ns) as u64;
        while number > 0 && self.offset_ns(number - 1) >= offset_ns {
            number -= 1;
        }
        while self.offset_ns(number) < offset_ns {
            number += 1;
        }
        number
    }
}

/// Adds up gaps that are no whole nanoseconds: the rest is kept, so that the mean rate does not suffer.
#[derive(Debug, Clone, Default)]
struct FineClock {
    fraction_ns: f64,
}

impl FineClock {
    fn after(&mut self, offset_ns: u64, gap_ns: f64) -> u64 {
        let exact_ns = self.fraction_ns + gap_ns;
        self.fraction_ns = exact_ns.fract();
        offset_ns.saturating_add(exact_ns as u64)
    }
}

/// Returns an exponentially distributed number with mean 1.
fn exponential(rng: &mut Mt19937) -> f64 {
    -(1.0 - rng.canonical()).ln()
}

/// Returns a normally distributed number.
///
/// Source: G. E. P. Box and M. E. Muller, "A note on the generation of random normal deviates", 1958.
fn normal(rng: &mut Mt19937) -> f64 {
    let radius = (2.0 * exponential(rng)).sqrt();
    radius * (TAU * rng.canonical()).cos()
}

/// Gaps with a gamma distribution.
#[derive(Debug, Clone)]
struct GammaGap {
    shape: f64,
    scale_ns: f64,
}

impl GammaGap {
    fn new(mean_ns: f64, cv: f64) -> Self {
        let shape = 1.0 / (cv * cv);
        Self { shape, scale_ns: mean_ns / shape }
    }

    /// Source: G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", 2000; with its
    /// section 6 for shapes below 1.
    fn draw_ns(&self, rng: &mut Mt19937) -> f64 {
        let boost = match self.shape < 1.0 {
            true => (1.0 - rng.canonical()).powf(1.0 / self.shape),
            false => 1.0,
        };
        let d = if self.shape < 1.0 { self.shape + 1.0 } else { self.shape } - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = normal(rng);
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && (1.0 - rng.canonical()).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return boost * d * v * self.scale_ns;
            }
        }
    }
}

/// Alternating on and off periods.
#[derive(Debug, Clone)]
struct Periods {
    /// Mean length of an on or off period, and the mean gap in such a period, which may be infinite.
    length_ns: [f64; 2],
    gap_ns: [f64; 2],
    /// 0 in an on period, 1 in an off period.
    now: usize,
    /// The rest of the period.
    left_ns: f64,
}

impl Periods {
    fn new(mean_gap_ns: f64, length_ns: [f64; 2], off_share: f64, rng: &mut Mt19937) -> Self {
        let [on_ns, off_ns] = length_ns;
        // The rates weighted by the lengths give the mean rate.
        let on_gap_ns = mean_gap_ns * (on_ns + off_share * off_ns) / (on_ns + off_ns);
        // The first query is in either period as any other is.
        let on_chance = on_ns / (on_ns + off_share * off_ns);
        let now = usize::from(rng.canonical() >= on_chance);
        let left_ns = length_ns[now] * exponential(rng);
        Self { length_ns, gap_ns: [on_gap_ns, on_gap_ns / off_share], now, left_ns }
    }

    /// Returns the time until the next query. The rest of a period, and of a gap, has no memory.
    fn draw_ns(&mut self, rng: &mut Mt19937) -> f64 {
        let mut waited_ns = 0.0;
        loop {
            let mean_ns = self.gap_ns[self.now];
            let gap_ns = if mean_ns.is_finite() { mean_ns * exponential(rng) } else { f64::INFINITY };
            if gap_ns < self.left_ns {
                self.left_ns -= gap_ns;
                return waited_ns + gap_ns;
            }
            waited_ns += self.left_ns;
            self.now = 1 - self.now;
            self.left_ns = self.length_ns[self.now] * exponential(rng);
        }
    }
}

/// A rate that rises and falls.
#[derive(Debug, Clone)]
struct Wave {
    period_ns: u64,
    amplitude: f64,
    mean_gap_ns: f64,
}

impl Wave {
    /// Returns the time until the next query. Candidates come at the highest rate; one is taken with the ratio of the
    /// rate at its instant to that.
    ///
    /// Source: P. A. W. Lewis and G. S. Shedler, "Simulation of nonhomogeneous Poisson processes by thinning", 1979.
    fn draw_ns(&self, rng: &mut Mt19937, offset_ns: u64, fraction_ns: f64) -> f64 {
        let start_ns = (offset_ns % self.period_ns) as f64 + fraction_ns;
        let highest = 1.0 + self.amplitude;
        let mut waited_ns = 0.0;
        loop {
            waited_ns += self.mean_gap_ns / highest * exponential(rng);
            let turn = (start_ns + waited_ns) / self.period_ns as f64;
            if rng.canonical() * highest < 1.0 + self.amplitude * (TAU * turn).sin() {
                return waited_ns;
            }
        }
    }
}

#[cfg(test)]
mod tests;
