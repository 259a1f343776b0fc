//! Questions of SQuAD with their right answers, and the rows of tokens that are its samples.

use std::path::Path;

use proctor_datasets::{DatasetError, read_text};
use proctor_text::{Context, Features, Question, VocabularyFile, Windows};
use serde::Deserialize;

use crate::{
    error::AccuracyError,
    labels::{AnswersOf, PublishedSamples, read_answers},
};

const FILE: &str = "dev-v1.1.json";

/// The questions of a data set.
#[derive(Debug)]
pub(crate) struct Questions {
    /// The rows of tokens, each a sample.
    pub(crate) features: Features,
    /// The right answers to each question, at least one.
    pub(crate) answers: Vec<Vec<String>>,
}

inventory::collect!(AnswersOf<Questions>);
inventory::submit! { AnswersOf::<Questions> { dataset: "squad", read: of_squad } }

#[derive(Deserialize)]
struct File {
    data: Vec<Article>,
}

#[derive(Deserialize)]
struct Article {
    paragraphs: Vec<Paragraph>,
}

#[derive(Deserialize)]
struct Paragraph {
    context: String,
    qas: Vec<Asked>,
}

#[derive(Deserialize)]
struct Asked {
    id: String,
    question: String,
    answers: Vec<Answer>,
}

#[derive(Deserialize)]
struct Answer {
    text: String,
}

/// Reads the questions of samples of a data set.
pub(crate) fn read(dataset: &str, samples: &PublishedSamples) -> Result<Questions, AccuracyError> {
    read_answers("answers to questions", dataset, samples)
}

/// Reads the questions of SQuAD, whose samples are named by the ids of their questions.
fn of_squad(samples: &PublishedSamples) -> Result<Questions, AccuracyError> {
    let vocabulary = VocabularyFile::of(&samples.folder);
    let path = samples.folder.join(vocabulary.name());
    let tokenizer =
        vocabulary.tokenizer(&read_text(&path)?).map_err(|error| malformed(&path, error.to_string()))?;

    let path = samples.folder.join(FILE);
    let file: File = serde_json::from_str(&read_text(&path)?).map_err(|error| {
        malformed(&path, format!("it is not JSON of questions with answers: {error}; restore the file"))
    })?;
    let (mut contexts, mut answers) = (Vec::new(), Vec::new());
    for Paragraph { context: text, qas } in file.data.into_iter().flat_map(|article| article.paragraphs) {
        let mut questions = Vec::new();
        for Asked { id, question: text, answers: right } in qas {
            if right.is_empty() {
                return Err(malformed(&path, format!("question {id} has no answer; restore the file")).into());
            }
            questions.push(Question { id, text });
            answers.push(right.into_iter().map(|answer| answer.text).collect());
        }
        contexts.push(Context { text, questions });
    }
    let features = Features::new(tokenizer, contexts, Windows::SQUAD);
    let rows = (0..features.len()).map(|row| features.feature(row).question_id());
    if !rows.eq(samples.names.iter().map(String::as_str)) {
        let reason = "its questions do not make the rows that were prepared as samples; restore the file, or run again";
        return Err(malformed(&path, reason.to_owned()).into());
    }
    Ok(Questions { features, answers })
}

fn malformed(path: &Path, reason: String) -> DatasetError {
    DatasetError::Malformed { path: path.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const TEXT: &str = r#"{"version": "1.1", "data": [{"title": "x", "paragraphs": [{"context": "It was Ada.", "qas": [
        {"id": "q1", "question": "Who?", "answers": [{"text": "Ada", "answer_start": 7}, {"text": "Ada."}]},
        {"id": "q2", "question": "What?", "answers": [{"text": "It"}]}]}]}]}"#;

    fn questions(dataset: &str, text: &str, names: &[&str]) -> Result<Questions, String> {
        let folder = tempfile::tempdir().unwrap();
        let unused = (0..).map(|number| format!("[unused{number}]"));
        let tokens =
            ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "it", "ada"].map(str::to_owned).into_iter().chain(unused);
        let tokens: String = tokens.take(30_522).map(|token| token + "\n").collect();
        fs::write(folder.path().join("vocab.txt"), tokens).unwrap();
        fs::write(folder.path().join(FILE), text).unwrap();
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        read(dataset, &PublishedSamples { folder: folder.path().to_owned(), names }).map_err(|error| {
            format!("{error}: {:?}", std::error::Error::source(&error).map(ToString::to_string))
        })
    }

    #[test]
    fn questions_have_their_rows_and_answers() {
        let Questions { features, answers } = questions("squad", TEXT, &["q1", "q2"]).unwrap();
        assert_eq!((features.len(), features.questions().len()), (2, 2));
        assert_eq!(answers, [vec!["Ada", "Ada."], vec!["It"]]);
        assert_eq!(features.feature(1).ids().collect::<Vec<_>>(), [2, 1, 1, 3, 4, 1, 5, 1, 3]);
    }

    #[test]
    fn what_is_not_there_is_named() {
        let error = |dataset, text: &str, names: &[&str]| questions(dataset, text, names).unwrap_err();
        let unanswered = TEXT.replace("[{\"text\": \"It\"}]", "[]");
        assert!(
            error("squad", &unanswered, &["q1", "q2"]).contains("dev-v1.1.json: question q2 has no answer")
        );
        for names in [&["q1"][..], &["q2", "q1"], &["q1", "q2", "q2"]] {
            let found = error("squad", TEXT, names);
            assert!(found.contains("do not make the rows that were prepared"), "{names:?}: {found}");
        }
        assert!(error("squad", "{}", &["q1"]).contains("missing field `data`"));
        assert!(
            error("wmt", TEXT, &["q1"]).contains("no answers to questions of data set \"wmt\" are known")
        );
    }
}
