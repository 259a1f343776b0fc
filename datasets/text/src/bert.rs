//! The tokenizer of the uncased BERT: basic tokens, cut into the longest pieces that the vocabulary has.

use crate::{
    basic::basic_tokens,
    vocabulary::{Vocabulary, VocabularyError},
};

/// Maximum number of characters of a word; longer words are unknown as a whole.
pub(crate) const WORD_LENGTH_MAX: usize = 100;
/// Mark of a piece that continues with a word.
pub(crate) const CONTINUED: &str = "##";
pub(crate) const UNKNOWN: &str = "[UNK]";
const START: &str = "[CLS]";
const SEPARATOR: &str = "[SEP]";
/// Tokens that a text may contain literally.
const SPECIAL: [&str; 5] = [UNKNOWN, SEPARATOR, "[PAD]", START, "[MASK]"];

/// The tokenizer of the uncased BERT.
///
/// Source: `BertTokenizer` of the package transformers, which MLPerf's reference implementation uses.
#[derive(Debug, Clone)]
pub struct BertTokenizer {
    vocabulary: Vocabulary,
    unknown: u32,
    start: u32,
    separator: u32,
    special: Vec<(&'static str, u32)>,
    /// Maximum number of characters of a token; longer ones are never tried.
    token_length_max: usize,
}

impl BertTokenizer {
    /// Number of tokens of the uncased BERT models.
    pub const TOKEN_COUNT: usize = 30522;

    /// Takes a vocabulary of any length.
    ///
    /// # Errors
    /// [`VocabularyError::Absent`] without `[UNK]`, `[CLS]` or `[SEP]`.
    pub fn new(vocabulary: Vocabulary) -> Result<Self, VocabularyError> {
        let needed = |token| vocabulary.id(token).ok_or(VocabularyError::Absent(token));
        let (unknown, start, separator) = (needed(UNKNOWN)?, needed(START)?, needed(SEPARATOR)?);
        let special = SPECIAL.iter().filter_map(|token| Some((*token, vocabulary.id(token)?))).collect();
        let lengths = (0..).map_while(|id| vocabulary.token(id)).map(|token| token.chars().count());
        let token_length_max = lengths.max().unwrap_or(0);
        Ok(Self { unknown, start, separator, special, token_length_max, vocabulary })
    }

    /// Reads a `vocab.txt`, which has a token in each line.
    ///
    /// # Errors
    /// Returns the fault of the vocabulary, [`VocabularyError::Count`] among them.
    pub fn from_vocabulary_lines(text: &str) -> Result<Self, VocabularyError> {
        Self::new(Vocabulary::from_lines(text)?.of_length(Self::TOKEN_COUNT)?)
    }

    /// Returns the tokens.
    #[must_use]
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// Returns the number of `[CLS]`, with which a row begins.
    #[must_use]
    pub fn start(&self) -> u32 {
        self.start
    }

    /// Returns the number of `[SEP]`, which ends the question and the row.
    #[must_use]
    pub fn separator(&self) -> u32 {
        self.separator
    }

    /// Cuts a text into tokens, as numbers of the vocabulary.
    #[must_use]
    pub fn tokenize(&self, text: &str) -> Vec<u32> {
        let mut ids = Vec::new();
        let mut rest = text;
        while let Some((at, (token, id))) = self.first_special(rest) {
            self.tokenize_plain(&rest[..at], &mut ids);
            ids.push(id);
            rest = &rest[at + token.len()..];
        }
        self.tokenize_plain(rest, &mut ids);
        ids
    }

