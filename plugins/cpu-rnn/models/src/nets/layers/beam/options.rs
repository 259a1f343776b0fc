//! Options of a search.

/// Options for ranking hypotheses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BeamOptions {
    /// Number of hypotheses; at least 1.
    pub width: usize,
    /// The word before the first.
    pub start: i32,
    /// The word that ends a sequence.
    pub end: i32,
    /// Exponent of the length penalty `((5 + length) / 6)^weight`, by which sums of logarithms are divided; 0 for none.
    pub length_weight: f64,
    /// Factor of the coverage penalty `sum_s log min(sum of attention on s, 1)`, added to ended hypotheses; 0 for none.
    pub coverage_weight: f64,
}

impl BeamOptions {
    /// Returns the length penalty (Wu et al. 2016, equation 14).
    #[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^52")]
    pub(super) fn length_penalty(&self, length: usize) -> f64 {
        ((5.0 + length as f64) / 6.0).powf(self.length_weight)
    }

    /// Returns the coverage penalty (Wu et al. 2016, equation 14); a place without attention counts as covered, as in
    /// `tensorflow/nmt`.
    pub(super) fn coverage_penalty(&self, coverage: &[f32]) -> f64 {
        if self.coverage_weight == 0.0 {
            return 0.0;
        }
        let covered = coverage.iter().filter(|sum| **sum != 0.0);
        self.coverage_weight * covered.map(|sum| f64::from(*sum).min(1.0).ln()).sum::<f64>()
    }
}
