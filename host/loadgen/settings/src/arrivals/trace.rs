//! A recorded trace of arrivals, and the reader of its file.
//!
//! A line for each arrival, with its instant in seconds from any origin, ascending. A first line that is not a number
//! is a header and names the unit: `s`, `ms`, `us` or `ns`, or a name that ends in one of them, such as `arrival_ms`.
//! Empty lines mean nothing.

use std::fmt;

use proctor_vocabulary::beginning::BYTE_ORDER_MARK_UTF8;

/// The longest time from the first arrival to the last, some 30 years: as the longest duration of a run.
const MAX_SPAN_NS: u64 = 1_000_000_000_000_000_000;
/// Maximum number of characters of a value in a message.
const SHOWN_MAX: usize = 40;
/// Significant digits that are examined: more than any number of nanoseconds has.
const DIGITS_MAX: u128 = 10_u128.pow(28);

/// Recorded arrivals: at least two, at two instants at least.
#[derive(Clone, PartialEq, Eq)]
pub struct Trace {
    name: String,
    /// Offsets from the first, ascending.
    offsets_ns: Vec<u64>,
    /// Time from the first arrival to its repetition: a mean gap lies between the last arrival and the next first.
    period_ns: u64,
}

/// Reason why a file is not a trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum TraceError {
    #[error(
        "line {line}: \"{value}\" is no instant: give a number on each line, such as 0.25, of seconds or of the unit \
         that the first line names"
    )]
    NotANumber {
        /// Number of the line, from 1.
        line: usize,
        value: String,
    },
    #[error(
        "line {line}: \"{value}\" is neither an instant nor a unit: begin with a number of seconds, or with a header \
         such as s, ms, us, ns or arrival_ms"
    )]
    UnknownHeader {
        /// Number of the line, from 1.
        line: usize,
        value: String,
    },
    #[error("line {line}: {value} is negative: count the instants from 0 or from any earlier origin")]
    Negative {
        /// Number of the line, from 1.
        line: usize,
        value: String,
    },
    #[error(
        "line {line}: {value} is too large: give instants of at most 30 years from the first, in the unit that the \
         first line names (without a header, seconds)"
    )]
    TooLarge {
        /// Number of the line, from 1.
        line: usize,
        value: String,
    },
    #[error("line {line}: {value} is before the instant above it: sort the lines")]
    NotAscending {
        /// Number of the line, from 1.
        line: usize,
        value: String,
    },
    #[error("arrivals in it: {count}, which make no rate: give at least two, at different instants")]
    NoRate { count: usize },
}

