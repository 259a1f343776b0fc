//! Numbers as the C functions `strtod` and `strtoull` read them, on which LoadGen's files rest.

/// Returns the value of `word` if `strtod` consumes all of it.
///
/// Every word that `strtoul` with base 0 consumes wholly is such a number, too, so this alone decides what LoadGen
/// accepts as a value.
pub(super) fn double(word: &str) -> Option<f64> {
    let (negative, magnitude) = split_sign(word);
    let lower = magnitude.to_ascii_lowercase();
    let value = match lower.strip_prefix("0x") {
        Some(digits) => hex_double(digits)?,
        None if lower == "inf" || lower == "infinity" => f64::INFINITY,
        None if is_nan(&lower) => f64::NAN,
        // The first character is checked because Rust would take a second sign.
        None if lower.starts_with(|c: char| c.is_ascii_digit() || c == '.') => lower.parse().ok()?,
        None => return None,
    };
    Some(if negative { -value } else { value })
}

/// Returns the value that `strtoull` with base 0 reads from the start of `word`; 0 if it starts with no digit.
///
/// `0x` is hexadecimal, a leading 0 octal; a minus sign negates modulo 2^64; too large is 2^64 - 1. The second value
/// says whether the whole word was consumed.
pub(super) fn unsigned(word: &str) -> (u64, bool) {
    let (negative, magnitude) = split_sign(word);
    let (radix, digits) = match magnitude.as_bytes() {
        [b'0', b'x' | b'X', digit, ..] if digit.is_ascii_hexdigit() => (16, &magnitude[2..]),
        [b'0', ..] => (8, magnitude),
        _ => (10, magnitude),
    };
    let length = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let mut value = Some(0_u64);
    for digit in digits[..length].chars().filter_map(|c| c.to_digit(radix)) {
        value = value.and_then(|v| v.checked_mul(radix.into())).and_then(|v| v.checked_add(digit.into()));
    }
    let value = match value {
        None => u64::MAX,
        Some(value) if negative => value.wrapping_neg(),
        Some(value) => value,
    };
    (value, length == digits.len())
}

/// Returns whether `strtoull` takes `word` for octal digits, and this makes a difference.
pub(super) fn is_octal(word: &str) -> bool {
    let (_, magnitude) = split_sign(word);
    let digits = magnitude.trim_start_matches('0');
    magnitude.starts_with('0')
        && digits.len() > 1
        && digits.bytes().all(|digit| (b'0'..b'8').contains(&digit))
}

/// Returns the intended percentage for a number between 0 and 1, if a percentage is expected: 97 for 0.97,
/// without the dust of binary fractions.
#[must_use]
pub fn percent_of_share(share: f64) -> Option<f64> {
    (0.0 < share && share < 1.0).then(|| (share * 1e11).round() / 1e9)
}

fn split_sign(word: &str) -> (bool, &str) {
    match word.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, word.strip_prefix('+').unwrap_or(word)),
    }
}

