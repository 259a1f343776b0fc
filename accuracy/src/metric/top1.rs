//! `top1`: the class of each sample against its label.

use proctor_vocabulary::{ElementType, TensorSpec};

use crate::{
    answers::Answers,
    metric::{MetricEntry, Score, Scored, Scoring},
    response::ResponseForm,
};

inventory::submit! {
    MetricEntry {
        name: "top1",
        outputs: "one output, of logits in f32, or of one class in f32, i32 or i64",
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
        ElementType::I32 | ElementType::I64 => count == 1,
        _ => false,
    };
    is_judged.then(|| ResponseForm::exactly(output.element_type, count))
}

/// Share of the samples whose class is the label. One below the offset, such as that of the background, is none.
fn score(scored: &Scored<'_>) -> Option<Score> {
    let Answers::Classes(labels) = scored.answers else { return None };
    let is_right = |(response, label): &(&Option<&[u8]>, &u64)| {
        let class = response.and_then(|data| class(scored.form, data));
        class.and_then(|class| class.checked_sub(scored.class_offset)) == Some(**label)
    };
    let correct_count = scored.responses.iter().zip(labels).filter(is_right).count() as u64;
    Some(Score::share(correct_count, scored.answers))
}

/// The class that a response names: the position of the largest logit, or the class itself, which the reference's
/// programs give as a single f32. `None` if it names none: a wrong size, no logits, a NaN among them, a negative class.
fn class(form: ResponseForm, data: &[u8]) -> Option<u64> {
    if !form.fits(data.len()) {
        return None;
    }
    match form.element_type {
        ElementType::F32 if form.count_max == 1 => whole(f32::from_le_bytes(*data.first_chunk()?)),
        ElementType::F32 => largest(data.as_chunks().0.iter().copied().map(f32::from_le_bytes)),
        ElementType::I32 => u64::try_from(i32::from_le_bytes(*data.first_chunk()?)).ok(),
        ElementType::I64 => u64::try_from(i64::from_le_bytes(*data.first_chunk()?)).ok(),
        _ => None,
    }
}

/// The class that a number is, without its fraction.
fn whole(number: f32) -> Option<u64> {
    // The conversion is exact for what passes: no class is above 2^24.
    (0.0..16_777_216.0).contains(&number).then_some(number as u64)
}

/// Position of the largest number, the first of equals; `None` without numbers or with a NaN among them.
fn largest(numbers: impl Iterator<Item = f32>) -> Option<u64> {
    let mut best: Option<(u64, f32)> = None;
    for (position, number) in (0..).zip(numbers) {
        if number.is_nan() {
            return None;
        }
        if best.is_none_or(|(_, most)| number > most) {
            best = Some((position, number));
        }
    }
    best.map(|(position, _)| position)
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;

    const NAN: f32 = f32::NAN;

    fn logits(numbers: &[f32]) -> Option<u64> {
        let data: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        class(ResponseForm::exactly(ElementType::F32, 3), &data)
    }

    #[test]
    fn the_largest_logit_wins_and_the_first_of_equals() {
        assert_eq!(logits(&[-2.0, -1.0, -3.0]), Some(1));
        assert_eq!(logits(&[1.0, 4.0, 4.0]), Some(1));
        assert_eq!(logits(&[f32::NEG_INFINITY; 3]), Some(0));
        assert_eq!(logits(&[0.0, 1.0, f32::INFINITY]), Some(2));
    }

    #[test]
    fn a_nan_anywhere_is_wrong() {
        for numbers in [[NAN, 1.0, 0.0], [1.0, NAN, 0.0], [1.0, 0.0, NAN]] {
            assert_eq!(logits(&numbers), None);
        }
    }

    #[test]
    fn a_class_is_read_as_the_definition_says() {
        let (narrow, wide) =
            (ResponseForm::exactly(ElementType::I32, 1), ResponseForm::exactly(ElementType::I64, 1));
        assert_eq!(class(narrow, &7_i32.to_le_bytes()), Some(7));
        assert_eq!(class(wide, &7_i64.to_le_bytes()), Some(7));
        assert_eq!(class(narrow, &(-1_i32).to_le_bytes()), None);
        assert_eq!(class(wide, &7_i32.to_le_bytes()), None);
        assert_eq!(logits(&[1.0, 2.0]), None);
    }

    #[test]
    fn a_single_number_is_a_class() {
        let single = ResponseForm::exactly(ElementType::F32, 1);
        let named = |number: f32| class(single, &number.to_le_bytes());
        assert_eq!([0.0, 7.0, 7.9, 999.0].map(named), [Some(0), Some(7), Some(7), Some(999)]);
        assert_eq!([-1.0, NAN, f32::INFINITY, 1e9].map(named), [None; 4]);
    }

    #[test]
    fn missing_and_malformed_responses_are_wrong() {
        let (one, two) = (1_i32.to_le_bytes(), 2_i32.to_le_bytes());
        let responses = [Some(&one[..]), Some(&two[..]), None, Some(&[1][..])];
        let scored = Scored {
            form: ResponseForm::exactly(ElementType::I32, 1),
            responses: &responses,
            answers: &Answers::Classes(vec![1; 4]),
            class_offset: 0,
            tolerance: None,
        };
        let score = super::score(&scored).unwrap();
        assert_eq!((score.value, score.correct_count), (0.25, 1));
        assert!(super::score(&Scored { answers: &Answers::Tokens(vec![vec![1]]), ..scored }).is_none());
    }

    #[test]
    fn classes_may_begin_behind_the_background() {
        let responses: Vec<_> = (0_i64..4).map(i64::to_le_bytes).collect();
        let responses: Vec<_> = responses.iter().map(|data| Some(&data[..])).collect();
        let share = |class_offset| {
            let scored = Scored {
                form: ResponseForm::exactly(ElementType::I64, 1),
                responses: &responses,
                answers: &Answers::Classes(vec![0, 0, 1, 9]),
                class_offset,
                tolerance: None,
            };
            super::score(&scored).unwrap().correct_count
        };
        assert_eq!([0, 1, 2, u64::MAX].map(share), [1, 2, 0, 0]);
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
