//! GPT-2's byte pair encoding, with the vocabulary that a GGUF file has inside.
//!
//! Source: the library `tokenizers` (BPE model, ByteLevel and Digits pre-tokenizers) and OpenAI's `encoder.py` for
//! GPT-2.

use std::{collections::HashMap, io::Read, io::Seek};

use proctor_gguf_file::{GgufError, GgufFile};
use unicode_properties::{GeneralCategoryGroup::Letter, UnicodeGeneralCategory};

/// The tokenizer that is known, by its names in a file: the model, and the way to cut a text before.
const MODEL: &str = "gpt2";
const CUT: &str = "smollm";

/// Kind of the tokens that stand for themselves in a text, such as the marks of a chat.
const CONTROL: i64 = 3;

/// Endings that are words of their own.
const ENDINGS: [&str; 7] = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d"];

/// Reason why a file has no tokenizer that is known.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum BytePairError {
    #[error(transparent)]
    File(#[from] GgufError),
    #[error("its {key} is {got:?}, and only {expected:?} is known")]
    Kind { key: &'static str, expected: &'static str, got: String },
    #[error("it has {tokens} tokens and the kinds of {kinds}; restore the file")]
    Kinds { tokens: usize, kinds: usize },
    #[error("token {0:?} is there twice; restore the file")]
    Repeated(String),
    #[error("its merge {0:?} is not two tokens that make a third; restore the file")]
    Merge(String),
}

/// A vocabulary of byte pair encoding, and the order in which pairs are merged.
#[derive(Debug, Clone)]
pub struct BytePairTokenizer {
    /// The token of each byte; none for a byte that the vocabulary does not have.
    bytes: [Option<u32>; 256],
    /// Rank and token of each pair that is merged; a lower rank comes first.
    merges: HashMap<(u32, u32), (u32, u32)>,
    /// Tokens that stand for themselves, the longest first.
    control: Vec<(String, u32)>,
}

impl BytePairTokenizer {
    /// Takes the tokenizer of a file.
    ///
    /// # Errors
    /// [`BytePairError`] if the file has none, or one of another kind.
    pub fn of_file<R: Read + Seek>(file: &GgufFile<R>) -> Result<Self, BytePairError> {
        for (key, expected) in [("tokenizer.ggml.model", MODEL), ("tokenizer.ggml.pre", CUT)] {
            let got = file.text(key)?;
            if got != expected {
                return Err(BytePairError::Kind { key, expected, got: got.to_owned() });
            }
        }
        let tokens = file.texts("tokenizer.ggml.tokens")?;
        let kinds = file.integers("tokenizer.ggml.token_type")?;
        if tokens.len() != kinds.len() {
            return Err(BytePairError::Kinds { tokens: tokens.len(), kinds: kinds.len() });
        }
        let control = tokens.iter().zip(kinds).filter(|(_, kind)| **kind == CONTROL).map(|(token, _)| token);
        Self::new(tokens, file.texts("tokenizer.ggml.merges")?, control)
    }

