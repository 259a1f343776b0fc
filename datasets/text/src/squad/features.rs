//! The rows that BERT reads: a question and a part of its context.

use std::{iter, ops::Range};

use crate::{
    bert::BertTokenizer,
    squad::windows::{Windows, has_most_context},
};

/// A context with the questions about it, as in the data set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    /// The text that holds the answers.
    pub text: String,
    /// The questions, in the order of the file.
    pub questions: Vec<Question>,
}

/// A question, without its answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Unique id of the question, by which its answer is reported.
    pub id: String,
    /// The words of the question.
    pub text: String,
}

/// All rows of a data set in the order of the library: by question, and for each by window.
#[derive(Debug)]
pub struct Features {
    pub(super) tokenizer: BertTokenizer,
    pub(super) windows: Windows,
    contexts: Vec<Cut>,
    questions: Vec<Asked>,
    /// Question and window of each row.
    rows: Vec<(usize, usize)>,
}

/// A context as words and tokens.
#[derive(Debug)]
struct Cut {
    words: Vec<String>,
    ids: Vec<u32>,
    /// The word of each token.
    word_of_token: Vec<usize>,
}

/// A question with its windows.
#[derive(Debug)]
struct Asked {
    question: Question,
    ids: Vec<u32>,
    context: usize,
    windows: Vec<Range<usize>>,
    /// The row of its first window.
    first_row: usize,
}

impl Features {
    /// Cuts contexts and questions into rows. A context without a token has none.
    ///
    /// # Panics
    /// If a row of these lengths has no room for a context, or the stride is 0.
    #[must_use]
    pub fn new(tokenizer: BertTokenizer, contexts: Vec<Context>, windows: Windows) -> Self {
        let mut features =
            Self { tokenizer, windows, contexts: Vec::new(), questions: Vec::new(), rows: Vec::new() };
        for context in contexts {
            features.add(context);
        }
        features
    }

    fn add(&mut self, context: Context) {
        let cut = Cut::new(&self.tokenizer, &context.text);
        for question in context.questions {
            let mut ids = self.tokenizer.tokenize(&question.text);
            ids.truncate(self.windows.question);
            let windows = self.windows.on(cut.ids.len(), ids.len());
            let first_row = self.rows.len();
            self.rows.extend((0..windows.len()).map(|window| (self.questions.len(), window)));
            self.questions.push(Asked { question, ids, context: self.contexts.len(), windows, first_row });
        }
        self.contexts.push(cut);
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the lengths that it was created with.
    #[must_use]
    pub fn windows(&self) -> Windows {
        self.windows
    }

    /// Returns the questions, in the order of the data set.
    pub fn questions(&self) -> impl ExactSizeIterator<Item = &Question> {
        self.questions.iter().map(|asked| &asked.question)
    }

    /// Returns the rows of a question.
    ///
    /// # Panics
    /// If the question does not exist.
    #[must_use]
    pub fn rows_of(&self, question: usize) -> Range<usize> {
        let asked = &self.questions[question];
        asked.first_row..asked.first_row + asked.windows.len()
    }

    /// Returns a row.
    ///
    /// # Panics
    /// If the row does not exist.
    #[must_use]
    pub fn feature(&self, row: usize) -> Feature<'_> {
        let (question, window) = self.rows[row];
        let asked = &self.questions[question];
        Feature {
            tokenizer: &self.tokenizer,
            context: &self.contexts[asked.context],
            question,
            asked,
            window,
        }
    }
}

impl Cut {
    fn new(tokenizer: &BertTokenizer, text: &str) -> Self {
        let words = text.split([' ', '\t', '\r', '\n', '\u{202f}']).filter(|word| !word.is_empty());
        let words: Vec<String> = words.map(str::to_owned).collect();
        let (mut ids, mut word_of_token) = (Vec::new(), Vec::new());
        for (number, word) in words.iter().enumerate() {
            ids.extend(tokenizer.tokenize(word));
            word_of_token.resize(ids.len(), number);
        }
        Self { words, ids, word_of_token }
    }
}

/// One row: `[CLS]`, the question, `[SEP]`, a part of the context, `[SEP]`.
#[derive(Debug, Clone, Copy)]
pub struct Feature<'a> {
    tokenizer: &'a BertTokenizer,
    context: &'a Cut,
    question: usize,
    asked: &'a Asked,
    window: usize,
}

impl<'a> Feature<'a> {
    /// Returns the number of the question that it belongs to.
    #[must_use]
    pub fn question(&self) -> usize {
        self.question
    }

