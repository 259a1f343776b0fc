//! Questions of SQuAD: for each position of a row of tokens a pair of logits, for start and end of the answer.

use std::collections::HashMap;

use proctor_scores::{ScoreError, answers::AnswerScores};
use proctor_text::{Features, Logits};

use crate::{
    element::real,
    error::AccuracyError,
    judge::{
        Judge, Judgement,
        defect::{Defects, Faulty, ResponseDefect},
        elements,
    },
    response::{ResponseForm, Variant},
};

/// Scores the answers that logits point to by F1, as BERT is scored, over all questions of the data set.
///
/// A row may have fewer pairs than tokens; positions beyond them are very unlikely. A logit may be minus infinity, for
/// an impossible position. A damaged response counts as missing. A question is answered from whichever of its rows have
/// a response, and is wrong if none has.
#[derive(Debug)]
pub struct QuestionJudge {
    features: Features,
    /// The right answers to each question.
    right: Vec<Vec<String>>,
    form: ResponseForm,
    /// The answer to each question whose rows are all there, if they hold one.
    answers: Vec<Option<String>>,
    /// Number of rows of each question that are not there yet.
    missing_counts: Vec<usize>,
    /// Logits of rows whose question misses others.
    waiting: HashMap<usize, Logits>,
}

impl QuestionJudge {
    /// Creates a judge of the rows of questions with these right answers, at least one to each. Of the form of
    /// responses the type counts, and whether they are transposed.
    ///
    /// # Errors
    /// [`ScoreError::Lengths`] if there are not as many lists of answers as questions.
    pub fn new(features: Features, right: Vec<Vec<String>>, form: ResponseForm) -> Result<Self, ScoreError> {
        let question_count = features.questions().len();
        if question_count != right.len() {
            return Err(ScoreError::Lengths {
                given: "questions",
                given_count: question_count,
                right: "lists of right answers",
                right_count: right.len(),
            });
        }
        let missing_counts = (0..question_count).map(|question| features.rows_of(question).len()).collect();
        let answers = vec![None; question_count];
        Ok(Self { features, right, form, answers, missing_counts, waiting: HashMap::new() })
    }

    /// Returns the logits of a response, if it is whole.
    fn logits(&self, response: &[u8], defects: &mut Defects) -> Option<Logits> {
        let element_type = self.form.element_type;
        let logits = elements(response, element_type, 2, defects);
        if !defects.is_empty() {
            return None;
        }
        let (given, wanted) = (logits.len() / 2, self.features.windows().row);
        if given == 0 || given > wanted {
            defects.push(ResponseDefect::RecordCount { given, wanted });
            return None;
        }
        let values: Vec<_> = logits.map(|bytes| real(element_type, bytes)).collect();
        let logits = match self.form.variant {
            Some(Variant::Transposed) => Logits::from_halves(&values).ok()?,
            _ => Logits::from_pairs(&values).ok()?,
        };
        let mut not_finite = Faulty::default();
        let overflows = |value: &f64| value.is_nan() || *value == f64::INFINITY;
        let pairs = logits.start.iter().zip(&logits.end).enumerate();
        pairs
            .filter(|(_, (start, end))| overflows(start) || overflows(end))
            .for_each(|(position, _)| not_finite.add(position));
        not_finite.list(defects, |position, count| ResponseDefect::NotFinite { position, count });
        defects.is_empty().then_some(logits)
    }

    /// Returns the answer to a question from the available rows; `None` without any.
    fn answer(&self, question: usize) -> Option<String> {
        if self.features.rows_of(question).all(|row| !self.waiting.contains_key(&row)) {
            return None;
        }
        self.features.answer(question, |row| self.waiting.get(&row)).ok()
    }
}

impl Judge for QuestionJudge {
    fn sample_count(&self) -> usize {
        self.features.len()
    }

