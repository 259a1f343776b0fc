//! The interval of a share that was measured on a sample.

/// The quantile of the standard normal distribution at 97.5 %.
const Z: f64 = 1.959_963_984_540_054;

/// Returns the 95 % interval of a share of which `correct_count` of `count` were right, by Wilson's score; `None` of
/// nothing, or of more than there is.
///
/// It holds the shares that a test at that level would not reject, and stays within 0 and 1, also for a share of 0 or 1
/// and for few samples. Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
/// Journal of the American Statistical Association 22, 1927.
#[must_use]
pub fn wilson_95(correct_count: u64, count: u64) -> Option<[f64; 2]> {
    if count == 0 || correct_count > count {
        return None;
    }
    let n = count as f64;
    let share = correct_count as f64 / n;
    let scale = 1.0 / (1.0 + Z * Z / n);
    let middle = scale * (share + Z * Z / (2.0 * n));
    let half = scale * Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    // The ends of a share of 0 or 1 are exact, but for rounding.
    Some([(middle - half).max(0.0), (middle + half).min(1.0)])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn intervals_are_those_of_scipy() {
        // scipy.stats.binomtest(correct, count).proportion_ci(method="wilson"), version 1.17.1
        for (correct_count, count, expected) in [
            (8, 10, [0.490_162_471_536_641_8, 0.943_317_848_545_624_5]),
            (585, 600, [0.959_164_223_636_837, 0.984_792_160_400_147_3]),
            (0, 10, [0.0, 0.277_532_799_862_889_26]),
            (10, 10, [0.722_467_200_137_110_7, 1.0]),
            (1, 1, [0.206_549_314_377_237_45, 1.0]),
        ] {
            let got = wilson_95(correct_count, count).unwrap();
            assert!(
                got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 1e-12),
                "{got:?}"
            );
        }
        assert_eq!((wilson_95(0, 0), wilson_95(2, 1)), (None, None));
    }

    proptest! {
        #[test]
        fn an_interval_has_the_share_and_shrinks_with_the_samples(count in 1_u64..1 << 40, share in 0.0..=1.0) {
            let correct_count = (share * count as f64) as u64;
            let share = correct_count as f64 / count as f64;
            let [low, high] = wilson_95(correct_count, count).unwrap();
            prop_assert!(0.0 <= low && low <= share + 1e-12 && share <= high + 1e-12 && high <= 1.0);
            let [more_low, more_high] = wilson_95(4 * correct_count, 4 * count).unwrap();
            prop_assert!(more_high - more_low <= high - low);
        }
    }
}
