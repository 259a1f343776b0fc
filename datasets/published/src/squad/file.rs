//! The JSON file of questions. Answers are looked for and never kept.

use std::collections::HashSet;

use proctor_text::{Context, Question};
use serde::{Deserialize, de::IgnoredAny};

use crate::{defect::Problem, squad::VERSION};

/// The file, without what is not needed here.
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
    answers: Vec<IgnoredAny>,
}

impl File {
    pub(super) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Everything that is wrong with the content.
    pub(super) fn faults(&self) -> Vec<Problem> {
        let mut faults = Vec::new();
        if self.version != VERSION {
            faults.push(Problem::Version { expected: VERSION, got: self.version.clone() });
        }
        let mut seen = HashSet::new();
        let paragraphs = self.data.iter().flat_map(|article| &article.paragraphs);
        for asked in paragraphs.flat_map(|paragraph| &paragraph.qas) {
            if !seen.insert(asked.id.as_str()) {
                faults.push(Problem::Twice { key: "id", value: asked.id.clone() });
            }
            if asked.answers.is_empty() {
                faults.push(Problem::NoAnswer { id: asked.id.clone() });
            }
        }
        faults
    }

    /// The contexts with their questions, in the order of the file.
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