    /// Numbers the tokens from 0. A merge is two of them with a space between; the first is the first to be made.
    ///
    /// # Errors
    /// [`BytePairError::Repeated`] or [`BytePairError::Merge`].
    pub fn new<'a>(
        tokens: &[String],
        merges: &[String],
        control: impl IntoIterator<Item = &'a String>,
    ) -> Result<Self, BytePairError> {
        let mut ids: HashMap<&str, u32> = HashMap::with_capacity(tokens.len());
        for (id, token) in (0..).zip(tokens) {
            if ids.insert(token, id).is_some() {
                return Err(BytePairError::Repeated(token.clone()));
            }
        }
        let mut by_pair = HashMap::with_capacity(merges.len());
        for (rank, merge) in (0..).zip(merges) {
            let merged = merge.split_once(' ').and_then(|(left, right)| {
                let whole = ids.get([left, right].concat().as_str())?;
                Some(((*ids.get(left)?, *ids.get(right)?), *whole))
            });
            let (pair, whole) = merged.ok_or_else(|| BytePairError::Merge(merge.clone()))?;
            by_pair.entry(pair).or_insert((rank, whole));
        }
        let mut control: Vec<(String, u32)> = control
            .into_iter()
            .filter_map(|token| Some((token.clone(), *ids.get(token.as_str())?)))
            .collect();
        control.retain(|(token, _)| !token.is_empty());
        control.sort_by_key(|(token, _)| std::cmp::Reverse(token.len()));
        let mut buffer = [0; 4];
        let bytes = letters().map(|letter| ids.get(&*letter.encode_utf8(&mut buffer)).copied());
        Ok(Self { bytes, merges: by_pair, control })
    }

    /// Returns the numbers of a text's tokens.
    #[must_use]
    pub fn ids(&self, text: &str) -> Vec<u32> {
        let (mut ids, mut rest) = (Vec::new(), text);
        while let Some((start, token, id)) = self.next_control(rest) {
            self.add_plain(&rest[..start], &mut ids);
            ids.push(id);
            rest = &rest[start + token.len()..];
        }
        self.add_plain(rest, &mut ids);
        ids
    }

    /// Returns the first token of a text that stands for itself: where it is, and its number.
    fn next_control<'a>(&'a self, text: &str) -> Option<(usize, &'a str, u32)> {
        let places =
            self.control.iter().filter_map(|(token, id)| Some((text.find(token)?, token.as_str(), *id)));
        places.reduce(|first, other| if other.0 < first.0 { other } else { first })
    }

    /// Adds the tokens of a text that has none which stands for itself. Digits are words of their own.
    fn add_plain(&self, text: &str, ids: &mut Vec<u32>) {
        for part in text.split_inclusive(char::is_numeric) {
            let digit = part.char_indices().next_back().filter(|(_, last)| last.is_numeric());
            let (before, digit) = part.split_at(digit.map_or(part.len(), |(start, _)| start));
            words(before, |word| self.add_word(word, ids));
            self.add_word(digit, ids);
        }
    }

    /// Adds the tokens of a word: those of its bytes, merged as long as there is a pair to merge.
    fn add_word(&self, word: &str, ids: &mut Vec<u32>) {
        let mut parts: Vec<u32> = word.bytes().filter_map(|byte| self.bytes[usize::from(byte)]).collect();
        loop {
            let pairs = parts.windows(2).enumerate();
            let merges = pairs.filter_map(|(at, pair)| Some((*self.merges.get(&(pair[0], pair[1]))?, at)));
            // Of equal ranks the first in the word.
            let Some(((_, whole), at)) = merges.min_by_key(|((rank, _), at)| (*rank, *at)) else { break };
            parts[at] = whole;
            parts.remove(at + 1);
        }
        ids.append(&mut parts);
    }
}

/// Cuts a text without digits into words, as the expression does that GPT-2 was trained with: `'s|'t|'re|'ve|'m|'ll|'d|
/// ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`.
fn words<'a>(text: &'a str, mut word: impl FnMut(&'a str)) {
    let mut rest = text;
    while !rest.is_empty() {
        let (first, others) = rest.split_at(word_length(rest));
        word(first);
        rest = others;
    }
}

/// Returns the number of bytes of the first word.
fn word_length(text: &str) -> usize {
    if let Some(ending) = ENDINGS.iter().find(|ending| text.starts_with(**ending)) {
        return ending.len();
    }
    let run = |text: &str, belongs: fn(char) -> bool| text.find(|c| !belongs(c)).unwrap_or(text.len());
    let space = usize::from(text.starts_with(' '));
    for belongs in [is_letter, is_sign] {
        let length = run(&text[space..], belongs);
        if length > 0 {
            return space + length;
        }
    }
    let spaces = run(text, char::is_whitespace);
    let last = text[..spaces].char_indices().next_back().map_or(0, |(start, _)| start);
    // The last space before a word belongs to the word, if there is another one before it.
    if spaces == text.len() || last == 0 { spaces } else { last }
}

