//! Tokens and their numbers.

use std::collections::HashMap;

/// Tokens by number, and their numbers by token.
#[derive(Debug, Clone)]
pub struct Vocabulary {
    tokens: Vec<String>,
    ids: HashMap<String, u32>,
}

/// Reason why a list of tokens is not the vocabulary that it should be. The place is for the caller to name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum VocabularyError {
    #[error("it has {got} tokens instead of {expected}; take the vocabulary that the model was trained with")]
    Count { expected: usize, got: usize },
    #[error("token {token:?} has the numbers {first} and {second}; restore the file")]
    Repeated { token: String, first: usize, second: usize },
    #[error("token {0} is empty; restore the file")]
    Empty(usize),
    #[error("it has no token {0:?}; take the vocabulary of an uncased BERT")]
    Absent(&'static str),
    #[error("it is not a tokenizer in JSON: {0}")]
    Json(String),
    #[error("its {key} is {got}, but an uncased BERT's is {expected}; take the tokenizer of an uncased BERT")]
    Kind { key: &'static str, expected: &'static str, got: String },
}

impl Vocabulary {
    /// Numbers the tokens from 0.
    ///
    /// # Errors
    /// [`VocabularyError::Empty`] or [`VocabularyError::Repeated`].
    pub fn new(tokens: Vec<String>) -> Result<Self, VocabularyError> {
        let mut ids = HashMap::with_capacity(tokens.len());
        for (number, token) in tokens.iter().enumerate() {
            if token.is_empty() {
                return Err(VocabularyError::Empty(number));
            }
            // No file of this kind has 2^32 lines: its text would not fit in memory.
            let id = u32::try_from(number).unwrap_or(u32::MAX);
            if let Some(first) = ids.insert(token.clone(), id) {
                let token = token.clone();
                return Err(VocabularyError::Repeated { token, first: first as usize, second: number });
            }
        }
        Ok(Self { tokens, ids })
    }

    /// Reads a text with a token in each line, which is numbered from 0. A last line without an end is one, too.
    ///
    /// # Errors
    /// As [`Vocabulary::new`].
    pub fn from_lines(text: &str) -> Result<Self, VocabularyError> {
        let text = text.strip_suffix('\n').unwrap_or(text);
        Self::new(text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line).to_owned()).collect())
    }

    /// Returns the vocabulary if it has this many tokens.
    ///
    /// # Errors
    /// [`VocabularyError::Count`].
    pub fn of_length(self, expected: usize) -> Result<Self, VocabularyError> {
        if self.len() == expected {
            Ok(self)
        } else {
            Err(VocabularyError::Count { expected, got: self.len() })
        }
    }

    /// Returns the number of tokens.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Returns whether there is no token.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Returns the number of a token.
    #[must_use]
    pub fn id(&self, token: &str) -> Option<u32> {
        self.ids.get(token).copied()
    }

    /// Returns the token of a number.
    #[must_use]
    pub fn token(&self, id: u32) -> Option<&str> {
        self.tokens.get(usize::try_from(id).ok()?).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_with_and_without_an_end() {
        for text in ["a\nb\nc", "a\nb\nc\n", "a\r\nb\r\nc\r\n"] {
            let vocabulary = Vocabulary::from_lines(text).unwrap();
            assert_eq!((vocabulary.len(), vocabulary.id("c"), vocabulary.token(1)), (3, Some(2), Some("b")));
            assert_eq!((vocabulary.id("d"), vocabulary.token(3)), (None, None));
        }
    }

    #[test]
    fn a_missing_line_is_found() {
        let missing = Vocabulary::from_lines("a\nc\n").unwrap().of_length(3).unwrap_err();
        assert_eq!(missing, VocabularyError::Count { expected: 3, got: 2 });
        assert_eq!(Vocabulary::from_lines("a\n\nc\n").unwrap_err(), VocabularyError::Empty(1));
        assert_eq!(Vocabulary::from_lines("").unwrap_err(), VocabularyError::Empty(0));
        let repeated = Vocabulary::from_lines("a\nb\na\n").unwrap_err();
        assert_eq!(repeated.to_string(), "token \"a\" has the numbers 0 and 2; restore the file");
    }
}
