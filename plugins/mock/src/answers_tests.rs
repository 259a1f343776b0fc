//! Tests of the answers.

use super::*;
use crate::plugin::tests::options;

fn spec(element_type: ElementType, shape: &[usize]) -> TensorSpec {
    TensorSpec { name: "output".into(), element_type, shape: shape.to_vec() }
}

fn answers(given: &[(&str, &str)], specs: &[TensorSpec]) -> Result<Answers, String> {
    let settings = AnswerSettings::open(3, &options(given)).map_err(|error| error.message)?;
    Answers::load(&settings, specs).map_err(|error| error.message)
}

/// Answers from a file with these lines, for ten logits.
fn of_file(lines: &str, accuracy: &str) -> Result<Answers, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("answers.txt");
    std::fs::write(&path, lines).unwrap();
    let given = [("answers", "file"), ("answer_file", path.to_str().unwrap()), ("accuracy", accuracy)];
    answers(&given, &[spec(ElementType::F32, &[10])])
}

fn bytes(answers: &Answers, index: u64, output: usize) -> Vec<u8> {
    let mut bytes = vec![0xaa; answers.output_size_bytes(output)];
    answers.write(SampleIndex(index), output, &mut bytes);
    bytes
}

fn logits(answers: &Answers, index: u64) -> Vec<f32> {
    bytes(answers, index, 0)
        .chunks(4)
        .map(|element| f32::from_ne_bytes(element.try_into().unwrap()))
        .collect()
}

fn argmax(logits: &[f32]) -> usize {
    (0..logits.len()).max_by(|&a, &b| logits[a].total_cmp(&logits[b])).unwrap()
}

#[test]
fn a_constant_answer_is_class_0_in_every_type() {
    let specs = [
        spec(ElementType::F32, &[2, 3]),
        spec(ElementType::I64, &[]),
        spec(ElementType::I32, &[2]),
        spec(ElementType::Bf16, &[2]),
    ];
    let answers = answers(&[], &specs).unwrap();
    assert_eq!(logits(&answers, 5), [1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    assert_eq!(bytes(&answers, 5, 1), [0; 8]);
    assert_eq!(bytes(&answers, 5, 2), [0; 8]);
    assert_eq!(bytes(&answers, 5, 3), [0; 4]);
    assert_eq!((answers.output_count(), answers.size_bytes()), (4, 24 + 8 + 8 + 4));
}

#[test]
fn random_answers_depend_on_the_sample_and_fit_the_type() {
    let specs = [spec(ElementType::F32, &[10]), spec(ElementType::I64, &[64]), spec(ElementType::Bool, &[9])];
    let answers = answers(&[("answers", "random"), ("classes", "4")], &specs).unwrap();
    assert_eq!(logits(&answers, 1), logits(&answers, 1));
    assert_ne!(logits(&answers, 1), logits(&answers, 2));
    assert!(logits(&answers, 1).iter().all(|logit| logit.abs() < 10.0));
    let ids: Vec<i64> = bytes(&answers, 1, 1)
        .chunks(8)
        .map(|element| i64::from_ne_bytes(element.try_into().unwrap()))
        .collect();
    assert!((0..4).all(|class| ids.contains(&class)) && ids.iter().all(|id| (0..4).contains(id)));
    assert!(bytes(&answers, 1, 2).iter().all(|byte| *byte <= 1));
}

#[test]
fn random_classes_are_right_as_often_as_chance() {
    let answers = answers(&[("answers", "random")], &[spec(ElementType::F32, &[10])]).unwrap();
    let zeros = (0..5000).filter(|index| argmax(&logits(&answers, *index)) == 0).count();
    assert!((390..610).contains(&zeros), "{zeros} of 5000 are class 0");
}

#[test]
fn exactly_the_asked_share_is_right() {
    let classes: Vec<usize> = (0..1797).map(|index| index * 7 % 10).collect();
    let lines: String = classes.iter().map(|class| format!("{class}\n")).collect();
    let right = |accuracy: &str| {
        let answers = of_file(&lines, accuracy).unwrap();
        let is_right = |index: &usize| argmax(&logits(&answers, *index as u64)) == classes[*index];
        (0..1797).filter(is_right).collect::<Vec<_>>()
    };
    assert_eq!(right("0").len(), 0);
    assert_eq!(right("1").len(), 1797);
    // 1797 * 0.9 = 1617.3.
    let (most, some) = (right("0.9"), right("0.25"));
    assert_eq!((most.len(), some.len()), (1617, 449));
    assert!(some.iter().all(|index| most.contains(index)));
    assert_eq!(right("0.9"), most);
}

#[test]
fn a_bad_answer_file_is_named_with_its_line() {
    let refusal = |lines, accuracy| of_file(lines, accuracy).unwrap_err();
    assert!(refusal("1\n# two\ntwo\n", "1").contains("answers.txt, line 3: \"two\" is not a class"));
    let no_class = refusal("1\n10\n", "1");
    assert!(no_class.contains("line 2: class 10 is none of the 10"), "{no_class}");
    assert!(no_class.contains("where outputs are no classes, set answers to responses"), "{no_class}");
    assert!(refusal("\n", "1").contains("answers.txt holds no class"));
}

#[test]
fn a_sample_beyond_the_file_is_known_before_the_run() {
    let answers = of_file("1\n2\n", "1").unwrap();
    assert!(answers.check(SampleIndex(1)).is_ok());
    assert!(answers.check(SampleIndex(2)).unwrap_err().message.contains("no line for sample 2"));
}

/// Answers from a file with these responses, for an i32 and up to three bytes.
fn of_responses(lines: &str) -> Result<Answers, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("responses.txt");
    std::fs::write(&path, lines).unwrap();
    let given = [("answers", "responses"), ("answer_file", path.to_str().unwrap())];
    answers(&given, &[spec(ElementType::I32, &[1]), spec(ElementType::U8, &[3])])
}

#[test]
fn a_listed_response_is_cut_into_outputs_of_which_the_last_may_be_short() {
    let answers =
        of_responses("# four bytes, then up to three\n0102030405060F\n0a0B0c0d\n0102030409\n").unwrap();
    let outputs = |index| {
        [0, 1].map(|output| {
            let mut bytes = vec![0xaa; answers.output_size_bytes(output)];
            let size = answers.write(SampleIndex(index), output, &mut bytes);
            bytes.truncate(size);
            bytes
        })
    };
    assert_eq!(outputs(0), [vec![1, 2, 3, 4], vec![5, 6, 15]]);
    assert_eq!(outputs(1), [vec![10, 11, 12, 13], vec![]]);
    assert_eq!(outputs(2), [vec![1, 2, 3, 4], vec![9]]);
    assert!(answers.check(SampleIndex(2)).is_ok() && answers.check(SampleIndex(3)).is_err());
}

#[test]
fn a_response_that_is_none_is_refused_with_its_line() {
    for (lines, problem) in [
        ("01020304\n0102030", "line 2: it is not pairs of hexadecimal digits, or -"),
        ("0102030g", "line 1: it is not pairs of hexadecimal digits, or -"),
        ("-", "line 1: it has 0 bytes, but the outputs take 4 to 7"),
        ("0102030405060708", "line 1: it has 8 bytes, but the outputs take 4 to 7"),
        ("# none", "holds no response"),
    ] {
        let error = of_responses(lines).unwrap_err();
        assert!(error.ends_with(problem), "{error}");
    }
    let error = answers(&[("answers", "responses")], &[spec(ElementType::U8, &[3])]).unwrap_err();
    assert_eq!(error, "answers is responses, but there is no file: set answer_file to a path");
}
