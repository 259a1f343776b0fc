//! `top1`: the class of each sample against its label.

use proctor_scores::ScoreError;
use proctor_vocabulary::{ElementType, TensorSpec};

use crate::{
    answers::Answers,
    element::{real, whole},
    error::AccuracyError,
    judge::{
        Judge, Judgement, Share, WrongSample,
        defect::{Defects, ResponseDefect},
        share::{Comparison, ShareJudge},
    },
    metric::{JudgeRequest, MetricEntry},
    response::ResponseForm,
};

/// Name of the metric.
pub(crate) const NAME: &str = "top1";

inventory::submit! {
    MetricEntry {
        name: NAME,
        about: "share of samples whose class is right",
        outputs: "one output, of logits in f32, or of one class in f32, f64, i16, i32 or i64",
        answers: "labels",
        form,
        needs_tolerance: false,
        judge,
    }
}

fn form(outputs: &[TensorSpec]) -> Option<ResponseForm> {
    let [output] = outputs else { return None };
    let count = output.element_count();
    let is_judged = match output.element_type {
        ElementType::F32 => true,
        ElementType::F64 | ElementType::I16 | ElementType::I32 | ElementType::I64 => count == 1,
        _ => false,
    };
    is_judged.then(|| ResponseForm::exactly(output.element_type, count))
}

fn judge(request: &JudgeRequest<'_>) -> Result<Box<dyn Judge>, AccuracyError> {
    let (answers, sample_count) = request.read_answers()?;
    let Answers::Classes { labels, class_count } = answers else { return Err(request.mismatch()) };
    let top1 = Top1::new(request.form, labels, class_count);
    Ok(Box::new(ShareJudge::new(request.form, sample_count, top1)))
}

/// Compares the class of each sample with its label.
struct Top1 {
    form: ResponseForm,
    labels: Vec<u64>,
    class_count: u64,
    /// Number of responses to samples with a label.
    answered_count: u64,
    doubts: Vec<(u64, ResponseDefect)>,
}

impl Top1 {
    fn new(form: ResponseForm, labels: Vec<u64>, class_count: u64) -> Self {
        Self { form, labels, class_count, answered_count: 0, doubts: Vec::new() }
    }
}

impl Comparison for Top1 {
    fn answer_count(&self) -> usize {
        self.labels.len()
    }

    fn is_right(&mut self, sample: usize, response: &[u8], defects: &mut Defects) -> bool {
        self.answered_count += 1;
        let class = match class(self.form, response) {
            Ok(Some(class)) => class,
            // Of a wrong size.
            Ok(None) => return false,
            Err(defect) => {
                defects.push(defect);
                return false;
            }
        };
        let doubt = doubt(self.form, response, class, self.class_count);
        self.doubts.extend(doubt.map(|defect| (sample as u64, defect)));
        u64::try_from(class) == Ok(self.labels[sample])
    }

    fn wrong_class(&self, sample: usize, response: &[u8]) -> Option<WrongSample> {
        let given = class(self.form, response).ok().flatten();
        Some(WrongSample { sample: sample as u64, expected: self.labels[sample], given })
    }

    /// Writes the line as the reference does: its share counts only the answered samples.
    fn complete(self, Share { correct_count, .. }: Share, judgement: &mut Judgement) {
        let Self { answered_count, doubts, .. } = self;
        let share = 100.0 * correct_count as f64 / answered_count as f64;
        let line = format!("accuracy={share:.3}%, good={correct_count}, total={answered_count}");
        judgement.line = (answered_count > 0).then_some(line);
        judgement.doubts = doubts;
    }
}

/// Returns the class that a response names, whether it exists or not: the position of the largest logit, or the class
/// itself, which the reference's programs give as a single f32. `None` if the size is wrong, or without logits.
pub(crate) fn class(form: ResponseForm, data: &[u8]) -> Result<Option<i64>, ResponseDefect> {
    if !form.fits(data.len()) {
        return Ok(None);
    }
    match form.element_type {
        ElementType::F32 if form.count_max != 1 => largest(data),
        element_type => single(element_type, data).map(Some),
    }
}

/// Returns the class that a number means, without its fraction, as the reference does.
fn single(element_type: ElementType, data: &[u8]) -> Result<i64, ResponseDefect> {
    if let Some(class) = whole(element_type, data) {
        return Ok(class);
    }
    let number = real(element_type, data);
    if !number.is_finite() {
        return Err(ResponseDefect::NotFinite { position: 0, count: 1 });
    }
    Ok(number as i64)
}

