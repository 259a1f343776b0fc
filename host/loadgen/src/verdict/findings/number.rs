//! Numbers of findings in words.

/// Significant digits of a number, unless it takes more to distinguish it from its bound.
pub(super) const DIGITS: usize = 3;

/// Returns a number with this many significant digits, but all before the point, and no zeros at the end of a fraction.
pub(super) fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let before_point = value.abs().log10().floor() as i32 + 1;
    let decimals = usize::try_from(digits as i32 - before_point).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Formats a rate: `812`, `1,230,000`, `0.0123`.
pub(super) fn rate(qps: f64) -> String {
    if qps >= 1000.0 { count(qps) } else { significant(qps, DIGITS + 1) }
}

/// Returns a whole number with commas between thousands.
pub(super) fn count(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
