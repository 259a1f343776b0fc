//! Estimates the correlation of neighbours in a sequence, and derives the length of blocks and the variance of a mean.
//!
//! Sources: the length of blocks that is best for the variance of a mean, D. N. Politis and H. White, *Automatic
//! Block-Length Selection for the Dependent Bootstrap*, Econometric Reviews 23 (2004), with the correction of A.
//! Patton, D. N. Politis and H. White (2009); the flat-top estimate of the variance, D. N. Politis and J. P. Romano,
//! *Bias-Corrected Nonparametric Spectral Estimation*, Journal of Time Series Analysis 16 (1995).

/// Standard errors of a correlation that count as none (Politis and White 2004, section 3.2).
const INSIGNIFICANT: f64 = 2.0;
/// Ratio of the window's width to the reach of the correlation. Politis and White take 2; on seeded sequences
/// with a slowly fading correlation, such as a queue's, this lost a tenth of the variance, and intervals held
/// the truth too seldom; with 3 they hold it as often as they say.
const WINDOW: usize = 3;
/// Maximum share of the sequence for a block: fewer blocks do not show their variance.
const FEWEST_BLOCKS: usize = 8;
/// Maximum number of blocks: more cost time but add nothing, and this many have a well-known variance.
const MOST_BLOCKS: usize = 128;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Correlation {
    pub(crate) block_len: usize,
    /// Variance of the sum of the sequence, over its length.
    pub(crate) long_run_variance: f64,
    /// The same over the average of blocks of this length: they lack the correlation beyond a block.
    pub(crate) inflation: f64,
    /// Number of degrees of freedom of the variance.
    pub(crate) freedom: f64,
    /// True if the correlation reaches too far for the length of the sequence.
    pub(crate) reaches_too_far: bool,
}

impl Correlation {
    pub(crate) fn of(sequence: &[f64]) -> Self {
        let count = sequence.len();
        let none = Self {
            block_len: 1,
            long_run_variance: 0.0,
            inflation: 1.0,
            freedom: 1.0,
            reaches_too_far: false,
        };
        let mut lags = Lags::of(sequence);
        if count < 2 || lags.at(0) <= 0.0 {
            return none;
        }
        let longest_block = (count / FEWEST_BLOCKS).max(1);
        let (reach, is_cut) = lags.reach(longest_block);
        let window = WINDOW * reach;
        let (variance, derivative) = lags.flat_top(window);
        let length = count as f64;
        let block_len = if variance > 0.0 {
            // 2 G^2 / D with D = 4/3 g^2, for overlapping blocks of a circle.
            (1.5 * (derivative / variance).powi(2) * length).cbrt().ceil()
        } else {
            reach as f64
        };
        // Not negative, and cut by the longest block.
        let block_len = (block_len as usize).max(count.div_ceil(MOST_BLOCKS)).min(longest_block);
        let of_blocks = lags.triangle(block_len).max(f64::MIN_POSITIVE);
        // The mean is the sequence's own, which takes a part out of every lag.
        let left_in = (1.0 - 1.5 * window as f64 / length).max(0.5);
        let long_run_variance = (variance / left_in).max(of_blocks);
        Self {
            block_len,
            long_run_variance,
            inflation: (long_run_variance / of_blocks).min(4.0),
            freedom: (length / (window as f64 * 4.0 / 3.0)).max(1.0),
            reaches_too_far: is_cut,
        }
    }
}

/// Covariances with later elements, each computed on demand.
struct Lags {
    deviations: Vec<f64>,
    found: Vec<f64>,
}

impl Lags {
    fn of(sequence: &[f64]) -> Self {
        let mean = sequence.iter().sum::<f64>() / sequence.len().max(1) as f64;
        Self { deviations: sequence.iter().map(|value| value - mean).collect(), found: Vec::new() }
    }

    fn at(&mut self, lag: usize) -> f64 {
        while self.found.len() <= lag {
            let shifted = self.deviations.get(self.found.len()..).unwrap_or_default();
            let sum: f64 = self.deviations.iter().zip(shifted).map(|(one, other)| one * other).sum();
            self.found.push(sum / self.deviations.len().max(1) as f64);
        }
        self.found[lag]
    }

    /// Returns the lag behind which several in a row are insignificant, at least 1, and whether it was cut off at
    /// `longest`.
    fn reach(&mut self, longest: usize) -> (usize, bool) {
        let logarithm = (self.deviations.len() as f64).log10();
        let bound = INSIGNIFICANT * (logarithm / self.deviations.len() as f64).sqrt() * self.at(0);
        // A small number, rounded down.
        let in_a_row = (logarithm.sqrt() as usize).max(5);
        let mut quiet = 0;
        for lag in 1..=longest {
            quiet = if self.at(lag).abs() < bound { quiet + 1 } else { 0 };
            if quiet == in_a_row {
                return ((lag - in_a_row).max(1), false);
            }
        }
        ((longest - quiet).max(1), longest > in_a_row)
    }

    /// Returns the sum over all lags, and over all lags times their number, by the window that is 1 up to its middle
    /// and falls to 0 at its end.
    fn flat_top(&mut self, window: usize) -> (f64, f64) {
        let (mut sum, mut derivative) = (self.at(0), 0.0);
        for lag in 1..=window {
            let weight = (2.0 * (1.0 - lag as f64 / window as f64)).min(1.0);
            let both_sides = 2.0 * weight * self.at(lag);
            sum += both_sides;
            derivative += both_sides * lag as f64;
        }
        (sum, derivative)
    }

    /// Returns the sum over all lags by the triangle that corresponds to blocks of a length.
    fn triangle(&mut self, block_len: usize) -> f64 {
        let falling = |lag: usize| 1.0 - lag as f64 / block_len as f64;
        self.at(0) + (1..block_len).map(|lag| 2.0 * falling(lag) * self.at(lag)).sum::<f64>()
    }
}
