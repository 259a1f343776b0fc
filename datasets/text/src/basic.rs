//! The basic tokenizer: words and punctuation, in lower case and without accents.

use unicode_normalization::UnicodeNormalization;

use crate::unicode::{is_accent, is_dropped, is_ideograph, is_punctuation, is_space};

/// Cuts a text into words and single punctuation characters, in lower case and without accents.
///
/// Source: `BasicTokenizer` of the reference implementation of BERT, with `do_lower_case`.
#[must_use]
pub fn basic_tokens(text: &str) -> Vec<String> {
    let mut cleaned = String::with_capacity(text.len());
    for c in text.chars().filter(|c| !is_dropped(*c)) {
        match c {
            _ if is_space(c) => cleaned.push(' '),
            _ if is_ideograph(c) => cleaned.extend([' ', c, ' ']),
            _ => cleaned.push(c),
        }
    }
    let mut tokens = Vec::new();
    // Separators of lines and paragraphs are no spaces to `is_space`, but they end words.
    for word in cleaned.split_whitespace() {
        // The whole word at once: what a capital sigma becomes depends on what is around it.
        let word = word.to_lowercase();
        let mut begins = true;
        for c in word.nfd().filter(|c| !is_accent(*c)) {
            let is_alone = is_punctuation(c);
            match tokens.last_mut() {
                Some(token) if !begins && !is_alone => String::push(token, c),
                _ => tokens.push(String::from(c)),
            }
            begins = is_alone;
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_lowered_stripped_and_split() {
        assert_eq!(basic_tokens(" \tHeLLo!how  \n Are yoU? "), ["hello", "!", "how", "are", "you", "?"]);
        assert_eq!(basic_tokens("Café naïve ÅNGSTRÖM"), ["cafe", "naive", "angstrom"]);
        assert_eq!(basic_tokens("$1,000-$2 “x”"), ["$", "1", ",", "000", "-", "$", "2", "“", "x", "”"]);
    }

    #[test]
    fn ideographs_are_words_and_other_scripts_are_not_cut() {
        assert_eq!(basic_tokens("ah博推zz"), ["ah", "博", "推", "zz"]);
        assert_eq!(basic_tokens("ひらがな カタカナ"), ["ひらかな", "カタカナ"]);
        assert_eq!(
            basic_tokens("\u{f900}"),
            ["\u{8c48}"],
            "a compatibility ideograph becomes the unified one"
        );
    }

    #[test]
    fn controls_vanish_and_spaces_of_all_kinds_separate() {
        assert_eq!(basic_tokens("a\u{0}b\u{fffd}c\u{200b}d\u{7f}e\u{ad}f"), ["abcdef"]);
        assert_eq!(basic_tokens("a\u{a0}b\u{3000}c\u{2028}d\u{202f}e"), ["a", "b", "c", "d", "e"]);
        assert_eq!(basic_tokens("\u{301}"), Vec::<String>::new(), "an accent alone");
        assert_eq!(basic_tokens(""), Vec::<String>::new());
    }

    #[test]
    fn the_last_sigma_of_a_word_is_the_final_one() {
        assert_eq!(basic_tokens("ΟΔΟΣ ΣΑΣ"), ["οδος", "σας"]);
        assert_eq!(basic_tokens("İI"), ["ii"]);
    }
}
