//! Values of flags that have a unit or bounds.

use proctor_compare::Method;

/// Returns the milliseconds of `10`, `10s`, `1.5s`, `500ms`, `2m` or `1h`. A fraction of a millisecond is cut off,
/// unless it is all there is.
pub(crate) fn duration_ms(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, f64); 5] = [("ms", 1.0), ("s", 1e3), ("m", 60e3), ("h", 3600e3), ("", 1e3)];
    let text = text.trim();
    let found = UNITS.iter().find_map(|(unit, ms)| Some((text.strip_suffix(unit)?, ms)));
    let (number, ms) = found.expect("every text ends with the empty one");
    match number.trim().parse::<f64>() {
        Ok(number) if number > 0.0 && number * ms < 1.0 => {
            Err("a time of less than 1 ms counts as 0: give at least 1ms, or 0".to_owned())
        }
        // Far below 2^53, so the cast is exact.
        Ok(number) if number >= 0.0 && number * ms < 1e12 => Ok((number * ms) as u64),
        _ => Err("give a time such as 10 (seconds), 500ms, 2m or 1h".to_owned()),
    }
}

/// Does the same as [`duration_ms`], in ns.
pub(crate) fn duration_ns(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    let text = text.trim();
    let found =
        UNITS.iter().find_map(|(unit, ns)| Some((text.strip_suffix(unit)?.trim().parse::<f64>().ok()?, ns)));
    match found {
        // Below 2^53, so the cast is exact.
        Some((number, ns)) if number * ns >= 1.0 && number * ns < 1e15 => Ok((number * ns) as u64),
        _ => Err("give a time with its unit, such as 50ms, 800us or 2s".to_owned()),
    }
}

/// Returns a number above 0 and at most one half.
pub(crate) fn fraction(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number <= 0.5 => Ok(number),
        _ => Err("give a number above 0 and up to 0.5, such as 0.01".to_owned()),
    }
}

/// Returns a number from 0 to below 1.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (0.0..1.0).contains(&number) => Ok(number),
        _ => Err("give a number from 0 to below 1, such as 0.001".to_owned()),
    }
}

/// Returns a probability above 0 and below 1.
pub(crate) fn probability(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number < 1.0 => Ok(number),
        _ => Err("give a number above 0 and below 1, such as 0.95".to_owned()),
    }
}

/// Returns a probability that the resamples of a comparison carry.
pub(crate) fn confidence(text: &str) -> Result<f64, String> {
    let number = probability(text)?;
    if number <= Method::CONFIDENCE_MAX {
        return Ok(number);
    }
    Err(format!("the resamples of a comparison carry {} at most", Method::CONFIDENCE_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        for (text, ms) in [
            ("10", 10_000),
            ("10s", 10_000),
            ("1.5s", 1500),
            ("500ms", 500),
            ("2m", 120_000),
            (" 1 h", 3_600_000),
            ("0", 0),
        ] {
            assert_eq!(duration_ms(text), Ok(ms), "{text}");
        }
        for text in ["", "s", "-1s", "ten", "10 days", "1e300", "NaN", "inf"] {
            assert!(duration_ms(text).is_err(), "{text}");
        }
        for text in ["0.0000001", "0.9ms", "1e-9h"] {
            assert!(duration_ms(text).unwrap_err().contains("counts as 0"), "{text}");
        }
        assert_eq!(duration_ms("1.9ms"), Ok(1));
    }

    #[test]
    fn times_below_a_second_need_their_unit() {
        for (text, ns) in [("50ms", 50_000_000), ("800us", 800_000), ("2s", 2_000_000_000), (" 1.5 ns", 1)] {
            assert_eq!(duration_ns(text), Ok(ns), "{text}");
        }
        for text in ["", "50", "ms", "0ms", "-1s", "2m", "1e300s", "NaNs", "infs", "0.5ns"] {
            assert!(duration_ns(text).is_err(), "{text}");
        }
    }

    #[test]
    fn fractions_and_shares_are_bounded() {
        assert_eq!((fraction("0.5"), fraction("1e-9")), (Ok(0.5), Ok(1e-9)));
        for text in ["0", "0.51", "-0.1", "1 %", "NaN"] {
            assert!(fraction(text).is_err(), "{text}");
        }
        assert_eq!((share("0"), share("0.999")), (Ok(0.0), Ok(0.999)));
        for text in ["1", "-0.001", "half", "NaN"] {
            assert!(share(text).is_err() && probability(text).is_err(), "{text}");
        }
        assert!(probability("0").is_err() && probability("0.95") == Ok(0.95));
    }
}