/// Returns the reason to doubt a class: it does not exist, or the number has a fraction. Numbers that are read as the
/// wrong type look like that.
fn doubt(form: ResponseForm, data: &[u8], class: i64, class_count: u64) -> Option<ResponseDefect> {
    let class_max = i64::try_from(class_count).unwrap_or(i64::MAX) - 1;
    if !(0..=class_max).contains(&class) {
        let none = ScoreError::Class { what: "record", position: 0, class, class_max };
        return Some(ResponseDefect::Refused(none));
    }
    let has_fraction = form.count_max == 1 && whole(form.element_type, data).is_none();
    has_fraction.then_some(ResponseDefect::NotWhole { position: 0, count: 1 })
}

/// Returns the position of the largest number, the first of equals; none without numbers. A NaN among them is a fault.
fn largest(data: &[u8]) -> Result<Option<i64>, ResponseDefect> {
    let numbers = || data.as_chunks().0.iter().copied().map(f32::from_le_bytes);
    if let Some(position) = numbers().position(f32::is_nan) {
        let count = numbers().filter(|number| number.is_nan()).count();
        return Err(ResponseDefect::NotFinite { position, count });
    }
    let mut best: Option<(i64, f32)> = None;
    for (position, number) in (0..).zip(numbers()) {
        if best.is_none_or(|(_, most)| number > most) {
            best = Some((position, number));
        }
    }
    Ok(best.map(|(position, _)| position))
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;

    const NAN: f32 = f32::NAN;

    /// The class of a response that has no fault.
    fn class(form: ResponseForm, data: &[u8]) -> Option<i64> {
        super::class(form, data).unwrap()
    }

    fn bytes(numbers: &[f32]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    fn logits(numbers: &[f32]) -> Option<i64> {
        class(ResponseForm::exactly(ElementType::F32, 3), &bytes(numbers))
    }

    #[test]
    fn the_largest_logit_wins_and_the_first_of_equals() {
        assert_eq!(logits(&[-2.0, -1.0, -3.0]), Some(1));
        assert_eq!(logits(&[1.0, 4.0, 4.0]), Some(1));
        assert_eq!(logits(&[f32::NEG_INFINITY; 3]), Some(0));
        assert_eq!(logits(&[0.0, 1.0, f32::INFINITY]), Some(2));
    }

    #[test]
    fn a_nan_anywhere_is_a_fault() {
        let form = ResponseForm::exactly(ElementType::F32, 3);
        for (numbers, position, count) in
            [([NAN, 1.0, NAN], 0, 2), ([1.0, NAN, 0.0], 1, 1), ([1.0, 0.0, NAN], 2, 1)]
        {
            let expected = ResponseDefect::NotFinite { position, count };
            assert_eq!(super::class(form, &bytes(&numbers)), Err(expected));
        }
    }

    #[test]
    fn a_class_is_read_as_the_definition_says() {
        let (narrow, wide) =
            (ResponseForm::exactly(ElementType::I32, 1), ResponseForm::exactly(ElementType::I64, 1));
        assert_eq!(class(narrow, &7_i32.to_le_bytes()), Some(7));
        assert_eq!(class(wide, &7_i64.to_le_bytes()), Some(7));
        assert_eq!(class(narrow, &(-1_i32).to_le_bytes()), Some(-1));
        assert_eq!(class(wide, &7_i32.to_le_bytes()), None);
        assert_eq!(logits(&[1.0, 2.0]), None);
    }

    #[test]
    fn a_single_number_is_a_class() {
        let single = ResponseForm::exactly(ElementType::F32, 1);
        let named = |number: f32| class(single, &number.to_le_bytes());
        assert_eq!([0.0, 7.0, 7.9, 999.0].map(named), [Some(0), Some(7), Some(7), Some(999)]);
        assert_eq!([-1.0, 1e9].map(named), [Some(-1), Some(1_000_000_000)]);
        for number in [NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let fault = super::class(single, &number.to_le_bytes());
            assert_eq!(fault, Err(ResponseDefect::NotFinite { position: 0, count: 1 }));
        }
    }

    #[test]
    fn missing_and_malformed_responses_are_wrong() {
        let (one, two) = (1_i32.to_le_bytes(), 2_i32.to_le_bytes());
        let form = ResponseForm::exactly(ElementType::I32, 1);
        let judge = || ShareJudge::new(form, 5, Top1::new(form, vec![1; 4], 10));
        // There is no label of the last sample.
        let responses = [Some(&one[..]), Some(&two[..]), None, Some(&[1][..]), Some(&one[..])];
        let (judgement, defects) = judge().judged(&responses);
        assert_eq!(judgement.value, 0.25);
        assert_eq!(judgement.share, Some(Share { correct_count: 1, judged_count: 4 }));
        assert_eq!(defects, [(3, ResponseDefect::Form { size_bytes: 1, form })]);
        // The reference divides by the number of answers.
        assert_eq!(judgement.line.as_deref(), Some("accuracy=33.333%, good=1, total=3"));
        let (unanswered, _) = judge().judged(&[None; 5]);
        assert_eq!((unanswered.value, unanswered.line), (0.0, None));
    }

    #[test]
    fn the_first_wrong_samples_are_listed_whatever_the_order_of_the_log() {
        let form = ResponseForm::exactly(ElementType::F32, 2);
        let mut judge = ShareJudge::new(form, 100, Top1::new(form, vec![1; 100], 2));
        let logits = |numbers: [f32; 2]| numbers.map(f32::to_le_bytes).concat();
        let (right, wrong) = (logits([0.0, 1.0]), logits([1.0, 0.0]));
        for sample in (0..100).rev() {
            let response = match sample {
                5 => &[0][..],
                even if even % 2 == 0 => &right,
                _ => &wrong,
            };
            judge.take(sample, response, &mut Vec::new()).unwrap();
        }
        let listed = Box::new(judge).judgement().unwrap().wrong;
        assert_eq!(
            listed.iter().map(|it| it.sample).collect::<Vec<_>>(),
            (0..24).map(|n| 2 * n + 1).collect::<Vec<_>>()
        );
        assert!(listed.iter().all(|it| it.expected == 1));
        let given: Vec<_> = listed.iter().take(4).map(|it| it.given).collect();
        // One has another size, and names no class.
        assert_eq!(given, [Some(0), Some(0), None, Some(0)]);
    }

    #[test]
    fn an_answer_that_is_no_class_is_wrong_and_listed() {
        let score = |element_type, responses: &[&[u8]]| {
            let responses: Vec<_> = responses.iter().copied().map(Some).collect();
            let form = ResponseForm::exactly(element_type, 1);
            let judge = ShareJudge::new(form, 3, Top1::new(form, vec![3, 7, 9], 1000));
            let (judgement, defects) = judge.judged(&responses);
            let defects = defects.iter().map(|(sample, defect)| (*sample as u64, defect.kind()));
            let doubts = judgement.doubts.iter().map(|(sample, defect)| (*sample, defect.kind()));
            (judgement.share.unwrap().correct_count, defects.chain(doubts).collect::<Vec<_>>())
        };
        let reals = [3_f32, 7.0, 1.0].map(f32::to_le_bytes);
        let reals = reals.each_ref().map(<[u8; 4]>::as_slice);
        assert_eq!(score(ElementType::F32, &reals), (2, vec![]));
        // Read as i32, they are above a thousand million.
        let classes = vec![(0, "class"), (1, "class"), (2, "class")];
        assert_eq!(score(ElementType::I32, &reals), (0, classes));
        let integers = [0_i32, 7, -1].map(i32::to_le_bytes);
        let integers = integers.each_ref().map(<[u8; 4]>::as_slice);
        assert_eq!(score(ElementType::I32, &integers), (1, vec![(2, "class")]));
        // Read as f32, they are 0, nearly 0, and a NaN.
        assert_eq!(score(ElementType::F32, &integers), (0, vec![(2, "not-finite"), (1, "not-whole")]));
        let wide = [3_f64, 1000.0, 9.5].map(f64::to_le_bytes);
        let wide = wide.each_ref().map(<[u8; 8]>::as_slice);
        let expected = (2, vec![(1, "class"), (2, "not-whole")]);
        assert_eq!(score(ElementType::F64, &wide), expected);
    }

    #[test]
    fn one_output_of_logits_or_a_class_is_judged() {
        let output = |element_type, shape: &[usize]| TensorSpec {
            name: "output".into(),
            element_type,
            shape: shape.to_vec(),
        };
        let logits = output(ElementType::F32, &[10]);
        assert_eq!(form(slice::from_ref(&logits)), Some(ResponseForm::exactly(ElementType::F32, 10)));
        let class = output(ElementType::I64, &[1]);
        assert_eq!(form(slice::from_ref(&class)), Some(ResponseForm::exactly(ElementType::I64, 1)));
        for outputs in
            [&[][..], &[logits, class], &[output(ElementType::I32, &[2])], &[output(ElementType::U8, &[1])]]
        {
            assert_eq!(form(outputs), None);
        }
    }
}
