//! Values with their units, for people.

use proctor_words::text::four_digits;

/// Returns a value with its unit; rates in millions.
pub(super) fn shown(value: f64, unit: &str) -> String {
    let prefix = if is_rate(unit) { "M " } else { "" };
    format!("{} {prefix}{unit}", bare(value, unit))
}

/// Returns the same without the unit.
pub(super) fn bare(value: f64, unit: &str) -> String {
    four_digits(if is_rate(unit) { value / 1e6 } else { value })
}

fn is_rate(unit: &str) -> bool {
    unit.ends_with("/s")
}