/// `nan` or `nan(...)` with letters, digits and underscores inside.
fn is_nan(lower: &str) -> bool {
    let Some(rest) = lower.strip_prefix("nan") else { return false };
    let inside = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    rest.is_empty() || inside.is_some_and(|text| text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'))
}

/// Returns the part of a hexadecimal float after `0x`: digits, an optional point, an optional binary exponent after
/// `p`.
fn hex_double(text: &str) -> Option<f64> {
    let (mantissa, exponent) = match text.split_once('p') {
        Some((mantissa, exponent)) => (mantissa, decimal_exponent(exponent)?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut bits = 0_u64;
    let mut scale = exponent;
    for (position, digit) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = digit.to_digit(16)?;
        let after_point = position >= whole.len();
        if bits >> 60 == 0 {
            bits = bits << 4 | u64::from(digit);
            scale -= if after_point { 4 } else { 0 };
        } else {
            // Digits beyond 64 bits only matter for rounding: any that is not 0 makes the last bit sticky.
            bits |= u64::from(digit != 0);
            scale += if after_point { 0 } else { 4 };
        }
    }
    Some(scaled(bits, scale))
}

/// Returns `bits * 2^scale`, rounded once to the nearest double, to even if halfway.
fn scaled(bits: u64, scale: i32) -> f64 {
    /// The exponent of the smallest double.
    const SMALLEST: i32 = -1074;
    let dropped_count = u32::try_from(SMALLEST.saturating_sub(scale)).unwrap_or(0);
    let kept = bits.checked_shr(dropped_count).unwrap_or(0);
    if dropped_count == 0 || kept >= 1 << f64::MANTISSA_DIGITS {
        return libm::ldexp(bits as f64, scale);
    }
    // Below the smallest normal double there are fewer digits than the conversion to a double would leave, and rounding
    // to that many first could end on the wrong side.
    let half = 1_u128.checked_shl(dropped_count - 1).unwrap_or(u128::MAX);
    let dropped = u128::from(bits) & (half << 1).wrapping_sub(1);
    let up = dropped > half || dropped == half && kept % 2 == 1;
    libm::ldexp((kept + u64::from(up)) as f64, SMALLEST)
}

/// Returns a decimal exponent, kept within bounds beyond which every result is 0 or infinite anyway.
fn decimal_exponent(text: &str) -> Option<i32> {
    let (negative, digits) = split_sign(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let value = digits.parse().unwrap_or(i32::MAX).min(1_000_000);
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_read_as_strtod_reads_them() {
        let cases = [
            ("12.9", 12.9),
            ("1e3", 1000.0),
            (".5", 0.5),
            ("5.", 5.0),
            ("-1", -1.0),
            ("+7", 7.0),
            ("010", 10.0),
            ("0x10", 16.0),
            ("0x1.8p1", 3.0),
            ("-0X.8", -0.5),
            ("INF", f64::INFINITY),
            ("1e999", f64::INFINITY),
            ("0x10000000000000001", 18_446_744_073_709_551_616.0),
            // Rounded once, also where doubles have fewer digits.
            ("0x0.fffffffffffff7ffffp-1022", f64::MIN_POSITIVE - 5e-324),
            ("0x0.fffffffffffff8p-1022", f64::MIN_POSITIVE),
            ("0x1p-1075", 0.0),
            ("0x1.0000000000001p-1075", 5e-324),
            ("0x3p-1075", 1e-323),
            ("0x1p-9999", 0.0),
        ];
        for (word, value) in cases {
            assert_eq!(double(word), Some(value), "{word}");
        }
        assert!(double("nan").unwrap().is_nan());
        assert!(double("-NaN(0x1)").unwrap().is_nan());
    }

    #[test]
    fn what_strtod_leaves_over_is_no_number() {
        for word in
            ["", "abc", "12ms", "1e", "+-5", "0x", "0xp1", "0x1p", "1_000", "--1", ".", "1,5", "nan(-)", "#"]
        {
            assert_eq!(double(word), None, "{word}");
        }
    }

    #[test]
    fn a_share_stands_for_a_percentage_without_dust() {
        for (share, percent) in [(0.97, 97.0), (0.99, 99.0), (0.999, 99.9), (0.07, 7.0), (0.29, 29.0)] {
            assert_eq!(percent_of_share(share), Some(percent), "{share}");
        }
        for number in [0.0, 1.0, -0.5, 97.0, f64::NAN, f64::INFINITY] {
            assert_eq!(percent_of_share(number), None, "{number}");
        }
    }

    #[test]
    fn octal_is_told_where_it_makes_a_difference() {
        for word in ["010", "-017", "0010", "+0777"] {
            assert!(is_octal(word), "{word}");
        }
        for word in ["0", "00", "007", "10", "0x10", "08", "0.5", "01e3"] {
            assert!(!is_octal(word), "{word}");
        }
    }

    #[test]
    fn integers_are_read_as_strtoull_reads_them() {
        let cases = [
            ("12.9", (12, false)),
            ("0.5", (0, false)),
            ("1e3", (1, false)),
            ("010", (8, true)),
            ("08", (0, false)),
            ("0x10", (16, true)),
            ("0x", (0, false)),
            ("-1", (u64::MAX, true)),
            ("-0x10", (u64::MAX - 15, true)),
            ("18446744073709551615", (u64::MAX, true)),
            ("18446744073709551616", (u64::MAX, true)),
            ("-99999999999999999999", (u64::MAX, true)),
            ("inf", (0, false)),
        ];
        for (word, value) in cases {
            assert_eq!(unsigned(word), value, "{word}");
        }
    }
}
