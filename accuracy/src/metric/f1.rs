//! `f1`: F1 of answers to questions in percent, as in SQuAD v1.1.

use proctor_vocabulary::{ElementType, TensorSpec};

use crate::{
    error::AccuracyError,
    judge::{Judge, questions::QuestionJudge},
    labels::questions,
    metric::{JudgeRequest, MetricEntry, up_to_one_output},
    response::ResponseForm,
};

/// Types of responses: f32 by default; the reference's script also reads the others.
const TYPES: &[ElementType] = &[
    ElementType::F32,
    ElementType::F16,
    ElementType::F64,
    ElementType::I8,
    ElementType::I16,
    ElementType::I32,
    ElementType::I64,
];

inventory::submit! {
    MetricEntry {
        name: "f1",
        about: "F1 of the words of answers to questions, 0 to 100",
        outputs: "one output of f16, f32, f64, i8, i16, i32 or i64 of shape [n, 2], the logits for start and end \
                  of the answer at each position",
        answers: "answers to questions",
        form,
        needs_tolerance: false,
        judge,
    }
}

fn form(outputs: &[TensorSpec]) -> Option<ResponseForm> {
    up_to_one_output(outputs, TYPES).filter(|_| matches!(outputs[0].shape[..], [_, 2]))
}

fn judge(request: &JudgeRequest<'_>) -> Result<Box<dyn Judge>, AccuracyError> {
    let (dataset, samples) = request.published()?;
    let questions::Questions { features, answers } = questions::read(dataset, samples)?;
    Ok(Box::new(QuestionJudge::new(features, answers, request.form).map_err(AccuracyError::Score)?))
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;

    #[test]
    fn pairs_of_logits_are_judged_and_halves_are_not() {
        let output = |shape: &[usize]| TensorSpec {
            name: "logits".into(),
            element_type: ElementType::F32,
            shape: shape.to_vec(),
        };
        let pairs = output(&[384, 2]);
        assert_eq!(form(slice::from_ref(&pairs)), Some(ResponseForm::up_to(ElementType::F32, 768)));
        for outputs in [&[][..], &[output(&[2, 384])], &[output(&[768])], &[pairs.clone(), pairs]] {
            assert_eq!(form(outputs), None);
        }
    }
}
