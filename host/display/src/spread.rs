//! The spread of several values of one figure.

use serde::Serialize;

/// Median, least and greatest of several values of one figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// The value in the middle.
    pub median: f64,
    /// The smallest value.
    pub least: f64,
    /// The largest value.
    pub greatest: f64,
}

impl Spread {
    /// Computes the spread. Of an even number of values, the median is the mean of the two in the middle. Without
    /// values, all three are NaN.
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let Some((least, greatest)) = sorted.first().zip(sorted.last()) else {
            return Self { median: f64::NAN, least: f64::NAN, greatest: f64::NAN };
        };
        let middle = (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0;
        Self { median: middle, least: *least, greatest: *greatest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_has_half_of_the_values_on_either_side() {
        assert_eq!(Spread::of(&[3.0, 1.0, 2.0]), Spread { median: 2.0, least: 1.0, greatest: 3.0 });
        assert_eq!(Spread::of(&[4.0, 1.0]).median, 2.5);
        assert!(Spread::of(&[]).median.is_nan());
    }
}
