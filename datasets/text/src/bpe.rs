//! Sentences that are cut into tokens already, as newstest2014 is published: words and the parts of words that byte
//! pair encoding has left, with a space between any two and `@@` at the end of a part that continues.

use crate::vocabulary::{Vocabulary, VocabularyError};

/// The number that the vocabulary does not have.
pub const UNKNOWN: u32 = 0;
/// The number of the token before the first word of a translation.
pub const START_OF_SENTENCE: u32 = 1;
/// The number of the token after the last word, which also pads sentences to one length.
pub const END_OF_SENTENCE: u32 = 2;

/// The special tokens, by number.
const SPECIAL: [&str; 3] = ["<unk>", "<s>", "</s>"];
/// Mark of a part that continues.
const CONTINUED: &str = "@@";

/// A vocabulary of tokens of byte pair encoding, the three special tokens first.
///
/// Source: the vocabulary of MLPerf's reference implementation of GNMT (`check_vocab`, `format_bpe_text`).
#[derive(Debug, Clone)]
pub struct BpeVocabulary(Vocabulary);

impl BpeVocabulary {
    /// Reads a text with a token in each line. If its first three are not the special tokens, they are put there, as
    /// the reference does.
    ///
    /// # Errors
    /// Fails for an empty line, or a token that is there twice.
    pub fn from_lines(text: &str) -> Result<Self, VocabularyError> {
        let lines = text.strip_suffix('\n').unwrap_or(text).split('\n').map(str::trim);
        let mut tokens: Vec<String> = lines.map(str::to_owned).collect();
        if !tokens.iter().map(String::as_str).take(SPECIAL.len()).eq(SPECIAL) {
            tokens.splice(0..0, SPECIAL.map(str::to_owned));
        }
        Ok(Self(Vocabulary::new(tokens)?))
    }

    /// Returns the tokens.
    #[must_use]
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.0
    }

    /// Returns the numbers of a sentence's tokens; [`UNKNOWN`] for those that the vocabulary does not have.
    pub fn ids<'a>(&'a self, sentence: &'a str) -> impl Iterator<Item = u32> + 'a {
        let tokens = sentence.split(' ').filter(|token| !token.is_empty());
        tokens.map(|token| self.0.id(token).unwrap_or(UNKNOWN))
    }

    /// Returns the words of a translation up to its end, parts joined, with a space between any two. A last part that
    /// does not continue is left out, as the reference does. Returns the first number without a token as the error.
    ///
    /// # Errors
    /// Returns the first number that the vocabulary does not have.
    pub fn sentence(&self, ids: &[u32]) -> Result<String, u32> {
        let mut sentence = String::new();
        self.write_sentence(ids.iter().copied(), &mut sentence)?;
        Ok(sentence)
    }

    /// Does the same into `sentence`, whose memory is reused.
    ///
    /// # Errors
    /// Returns the first number that the vocabulary does not have.
    pub fn write_sentence(
        &self,
        ids: impl IntoIterator<Item = u32>,
        sentence: &mut String,
    ) -> Result<(), u32> {
        sentence.clear();
        // The end of the last word that is whole.
        let mut end = 0;
        let mut goes_on = false;
        for id in ids.into_iter().take_while(|id| *id != END_OF_SENTENCE) {
            let token = self.0.token(id).ok_or(id)?;
            if !goes_on && end > 0 {
                sentence.push(' ');
            }
            let part = token.strip_suffix(CONTINUED);
            sentence.push_str(part.unwrap_or(token));
            goes_on = part.is_some();
            if !goes_on {
                end = sentence.len();
            }
        }
        sentence.truncate(end);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_tokens_come_first_whether_or_not_the_file_has_them() {
        for text in ["<unk>\n<s>\n</s>\nder\nbau@@\n", "der\nbau@@\n", "der \nbau@@"] {
            let vocabulary = BpeVocabulary::from_lines(text).unwrap();
            assert_eq!(vocabulary.ids("bau@@ der").collect::<Vec<_>>(), [4, 3]);
            assert_eq!(vocabulary.vocabulary().len(), 5);
        }
        let error = BpeVocabulary::from_lines("<s>\n<unk>\n</s>\n").unwrap_err();
        assert!(matches!(error, VocabularyError::Repeated { .. }), "{error}");
    }

    #[test]
    fn words_become_numbers_and_numbers_words() {
        let vocabulary = BpeVocabulary::from_lines("bau@@\nm\nder").unwrap();
        assert_eq!(vocabulary.ids("der  bau@@ m fällt ").collect::<Vec<_>>(), [5, 3, 4, UNKNOWN]);
        assert_eq!(vocabulary.ids("").count(), 0);
        assert_eq!(vocabulary.sentence(&[5, 3, 4, 0, END_OF_SENTENCE, 5]).unwrap(), "der baum <unk>");
        assert_eq!(vocabulary.sentence(&[5, 3]).unwrap(), "der");
        assert_eq!(vocabulary.sentence(&[5, 6]).unwrap_err(), 6);
        let mut sentence = "an earlier one".to_owned();
        vocabulary.write_sentence([3, 3, 4, 5, 3, 3], &mut sentence).unwrap();
        assert_eq!(sentence, "baubaum der");
        vocabulary.write_sentence([3], &mut sentence).unwrap();
        assert_eq!(sentence, "");
    }
}
