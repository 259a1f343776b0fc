//! `close`: outputs value by value against reference outputs.

use proctor_vocabulary::{ElementType, TensorSpec};

use crate::{
    answers::Answers,
    error::AccuracyError,
    judge::{
        Judge, Judgement, Share,
        defect::{Defects, Faulty, ResponseDefect},
        share::{Comparison, ShareJudge},
    },
    metric::{JudgeRequest, MetricEntry},
    response::ResponseForm,
};

inventory::submit! {
    MetricEntry {
        name: "close",
        about: "share of samples whose values are all within the tolerance",
        outputs: "outputs of f32",
        answers: "reference outputs",
        form,
        needs_tolerance: true,
        judge,
    }
}

fn form(outputs: &[TensorSpec]) -> Option<ResponseForm> {
    let is_judged = outputs.iter().all(|output| output.element_type == ElementType::F32);
    let count = outputs.iter().map(TensorSpec::element_count).sum();
    is_judged.then(|| ResponseForm::exactly(ElementType::F32, count))
}

fn judge(request: &JudgeRequest<'_>) -> Result<Box<dyn Judge>, AccuracyError> {
    let (answers, sample_count) = request.read_answers()?;
    let (Answers::Values(answers), Some(tolerance)) = (answers, request.tolerance) else {
        return Err(request.mismatch());
    };
    Ok(Box::new(ShareJudge::new(request.form, sample_count, Close::new(answers, tolerance))))
}

/// Compares each value of a sample with the right one, within a tolerance. A NaN is never within it.
pub(super) struct Close {
    answers: Vec<Vec<f64>>,
    tolerance: f64,
    /// The largest of all differences that are finite.
    largest: f64,
    /// Sum over each sample. These are added in the order of the data set, on which the last digits depend.
    sums: Vec<f64>,
    /// Number of the differences.
    count: u64,
}

impl Close {
    pub(super) fn new(answers: Vec<Vec<f64>>, tolerance: f64) -> Self {
        let sums = vec![0.0; answers.len()];
        Self { answers, tolerance, largest: 0.0, sums, count: 0 }
    }
}

impl Comparison for Close {
    fn answer_count(&self) -> usize {
        self.answers.len()
    }

    fn is_right(&mut self, sample: usize, response: &[u8], defects: &mut Defects) -> bool {
        let answer = &self.answers[sample];
        let (values, rest) = response.as_chunks::<4>();
        if values.len() != answer.len() || !rest.is_empty() {
            return false;
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
            is_close &= difference <= self.tolerance;
            if difference.is_finite() {
                self.largest = self.largest.max(difference);
                self.sums[sample] += difference;
                self.count += 1;
            }
        }
        not_finite.list(defects, |position, count| ResponseDefect::NotFinite { position, count });
        is_close
    }

    fn complete(self, _: Share, judgement: &mut Judgement) {
        judgement.details.insert("tolerance", self.tolerance);
        if self.count > 0 {
            judgement.details.insert("largest_difference", self.largest);
            let sum: f64 = self.sums.iter().sum();
            judgement.details.insert("mean_difference", sum / self.count as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    const FORM: ResponseForm =
        ResponseForm { element_type: ElementType::F32, count_max: 2, varies: false, variant: None };

    /// Judges responses to four samples; the first three have a known answer.
    fn judged(responses: &[Option<&[u8]>], tolerance: f64) -> (Judgement, u64, Vec<(usize, ResponseDefect)>) {
        let close = Close::new(vec![vec![1.0, -2.0]; 3], tolerance);
        let (judgement, defects) = ShareJudge::new(FORM, 4, close).judged(responses);
        let correct_count = judgement.share.unwrap().correct_count;
        (judgement, correct_count, defects)
    }

    #[test]
    fn every_value_has_to_lie_within_the_tolerance() {
        let (near, far, nan) = (bytes(&[1.25, -2.0]), bytes(&[1.0, -2.5]), bytes(&[1.0, f32::NAN]));
        let infinite = bytes(&[f32::INFINITY, -2.0]);
        let of = |data: &[u8]| judged(&[Some(data), None, None, None], 0.25).1;
        assert_eq!([&near, &far, &nan, &infinite].map(|data| of(data)), [1, 0, 0, 0]);
        let (judgement, correct_count, defects) = judged(&[Some(&near), Some(&far), Some(&nan)], 0.25);
        assert_eq!((correct_count, judgement.value), (1, 1.0 / 3.0));
        assert_eq!(defects, [(2, ResponseDefect::NotFinite { position: 1, count: 1 })]);
        let details =
            ["largest_difference", "mean_difference", "tolerance"].map(|name| judgement.details[name]);
        assert_eq!(details, [0.5, 0.15, 0.25]);
    }

    #[test]
    fn missing_and_malformed_responses_and_those_without_an_answer() {
        let near = bytes(&[1.0, -2.0]);
        let responses = [Some(&near[..]), None, Some(&near[..4]), Some(&near[..])];
        let (_, correct_count, defects) = judged(&responses, 0.1);
        assert_eq!(correct_count, 1);
        assert_eq!(defects, [(2, ResponseDefect::Form { size_bytes: 4, form: FORM })]);
    }
}