    fn take(&mut self, sample: usize, response: &[u8], defects: &mut Defects) -> Result<(), AccuracyError> {
        if let Some(logits) = self.logits(response, defects) {
            self.waiting.insert(sample, logits);
        }
        let question = self.features.feature(sample).question();
        self.missing_counts[question] -= 1;
        if self.missing_counts[question] == 0 {
            self.answers[question] = self.answer(question);
            for row in self.features.rows_of(question) {
                self.waiting.remove(&row);
            }
        }
        Ok(())
    }

    /// Returns the F1 in percent as the value.
    fn judgement(self: Box<Self>) -> Result<Judgement, ScoreError> {
        let mut scores = AnswerScores::default();
        // In the order of the data set: a sum depends on it in its last digits.
        for (question, right) in self.right.iter().enumerate() {
            let answer = match self.missing_counts[question] {
                0 => self.answers[question].clone(),
                _ => self.answer(question),
            };
            scores.add(answer.as_deref(), right)?;
        }
        let figures = scores.figures()?;
        let details = [("exact_match", figures.exact_match)].into();
        Ok(Judgement { value: figures.f1, line: Some(figures.line()), details, ..Judgement::default() })
    }
}

#[cfg(test)]
mod tests {
    use proctor_text::{BertTokenizer, Context, Question, Vocabulary, Windows};
    use proctor_vocabulary::ElementType;

    use super::*;
    use crate::element::bytes_of;

    const FORM: ResponseForm =
        ResponseForm { element_type: ElementType::F32, count_max: 16, varies: true, variant: None };

    fn judge() -> QuestionJudge {
        judge_of(FORM)
    }

    /// Three questions: one of two rows, which share a context, and two of a row each on another one.
    fn judge_of(form: ResponseForm) -> QuestionJudge {
        let tokens = "[PAD] [UNK] [CLS] [SEP] who ada alan grace was it".split(' ').map(str::to_owned);
        let tokenizer = BertTokenizer::new(Vocabulary::new(tokens.collect()).unwrap()).unwrap();
        let question = |id: &str| Question { id: id.to_owned(), text: "Who".to_owned() };
        let contexts = vec![
            Context { text: "It was Ada was it".to_owned(), questions: vec![question("a")] },
            Context { text: "Alan was Grace".to_owned(), questions: vec![question("b"), question("c")] },
        ];
        let features = Features::new(tokenizer, contexts, Windows { row: 8, question: 2, stride: 2 });
        let right = ["Ada", "Grace", "Alan was"].map(|answer| vec!["x y".to_owned(), answer.to_owned()]);
        QuestionJudge::new(features, right.into(), form).unwrap()
    }