impl Trace {
    /// Reads a trace. `name` is for messages: the file's name.
    ///
    /// # Errors
    /// [`TraceError`], with the first line that is wrong.
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self, TraceError> {
        let bytes = bytes.strip_prefix(&BYTE_ORDER_MARK_UTF8).unwrap_or(bytes);
        let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).zip(1..);
        let mut lines = lines.filter(|(text, _)| !text.is_empty()).peekable();
        let mut decimals = 9;
        if let Some((text, line)) = lines.next_if(|(text, _)| number(text).is_none()) {
            decimals =
                unit_decimals(text).ok_or_else(|| TraceError::UnknownHeader { line, value: shown(text) })?;
        }
        let mut offsets_ns = Vec::new();
        let (mut first_ns, mut last_ns) = (0, 0);
        for (text, line) in lines {
            let value = || shown(text);
            let instant_ns = match instant_ns(text, decimals) {
                Ok(instant_ns) => instant_ns,
                Err(Wrong::NotANumber) => return Err(TraceError::NotANumber { line, value: value() }),
                Err(Wrong::Negative) => return Err(TraceError::Negative { line, value: value() }),
                Err(Wrong::TooLarge) => return Err(TraceError::TooLarge { line, value: value() }),
            };
            if offsets_ns.is_empty() {
                first_ns = instant_ns;
            } else if instant_ns < last_ns {
                return Err(TraceError::NotAscending { line, value: value() });
            }
            if instant_ns - first_ns > MAX_SPAN_NS {
                return Err(TraceError::TooLarge { line, value: value() });
            }
            last_ns = instant_ns;
            offsets_ns.push(instant_ns - first_ns);
        }
        Self::new(name, offsets_ns)
    }

    /// Creates a trace of offsets from the first arrival, ascending.
    fn new(name: &str, mut offsets_ns: Vec<u64>) -> Result<Self, TraceError> {
        offsets_ns.shrink_to_fit();
        let count = offsets_ns.len();
        let span_ns = offsets_ns.last().copied().unwrap_or(0);
        if span_ns == 0 {
            return Err(TraceError::NoRate { count });
        }
        let gap_ns = (span_ns as f64 / (count - 1) as f64).round() as u64;
        Ok(Self { name: name.to_owned(), offsets_ns, period_ns: span_ns + gap_ns })
    }

    /// Returns the name that it was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of its arrivals.
    #[must_use]
    pub fn arrival_count(&self) -> u64 {
        self.offsets_ns.len() as u64
    }

    /// Returns the time from its first arrival to the first of its repetition, as recorded.
    #[must_use]
    pub fn period_ns(&self) -> u64 {
        self.period_ns
    }

    /// Returns the mean rate, as recorded.
    #[must_use]
    pub fn rate_qps(&self) -> f64 {
        self.arrival_count() as f64 * 1e9 / self.period_ns as f64
    }

    /// Returns how often it restarts in a run of this many queries.
    #[must_use]
    pub fn repetition_count(&self, query_count: u64) -> u64 {
        query_count.saturating_sub(1) / self.arrival_count()
    }

    /// Returns the offset of an arrival, from 0, counted on through the repetitions.
    pub(crate) fn offset_ns(&self, number: u64) -> u128 {
        let (round, position) = (number / self.arrival_count(), number % self.arrival_count());
        u128::from(round) * u128::from(self.period_ns) + u128::from(self.offsets_ns[position as usize])
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, count, period_ns) = (&self.name, self.arrival_count(), self.period_ns);
        f.debug_struct("Trace")
            .field("name", name)
            .field("arrival_count", &count)
            .field("period_ns", &period_ns)
            .finish_non_exhaustive()
    }
}

enum Wrong {
    NotANumber,
    Negative,
    TooLarge,
}

/// Returns the text as shown in a message.
fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut shown: String = text.chars().take(SHOWN_MAX).collect();
    if shown.len() < text.len() {
        shown.push_str("...");
    }
    shown
}

/// Returns the decimals of the unit that a header names, down to a nanosecond.
fn unit_decimals(header: &[u8]) -> Option<i32> {
    let unit = header.rsplit(|byte| *byte == b'_').next()?;
    [(&b"s"[..], 9), (b"ms", 6), (b"us", 3), (b"ns", 0)]
        .into_iter()
        .find_map(|(name, decimals)| (unit == name).then_some(decimals))
}

/// Returns the text as a number, which may be infinite or NaN.
fn number(text: &[u8]) -> Option<(&str, f64)> {
    let text = str::from_utf8(text).ok()?;
    Some((text, text.parse().ok()?))
}

