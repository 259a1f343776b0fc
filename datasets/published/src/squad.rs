//! SQuAD v1.1, the development set: 10,570 questions on paragraphs of Wikipedia, as rows of BERT's tokens.
//!
//! Source of the layout: MLPerf Inference, `language/bert`.

mod file;
mod generate;

use std::{borrow::Cow, collections::HashSet, path::Path};

use proctor_datasets::{Dataset, DatasetError, RawSample, read_text};
use proctor_text::{Features, VocabularyFile, Windows};
use proctor_vocabulary::{ElementType, SampleIndex};

pub use generate::generate;

use crate::{
    defect::{Defect, Problem},
    entry::{CalibrationLists, OpenFolder, Opened, Published},
    generate::Generate,
    squad::file::File,
    texts::look_at,
};

const QUESTIONS: &str = "dev-v1.1.json";
/// The version that the file of questions names.
const VERSION: &str = "1.1";

/// MD5 of the published files.
const QUESTIONS_MD5: &str = "3e85deb501d4e538b6bc56f786231552";
const VOCABULARY_MD5: &str = "64800d5d8528ce344256daf115d4965e";

/// Questions and rows of the published set.
const QUESTION_COUNT: u64 = 10_570;
const SAMPLE_COUNT: u64 = 10_833;

pub(crate) const ENTRY: Published = Published {
    name: "squad",
    layout,
    open: OpenFolder::Samples(|folder| {
        let dataset = open(folder)?;
        let names = dataset.sample_names().to_vec();
        Ok(Opened::new(dataset, names, 0))
    }),
    verify,
    checksums: Some(
        "MD5 of both files: dev-v1.1.json as torchtext and others have it, and the vocabulary of BERT, uncased",
    ),
    note: |_| None,
    calibration: CalibrationLists::of_samples(
        "calibration/SQuAD-v1.1/bert-calibration.txt or bert_calibration_qas_ids.txt, not both: 100 rows or questions of the data set itself",
    ),
    generate,
};

/// The questions as rows of tokens. A sample is i32 `[2, n]`: the ids of its tokens, and 0 or 1 for the segment of
/// each. Its name is the id of its question.
#[derive(Debug)]
pub struct Squad {
    features: Features,
    names: Vec<String>,
}

impl Squad {
    /// Returns the rows with everything needed to turn a model's logits back into texts.
    #[must_use]
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// Returns the name of each row's question, by which answers are joined, in the order of their indices. A question
    /// has a row for each window on its context.
    #[must_use]
    pub fn sample_names(&self) -> &[String] {
        &self.names
    }
}

impl Dataset for Squad {
    fn name(&self) -> &str {
        "squad"
    }

    fn sample_count(&self) -> u64 {
        self.features.len() as u64
    }

    fn read(&self, index: SampleIndex) -> Result<RawSample<'_>, DatasetError> {
        let row = usize::try_from(index.0).ok().filter(|row| *row < self.features.len());
        let row = row.ok_or_else(|| self.no_such_sample(index))?;
        let feature = self.features.feature(row);
        let segments = (0..feature.token_count()).map(|at| u32::from(at >= feature.context_start()));
        let bytes: Vec<u8> = feature.ids().chain(segments).flat_map(u32::to_ne_bytes).collect();
        let shape = Cow::Owned(vec![2, feature.token_count()]);
        Ok(RawSample { element_type: ElementType::I32, shape, bytes: Cow::Owned(bytes) })
    }
}

