//! English sentences in pairs that say the same in other words, as tokens of a BERT. `datasets/sentences/README.md` has
//! more.

use std::{borrow::Cow, path::Path};

use proctor_text::BertTokenizer;
use proctor_vocabulary::{ElementType, SampleIndex};

use crate::{
    checksum::read_verified,
    dataset::{Dataset, DatasetEntry, Open, RawSample},
    error::DatasetError,
    text_file::text_of,
};

const NAME: &str = "sentences";

/// A sentence in each line. They are part of the program, so that only the model has to be fetched.
const TEXT: &str = include_str!("../sentences/sentences.txt");

/// Place of the tokenizer below a data root.
const TOKENIZER: &str = "minilm-int8/tokenizer.json";
const TOKENIZER_SHA256: &str = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037";

inventory::submit! {
    DatasetEntry {
        name: NAME,
        about: "one of 200 English sentences, each with another that says the same",
        open: Open::Made {
            layout: "\
The sentences come with the program, and were written for it. Each becomes tokens by the uncased BERT's tokenizer of
all-MiniLM-L6-v2, the file minilm-int8/tokenizer.json, which lies with the model.
",
            open: |request| {
                let path = request.root.find(TOKENIZER)?;
                let file = read_verified(&path, TOKENIZER_SHA256, &format!("data set {NAME}"))?;
                Ok(Box::new(Tokens::new(sentences(), &tokenizer(&path, file)?)))
            },
        },
    }
}

/// Returns all sentences in the order of their indices.
pub fn sentences() -> impl Iterator<Item = &'static str> {
    TEXT.lines()
}

fn tokenizer(path: &Path, file: Vec<u8>) -> Result<BertTokenizer, DatasetError> {
    let malformed = |reason: String| DatasetError::Malformed { path: path.to_owned(), reason };
    let text = text_of(file).map_err(|fault| malformed(fault.to_string()))?;
    BertTokenizer::from_tokenizer_json(&text).map_err(|error| malformed(error.to_string()))
}

/// Tokens of each sentence, between the ones for the start and the end.
struct Tokens(Vec<Vec<u32>>);

impl Tokens {
    fn new<'a>(sentences: impl Iterator<Item = &'a str>, tokenizer: &BertTokenizer) -> Self {
        let row = |sentence| {
            let tokens = tokenizer.tokenize(sentence);
            [&[tokenizer.start()][..], &tokens, &[tokenizer.separator()]].concat()
        };
        Self(sentences.map(row).collect())
    }
}

impl Dataset for Tokens {
    fn name(&self) -> &str {
        NAME
    }

    fn sample_count(&self) -> u64 {
        self.0.len() as u64
    }

    /// Returns i32 `[2, n]`: the numbers of the tokens, and the segment of each, which is always the first.
    fn read(&self, index: SampleIndex) -> Result<RawSample<'_>, DatasetError> {
        let row = usize::try_from(index.0).ok().and_then(|index| self.0.get(index));
        let row = row.ok_or_else(|| self.no_such_sample(index))?;
        let segments = row.iter().map(|_| 0);
        let bytes: Vec<u8> = row.iter().copied().chain(segments).flat_map(u32::to_ne_bytes).collect();
        let shape = Cow::Owned(vec![2, row.len()]);
        Ok(RawSample { element_type: ElementType::I32, shape, bytes: Cow::Owned(bytes) })
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs};

    use proctor_text::Vocabulary;

    use super::*;
    use crate::{dataset::open_dataset, root::DataRoot};

    #[test]
    fn a_sample_is_the_tokens_of_a_sentence_between_start_and_end() {
        let words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "it", "rain", "##s", "."];
        let vocabulary = Vocabulary::new(words.map(str::to_owned).into()).unwrap();
        let tokens = Tokens::new(["It rains.", "It"].into_iter(), &BertTokenizer::new(vocabulary).unwrap());
        let sample = tokens.read(SampleIndex(0)).unwrap();
        assert_eq!((sample.element_type, &*sample.shape), (ElementType::I32, &[2, 6][..]));
        let numbers = sample.bytes.as_chunks().0.iter().map(|bytes| i32::from_ne_bytes(*bytes));
        assert_eq!(numbers.collect::<Vec<_>>(), [2, 4, 5, 6, 7, 3, 0, 0, 0, 0, 0, 0]);
        assert_eq!(*tokens.read(SampleIndex(1)).unwrap().shape, [2, 3]);
        assert!(matches!(
            tokens.read(SampleIndex(2)),
            Err(DatasetError::NoSuchSample { index: 2, sample_count: 2, .. })
        ));
    }

    #[test]
    fn there_are_200_sentences_and_no_two_alike() {
        let all: Vec<_> = sentences().collect();
        assert_eq!((all.len(), all.iter().collect::<BTreeSet<_>>().len()), (200, 200));
        assert!(all.iter().all(|sentence| !sentence.trim().is_empty()));
    }

    #[test]
    fn a_missing_or_changed_tokenizer_is_named() {
        let root = tempfile::tempdir().unwrap();
        let error = || open_dataset(NAME, &DataRoot::new(Some(root.path()))).err().unwrap().to_string();
        let missing = error();
        assert!(missing.starts_with("\"minilm-int8/tokenizer.json\" not found in "), "{missing}");
        fs::create_dir(root.path().join("minilm-int8")).unwrap();
        fs::write(root.path().join(TOKENIZER), "{}").unwrap();
        let changed = error();
        assert!(changed.contains("tokenizer.json is damaged or was changed"), "{changed}");
        assert!(changed.contains("but data set sentences says be50c36"), "{changed}");
    }
}
