//! Text as the reference's scripts, which are written in Python, see and print it.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// Prints a number as `{:.3f}` does for `decimals` of 3.
#[must_use]
pub fn fixed(value: f64, decimals: usize) -> String {
    if value.is_nan() { "nan".to_owned() } else { format!("{value:.decimals$}") }
}

/// Prints a number as `{}` does: the fewest digits that name it, with an exponent below 1e-4 and from 1e16 on.
#[must_use]
pub fn shortest(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() || value == 0.0 {
        return if value == 0.0 { format!("{value:.1}") } else { format!("{value}") };
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..16).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ => {
            let plain = format!("{value}");
            if plain.contains('.') { plain } else { plain + ".0" }
        }
    }
}

/// Returns whether `str.split` and `str.strip` take this for white space: in addition to Unicode's, the separators of
/// ASCII.
pub(crate) fn is_space(character: char) -> bool {
    character.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&character)
}

/// Returns the words of a text, as `str.split()` gives them.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_space).filter(|word| !word.is_empty())
}

/// Returns whether `\w` of a regular expression matches: letters and numbers by their category, and the underscore.
/// Unlike Rust's `is_alphanumeric`, no marks.
pub(crate) fn is_word(character: char) -> bool {
    let group = character.general_category_group();
    character == '_' || matches!(group, GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_printed_with_the_fewest_digits() {
        for (value, expected) in [
            (7.452_253_714_852_645, "7.452253714852645"),
            (100.0, "100.0"),
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (0.0001, "0.0001"),
            (0.000_01, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.25e300, "1.25e+300"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(shortest(value), expected);
        }
    }

    #[test]
    fn a_tie_is_rounded_to_the_even_digit() {
        for (value, decimals, expected) in
            [(0.125, 2, "0.12"), (0.375, 2, "0.38"), (2.5, 0, "2"), (1.0, 3, "1.000"), (f64::NAN, 3, "nan")]
        {
            assert_eq!(fixed(value, decimals), expected);
        }
    }

    #[test]
    fn marks_are_no_part_of_words_and_separators_end_them() {
        for character in ['a', 'Z', '0', '_', 'é', 'ß', '中', '½', '²', '٣', 'Ⅷ'] {
            assert!(is_word(character), "{character}");
        }
        for character in [' ', '-', '\u{301}', '\u{93e}', '’', '€', '\u{200d}', '\u{10ffff}'] {
            assert!(!is_word(character), "{character:?}");
        }
        let text = "\u{a0}one\u{1c}two\u{85} three\u{200b}four\u{3000}";
        assert_eq!(words(text).collect::<Vec<_>>(), ["one", "two", "three\u{200b}four"]);
    }
}
