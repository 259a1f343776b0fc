//! Numbers and tables for people.

use proctor_vocabulary::printable;

/// Returns a time in the unit that suits it, with four digits: `1.235 ms`.
#[must_use]
pub fn duration(ns: u64) -> String {
    let ns_float = ns as f64;
    match ns {
        0..1_000 => format!("{ns} ns"),
        // A time that would be shown as 1000 of a unit is one of the next.
        1_000..999_950 => format!("{} us", four_digits(ns_float / 1e3)),
        999_950..999_950_000 => format!("{} ms", four_digits(ns_float / 1e6)),
        _ => format!("{} s", four_digits(ns_float / 1e9)),
    }
}

/// Returns a rate or another figure, with four digits at least and no fraction beyond them.
#[must_use]
pub fn four_digits(value: f64) -> String {
    match value.abs() {
        size if size < 10.0 => format!("{value:.3}"),
        size if size < 100.0 => format!("{value:.2}"),
        size if size < 1000.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// Returns a value with its unit: a time in ns as [`duration`] has it, anything else with four digits.
#[must_use]
pub fn quantity(value: f64, unit: &str) -> String {
    match unit {
        _ if !value.is_finite() => "not known".to_owned(),
        "ns" => duration(value as u64),
        unit => format!("{} {unit}", four_digits(value)),
    }
}

/// Formats a share: `1.25%`.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

/// Returns a size in millions of bytes: `842.1 MB`.
#[must_use]
pub fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// Formats `1 instance`, `2 instances`.
#[must_use]
pub fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Formats `1 query`, `2 queries`.
#[must_use]
pub fn counted_queries(count: u64) -> String {
    if count == 1 { "1 query".to_owned() } else { format!("{count} queries") }
}

/// Formats lines of cells, each column as wide as its widest cell; the last one is left alone. Two spaces lie
/// before and between the columns. Each cell is [`printable`], as names may have line ends and worse.
#[must_use]
pub fn table(rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(printable).collect()).collect();
    let column_count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..column_count).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        text.push_str("  ");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_the_unit_that_suits_them() {
        let times = [0, 999, 1_000, 12_345, 999_499, 1_234_567, 123_456_789, 61_000_000_000].map(duration);
        assert_eq!(
            times,
            ["0 ns", "999 ns", "1.000 us", "12.35 us", "999.5 us", "1.235 ms", "123.5 ms", "61.00 s"]
        );
    }

    #[test]
    fn columns_line_up() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        assert_eq!(
            table(&[row(["a", "long", "x"]), row(["bcd", "", "y"])]),
            "  a    long  x\n  bcd        y\n"
        );
        assert_eq!(
            table(&[row(["a\n\u{1b}", "b", ""]), row(["c", "d", ""])]),
            "  a\\n\\u001b  b\n  c          d\n"
        );
        assert_eq!((counted(1, "batch"), counted(0, "row")), ("1 batch".to_owned(), "0 rows".to_owned()));
    }
}
