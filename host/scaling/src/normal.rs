//! The normal distribution.

use std::f64::consts::{PI, SQRT_2};

/// Returns the share of the standard normal distribution below a value.
pub(crate) fn share_below(z: f64) -> f64 {
    libm::erfc(-z / SQRT_2) / 2.0
}

/// Returns the density of the standard normal distribution at a value.
pub(crate) fn density(z: f64) -> f64 {
    (-z * z / 2.0).exp() / (2.0 * PI).sqrt()
}

/// Returns the quantile of the standard normal distribution, for a fraction in (0, 1); infinite at its ends.
///
/// Starts with a rational approximation, good to 0.0005 (Abramowitz and Stegun 26.2.23), then takes three
/// steps of Newton on the complementary error function, each of which doubles the number of right digits.
#[must_use]
pub fn normal_quantile(fraction: f64) -> f64 {
    if fraction > 0.5 {
        return -normal_quantile(1.0 - fraction);
    }
    if fraction <= 0.0 {
        return f64::NEG_INFINITY;
    }
    let t = (-2.0 * fraction.ln()).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    let mut z = above / below - t;
    for _ in 0..3 {
        z -= (share_below(z) - fraction) / density(z);
    }
    z
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_inverse_of_the_distribution() {
        for fraction in [1e-12, 1e-6, 0.001, 0.05, 0.3, 0.5, 0.7, 0.95, 0.99, 0.999_999] {
            let back = share_below(normal_quantile(fraction));
            assert!((back / fraction - 1.0).abs() < 1e-12, "{fraction}: {back}");
        }
        // As in any table.
        assert!((normal_quantile(0.95) - 1.644_853_626_951_472_7).abs() < 1e-12);
        assert!((normal_quantile(0.99) - 2.326_347_874_040_841).abs() < 1e-12);
        assert_eq!((normal_quantile(0.0), normal_quantile(1.0)), (f64::NEG_INFINITY, f64::INFINITY));
    }
}
