//! Numbers in English words, as in the reference's cleaner of transcripts.

use crate::error::ScoreError;

/// Names of the powers of 1000.
const POWERS: [&str; 12] = [
    "",
    "thousand",
    "million",
    "billion",
    "trillion",
    "quadrillion",
    "quintillion",
    "sextillion",
    "septillion",
    "octillion",
    "nonillion",
    "decillion",
];

/// Maximum number of digits of a number that can be spelled out.
const DIGIT_COUNT_MAX: usize = 3 * POWERS.len();

const BELOW_TWENTY: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];

const TENS: [&str; 10] =
    ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

/// Replaces the numbers of a text in ASCII by words: sums of dollars, decimals, ordinals, years, all others.
///
/// # Errors
/// [`ScoreError::NumberTooLarge`].
pub(super) fn numbers_in_words(text: &str) -> Result<String, ScoreError> {
    if !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return Ok(text.to_owned());
    }
    let text = without_grouping_commas(text);
    let text = dollars_spelled_out(&text);
    let text = decimal_points_spelled_out(&text);
    let mut result = String::with_capacity(2 * text.len());
    let mut rest = text.as_str();
    while let Some(next) = rest.chars().next() {
        let (digits, after) = leading_digits(rest);
        if digits.is_empty() {
            result.push(next);
            rest = &rest[next.len_utf8()..];
            continue;
        }
        let ordinal = ["st", "nd", "rd", "th"].iter().find_map(|suffix| after.strip_prefix(suffix));
        match ordinal {
            Some(after) => {
                result.push_str(&ordinal_in_words(digits)?);
                rest = after;
            }
            None => {
                result.push_str(&number_in_words(digits)?);
                rest = after;
            }
        }
    }
    Ok(result)
}

fn leading_digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len()))
}

/// Removes the commas from runs of digits and commas that begin and end with a digit and have at least three
/// characters.
fn without_grouping_commas(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != ',').unwrap_or(rest.len());
        let run = rest[..end].trim_end_matches(',');
        if next.is_ascii_digit() && run.len() >= 3 {
            result.extend(run.chars().filter(|character| *character != ','));
            rest = &rest[run.len()..];
        } else {
            result.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    result
}

/// Puts the unit of a sum of dollars behind it: `$2.50` becomes `2 dollars, 50 cents`.
fn dollars_spelled_out(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        rest = &rest[next.len_utf8()..];
        let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',');
        let end = rest.find(|character| !is_part(character)).unwrap_or(rest.len());
        let sum = rest[..end].trim_end_matches(['.', ',']);
        if next != '$' || sum.is_empty() {
            result.push(next);
            continue;
        }
        rest = &rest[sum.len()..];
        result.push_str(&dollars_and_cents(sum));
    }
    result
}

fn dollars_and_cents(sum: &str) -> String {
    let mut parts = sum.split('.');
    let (dollars, cents) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    if parts.next().is_some() || sum.contains(',') {
        // No sum that has a meaning.
        return format!("{sum} dollars");
    }
    let unit = |digits: &str, one: &'static str, more: &'static str| {
        let digits = digits.trim_start_matches('0');
        (!digits.is_empty()).then(|| format!("{digits} {}", if digits == "1" { one } else { more }))
    };
    match (unit(dollars, "dollar", "dollars"), unit(cents, "cent", "cents")) {
        (Some(dollars), Some(cents)) => format!("{dollars}, {cents}"),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => "zero dollars".to_owned(),
    }
}

fn decimal_points_spelled_out(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let (whole, after) = leading_digits(rest);
        let decimals =
            after.strip_prefix('.').map(leading_digits).filter(|(decimals, _)| !decimals.is_empty());
        match (whole, decimals) {
            ("", _) => {
                result.push(next);
                rest = &rest[next.len_utf8()..];
            }
            (_, Some((decimals, after))) => {
                result.extend([whole, " point ", decimals]);
                rest = after;
            }
            (_, None) => {
                result.push_str(whole);
                rest = after;
            }
        }
    }
    result
}

/// Returns a number in words. One with a zero in front is read digit by digit, and so is one above a thousand million
/// that does not end in four zeros, such as a telephone number; one between 1000 and 3000 is read as a year.
fn number_in_words(digits: &str) -> Result<String, ScoreError> {
    if digits.starts_with('0') {
        return Ok(digit_by_digit(digits));
    }
    match digits.parse::<u64>() {
        Ok(2000) => return Ok("two thousand".to_owned()),
        Ok(number @ 2001..=2009) => return Ok(format!("two thousand {}", below_hundred(number % 100))),
        Ok(number @ 1001..=2999) if number.is_multiple_of(100) => {
            return Ok(format!("{} hundred", below_hundred(number / 100)));
        }
        Ok(number @ 1001..=2999) => {
            let (century, year) = (below_hundred(number / 100), number % 100);
            let oh = if year < 10 { "oh " } else { "" };
            return Ok(format!("{century} {oh}{}", below_hundred(year)));
        }
        _ => {}
    }
    let is_long = digits.len() > 10 || digits.len() == 10 && digits > "1000000000";
    if is_long && !digits.ends_with("0000") {
        return Ok(digit_by_digit(digits));
    }
    cardinal(digits, "")
}

