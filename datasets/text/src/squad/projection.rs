//! Turns the lower-case text of tokens back into the words as they were written.

use crate::basic::basic_tokens;

/// Returns the part of the original text that matches the tokens, or all of it if their characters do not match one to
/// one.
///
/// Source: `get_final_text` of MLPerf's reference implementation of BERT.
pub(super) fn projected(tokens: &str, original: &str) -> String {
    part(tokens, original).unwrap_or_else(|| original.to_owned())
}

fn part(tokens: &str, original: &str) -> Option<String> {
    let lowered = basic_tokens(original).join(" ");
    let start_bytes = lowered.find(tokens)?;
    let start = lowered[..start_bytes].chars().count();
    let end = start + tokens.chars().count().checked_sub(1)?;
    // Places of the characters that are no spaces, which are the same ones in both texts.
    let of_lowered: Vec<usize> = places(&lowered).collect();
    let of_original: Vec<usize> = places(original).collect();
    if of_lowered.len() != of_original.len() {
        return None;
    }
    let place = |at| Some(of_original[of_lowered.binary_search(&at).ok()?]);
    let (first, last) = (place(start)?, place(end)?);
    Some(original.chars().skip(first).take(last + 1 - first).collect())
}

/// Returns the numbers of the characters that are not spaces.
fn places(text: &str) -> impl Iterator<Item = usize> {
    text.chars().enumerate().filter(|(_, c)| *c != ' ').map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_original_spelling_comes_back_without_what_is_around_it() {
        assert_eq!(projected("steve smith", "Steve Smith's"), "Steve Smith");
        assert_eq!(projected("1895", "(1895-1943)."), "1895");
        assert_eq!(projected("cafe", "«Café»,"), "Café");
        assert_eq!(projected("1895 - 1943", "(1895-1943)."), "1895-1943");
    }

    #[test]
    fn where_characters_do_not_match_all_of_it_comes_back() {
        assert_eq!(projected("[UNK]", "Steve Smith's"), "Steve Smith's");
        assert_eq!(projected("cafe", "Cafe\u{301}s!"), "Cafe\u{301}s!", "a combining accent counts");
        assert_eq!(projected("", "(x)"), "(x)");
        assert_eq!(projected("x ", "x y"), "x y", "an end on a space");
    }
}