/// Returns the instant in ns, rounded to the nearest; a unit has this many decimals down to a nanosecond.
///
/// The digits are read one by one: a double has too few of them for an instant of today in seconds.
fn instant_ns(text: &[u8], decimals: i32) -> Result<u64, Wrong> {
    let (text, number) = number(text).filter(|(_, number)| !number.is_nan()).ok_or(Wrong::NotANumber)?;
    if number < 0.0 {
        return Err(Wrong::Negative);
    }
    if number.is_infinite() {
        return Err(Wrong::TooLarge);
    }
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    // The number is finite, so an exponent that does not fit belongs to a 0, or makes it one.
    let Ok(exponent) = exponent.parse::<i32>() else { return Ok(0) };
    let mut shift = i64::from(exponent) + i64::from(decimals);
    let (mut digits, mut is_fraction) = (0_u128, false);
    for character in mantissa.bytes() {
        match character {
            b'.' => is_fraction = true,
            b'0'..=b'9' if digits < DIGITS_MAX => {
                digits = digits * 10 + u128::from(character - b'0');
                shift -= i64::from(is_fraction);
            }
            b'0'..=b'9' => shift += i64::from(!is_fraction),
            _ => {}
        }
    }
    let power = u32::try_from(shift.unsigned_abs()).ok().and_then(|power| 10_u128.checked_pow(power));
    let instant_ns = match (power, shift >= 0) {
        _ if digits == 0 => 0,
        (Some(power), true) => digits.checked_mul(power).ok_or(Wrong::TooLarge)?,
        (None, true) => return Err(Wrong::TooLarge),
        (Some(power), false) => (digits + power / 2) / power,
        (None, false) => 0,
    };
    u64::try_from(instant_ns).map_err(|_| Wrong::TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(text: &str) -> Vec<u64> {
        Trace::parse("t", text.as_bytes()).unwrap().offsets_ns
    }

    fn error(text: &str) -> String {
        Trace::parse("t", text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn instants_are_seconds_or_of_the_unit_of_the_header() {
        assert_eq!(offsets("0\n0.25\n1e0\n"), [0, 250_000_000, 1_000_000_000]);
        assert_eq!(offsets("arrival_ms\n5\n5\n7.5"), [0, 0, 2_500_000]);
        assert_eq!(offsets("us\r\n1\r\n\r\n3\r\n"), [0, 2000]);
        assert_eq!(offsets("\u{feff}ns\n 7 \n9\n"), [0, 2]);
        assert_eq!(offsets("time_s\n1e-9\n+2.4E-9\n"), [0, 1]);
    }

    #[test]
    fn an_instant_of_today_keeps_its_nanoseconds() {
        assert_eq!(offsets("1763890000.000000001\n1763890000.123456789\n"), [0, 123_456_788]);
        let long = format!("0.{}1\n1.{}\n", "0".repeat(60), "9".repeat(60));
        assert_eq!(offsets(&long), [0, 2_000_000_000]);
    }

    #[test]
    fn the_repetition_keeps_the_mean_rate() {
        let trace = Trace::parse("t", b"ms\n10\n11\n14\n").unwrap();
        assert_eq!((trace.arrival_count(), trace.period_ns(), trace.rate_qps()), (3, 6_000_000, 500.0));
        let offsets_ms: Vec<_> = (0..7).map(|number| trace.offset_ns(number) / 1_000_000).collect();
        assert_eq!(offsets_ms, [0, 1, 4, 6, 7, 10, 12]);
        assert_eq!([0, 1, 3, 4, 6, 7].map(|count| trace.repetition_count(count)), [0, 0, 0, 1, 1, 2]);
    }

    #[test]
    fn what_is_wrong_is_told_with_line_value_and_what_to_do() {
        assert_eq!(error("0\n2\n1\n"), "line 3: 1 is before the instant above it: sort the lines");
        for (text, expected) in [
            ("0\nfive\n", "line 2: \"five\" is no instant: give a number on each line"),
            ("0\n1,2\n", "line 2: \"1,2\" is no instant"),
            ("0\n\nNaN\n", "line 3: \"NaN\" is no instant"),
            ("0\nms\n", "line 2: \"ms\" is no instant"),
            ("minutes\n0\n", "line 1: \"minutes\" is neither an instant nor a unit: begin with"),
            ("-1\n0\n", "line 1: -1 is negative: count the instants from 0"),
            ("0\ninf\n", "line 2: inf is too large: give instants of at most 30 years"),
            ("0\n1e300\n", "line 2: 1e300 is too large"),
            ("0\n2e9\n", "line 2: 2e9 is too large"),
            ("", "arrivals in it: 0, which make no rate: give at least two, at different instants"),
            ("ms\n", "arrivals in it: 0, which"),
            ("5\n", "arrivals in it: 1, which"),
            ("5\n5\n", "arrivals in it: 2, which"),
        ] {
            assert!(error(text).starts_with(expected), "{text:?}: {}", error(text));
        }
        let long = error(&format!("0\n{}\n", "x".repeat(1000)));
        assert!(long.contains("xxx...") && long.len() < 200, "{long}");
        let binary = Trace::parse("t", b"0\n\xff\xfe\n").unwrap_err().to_string();
        assert!(binary.starts_with("line 2: "), "{binary}");
    }
}
