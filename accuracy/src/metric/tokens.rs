//! `tokens`: sequences of tokens against reference sequences.

use proctor_scores::speech::edit_distance;
use proctor_vocabulary::{ElementType, TensorSpec};

use crate::{
    answers::Answers,
    metric::{MetricEntry, Score, Scored, Scoring, up_to_one_output},
    response::ResponseForm,
};

inventory::submit! {
    MetricEntry {
        name: "tokens",
        outputs: "one output of i32",
        answers: "reference outputs",
        form,
        needs_tolerance: false,
        scoring: Scoring::AtOnce(score),
    }
}

fn form(outputs: &[TensorSpec]) -> Option<ResponseForm> {
    up_to_one_output(outputs, &[ElementType::I32])
}

/// Share of the judged samples whose tokens are the right ones, all of them and no more.
///
/// Among the details is the error rate, which is the edit distance of all judged samples by the number of right tokens,
/// where a missing answer counts as one without tokens; and the mean number of tokens.
fn score(scored: &Scored<'_>) -> Option<Score> {
    let Answers::Tokens(answers) = scored.answers else { return None };
    let (mut correct_count, mut distance, mut given, mut right) = (0, 0, 0, 0);
    for (response, answer) in scored.responses.iter().zip(answers) {
        let whole = response.filter(|data| data.len().is_multiple_of(4));
        let tokens: Option<Vec<i32>> =
            whole.map(|data| data.as_chunks().0.iter().map(|token| i32::from_le_bytes(*token)).collect());
        correct_count += u64::from(tokens.as_ref() == Some(answer));
        let tokens = tokens.unwrap_or_default();
        distance += edit_distance(&tokens, answer);
        given += tokens.len();
        right += answer.len();
    }
    let mut score = Score::share(correct_count, scored.answers);
    if right > 0 {
        score.details.insert("token_error_rate".to_owned(), distance as f64 / right as f64);
    }
    if !answers.is_empty() {
        score.details.insert("tokens_per_sample_mean".to_owned(), given as f64 / answers.len() as f64);
    }
    Some(score)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_sequence_is_right() {
        let bytes = |tokens: &[i32]| -> Vec<u8> { tokens.iter().flat_map(|it| it.to_le_bytes()).collect() };
        let (whole, shorter, longer, none) = (bytes(&[5, 6]), bytes(&[5]), bytes(&[5, 6, 7]), bytes(&[]));
        let responses = [&whole, &shorter, &longer, &none].map(|data| Some(data.as_slice()));
        let responses = [&responses[..], &[None, Some(&whole[..3])]].concat();
        let answers = &Answers::Tokens(vec![vec![5, 6]; 6]);
        let form = ResponseForm::up_to(ElementType::I32, 3);
        let scored = Scored { form, responses: &responses, answers, tolerance: None };
        let score = super::score(&scored).unwrap();
        assert_eq!((score.correct_count, score.value), (1, 1.0 / 6.0));
        assert_eq!(score.details["token_error_rate"], 8.0 / 12.0);
        assert_eq!(score.details["tokens_per_sample_mean"], 1.0);
    }

    #[test]
    fn an_empty_answer_is_right_if_none_was_expected() {
        let answers = &Answers::Tokens(vec![vec![]]);
        let form = ResponseForm::up_to(ElementType::I32, 3);
        let score = |responses: &[Option<&[u8]>]| {
            super::score(&Scored { form, responses, answers, tolerance: None }).unwrap()
        };
        assert_eq!(score(&[Some(&[])]).correct_count, 1);
        assert_eq!(score(&[None]).correct_count, 0);
    }
}
