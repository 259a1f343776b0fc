//! Rounding of a metric before it is compared with its target.

/// Number of significant digits of an accuracy. Source: inference rules v5.0, section on accuracy.
const SIGNIFICANT_DIGITS: usize = 5;

/// Rounds a number to five significant decimal digits, half to even: 98.9995 becomes 99.0.
///
/// Works on the shortest decimal that identifies the number, as a reader sees it: 98.9995 is a tie, although the
/// nearest binary fraction is slightly below. Numbers that are not finite stay unchanged.
#[must_use]
pub fn round_to_five_figures(value: f64) -> f64 {
    let scientific = format!("{:e}", value.abs());
    let Some((digits, exponent)) = scientific.split_once('e') else { return value };
    let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_digit).map(|digit| digit - b'0').collect();
    let Some((kept, rest)) = digits.split_at_checked(SIGNIFICANT_DIGITS) else { return value };
    let is_odd = kept.last().is_some_and(|digit| digit % 2 == 1);
    let is_up = match rest {
        [] => false,
        [5] => is_odd,
        [first, ..] => *first >= 5,
    };
    let kept = kept.iter().fold(0_u32, |number, digit| number * 10 + u32::from(*digit)) + u32::from(is_up);
    let (Ok(exponent), Ok(shift)) = (exponent.parse::<i32>(), i32::try_from(SIGNIFICANT_DIGITS - 1)) else {
        return value;
    };
    // Read as a decimal, so that the result is the number that its digits name.
    let rounded: f64 = format!("{kept}e{}", exponent - shift).parse().unwrap_or(value);
    rounded.copysign(value)
}

/// Formats a number for comparison with a target: rounded to five significant figures, all of them written, such as
/// `0.97500` and `92.548`.
#[must_use]
pub fn five_figures(value: f64) -> String {
    let rounded = round_to_five_figures(value);
    // The exponent of the rounded number, as 9.99999 has become 10.
    let exponent =
        format!("{rounded:e}").split_once('e').and_then(|(_, exponent)| exponent.parse::<i64>().ok());
    let decimals = SIGNIFICANT_DIGITS as i64 - 1 - exponent.unwrap_or(0);
    format!("{rounded:.*}", usize::try_from(decimals).unwrap_or(0))
}

/// Returns whether a metric reaches its target, both rounded to five significant figures. A NaN reaches nothing.
///
/// Were the target not rounded too, a value that reaches it could be rounded down and fail.
#[must_use]
pub fn reaches(value: f64, target: f64) -> bool {
    round_to_five_figures(value) >= round_to_five_figures(target)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn five_figures_are_kept_and_ties_go_to_the_even_digit() {
        for (value, expected) in [
            (98.9995, 99.0),
            (98.9985, 98.998),
            (98.998_500_1, 98.999),
            (98.998_499_9, 98.998),
            (0.123_455, 0.123_46),
            (0.123_445, 0.123_44),
            (75.6954, 75.695),
            (123_456.0, 123_460.0),
            (99_999.5, 100_000.0),
            (-98.9985, -98.998),
            (0.5, 0.5),
            (0.0, 0.0),
            (1.000_05e-9, 1e-9),
            (f64::INFINITY, f64::INFINITY),
            (1.234_56e300, 1.2346e300),
        ] {
            assert_eq!(round_to_five_figures(value), expected, "{value}");
        }
        assert!(round_to_five_figures(f64::NAN).is_nan());
    }

    #[test]
    fn a_number_is_written_with_five_figures() {
        for (value, expected) in [
            (0.975, "0.97500"),
            (92.548, "92.548"),
            (75.6949, "75.695"),
            (9.999_999, "10.000"),
            (1.0, "1.0000"),
            (0.0, "0.0000"),
            (0.067_89, "0.067890"),
            (-98.9985, "-98.998"),
            (4_016_878.0, "4016900"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(five_figures(value), expected);
        }
    }

    #[test]
    fn a_target_is_rounded_as_the_value_is() {
        assert!(reaches(98.9995, 99.0));
        assert!(!reaches(98.9985, 99.0));
        // 0.99 times 76.46 is 75.6954, which five figures cut to 75.695.
        assert!(reaches(75.6954, 76.46 * 0.99));
        assert!(reaches(75.6949, 76.46 * 0.99));
        assert!(!reaches(75.6944, 76.46 * 0.99));
        assert!(!reaches(f64::NAN, 0.5));
    }

    proptest! {
        #[test]
        fn a_value_that_reaches_its_target_unrounded_reaches_it(a in -1e3..1e3, b in -1e3..1e3) {
            let (target, value) = if a < b { (a, b) } else { (b, a) };
            prop_assert!(reaches(value, target));
        }

        #[test]
        fn rounding_moves_by_half_a_figure_at_most_and_only_once(value in 1.0..10.0) {
            let rounded = round_to_five_figures(value);
            prop_assert!((rounded - value).abs() <= 0.500_001e-4);
            prop_assert_eq!(round_to_five_figures(rounded), rounded);
        }
    }
}
