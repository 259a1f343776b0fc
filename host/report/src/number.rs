//! Numbers as people read them. Every number of a page goes through here.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit<'a> {
    /// A time in ns.
    Nanoseconds,
    /// A number of things.
    Count,
    /// A share of one.
    Share,
    /// A size in bytes.
    Bytes,
    /// A number that is shown digit by digit, such as a seed.
    Digits,
    /// Any other, by its name, which may be empty.
    Named(&'a str),
}

impl<'a> Unit<'a> {
    /// Returns the unit of this name in a result.
    pub(crate) fn named(name: &'a str) -> Self {
        if name == "ns" { Self::Nanoseconds } else { Self::Named(name) }
    }

    /// Returns the unit of the number that has this key in a result: the names of keys end in it.
    pub(crate) fn of_key(key: &str) -> Self {
        let ends_in = |ending: &str| key.ends_with(ending);
        if ends_in("_ns") {
            Self::Nanoseconds
        } else if ends_in("_share") {
            Self::Share
        } else if ends_in("_bytes") {
            Self::Bytes
        } else if ends_in("_qps") {
            Self::Named("queries/s")
        } else if ends_in("_samples_per_second") {
            Self::Named("samples/s")
        } else if ends_in("tokens_per_second") {
            Self::Named("tokens/s")
        } else if ends_in("_count") || ends_in(".count") || ends_in("_max") {
            Self::Count
        } else {
            Self::Named("")
        }
    }

    /// Formats a number in this unit, with four digits at least unless it is whole.
    pub(crate) fn show(self, value: f64) -> String {
        match self {
            Self::Nanoseconds => duration(value),
            Self::Count | Self::Digits => plain(value),
            Self::Share => percent(value),
            Self::Bytes => bytes(value),
            Self::Named("") => plain(value),
            Self::Named("queries") if value == 1.0 => "1 query".to_owned(),
            Self::Named("samples") if value == 1.0 => "1 sample".to_owned(),
            Self::Named(unit) => format!("{} {unit}", plain(value)),
        }
    }
}

/// Returns a time in the unit that suits it: `1.235 ms`.
pub(crate) fn duration(ns: f64) -> String {
    let (size, unit) = time_unit(ns);
    if size == 1.0 && ns.fract() == 0.0 {
        return format!("{ns:.0} {unit}");
    }
    format!("{} {unit}", digits(ns / size))
}

/// Returns a time at a tick, with only its significant digits, `2.5 ms`.
pub(crate) fn round_duration(ns: f64) -> String {
    if ns == 0.0 {
        return "0".to_owned();
    }
    let (size, unit) = time_unit(ns);
    format!("{} {unit}", round(ns / size))
}

/// Returns the unit that suits a time, in ns, with its name.
fn time_unit(ns: f64) -> (f64, &'static str) {
    // A time that would be shown as 1000 of a unit is one of the next.
    match ns.abs() {
        size if size < 999.95 => (1.0, "ns"),
        size if size < 999.95e3 => (1e3, "µs"),
        size if size < 999.95e6 => (1e6, "ms"),
        _ => (1e9, "s"),
    }
}

/// Returns a number at a tick: `1,500` or `0.25`, and `2.5 M` from a million on.
pub(crate) fn round(value: f64) -> String {
    let (value, unit) = match value.abs() {
        size if size >= 1e9 => (value / 1e9, " G"),
        size if size >= 1e6 => (value / 1e6, " M"),
        _ => (value, ""),
    };
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{}{unit}", grouped(text))
}

/// Returns a whole number with its digits in groups, any other with four digits at least.
pub(crate) fn plain(value: f64) -> String {
    if value.fract() == 0.0 { grouped(&format!("{value:.0}")) } else { digits(value) }
}

/// Returns a share of one: `1.25 %`.
pub(crate) fn percent(share: f64) -> String {
    format!("{} %", round((share * 1e6).round() / 1e4))
}

/// Returns a share of one in words: `85.6 %`.
pub(crate) fn rough_percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn bytes(value: f64) -> String {
    match value {
        size if size < 1e6 => format!("{} bytes", plain(value)),
        size if size < 1e9 => format!("{} MB", digits(value / 1e6)),
        _ => format!("{} GB", digits(value / 1e9)),
    }
}

/// Returns four digits at least, and no fraction beyond them.
fn digits(value: f64) -> String {
    let text = match value.abs() {
        size if size < 9.9995 => format!("{value:.3}"),
        size if size < 99.995 => format!("{value:.2}"),
        size if size < 999.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    };
    grouped(&text)
}

/// Puts a comma between each three digits before the point, from five digits on.
fn grouped(text: &str) -> String {
    let (whole, fraction) = text.find('.').map_or((text, ""), |point| text.split_at(point));
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |whole| ("-", whole));
    if whole.len() < 5 || !whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.to_owned();
    }
    let mut grouped = sign.to_owned();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + fraction
}

/// Formats `1 batch`, `12,345 batches`.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", plain(count as f64), if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_in_the_unit_that_suits_them() {
        let times = [0.0, 999.0, 999.97, 1_000.0, 12_345.0, 999_960.0, 1_234_567.0, 61e9].map(duration);
        assert_eq!(
            times,
            ["0 ns", "999 ns", "1.000 µs", "1.000 µs", "12.35 µs", "1.000 ms", "1.235 ms", "61.00 s"]
        );
        let ticks = [0.0, 500.0, 2_500_000.0, 1e9, 120e9].map(round_duration);
        assert_eq!(ticks, ["0", "500 ns", "2.5 ms", "1 s", "120 s"]);
    }

    #[test]
    fn numbers_have_groups_and_four_digits() {
        assert_eq!([0.0, 1234.0, 12345.0, -1234567.0].map(plain), ["0", "1234", "12,345", "-1,234,567"]);
        assert_eq!([1.5, 99.999, 1033.288, 123456.7].map(plain), ["1.500", "100.0", "1033", "123,457"]);
        assert_eq!([1500.0, 2.5e6, 0.25, 1e9].map(round), ["1500", "2.5 M", "0.25", "1 G"]);
        assert_eq!([0.5, 0.999, 0.0125, 1e-9].map(percent), ["50 %", "99.9 %", "1.25 %", "0 %"]);
        assert_eq!(Unit::of_key("harness_floor.latency_p50_ns"), Unit::Nanoseconds);
        assert_eq!(Unit::named("queries/s").show(1000.0), "1000 queries/s");
        assert_eq!([1.0, 2.0].map(|count| Unit::named("queries").show(count)), ["1 query", "2 queries"]);
        assert_eq!(Unit::Bytes.show(25_276_502_016.0), "25.28 GB");
    }

    proptest! {
        #[test]
        fn a_time_is_shown_to_half_a_thousandth(ns in 0.0_f64..1e15) {
            let text = duration(ns);
            let (number, unit) = text.split_once(' ').unwrap();
            let size = match unit { "ns" => 1.0, "µs" => 1e3, "ms" => 1e6, _ => 1e9 };
            let shown = number.replace(',', "").parse::<f64>().unwrap() * size;
            prop_assert!((shown - ns).abs() <= ns * 5e-4 + 5e-4, "{} for {}", text, ns);
        }
    }
}
