//! Student's distribution.

use std::f64::consts::FRAC_PI_2;

/// Degrees of freedom above which the distribution is treated as normal.
const NORMAL_FREEDOM: f64 = 1e8;
/// Steps of an integration, an even number.
const STEPS: u32 = 200;

/// Returns the quantile of Student's distribution for a fraction in `[0.5, 1)` and `freedom` degrees of freedom, at
/// least 1, which need not be whole.
///
/// With t = sqrt(freedom) tan(angle) the density is proportional to cos(angle)^(freedom - 1), which is bounded and ends
/// at a right angle: its integral by Simpson's rule, and the angle by halving.
pub(crate) fn student_quantile(fraction: f64, freedom: f64) -> f64 {
    let freedom = freedom.clamp(1.0, NORMAL_FREEDOM);
    // Beyond 40 deviations there is nothing left.
    let end = (40.0 / freedom.sqrt()).min(FRAC_PI_2);
    let wanted = (fraction - 0.5) * 2.0 * integral(freedom, end);
    let (mut low, mut high) = (0.0, end);
    for _ in 0..45 {
        let middle = f64::midpoint(low, high);
        if integral(freedom, middle) < wanted { low = middle } else { high = middle }
    }
    freedom.sqrt() * low.tan()
}

/// Returns the quantile of the normal distribution for a fraction in `[0.5, 1)`.
pub(crate) fn normal_quantile(fraction: f64) -> f64 {
    student_quantile(fraction, NORMAL_FREEDOM)
}

/// Computes the integral of cos^(freedom - 1) from 0 to an angle.
fn integral(freedom: f64, angle: f64) -> f64 {
    let step = angle / f64::from(STEPS);
    let weighted = |number: u32| {
        let weight = match number {
            0 | STEPS => 1.0,
            odd if odd % 2 == 1 => 4.0,
            _ => 2.0,
        };
        weight * (step * f64::from(number)).cos().max(0.0).powf(freedom - 1.0)
    };
    (0..=STEPS).map(weighted).sum::<f64>() * step / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (fraction, freedom, expected) in [
            (0.975, 1.0, 12.706_2),
            (0.975, 2.0, 4.302_65),
            (0.975, 4.0, 2.776_45),
            (0.975, 10.0, 2.228_14),
            (0.995, 30.0, 2.750_00),
            (0.95, 120.0, 1.657_65),
            (0.975, 1e12, 1.959_964),
            (0.5, 7.0, 0.0),
        ] {
            let found = student_quantile(fraction, freedom);
            assert!((found - expected).abs() < 2e-4 * (1.0 + expected), "{fraction} {freedom}: {found}");
        }
        assert!((normal_quantile(0.995) - 2.575_829).abs() < 1e-5);
        // Between whole numbers it is between their quantiles.
        let between = student_quantile(0.975, 1.5);
        assert!((4.303..12.706).contains(&between), "{between}");
    }
}