fn digit_by_digit(digits: &str) -> String {
    let words: Vec<_> = digits.bytes().map(|digit| BELOW_TWENTY[usize::from(digit - b'0')]).collect();
    words.join(" ")
}

/// Returns an ordinal in words, with the `and` that others lack: `one hundred and first`.
fn ordinal_in_words(digits: &str) -> Result<String, ScoreError> {
    let words = cardinal(digits, "and")?;
    let (front, last) = words.rsplit_once(' ').map_or(("", words.as_str()), |(front, last)| (front, last));
    let last = match last {
        "one" => "first".to_owned(),
        "two" => "second".to_owned(),
        "three" => "third".to_owned(),
        "five" => "fifth".to_owned(),
        "eight" => "eighth".to_owned(),
        "nine" => "ninth".to_owned(),
        "twelve" => "twelfth".to_owned(),
        _ => last.strip_suffix("ty").map_or_else(|| format!("{last}th"), |stem| format!("{stem}tieth")),
    };
    Ok(if front.is_empty() { last } else { format!("{front} {last}") })
}

/// Returns a number in words; `and` precedes tens and units that follow other words.
fn cardinal(digits: &str, and: &str) -> Result<String, ScoreError> {
    let digits = digits.trim_start_matches('0');
    if digits.len() > DIGIT_COUNT_MAX {
        return Err(ScoreError::NumberTooLarge {
            digits: digits.to_owned(),
            digit_count_max: DIGIT_COUNT_MAX,
        });
    }
    let mut words: Vec<String> = Vec::new();
    let groups = digits.as_bytes().rchunks(3).enumerate().collect::<Vec<_>>();
    for (power, group) in groups.into_iter().rev() {
        let number = group.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0'));
        let (hundreds, rest) = (number / 100, number % 100);
        if hundreds > 0 {
            words.extend([below_hundred(hundreds), "hundred".to_owned()]);
        }
        if rest > 0 {
            let follows = hundreds > 0 || power == 0 && !words.is_empty();
            words.extend((follows && !and.is_empty()).then(|| and.to_owned()));
            words.push(below_hundred(rest));
        }
        if number > 0 && power > 0 {
            words.push(POWERS[power].to_owned());
        }
    }
    Ok(if words.is_empty() { BELOW_TWENTY[0].to_owned() } else { words.join(" ") })
}

fn below_hundred(number: u64) -> String {
    let number = usize::try_from(number).unwrap_or_default();
    match (number / 10, number % 10) {
        _ if number < BELOW_TWENTY.len() => BELOW_TWENTY[number].to_owned(),
        (tens, 0) => TENS[tens].to_owned(),
        (tens, units) => format!("{} {}", TENS[tens], BELOW_TWENTY[units]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_an_american_reads_them() {
        for (text, expected) in [
            ("7", "seven"),
            ("0", "zero"),
            ("007", "zero zero seven"),
            ("101", "one hundred one"),
            ("1000", "one thousand"),
            ("1,234,567", "one million two hundred thirty four thousand five hundred sixty seven"),
            ("1984", "nineteen eighty four"),
            ("1905", "nineteen oh five"),
            ("1900", "nineteen hundred"),
            ("2000 2003 2010", "two thousand two thousand three twenty ten"),
            ("1000000000", "one billion"),
            ("1000000001", "one zero zero zero zero zero zero zero zero one"),
            ("3.14", "three point fourteen"),
            ("$2.50", "two dollars, fifty cents"),
            ("$1.01", "one dollar, one cent"),
            ("$0.05 $.00", "five cents zero dollars"),
            ("$1.2.3", "one point two.three dollars"),
            ("a1b", "aoneb"),
            ("none", "none"),
        ] {
            assert_eq!(numbers_in_words(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn ordinals_have_an_and() {
        for (text, expected) in [
            ("21st", "twenty first"),
            ("12th", "twelfth"),
            ("20th", "twentieth"),
            ("121st", "one hundred and twenty first"),
            ("1001st", "one thousand and first"),
            ("1,100th", "one thousand one hundredth"),
            ("1000000th", "one millionth"),
            ("0th", "zeroth"),
        ] {
            assert_eq!(numbers_in_words(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn a_number_without_words_is_refused() {
        let digits = "1".to_owned() + &"0".repeat(DIGIT_COUNT_MAX);
        let error = numbers_in_words(&digits).unwrap_err();
        assert_eq!(error, ScoreError::NumberTooLarge { digits, digit_count_max: 36 });
        assert_eq!(numbers_in_words(&("1".to_owned() + &"0".repeat(35))).unwrap(), "one hundred decillion");
    }
}
