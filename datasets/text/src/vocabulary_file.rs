//! The file that a folder has BERT's vocabulary in.

use std::path::Path;

use crate::{bert::BertTokenizer, vocabulary::VocabularyError};

/// The file of a folder with BERT's vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VocabularyFile {
    /// `vocab.txt`, with a token in each line.
    Lines,
    /// `tokenizer.json`, which holds the same.
    Json,
}

impl VocabularyFile {
    /// Returns the file of a folder: the JSON only if it exists and the lines do not.
    #[must_use]
    pub fn of(folder: &Path) -> Self {
        let has = |file: Self| folder.join(file.name()).exists();
        if has(Self::Json) && !has(Self::Lines) { Self::Json } else { Self::Lines }
    }

    /// Returns the name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lines => "vocab.txt",
            Self::Json => "tokenizer.json",
        }
    }

    /// Makes the tokenizer of its text.
    ///
    /// # Errors
    /// Returns the fault of the vocabulary.
    pub fn tokenizer(self, text: &str) -> Result<BertTokenizer, VocabularyError> {
        match self {
            Self::Lines => BertTokenizer::from_vocabulary_lines(text),
            Self::Json => BertTokenizer::from_tokenizer_json(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn json_is_taken_where_it_stands_alone() {
        let folder = tempfile::tempdir().unwrap();
        let of = || VocabularyFile::of(folder.path());
        assert_eq!(of(), VocabularyFile::Lines);
        fs::write(folder.path().join("tokenizer.json"), "{}").unwrap();
        assert_eq!(of(), VocabularyFile::Json);
        fs::write(folder.path().join("vocab.txt"), "").unwrap();
        assert_eq!(of(), VocabularyFile::Lines);
    }
}
