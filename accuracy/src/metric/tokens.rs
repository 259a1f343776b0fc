//! `tokens`: sequences of tokens against reference sequences.

use proctor_scores::speech::edit_distance;
use proctor_vocabulary::{ElementType, TensorSpec};

use crate::{
    answers::Answers,
    error::AccuracyError,
    judge::{
        Judge, Judgement, Share,
        defect::Defects,
        share::{Comparison, ShareJudge},
    },
    metric::{JudgeRequest, MetricEntry, up_to_one_output},
    response::ResponseForm,
};

inventory::submit! {
    MetricEntry {
        name: "tokens",
        about: "share of samples whose tokens are all right",
        outputs: "one output of i32",
        answers: "reference outputs",
        form,
        needs_tolerance: false,
        judge,
    }
}

fn form(outputs: &[TensorSpec]) -> Option<ResponseForm> {
    up_to_one_output(outputs, &[ElementType::I32])
}

fn judge(request: &JudgeRequest<'_>) -> Result<Box<dyn Judge>, AccuracyError> {
    let (answers, sample_count) = request.read_answers()?;
    let Answers::Tokens(answers) = answers else { return Err(request.mismatch()) };
    Ok(Box::new(ShareJudge::new(request.form, sample_count, Tokens::new(answers))))
}

/// Compares the tokens of each sample with the right ones: all must be there, and no others.
struct Tokens {
    answers: Vec<Vec<i32>>,
    /// Edit distance of all judged samples; a missing answer counts as one without tokens.
    distance: usize,
    /// Number of tokens in the responses.
    given_count: usize,
}

impl Tokens {
    fn new(answers: Vec<Vec<i32>>) -> Self {
        let distance = answers.iter().map(Vec::len).sum();
        Self { answers, distance, given_count: 0 }
    }
}

impl Comparison for Tokens {
    fn answer_count(&self) -> usize {
        self.answers.len()
    }

    fn is_right(&mut self, sample: usize, response: &[u8], _: &mut Defects) -> bool {
        let answer = &self.answers[sample];
        let (tokens, rest) = response.as_chunks::<4>();
        if !rest.is_empty() {
            return false;
        }
        let tokens: Vec<_> = tokens.iter().copied().map(i32::from_le_bytes).collect();
        // So far it counts as missing.
        self.distance = self.distance - answer.len() + edit_distance(&tokens, answer);
        self.given_count += tokens.len();
        tokens == *answer
    }

    /// Adds the error rate to the details, which is the edit distance divided by the number of right tokens, and the
    /// mean number of tokens.
    fn complete(self, _: Share, judgement: &mut Judgement) {
        let right_count: usize = self.answers.iter().map(Vec::len).sum();
        if right_count > 0 {
            judgement.details.insert("token_error_rate", self.distance as f64 / right_count as f64);
        }
        if !self.answers.is_empty() {
            let mean = self.given_count as f64 / self.answers.len() as f64;
            judgement.details.insert("tokens_per_sample_mean", mean);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::defect::ResponseDefect;

    #[test]
    fn only_the_whole_sequence_is_right() {
        let bytes = |tokens: &[i32]| -> Vec<u8> { tokens.iter().flat_map(|it| it.to_le_bytes()).collect() };
        let (whole, shorter, longer, none) = (bytes(&[5, 6]), bytes(&[5]), bytes(&[5, 6, 7]), bytes(&[]));
        let responses = [&whole, &shorter, &longer, &none].map(|data| Some(data.as_slice()));
        let responses = [&responses[..], &[None, Some(&whole[..3])]].concat();
        let form = ResponseForm::up_to(ElementType::I32, 3);
        let judge = ShareJudge::new(form, 6, Tokens::new(vec![vec![5, 6]; 6]));
        let (judgement, defects) = judge.judged(&responses);
        assert_eq!(judgement.share, Some(Share { correct_count: 1, judged_count: 6 }));
        assert_eq!(judgement.value, 1.0 / 6.0);
        assert_eq!(judgement.details["token_error_rate"], 8.0 / 12.0);
        assert_eq!(judgement.details["tokens_per_sample_mean"], 1.0);
        assert_eq!(defects, [(5, ResponseDefect::Form { size_bytes: 3, form })]);
    }

    #[test]
    fn an_empty_answer_is_right_if_none_was_expected() {
        let form = ResponseForm::up_to(ElementType::I32, 3);
        let share = |responses: &[Option<&[u8]>]| {
            ShareJudge::new(form, 1, Tokens::new(vec![vec![]])).judged(responses).0.share
        };
        assert_eq!(share(&[Some(&[])]), Some(Share { correct_count: 1, judged_count: 1 }));
        assert_eq!(share(&[None]), Some(Share { correct_count: 0, judged_count: 1 }));
    }
}
