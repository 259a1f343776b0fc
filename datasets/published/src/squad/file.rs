//! The JSON file of questions. Answers are parsed and never kept.

use std::collections::HashSet;

use proctor_text::{Context, Question};
use serde::Deserialize;
use serde_json::Value;

use crate::{defect::Problem, squad::VERSION};

/// The file, without the unneeded parts.
#[derive(Deserialize)]
pub(super) struct File {
    #[serde(default)]
    version: String,
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
    #[serde(default)]
    answers: Vec<Answer>,
}

/// An answer, of any form: only label readers need it.
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    text: Value,
    #[serde(default)]
    answer_start: Value,
}

impl Answer {
    /// Returns the fault of an answer to the question of this id, whose context has this many characters.
    fn fault(&self, id: &str, context: &str, character_count: usize) -> Option<Problem> {
        let id = id.to_owned();
        let Some(text) = self.text.as_str().filter(|text| !text.is_empty()) else {
            return Some(Problem::NoAnswer { id });
        };
        if !context.contains(text) {
            return Some(Problem::AnswerElsewhere { id, text: text.to_owned() });
        }
        let latest = character_count - text.chars().count();
        let is_inside = match &self.answer_start {
            Value::Null => true,
            start => start.as_u64().is_some_and(|start| start <= latest as u64),
        };
        (!is_inside).then(|| Problem::AnswerStart { id, start: self.answer_start.to_string() })
    }
}

impl File {
    pub(super) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Returns everything that is wrong with the content.
    pub(super) fn faults(&self) -> Vec<Problem> {
        let mut faults = Vec::new();
        if self.version != VERSION {
            faults.push(Problem::Version { expected: VERSION, got: self.version.clone() });
        }
        let mut seen = HashSet::new();
        for Paragraph { context, qas } in self.data.iter().flat_map(|article| &article.paragraphs) {
            let character_count = context.chars().count();
            for Asked { id, answers, .. } in qas {
                if !seen.insert(id.as_str()) {
                    faults.push(Problem::Twice { key: "id", value: id.clone() });
                }
                if answers.is_empty() {
                    faults.push(Problem::NoAnswer { id: id.clone() });
                }
                faults.extend(answers.iter().filter_map(|it| it.fault(id, context, character_count)));
            }
        }
        faults
    }

    /// Returns the contexts with their questions, in the order of the file.
    pub(super) fn into_contexts(self) -> Vec<Context> {
        let paragraphs = self.data.into_iter().flat_map(|article| article.paragraphs);
        let question = |asked: Asked| Question { id: asked.id, text: asked.question };
        let context = |paragraph: Paragraph| Context {
            text: paragraph.context,
            questions: paragraph.qas.into_iter().map(question).collect(),
        };
        paragraphs.map(context).collect()
    }
}