    /// Logits that are 1 for the start and the end of an answer.
    fn span(first: usize, last: usize) -> Vec<u8> {
        let mut pairs = [[0.0_f32; 2]; 8];
        (pairs[first][0], pairs[last][1]) = (1.0, 1.0);
        pairs.as_flattened().iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    /// Feeds responses to a judge, and returns its judgement with the defects.
    fn judged(responses: &[(usize, Vec<u8>)]) -> (Judgement, Vec<(usize, ResponseDefect)>) {
        let (mut judge, mut listed) = (judge(), Vec::new());
        for (sample, response) in responses {
            let mut defects = Vec::new();
            judge.take(*sample, response, &mut defects).unwrap();
            listed.extend(defects.into_iter().map(|defect| (*sample, defect)));
        }
        (Box::new(judge).judgement().unwrap(), listed)
    }

    #[test]
    fn rows_of_a_question_are_joined_in_any_order() {
        assert_eq!(judge().sample_count(), 4);
        // The second row of the first question says nothing.
        let right = [(3, span(3, 4)), (1, span(0, 0)), (2, span(5, 5)), (0, span(5, 5))];
        let (judgement, defects) = judged(&right);
        assert_eq!((judgement.value, judgement.details["exact_match"], defects), (100.0, 100.0, vec![]));
        assert_eq!(judgement.line.as_deref(), Some("{\"exact_match\": 100.0, \"f1\": 100.0}"));

        // "Alan" for "Alan was", and the second row is surer of "was".
        let surer = span(4, 4)
            .chunks(4)
            .flat_map(|it| (3.0 * f32::from_le_bytes(it.try_into().unwrap())).to_le_bytes())
            .collect();
        let wrong = [(0, span(5, 5)), (1, surer), (2, span(5, 5)), (3, span(3, 3))];
        let (judgement, _) = judged(&wrong);
        assert_eq!(judgement.value, 100.0 * (0.0 + 1.0 + 2.0 / 3.0) / 3.0);
        assert_eq!(judgement.details["exact_match"], 100.0 / 3.0);
    }

    #[test]
    fn a_question_without_a_response_is_wrong_and_one_row_is_enough() {
        let (judgement, _) = judged(&[(0, span(5, 5))]);
        assert_eq!(judgement.value, 100.0 / 3.0);
        assert_eq!(judged(&[]).0.value, 0.0);
    }

    #[test]
    fn damaged_responses_count_as_none_and_short_ones_do_not() {
        let mut with_nan = span(5, 5);
        with_nan[16..20].copy_from_slice(&f32::NAN.to_le_bytes());
        with_nan[28..32].copy_from_slice(&f32::INFINITY.to_le_bytes());
        let mut cut = span(5, 5);
        cut.truncate(44);
        let (judgement, defects) =
            judged(&[(0, with_nan), (1, [span(3, 3), span(3, 3)].concat()), (2, cut), (3, Vec::new())]);
        assert_eq!(judgement.value, 0.0);
        assert_eq!(
            defects,
            [
                (0, ResponseDefect::NotFinite { position: 2, count: 2 }),
                (1, ResponseDefect::RecordCount { given: 16, wanted: 8 }),
                (2, ResponseDefect::Size { size_bytes: 44, unit_bytes: 8 }),
                (3, ResponseDefect::RecordCount { given: 0, wanted: 8 }),
            ]
        );

        let mut short = span(5, 5);
        short.truncate(6 * 8);
        let mut masked = span(3, 4);
        masked[..4].copy_from_slice(&f32::NEG_INFINITY.to_le_bytes());
        let (judgement, defects) = judged(&[(0, short.clone()), (1, span(0, 0)), (2, short), (3, masked)]);
        assert_eq!((judgement.value, defects), (100.0, vec![]));
    }

    #[test]
    fn logits_of_other_types_and_orders_say_the_same() {
        for element_type in [
            ElementType::F16,
            ElementType::F32,
            ElementType::F64,
            ElementType::I8,
            ElementType::I16,
            ElementType::I32,
            ElementType::I64,
        ] {
            for variant in [None, Some(Variant::Transposed)] {
                let mut judge = judge_of(ResponseForm { element_type, variant, ..FORM });
                for (sample, first, last) in [(0, 5, 5), (1, 0, 0), (2, 5, 5), (3, 3, 4)] {
                    // Six positions of eight: the others are very unlikely.
                    let mut logits = [0; 12];
                    let (start, end) = match variant {
                        None => (2 * first, 2 * last + 1),
                        Some(_) => (first, 6 + last),
                    };
                    (logits[start], logits[end]) = (1, 1);
                    let response: Vec<_> =
                        logits.iter().flat_map(|number| bytes_of(element_type, *number)).collect();
                    let mut defects = Vec::new();
                    judge.take(sample, &response, &mut defects).unwrap();
                    assert_eq!(defects, [], "{element_type}");
                }
                let judgement = Box::new(judge).judgement().unwrap();
                assert_eq!(judgement.value, 100.0, "{element_type} {variant:?}");
            }
        }
    }

    #[test]
    fn each_question_needs_its_answers() {
        let QuestionJudge { features, mut right, .. } = judge();
        right.pop();
        assert!(matches!(QuestionJudge::new(features, right, FORM), Err(ScoreError::Lengths { .. })));
    }
}
