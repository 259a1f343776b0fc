//! Numbers and strings as C++ streams and JSON write them.

use std::fmt::Write;

/// Formats with 6 significant digits, as a C++ stream does by default (`%g`).
///
/// The official program prints `-nan` for 0/0 on its usual machines.
pub(crate) fn g6(value: f64) -> String {
    if let Some(text) = not_finite(value) {
        return text.to_owned();
    }
    let scientific = format!("{value:.5e}");
    let (digits, exponent) = scientific.split_once('e').expect("the format has an exponent");
    let exponent: i32 = exponent.parse().expect("the exponent is a number");
    if (-4..6).contains(&exponent) {
        let decimals = usize::try_from(5 - exponent).expect("the exponent is at most 5");
        return without_trailing_zeros(&format!("{value:.decimals$}")).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_trailing_zeros(digits), exponent.abs())
}

/// Formats with two decimals (`%.2f`), rounding the exact binary value.
pub(crate) fn f2(value: f64) -> String {
    not_finite(value).map_or_else(|| format!("{value:.2}"), str::to_owned)
}

/// Returns the text that C++ writes for NaN and for infinity.
fn not_finite(value: f64) -> Option<&'static str> {
    if value.is_nan() {
        Some("-nan")
    } else if value.is_infinite() {
        Some(if value > 0.0 { "inf" } else { "-inf" })
    } else {
        None
    }
}

fn without_trailing_zeros(number: &str) -> &str {
    match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    }
}

/// Returns the text as a JSON string, in quotes.
pub(crate) fn json_string(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            control if control < ' ' => {
                write!(quoted, "\\u{:04x}", u32::from(control)).expect("a String takes any text");
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn six_digits_as_cpp_writes_them() {
        let cases = [
            (0.0, "0"),
            (2000.0, "2000"),
            (1909.153, "1909.15"),
            (5_272_060.0, "5.27206e+06"),
            (0.99, "0.99"),
            (0.999_000_000_000_000_1, "0.999"),
            (999_999.5, "1e+06"),
            (999_999.4, "999999"),
            (100_000.0, "100000"),
            (1e6, "1e+06"),
            (0.0001, "0.0001"),
            // Rounds up to a number that is written without exponent.
            (0.000_099_999_99, "0.0001"),
            (0.000_012_345_678, "1.23457e-05"),
            (1e100, "1e+100"),
            (-2.5, "-2.5"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "-nan"),
        ];
        for (value, expected) in cases {
            assert_eq!(g6(value), expected);
        }
    }

    #[test]
    fn two_decimals_round_the_binary_value() {
        assert_eq!(f2(0.125), "0.12");
        assert_eq!(f2(0.375), "0.38");
        assert_eq!(f2(2.675), "2.67");
        assert_eq!(f2(f64::NAN), "-nan");
    }

    proptest! {
        #[test]
        fn six_digits_keep_the_value(value in proptest::num::f64::NORMAL) {
            let read: f64 = g6(value).parse().unwrap();
            prop_assert!((read / value - 1.0).abs() <= 5e-6);
        }

        #[test]
        fn json_readers_read_back_any_text(text: String) {
            prop_assert_eq!(serde_json::from_str::<String>(&json_string(&text)).unwrap(), text);
        }
    }
}