/// Opens the data set: tokenizes all questions and contexts.
///
/// # Errors
/// [`DatasetError::Read`] or [`DatasetError::Malformed`] for a file: it is missing, the vocabulary does not belong to
/// an uncased BERT, the JSON has another form, two questions share a name, or there is no question at all.
pub fn open(folder: &Path) -> Result<Squad, DatasetError> {
    let vocabulary = VocabularyFile::of(folder);
    let path = folder.join(vocabulary.name());
    let tokenizer = vocabulary.tokenizer(&read_text(&path)?);
    let malformed = |path, reason| DatasetError::Malformed { path, reason };
    let tokenizer = tokenizer.map_err(|error| malformed(path, error.to_string()))?;
    let path = folder.join(QUESTIONS);
    let file = File::parse(&read_text(&path)?);
    let file = file.map_err(|error| malformed(path.clone(), format!("{error}; restore the file")))?;
    let contexts = file.into_contexts();
    let mut seen = HashSet::new();
    for question in contexts.iter().flat_map(|context| &context.questions) {
        if !seen.insert(question.id.as_str()) {
            let reason = format!("id {} is that of two questions; remove one of them", question.id);
            return Err(malformed(path, reason));
        }
    }
    let features = Features::new(tokenizer, contexts, Windows::SQUAD);
    if features.is_empty() {
        return Err(malformed(
            path,
            "it has no question on a context with words; restore the file".to_owned(),
        ));
    }
    let names = (0..features.len()).map(|row| features.feature(row).question_id().to_owned()).collect();
    Ok(Squad { features, names })
}

/// Returns the text on the files, and on how to get them.
#[must_use]
pub fn layout() -> &'static str {
    "dev-v1.1.json    10,570 questions on 2067 paragraphs
vocab.txt        30,522 tokens, one in each line; or tokenizer.json, which holds the same

The questions are the development set of SQuAD 1.1, which the page of the Stanford Question Answering Dataset offers
(rajpurkar.github.io/SQuAD-explorer). The vocabulary is that of the uncased BERT: vocab.txt of the archive
uncased_L-24_H-1024_A-16.zip of the repository google-research/bert, and of MLPerf's checkpoint.
"
}