    /// Returns the first special token in a text, with its place in bytes.
    fn first_special(&self, text: &str) -> Option<(usize, (&'static str, u32))> {
        let first = text.find('[')?;
        let found = self.special.iter().filter_map(|special| {
            let at = text[first..].find(special.0)?;
            Some((first + at, *special))
        });
        found.min_by_key(|(at, _)| *at)
    }

    fn tokenize_plain(&self, text: &str, ids: &mut Vec<u32>) {
        // The reference lowers character by character first, so that a capital sigma is never the final one here.
        let lowered: String = text.chars().flat_map(char::to_lowercase).collect();
        let mut piece = String::new();
        for word in basic_tokens(&lowered) {
            let before = ids.len();
            if !self.push_pieces(&word, &mut piece, ids) {
                ids.truncate(before);
                ids.push(self.unknown);
            }
        }
    }

    /// Appends the pieces of a word, the longest first; `false` if it is not made of pieces. `piece` is room to write.
    fn push_pieces(&self, word: &str, piece: &mut String, ids: &mut Vec<u32>) -> bool {
        let ends: Vec<usize> = word.char_indices().map(|(start, c)| start + c.len_utf8()).collect();
        if ends.len() > WORD_LENGTH_MAX {
            return false;
        }
        let (mut start, mut first) = (0, 0);
        while first < ends.len() {
            let longest = ends.len().min(first + self.token_length_max);
            piece.clear();
            if start > 0 {
                piece.push_str(CONTINUED);
            }
            let mark = piece.len();
            piece.push_str(&word[start..ends[longest - 1]]);
            let found = (first..longest).rev().find_map(|last| {
                piece.truncate(mark + ends[last] - start);
                Some((last, self.vocabulary.id(piece)?))
            });
            let Some((last, id)) = found else { return false };
            ids.push(id);
            (start, first) = (ends[last], last + 1);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokenizer() -> BertTokenizer {
        let tokens =
            "[PAD] [UNK] [CLS] [SEP] [MASK] want ##want ##ed wa un runn ##ing , low ##er ##e r 中 σ ##σ";
        BertTokenizer::new(Vocabulary::new(tokens.split(' ').map(str::to_owned).collect()).unwrap()).unwrap()
    }

    fn tokens(text: &str) -> Vec<String> {
        let tokenizer = tokenizer();
        let name = |id: &u32| tokenizer.vocabulary().token(*id).unwrap().to_owned();
        tokenizer.tokenize(text).iter().map(name).collect()
    }

    #[test]
    fn the_longest_piece_is_taken_first() {
        assert_eq!(tokens("UNwantéd,running"), ["un", "##want", "##ed", ",", "runn", "##ing"]);
        assert_eq!(tokens("lower lowe"), ["low", "##er", "low", "##e"]);
        assert_eq!(tokens("中中"), ["中", "中"]);
    }

    #[test]
    fn a_word_without_pieces_or_too_long_is_unknown_as_a_whole() {
        assert_eq!(tokens("unwantedX running"), ["[UNK]", "runn", "##ing"]);
        assert_eq!(tokens(&"σ".repeat(100)).len(), 100);
        assert_eq!(tokens(&"σ".repeat(101)), ["[UNK]"]);
    }

    #[test]
    fn a_capital_sigma_is_never_the_final_one() {
        assert_eq!(tokens("ΣΣ"), ["σ", "##σ"]);
    }

    #[test]
    fn special_tokens_are_kept_as_they_are_written() {
        assert_eq!(
            tokens("want[SEP]un [MASK],[Sep]"),
            ["want", "[SEP]", "un", "[MASK]", ",", "[UNK]", "[UNK]", "[UNK]"]
        );
        assert_eq!(tokens("[[CLS]"), ["[UNK]", "[CLS]"]);
    }

    #[test]
    fn a_vocabulary_without_a_needed_token_or_of_another_length_is_refused() {
        for absent in ["[UNK]", "[CLS]", "[SEP]"] {
            let lines: Vec<_> =
                ["[UNK]", "[CLS]", "[SEP]"].into_iter().filter(|token| *token != absent).collect();
            let error = BertTokenizer::new(Vocabulary::from_lines(&lines.join("\n")).unwrap()).unwrap_err();
            assert_eq!(error, VocabularyError::Absent(absent));
        }
        let error = BertTokenizer::from_vocabulary_lines("[UNK]\n[CLS]\n[SEP]\n").unwrap_err();
        assert!(error.to_string().starts_with("it has 3 tokens instead of 30522; "), "{error}");
    }
}
