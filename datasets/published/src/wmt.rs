//! WMT16, English to German: the 3003 sentences of newstest2014, cut into tokens by byte pair encoding.
//!
//! Source of the layout: MLPerf Inference v0.5, `translation/gnmt`.

mod generate;

use std::{borrow::Cow, path::Path};

use proctor_datasets::{Dataset, DatasetError, RawSample, read_text};
use proctor_text::BpeVocabulary;
use proctor_vocabulary::{ElementType, SampleIndex};

pub use generate::generate;

use crate::{
    defect::{Defect, LineFault, Problem},
    entry::{CalibrationLists, OpenFolder, Opened, Published},
    generate::Generate,
    texts::look_at,
};

/// The sentences to translate, and their translations; only the number of translations is checked here.
const ENGLISH: &str = "newstest2014.tok.bpe.32000.en";
const GERMAN: &str = "newstest2014.tok.bpe.32000.de";
/// The vocabulary, which both languages share.
const ENGLISH_VOCABULARY: &str = "vocab.bpe.32000.en";
const GERMAN_VOCABULARY: &str = "vocab.bpe.32000.de";

/// MD5 of the published files.
const PUBLISHED: [(&str, &str); 4] = [
    (ENGLISH, "cb014e2509f86cd81d5a87c240c07464"),
    (GERMAN, "d616740f6026dc493e66efdf9ac1cb04"),
    (ENGLISH_VOCABULARY, "bbf724dc2e0ad4b35926d8557e34f465"),
    (GERMAN_VOCABULARY, "bbf724dc2e0ad4b35926d8557e34f465"),
];

/// Number of sentences of the published set.
const SAMPLE_COUNT: u64 = 3003;

pub(crate) const ENTRY: Published = Published {
    name: "wmt",
    layout,
    open: OpenFolder::Samples(|folder| Ok(Opened::new(open(folder)?, Vec::new(), 0))),
    verify,
    checksums: Some("MD5 of the four files, as verify_dataset.sh of MLPerf Inference has them"),
    note: |_| None,
    calibration: CalibrationLists::of_samples(
        "calibration/translation/calibration_data.tok.bpe.en: sentences for training, not of the data set",
    ),
    generate,
};

/// The sentences to translate. A sample is i32 `[n]`: the numbers of its tokens.
#[derive(Debug)]
pub struct Wmt {
    sentences: Vec<Vec<u32>>,
    vocabulary: BpeVocabulary,
}

impl Wmt {
    /// Returns the vocabulary of the translations.
    #[must_use]
    pub fn vocabulary(&self) -> &BpeVocabulary {
        &self.vocabulary
    }
}

impl Dataset for Wmt {
    fn name(&self) -> &str {
        "wmt"
    }

    fn sample_count(&self) -> u64 {
        self.sentences.len() as u64
    }

    fn read(&self, index: SampleIndex) -> Result<RawSample<'_>, DatasetError> {
        let sentence = usize::try_from(index.0).ok().and_then(|index| self.sentences.get(index));
        let sentence = sentence.ok_or_else(|| self.no_such_sample(index))?;
        let bytes = sentence.iter().flat_map(|id| id.to_ne_bytes()).collect();
        let shape = Cow::Owned(vec![sentence.len()]);
        Ok(RawSample { element_type: ElementType::I32, shape, bytes: Cow::Owned(bytes) })
    }
}

/// Opens the data set. A sentence has no name but its line: the sample of index 0 is the first.
///
/// # Errors
/// [`DatasetError::Read`] or [`DatasetError::Malformed`] for a file: one that is not there, a vocabulary with an empty
/// line or the same token twice, no sentence at all, or another number of translations. The translations themselves may
/// be missing: a run that is not scored needs none.
pub fn open(folder: &Path) -> Result<Wmt, DatasetError> {
    let vocabulary = |name| {
        let path = folder.join(name);
        BpeVocabulary::from_lines(&read_text(&path)?)
            .map_err(|error| DatasetError::Malformed { path, reason: error.to_string() })
    };
    let (source, target) = (vocabulary(ENGLISH_VOCABULARY)?, vocabulary(GERMAN_VOCABULARY)?);
    let path = folder.join(ENGLISH);
    let text = read_text(&path)?;
    let sentences: Vec<Vec<u32>> = lines(&text).map(|line| source.ids(line).collect()).collect();
    if sentences.is_empty() {
        let reason = "it has no sentence; restore it".to_owned();
        return Err(DatasetError::Malformed { path, reason });
    }
    let path = folder.join(GERMAN);
    if path.is_file() {
        // Sentences are paired by line number: if one is missing, each line after it would belong to another sentence.
        let (expected, got) = (sentences.len() as u64, lines(&read_text(&path)?).count() as u64);
        if got != expected {
            let problem = Problem::Count { things: "sentences", expected, got };
            return Err(Defect { path, problem }.into());
        }
    }
    Ok(Wmt { sentences, vocabulary: target })
}

/// Returns the lines of a text. Other separators than line feeds are parts of sentences.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let lines = if text.is_empty() { None } else { Some(text.split('\n')) };
    lines.into_iter().flatten()
}

/// Describes the files, and how to get them.
#[must_use]
pub fn layout() -> &'static str {
    "newstest2014.tok.bpe.32000.en    3003 sentences, one in each line, as tokens with spaces between them
newstest2014.tok.bpe.32000.de    their translations
vocab.bpe.32000.en               tokens, one in each line
vocab.bpe.32000.de               the same file