/// Reads both files: their MD5 if they are the published ones, the vocabulary, the form of the questions, repeated
/// names, questions without answers, answers outside of their contexts, and the number of rows. `progress` gets the
/// files done and the total.
///
/// # Errors
/// If the note of a generated set cannot be read. Everything else is a defect.
pub fn verify(folder: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<Defect>, DatasetError> {
    let generated = Generate::of_folder(folder)?;
    let published = |md5| if generated.is_none() { Some(md5) } else { None };
    let mut defects = Vec::new();
    progress(0, 2);
    let vocabulary = VocabularyFile::of(folder);
    let path = folder.join(vocabulary.name());
    let md5 = published(VOCABULARY_MD5).filter(|_| vocabulary == VocabularyFile::Lines);
    let tokenizer = look_at(&path, md5, &mut defects).map(|text| vocabulary.tokenizer(&text));
    let tokenizer = match tokenizer {
        Some(Err(error)) => {
            defects.push(Defect { path, problem: error.into() });
            None
        }
        tokenizer => tokenizer.and_then(Result::ok),
    };
    progress(1, 2);
    let path = folder.join(QUESTIONS);
    let Some(text) = look_at(&path, published(QUESTIONS_MD5), &mut defects) else { return Ok(defects) };
    let mut add = |problem| defects.push(Defect { path: path.clone(), problem });
    match File::parse(&text) {
        Err(error) => add(Problem::Json { reason: error.to_string() }),
        Ok(file) => {
            file.faults().into_iter().for_each(&mut add);
            let contexts = file.into_contexts();
            let mut count = |things, expected, got| {
                if got != expected {
                    add(Problem::Count { things, expected, got });
                }
            };
            if generated.is_none() {
                let questions = contexts.iter().map(|context| context.questions.len() as u64);
                count("questions", QUESTION_COUNT, questions.sum());
            }
            if let Some(tokenizer) = tokenizer {
                let rows = Features::new(tokenizer, contexts, Windows::SQUAD).len() as u64;
                count("samples", generated.map_or(SAMPLE_COUNT, |request| request.sample_count), rows);
            }
        }
    }
    progress(2, 2);
    Ok(defects)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proctor_text::VocabularyError;

    use super::*;
    use crate::generate::fixture::fixture;

    const VOCABULARY: &str = VocabularyFile::Lines.name();
    const TOKENIZER: &str = VocabularyFile::Json.name();

    fixture!(7, by_name);

    fn edit(folder: &Path, name: &str, change: impl FnOnce(String) -> String) {
        let path = folder.join(name);
        fs::write(&path, change(fs::read_to_string(&path).unwrap())).unwrap();
    }

    #[test]
    fn samples_are_rows_of_tokens_named_after_their_question() {
        let folder = generated(20);
        assert_eq!(problems(folder.path()), []);
        let squad = open(folder.path()).unwrap();
        assert_eq!((squad.name(), squad.sample_count(), squad.sample_names().len()), ("squad", 20, 20));
        let mut lengths = Vec::new();
        for index in 0..20 {
            let sample = squad.read(SampleIndex(index)).unwrap();
            let [2, length] = *sample.shape else { panic!("{:?}", sample.shape) };
            let numbers = sample.bytes.as_chunks().0.iter().map(|bytes| i32::from_ne_bytes(*bytes));
            let numbers: Vec<i32> = numbers.collect();
            assert_eq!((sample.element_type, numbers.len()), (ElementType::I32, 2 * length));
            assert_eq!((numbers[0], numbers[length - 1]), (101, 102));
            assert!(numbers[..length].iter().all(|id| *id != 100), "an unknown word");
            let first = numbers[..length].iter().position(|id| *id == 102).unwrap();
            assert!(
                numbers[length..].iter().enumerate().all(|(at, segment)| (at > first) == (*segment == 1))
            );
            lengths.push(length);
        }
        assert_eq!(lengths.iter().max(), Some(&384), "a context of several windows");
        assert!(matches!(squad.read(SampleIndex(20)), Err(DatasetError::NoSuchSample { index: 20, .. })));
    }

    #[test]
    fn a_vocabulary_that_is_not_berts_is_an_error_and_a_defect() {
        let folder = generated(2);
        edit(folder.path(), VOCABULARY, |text| text.replacen("\nriver\n", "\n", 1));
        let expected = VocabularyError::Count { expected: 30_522, got: 30_521 };
        assert_eq!(problems(folder.path()), [(VOCABULARY.to_owned(), Problem::Vocabulary(expected.clone()))]);
        let error = open(folder.path()).unwrap_err().to_string();
        assert!(error.ends_with(&format!("vocab.txt: {expected}")), "{error}");
        edit(folder.path(), VOCABULARY, |text| text.replacen("\n[CLS]\n", "\n[cls]\n[clsx]\n", 1));
        assert!(open(folder.path()).unwrap_err().to_string().contains("it has no token \"[CLS]\""));
        fs::remove_file(folder.path().join(VOCABULARY)).unwrap();
        assert!(
            matches!(open(folder.path()), Err(DatasetError::Read { path, .. }) if path.ends_with(VOCABULARY))
        );
        assert_eq!(problems(folder.path()), [(VOCABULARY.to_owned(), Problem::Missing)]);
    }

    #[test]
    fn a_tokenizer_in_json_serves_as_well() {
        let folder = generated(3);
        let before = open(folder.path()).unwrap();
        let lines = fs::read_to_string(folder.path().join(VOCABULARY)).unwrap();
        let ids: serde_json::Map<_, _> =
            lines.lines().enumerate().map(|(id, line)| (line.to_owned(), id.into())).collect();
        let json = serde_json::json!({
            "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "lowercase": true},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100, "vocab": ids},
        });
        fs::write(folder.path().join(TOKENIZER), json.to_string()).unwrap();
        fs::remove_file(folder.path().join(VOCABULARY)).unwrap();
        let after = open(folder.path()).unwrap();
        assert_eq!(after.read(SampleIndex(2)).unwrap(), before.read(SampleIndex(2)).unwrap());
        assert_eq!(problems(folder.path()), []);
    }

    #[test]
    fn faults_of_the_questions_are_listed() {
        let folder = generated(3);
        let id = open(folder.path()).unwrap().sample_names()[1].clone();
        let other = open(folder.path()).unwrap().sample_names()[0].clone();
        edit(folder.path(), QUESTIONS, |text| text.replace(&id, &other).replace("\"1.1\"", "\"2.0\""));
        let listed = problems(folder.path());
        assert!(
            listed.contains(&(QUESTIONS.to_owned(), Problem::Twice { key: "id", value: other.clone() })),
            "{listed:?}"
        );
        assert!(
            listed.iter().any(|(_, problem)| matches!(problem, Problem::Version { got, .. } if got == "2.0"))
        );
        let error = open(folder.path()).unwrap_err().to_string();
        assert!(error.contains(&format!("dev-v1.1.json: id {other} is that of two questions")), "{error}");
        fs::write(folder.path().join(QUESTIONS), "{\"data\": [{}]}").unwrap();
        assert!(matches!(&problems(folder.path())[..], [(_, Problem::Json { .. })]));
        assert!(
            open(folder.path())
                .unwrap_err()
                .to_string()
                .contains("dev-v1.1.json: missing field `paragraphs`")
        );
        fs::write(folder.path().join(QUESTIONS), "{\"version\": \"1.1\", \"data\": []}").unwrap();
        assert!(open(folder.path()).unwrap_err().to_string().contains("it has no question"));
    }

    #[test]
    fn answers_outside_of_their_contexts_are_listed() {
        let folder = generated(2);
        let text = fs::read_to_string(folder.path().join(QUESTIONS)).unwrap();
        let with = |change: &dyn Fn(&mut serde_json::Value)| {
            let mut file: serde_json::Value = serde_json::from_str(&text).unwrap();
            let question = &mut file["data"][0]["paragraphs"][0]["qas"][0];
            let id = question["id"].as_str().unwrap().to_owned();
            change(&mut question["answers"][0]);
            fs::write(folder.path().join(QUESTIONS), file.to_string()).unwrap();
            // Samples are made of the contexts and the questions alone.
            assert_eq!(open(folder.path()).unwrap().sample_count(), 2);
            (id, problems(folder.path()))
        };
        let listed = |problem| vec![(QUESTIONS.to_owned(), problem)];
        let (id, found) = with(&|answer| answer["answer_start"] = 1_000_000_000_000_u64.into());
        assert_eq!(found, listed(Problem::AnswerStart { id, start: "1000000000000".to_owned() }));
        let (id, found) = with(&|answer| answer["answer_start"] = (-1).into());
        assert_eq!(found, listed(Problem::AnswerStart { id, start: "-1".to_owned() }));
        let (id, found) = with(&|answer| answer["text"] = "nowhere".into());
        assert_eq!(found, listed(Problem::AnswerElsewhere { id, text: "nowhere".to_owned() }));
        for text in [5.into(), "".into(), serde_json::Value::Null] {
            let (id, found) = with(&|answer| answer["text"] = text.clone());
            assert_eq!(found, listed(Problem::NoAnswer { id }));
        }
        let (_, found) = with(&|answer| _ = answer.as_object_mut().unwrap().remove("answer_start"));
        assert_eq!(found, []);
    }

    #[test]
    fn the_published_set_is_known_by_its_sums_and_counts() {
        let folder = generated(2);
        fs::remove_file(folder.path().join(Generate::NOTE)).unwrap();
        let listed = problems(folder.path());
        let sums = listed.iter().filter(|(_, problem)| matches!(problem, Problem::Md5 { .. })).count();
        assert_eq!(sums, 2, "{listed:?}");
        for (things, expected) in [("questions", 10_570), ("samples", 10_833)] {
            let is_it = |problem: &Problem| matches!(problem, Problem::Count { things: t, expected: e, .. } if *t == things && *e == expected);
            assert!(listed.iter().any(|(_, problem)| is_it(problem)), "{listed:?}");
        }
    }
}