fn is_letter(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphabetic() } else { c.general_category_group() == Letter }
}

fn is_sign(c: char) -> bool {
    !c.is_whitespace() && !is_letter(c) && !c.is_numeric()
}

/// Returns the letters that stand for the bytes in a vocabulary: a byte that is a visible letter of Latin-1 is itself,
/// the others are the letters from 256 on.
fn letters() -> [char; 256] {
    let mut other = 256;
    std::array::from_fn(|byte| {
        let is_visible = matches!(byte, 33..=126 | 161..=172 | 174..=255);
        let letter = if is_visible { byte } else { other };
        other += usize::from(!is_visible);
        u32::try_from(letter).ok().and_then(char::from_u32).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn cut(text: &str) -> Vec<&str> {
        let mut all = Vec::new();
        words(text, |word| all.push(word));
        all
    }

    /// The letters of all bytes, then some that are merged, and two marks.
    fn tokenizer() -> BytePairTokenizer {
        let mut tokens: Vec<String> = letters().iter().map(char::to_string).collect();
        tokens.extend(texts(&["ab", "bc", "abc", "Ġa", "<end>", "<end>>"]));
        let merges = texts(&["b c", "a b", "a bc", "Ġ a"]);
        BytePairTokenizer::new(&tokens, &merges, &texts(&["<end>", "<end>>"])).unwrap()
    }

    #[test]
    fn words_are_those_of_the_expression() {
        assert_eq!(cut("it's we'll 'S"), ["it", "'s", " we", "'ll", " '", "S"]);
        assert_eq!(cut("a  b"), ["a", " ", " b"]);
        assert_eq!(cut("a\n\n b \n"), ["a", "\n\n", " b", " \n"]);
        assert_eq!(cut("a\nb"), ["a", "\n", "b"]);
        assert_eq!(cut(" (x) -- é\u{301}"), [" (", "x", ")", " --", " é", "\u{301}"]);
        assert_eq!(cut("\u{a0}\u{3000}x"), ["\u{a0}", "\u{3000}", "x"]);
        assert_eq!(cut("  "), ["  "]);
        assert_eq!(cut(""), [""; 0]);
    }

    #[test]
    fn pairs_are_merged_by_rank_and_from_the_left() {
        let tokenizer = tokenizer();
        assert_eq!(tokenizer.ids("abc"), [258], "b and c come first, then a and bc");
        assert_eq!(tokenizer.ids("abab a"), [256, 256, 259]);
        assert_eq!(tokenizer.ids("\u{7f}1 2"), [0x7f, u32::from(b'1'), 32, u32::from(b'2')]);
    }

    #[test]
    fn marks_stand_for_themselves_the_longest_of_those_that_begin_together() {
        let tokenizer = tokenizer();
        assert_eq!(tokenizer.ids("ab<end>>ab<end><end"), [256, 261, 256, 260, 60, 101, 110, 100]);
    }

    #[test]
    fn a_vocabulary_that_does_not_fit_is_refused() {
        let new = |tokens: &[&str], merges: &[&str]| {
            BytePairTokenizer::new(&texts(tokens), &texts(merges), &[]).unwrap_err().to_string()
        };
        assert!(new(&["a", "a"], &[]).contains("token \"a\" is there twice"));
        for merge in ["a", "a b", "a c", "b  "] {
            assert!(new(&["a", "b"], &[merge]).contains(&format!("merge {merge:?}")), "{merge}");
        }
        let nothing = BytePairTokenizer::new(&[], &[], &[]).unwrap();
        assert_eq!(nothing.ids("bytes that are not there are left out"), [0; 0]);
    }
}