    /// Returns the name of the question that it belongs to.
    #[must_use]
    pub fn question_id(&self) -> &'a str {
        &self.asked.question.id
    }

    /// Returns the number of tokens.
    #[must_use]
    pub fn token_count(&self) -> usize {
        self.context_start() + self.range().len() + 1
    }

    /// Returns the position of the first token of the context. From there on the segment is 1, before it 0.
    #[must_use]
    pub fn context_start(&self) -> usize {
        self.asked.ids.len() + 2
    }

    /// Returns the tokens, as numbers of the vocabulary.
    pub fn ids(&self) -> impl Iterator<Item = u32> + 'a {
        let (start, separator) = (self.tokenizer.start(), self.tokenizer.separator());
        let (asked, part) = (&self.asked.ids, &self.context.ids[self.range()]);
        let asked = iter::once(start).chain(asked.iter().copied()).chain([separator]);
        asked.chain(part.iter().copied()).chain([separator])
    }

    /// Returns the number of the word of the context that the token at this position belongs to; `None` outside the
    /// context.
    #[must_use]
    pub fn word(&self, position: usize) -> Option<usize> {
        Some(self.context.word_of_token[self.token_of_context(position)?])
    }

    /// Returns the words of the context by number, with a space between any two.
    #[must_use]
    pub fn words(&self, range: Range<usize>) -> String {
        self.context.words[range].join(" ")
    }

    /// Returns whether no other row of the question shows more of the context on both sides of the token at this
    /// position.
    #[must_use]
    pub fn has_most_context(&self, position: usize) -> bool {
        self.token_of_context(position)
            .is_some_and(|token| has_most_context(&self.asked.windows, self.window, token))
    }

    /// Returns the tokens of the context at these positions, as text.
    ///
    /// # Panics
    /// If one is outside the context.
    pub(super) fn tokens(&self, positions: Range<usize>) -> impl Iterator<Item = &'a str> {
        let start = self.range().start;
        let range =
            start + positions.start - self.context_start()..start + positions.end - self.context_start();
        let vocabulary = self.tokenizer.vocabulary();
        self.context.ids[range].iter().map(|id| vocabulary.token(*id).unwrap_or_default())
    }

    fn token_of_context(&self, position: usize) -> Option<usize> {
        let token = self.range().start + position.checked_sub(self.context_start())?;
        self.range().contains(&token).then_some(token)
    }

    fn range(&self) -> Range<usize> {
        self.asked.windows[self.window].clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::Vocabulary;

    fn features(context: &str, questions: &[&str], windows: Windows) -> Features {
        let tokens = "[PAD] [UNK] [CLS] [SEP] a b c ##b ?".split(' ').map(str::to_owned).collect();
        let tokenizer = BertTokenizer::new(Vocabulary::new(tokens).unwrap()).unwrap();
        let question =
            |(number, text): (usize, &&str)| Question { id: format!("q{number}"), text: (*text).to_owned() };
        let questions = questions.iter().enumerate().map(question).collect();
        Features::new(tokenizer, vec![Context { text: context.to_owned(), questions }], windows)
    }

    #[test]
    fn a_row_holds_question_and_context() {
        let features = features("a\u{202f}ab,\tc", &["A b?"], Windows::SQUAD);
        let feature = features.feature(0);
        assert_eq!(feature.ids().collect::<Vec<_>>(), [2, 4, 5, 8, 3, 4, 4, 7, 1, 6, 3]);
        assert_eq!((feature.token_count(), feature.context_start()), (11, 5));
        let words: Vec<_> = (0..12).map(|position| feature.word(position)).collect();
        let expected =
            [None, None, None, None, None, Some(0), Some(1), Some(1), Some(1), Some(2), None, None];
        assert_eq!(words, expected);
        assert_eq!(feature.words(1..3), "ab, c");
        assert_eq!(feature.tokens(6..9).collect::<Vec<_>>(), ["a", "##b", "[UNK]"]);
        assert_eq!(feature.question_id(), "q0");
    }

    #[test]
    fn rows_are_in_the_order_of_questions_and_windows() {
        let windows = Windows { row: 8, question: 3, stride: 2 };
        let features = features("a b c a b c", &["a", "a b c a b"], windows);
        assert_eq!(features.questions().len(), 2);
        assert_eq!((features.rows_of(0), features.rows_of(1)), (0..2, 2..5));
        let rows: Vec<Vec<u32>> = (0..5).map(|row| features.feature(row).ids().collect()).collect();
        assert_eq!(rows[1], [2, 4, 3, 6, 4, 5, 6, 3]);
        assert_eq!(rows[2], [2, 4, 5, 6, 3, 4, 5, 3], "a question is cut off at its length");
        assert!(rows.iter().all(|row| row.len() <= 8));
        let most: Vec<_> = (0..5)
            .map(|row| {
                let feature = features.feature(row);
                (0..8).filter(|position| feature.has_most_context(*position)).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(most[..2], [vec![3, 4, 5], vec![4, 5, 6]]);
        assert_eq!(features.feature(4).question(), 1);
    }

    #[test]
    fn a_context_without_words_has_no_row() {
        let features = features(" \t\r\n\u{200b}", &["a"], Windows::SQUAD);
        assert!(features.is_empty() && features.rows_of(0).is_empty());
        assert_eq!(features.questions().len(), 1);
    }
}
