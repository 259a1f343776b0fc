//! `close`: outputs value by value against reference outputs.

use proctor_vocabulary::{ElementType, TensorSpec};

use crate::{
    answers::Answers,
    judge::defect::{Faulty, ResponseDefect},
    metric::{MetricEntry, Score, Scored, Scoring},
    response::ResponseForm,
};

inventory::submit! {
    MetricEntry {
        name: "close",
        outputs: "outputs of f32",
        answers: "reference outputs",
        form,
        needs_tolerance: true,
        scoring: Scoring::AtOnce(score),
    }
}

fn form(outputs: &[TensorSpec]) -> Option<ResponseForm> {
    let is_judged = outputs.iter().all(|output| output.element_type == ElementType::F32);
    let count = outputs.iter().map(TensorSpec::element_count).sum();
    is_judged.then(|| ResponseForm::exactly(ElementType::F32, count))
}

/// Share of the judged samples whose every value lies within the tolerance of the right one. A NaN lies nowhere.
///
/// Among the details are the largest and the mean difference over all judged values that are finite.
fn score(scored: &Scored<'_>) -> Option<Score> {
    let (Answers::Values(answers), Some(tolerance)) = (scored.answers, scored.tolerance) else { return None };
    let mut differences = Differences::default();
    let mut correct_count = 0;
    let mut defects = Vec::new();
    for ((sample, response), answer) in (0..).zip(scored.responses).zip(answers) {
        let Some(data) = response else { continue };
        let (values, rest) = data.as_chunks::<4>();
        if values.len() != answer.len() || !rest.is_empty() {
            continue;
        }
        let mut is_close = true;
        let mut not_finite = Faulty::default();
        for (position, (value, right)) in values.iter().zip(answer).enumerate() {
            let value = f32::from_le_bytes(*value);
            if !value.is_finite() {
                not_finite.add(position);
            }
            let difference = (f64::from(value) - right).abs();
            // Written so that a NaN fails.
            is_close &= difference <= tolerance;
            differences.add(difference);
        }
        correct_count += u64::from(is_close);
        let mut of_sample = Vec::new();
        not_finite.list(&mut of_sample, |position, count| ResponseDefect::NotFinite { position, count });
        defects.extend(of_sample.into_iter().map(|defect| (sample, defect)));
    }
    let mut score = Score { defects, ..Score::share(correct_count, scored.answers) };
    score.details.insert("tolerance".to_owned(), tolerance);
    if differences.count > 0 {
        score.details.insert("largest_difference".to_owned(), differences.largest);
        score.details.insert("mean_difference".to_owned(), differences.sum / differences.count as f64);
    }
    Some(score)
}

#[derive(Default)]
struct Differences {
    largest: f64,
    sum: f64,
    count: u64,
}

impl Differences {
    fn add(&mut self, difference: f64) {
        if difference.is_finite() {
            self.largest = self.largest.max(difference);
            self.sum += difference;
            self.count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    fn score(responses: &[Option<&[u8]>], tolerance: Option<f64>) -> Option<Score> {
        let answers = &Answers::Values(vec![vec![1.0, -2.0]; 3]);
        let form = ResponseForm::exactly(ElementType::F32, 2);
        super::score(&Scored { form, responses, answers, tolerance })
    }

    #[test]
    fn every_value_has_to_lie_within_the_tolerance() {
        let (near, far, nan) = (bytes(&[1.25, -2.0]), bytes(&[1.0, -2.5]), bytes(&[1.0, f32::NAN]));
        let infinite = bytes(&[f32::INFINITY, -2.0]);
        let of = |data: &[u8]| score(&[Some(data), None, None, None], Some(0.25)).unwrap().correct_count;
        assert_eq!([&near, &far, &nan, &infinite].map(|data| of(data)), [1, 0, 0, 0]);
        let score = score(&[Some(&near), Some(&far), Some(&nan)], Some(0.25)).unwrap();
        assert_eq!((score.correct_count, score.value), (1, 1.0 / 3.0));
        assert_eq!(score.defects, [(2, ResponseDefect::NotFinite { position: 1, count: 1 })]);
        assert_eq!((score.details["largest_difference"], score.details["mean_difference"]), (0.5, 0.15));
    }

    #[test]
    fn missing_and_malformed_responses_and_those_without_an_answer() {
        let near = bytes(&[1.0, -2.0]);
        let responses = [Some(&near[..]), None, Some(&near[..4]), Some(&near[..])];
        assert_eq!(score(&responses, Some(0.1)).unwrap().correct_count, 1);
        assert_eq!(score(&responses, None), None);
    }
}
