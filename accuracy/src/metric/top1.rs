//! `top1`: the class of each sample against its label.

use proctor_scores::ScoreError;
use proctor_vocabulary::{ElementType, TensorSpec};

use crate::{
    answers::Answers,
    element::{real, whole},
    judge::defect::ResponseDefect,
    metric::{MetricEntry, Score, Scored, Scoring},
    response::ResponseForm,
};

inventory::submit! {
    MetricEntry {
        name: "top1",
        outputs: "one output, of logits in f32, or of one class in f32, f64, i16, i32 or i64",
        answers: "labels",
        form,
        needs_tolerance: false,
        scoring: Scoring::AtOnce(score),
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

/// Share of the samples whose class is the label. The line has the share of those that were answered, as the reference
/// counts.
fn score(scored: &Scored<'_>) -> Option<Score> {
    let Answers::Classes { labels, class_count } = scored.answers else { return None };
    let (mut correct_count, mut answered_count) = (0_u64, 0_u64);
    let (mut defects, mut doubts) = (Vec::new(), Vec::new());
    for ((sample, response), label) in (0..).zip(scored.responses).zip(labels) {
        let Some(data) = response else { continue };
        answered_count += 1;
        match class(scored.form, data) {
            // The size is wrong, which is listed beside the metric.
            Ok(None) => {}
            Ok(Some(class)) => {
                correct_count += u64::from(u64::try_from(class) == Ok(*label));
                doubts.extend(doubt(scored.form, data, class, *class_count).map(|defect| (sample, defect)));
            }
            Err(defect) => defects.push((sample, defect)),
        }
    }
    let share = 100.0 * correct_count as f64 / answered_count as f64;
    let line = format!("accuracy={share:.3}%, good={correct_count}, total={answered_count}");
    let line = (answered_count > 0).then_some(line);
    Some(Score { line, defects, doubts, ..Score::share(correct_count, scored.answers) })
}

/// The class that a response names, whether there is one such or not: the position of the largest logit, or the class
/// itself, which the reference's programs give as a single f32. `None` if the size is wrong, or without logits.
fn class(form: ResponseForm, data: &[u8]) -> Result<Option<i64>, ResponseDefect> {
    if !form.fits(data.len()) {
        return Ok(None);
    }
    match form.element_type {
        ElementType::F32 if form.count_max != 1 => largest(data),
        element_type => single(element_type, data).map(Some),
    }
}

/// The class that a number is, without its fraction, as the reference takes it.
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

/// Position of the largest number, the first of equals; none without numbers. A NaN among them is a fault.
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
        let responses = [Some(&one[..]), Some(&two[..]), None, Some(&[1][..])];
        let scored = Scored {
            form: ResponseForm::exactly(ElementType::I32, 1),
            responses: &responses,
            answers: &Answers::Classes { labels: vec![1; 4], class_count: 10 },
            tolerance: None,
        };
        let score = super::score(&scored).unwrap();
        assert_eq!((score.value, score.correct_count), (0.25, 1));
        // The reference divides by the number of answers.
        assert_eq!(score.line.as_deref(), Some("accuracy=33.333%, good=1, total=3"));
        let unanswered = super::score(&Scored { responses: &[None; 4], ..scored }).unwrap();
        assert_eq!((unanswered.value, unanswered.line), (0.0, None));
        assert!(super::score(&Scored { answers: &Answers::Tokens(vec![vec![1]]), ..scored }).is_none());
    }

    #[test]
    fn an_answer_that_is_no_class_is_wrong_and_listed() {
        let score = |element_type, responses: &[&[u8]]| {
            let responses: Vec<_> = responses.iter().copied().map(Some).collect();
            let score = super::score(&Scored {
                form: ResponseForm::exactly(element_type, 1),
                responses: &responses,
                answers: &Answers::Classes { labels: vec![3, 7, 9], class_count: 1000 },
                tolerance: None,
            });
            let score = score.unwrap();
            let kinds =
                score.defects.iter().chain(&score.doubts).map(|(sample, defect)| (*sample, defect.kind()));
            (score.correct_count, kinds.collect::<Vec<_>>())
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