All four are made by the script wmt16_en_de.sh of the repository google/seq2seq, and are in the archive wmt16_en_de.tar.gz
that its page on translation offers. There the vocabulary is called vocab.bpe.32000: copy it twice, with <unk>, <s> and
</s> as its first three lines.
"
}

/// Reads all four files: their MD5 if they are the published ones, the number of sentences, lines without words, and
/// the vocabularies. `progress` gets the files done and the total.
///
/// # Errors
/// If the note of a generated set cannot be read. Everything else is a defect.
pub fn verify(folder: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<Defect>, DatasetError> {
    let generated = Generate::of_folder(folder)?;
    let expected = generated.map_or(SAMPLE_COUNT, |request| request.sample_count);
    let mut defects = Vec::new();
    for (done, (name, md5)) in PUBLISHED.into_iter().enumerate() {
        progress(done as u64, PUBLISHED.len() as u64);
        let path = folder.join(name);
        let md5 = if generated.is_none() { Some(md5) } else { None };
        let Some(text) = look_at(&path, md5, &mut defects) else { continue };
        let mut add = |problem| defects.push(Defect { path: path.clone(), problem });
        if [ENGLISH_VOCABULARY, GERMAN_VOCABULARY].contains(&name) {
            if let Err(error) = BpeVocabulary::from_lines(&text) {
                add(error.into());
            }
            continue;
        }
        let got = lines(&text).count() as u64;
        if got != expected {
            add(Problem::Count { things: "sentences", expected, got });
        }
        for (number, _) in lines(&text).enumerate().filter(|(_, line)| line.trim().is_empty()) {
            add(Problem::Line { number: number + 1, fault: LineFault::Empty });
        }
    }
    progress(PUBLISHED.len() as u64, PUBLISHED.len() as u64);
    Ok(defects)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::generate::fixture::fixture;

    fixture!(7, by_name);

    #[test]
    fn samples_are_the_numbers_of_the_tokens_of_a_line() {
        let folder = generated(5);
        assert_eq!(problems(folder.path()), []);
        fs::write(folder.path().join(ENGLISH_VOCABULARY), "<unk>\n<s>\n</s>\nriv@@\ner\nthe\n").unwrap();
        fs::write(folder.path().join(ENGLISH), "the riv@@ er\n\u{2028}x er\n").unwrap();
        fs::write(folder.path().join(GERMAN), "der Fluss\n\u{2028}\n").unwrap();
        let wmt = open(folder.path()).unwrap();
        assert_eq!((wmt.name(), wmt.sample_count()), ("wmt", 2));
        let sample = wmt.read(SampleIndex(0)).unwrap();
        assert_eq!((sample.element_type, &*sample.shape), (ElementType::I32, [3].as_slice()));
        assert_eq!(*sample.bytes, *[5_i32, 3, 4].map(i32::to_ne_bytes).as_flattened());
        let second = wmt.read(SampleIndex(1)).unwrap();
        assert_eq!(*second.bytes, *[0_i32, 4].map(i32::to_ne_bytes).as_flattened(), "an unknown token");
        assert!(matches!(wmt.read(SampleIndex(2)), Err(DatasetError::NoSuchSample { index: 2, .. })));
    }

    #[test]
    fn what_is_wrong_with_a_file_is_an_error_or_a_defect() {
        let folder = generated(5);
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write(GERMAN, "eins\n \ndrei\n");
        write(GERMAN_VOCABULARY, "<unk>\n<s>\n</s>\nder\nder\n");
        let repeated =
            proctor_text::VocabularyError::Repeated { token: "der".to_owned(), first: 3, second: 4 };
        let (sentences, tokens) = (GERMAN.to_owned(), GERMAN_VOCABULARY.to_owned());
        assert_eq!(
            problems(folder.path()),
            [
                (sentences.clone(), Problem::Count { things: "sentences", expected: 5, got: 3 }),
                (sentences, Problem::Line { number: 2, fault: LineFault::Empty }),
                (tokens, Problem::Vocabulary(repeated)),
            ]
        );
        let error = open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("vocab.bpe.32000.de: token \"der\" has the numbers 3 and 4"), "{error}");
        fs::remove_file(folder.path().join(ENGLISH_VOCABULARY)).unwrap();
        assert!(matches!(open(folder.path()), Err(DatasetError::Read { .. })));
        assert!(problems(folder.path()).contains(&(ENGLISH_VOCABULARY.to_owned(), Problem::Missing)));
        let folder = generated(5);
        fs::write(folder.path().join(ENGLISH), "").unwrap();
        assert!(open(folder.path()).unwrap_err().to_string().contains("it has no sentence"));
    }

    #[test]
    fn another_number_of_translations_is_refused_and_none_at_all_is_not() {
        let folder = generated(5);
        let path = folder.path().join(GERMAN);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.lines().skip(1).map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        let error = open(folder.path()).unwrap_err().to_string();
        assert!(error.contains(".bpe.32000.de: it holds 4 sentences instead of 5: "), "{error}");
        fs::remove_file(&path).unwrap();
        assert_eq!(open(folder.path()).unwrap().sample_count(), 5);
    }

    #[test]
    fn the_published_set_is_known_by_its_sums_and_its_count() {
        let folder = generated(5);
        fs::remove_file(folder.path().join(Generate::NOTE)).unwrap();
        let listed = problems(folder.path());
        let sums = listed.iter().filter(|(_, problem)| matches!(problem, Problem::Md5 { .. })).count();
        let counts = Problem::Count { things: "sentences", expected: 3003, got: 5 };
        let counts = listed.iter().filter(|(_, problem)| *problem == counts).count();
        assert_eq!((sums, counts, listed.len()), (4, 2, 6), "{listed:?}");
    }
}
