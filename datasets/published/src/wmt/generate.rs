//! A small set of sentences with a translation word by word.

use std::path::Path;

use proctor_datasets::DatasetError;
use proctor_recipes::Stream;

use crate::{
    generate::{Generate, write_file},
    wmt::{ENGLISH, ENGLISH_VOCABULARY, GERMAN, GERMAN_VOCABULARY},
};

/// Number of words of each language.
const WORD_COUNT: u32 = 900;
/// Maximum number of words of a sentence; each has at most two tokens, so a sentence has at most 50.
const SENTENCE_LENGTH_MAX: u32 = 25;

/// Sounds of English and German words here, chosen so that no word belongs to both.
const ENGLISH_SOUNDS: [[&str; 10]; 2] = [
    ["th", "w", "sh", "br", "l", "c", "r", "st", "y", "p"],
    ["a", "ea", "oo", "i", "ou", "o", "ay", "ee", "ow", "u"],
];
const GERMAN_SOUNDS: [[&str; 10]; 2] = [
    ["sch", "z", "tz", "pf", "k", "ch", "gr", "sp", "j", "f"],
    ["ä", "ei", "ö", "ie", "eu", "e", "au", "ü", "ah", "ß"],
];

/// A word of both languages, as tokens.
struct Word {
    english: Vec<String>,
    german: Vec<String>,
}

/// Makes a small set in the layout of the published one, with its own vocabulary. Equal requests make equal bytes.
///
/// The known answer: a sentence is translated token by token. In the vocabulary each English token is followed by its
/// German one, so that each number of the translation is the sentence's plus one. A sentence has 1 to 25 words of one
/// or two tokens.
///
/// # Errors
/// If the folder is not empty, or cannot be written.
pub fn generate(folder: &Path, request: &Generate) -> Result<(), DatasetError> {
    request.begin(folder)?;
    let words = words();
    let stream = Stream::new(request.seed, "wmt");
    let (mut english, mut german) = (String::new(), String::new());
    for number in 0..request.sample_count {
        let stream = stream.of_sample(number);
        let length = 1 + stream.below(0, SENTENCE_LENGTH_MAX);
        let words = (0..length).map(|at| &words[stream.below(1 + u64::from(at), WORD_COUNT) as usize]);
        let (left, right): (Vec<_>, Vec<_>) =
            words.map(|word| (word.english.join(" "), word.german.join(" "))).unzip();
        english.extend([left.join(" "), "\n".to_owned()]);
        german.extend([right.join(" "), "\n".to_owned()]);
    }
    write_file(&folder.join(ENGLISH), english.as_bytes())?;
    write_file(&folder.join(GERMAN), german.as_bytes())?;
    let vocabulary = vocabulary(&words);
    write_file(&folder.join(ENGLISH_VOCABULARY), vocabulary.as_bytes())?;
    write_file(&folder.join(GERMAN_VOCABULARY), vocabulary.as_bytes())
}

/// Returns all words: every third one is a single token, the others are two tokens that no other word has.
fn words() -> Vec<Word> {
    let word = |number: u32| {
        let tokens = |[first, second]: [[&str; 10]; 2]| {
            let digits = [number % 10, number / 10 % 10, number / 100].map(|digit| digit as usize);
            let head = format!("{}{}", first[digits[0]], second[digits[1]]);
            let tail = format!("{}{}", first[digits[2]], second[digits[0]]);
            if number.is_multiple_of(3) {
                vec![format!("{head}{tail}{}", second[digits[1]])]
            } else {
                vec![format!("{head}{tail}@@"), format!("{tail}{head}")]
            }
        };
        Word { english: tokens(ENGLISH_SOUNDS), german: tokens(GERMAN_SOUNDS) }
    };
    (0..WORD_COUNT).map(word).collect()
}

/// Returns the special tokens, then for each word its tokens in both languages, a German one behind each English one.
fn vocabulary(words: &[Word]) -> String {
    let pairs = words.iter().flat_map(|word| word.english.iter().zip(&word.german));
    let tokens = ["<unk>", "<s>", "</s>"].into_iter();
    let tokens = tokens.chain(pairs.flat_map(|(english, german)| [english.as_str(), german.as_str()]));
    tokens.fold(String::new(), |text, token| text + token + "\n")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proctor_datasets::Dataset;
    use proctor_vocabulary::SampleIndex;

    use super::*;
    use crate::wmt::open;

    #[test]
    fn equal_requests_make_equal_bytes_and_other_seeds_other_sentences() {
        let make = |seed| {
            let folder = tempfile::tempdir().unwrap();
            generate(folder.path(), &Generate { seed, sample_count: 12 }).unwrap();
            [ENGLISH, GERMAN, ENGLISH_VOCABULARY, GERMAN_VOCABULARY]
                .map(|name| fs::read(folder.path().join(name)).unwrap())
        };
        let first = make(1);
        assert!(first == make(1));
        assert!(first[0] != make(2)[0] && first[2] == first[3]);
    }

    #[test]
    fn the_translation_is_the_sentence_with_each_number_one_higher() {
        let folder = tempfile::tempdir().unwrap();
        generate(folder.path(), &Generate { seed: 3, sample_count: 200 }).unwrap();
        let wmt = open(folder.path()).unwrap();
        let german = fs::read_to_string(folder.path().join(GERMAN)).unwrap();
        for (index, line) in german.lines().enumerate() {
            let sample = wmt.read(SampleIndex(index as u64)).unwrap();
            let ids = sample.bytes.as_chunks().0.iter().map(|bytes| u32::from_ne_bytes(*bytes));
            let ids: Vec<u32> = ids.collect();
            assert!((1..=50).contains(&ids.len()) && ids.iter().all(|id| id % 2 == 1 && *id >= 3), "{ids:?}");
            let translated: Vec<u32> = ids.iter().map(|id| id + 1).collect();
            assert_eq!(wmt.vocabulary().sentence(&translated).unwrap(), line.replace("@@ ", ""));
        }
    }
}
