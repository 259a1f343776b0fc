//! Logs of each benchmark, right, partly wrong and damaged.

use std::fs;

use proctor_scores::{
    detection::{Annotation, Bbox},
    speech::label_indices,
};

use super::*;
use crate::element::bytes_of;

/// Scores a log of these records.
fn judged(mut judge: impl Judge, records: &[(u64, Vec<u8>)]) -> (Result<Judgement, ScoreError>, LogDefects) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.json");
    fs::write(&log, written(records)).unwrap();
    let defects = read_responses(&log, &mut judge).unwrap();
    (Box::new(judge).judgement(), defects)
}

fn written(records: &[(u64, Vec<u8>)]) -> String {
    let line = |(qsl_idx, data): &(u64, Vec<u8>)| {
        let hex: String = data.iter().map(|byte| format!("{byte:02X}")).collect();
        format!("{{ \"seq_id\" : 0, \"qsl_idx\" : {qsl_idx}, \"data\" : \"{hex}\" }}")
    };
    format!("[\n{}\n]\n", records.iter().map(line).collect::<Vec<_>>().join(",\n"))
}

fn floats(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Ten images of 200 by 100 pixels with ids from 50, each with a box of category 3 in its lower right quarter.
fn detection_judge(class_names: ClassNames) -> DetectionJudge {
    let images = (50..60).map(|id| JudgedImage { id, height: 100, width: 200 }).collect();
    let bbox = Bbox { x: 100.0, y: 50.0, width: 100.0, height: 50.0 };
    let annotation =
        |image| Annotation { id: image, image, category: 3, bbox, area: 5000.0, is_crowd: false };
    DetectionJudge::new(images, (50..60).map(annotation).collect(), vec![3, 1, 2], class_names)
}

/// The record of the right box.
fn record(sample: u64) -> [f32; 7] {
    [sample as f32, 0.5, 0.5, 1.0, 1.0, 0.9, 3.0]
}

#[test]
fn right_boxes_have_full_precision_and_each_missing_one_costs_its_recall() {
    let mut records: Vec<_> = (0..10).map(|sample| (sample, floats(&record(sample)))).collect();
    for class_names in [ClassNames::Ids, ClassNames::Positions] {
        let (judgement, defects) = judged(detection_judge(class_names), &records);
        let judgement = judgement.unwrap();
        assert!((judgement.value - 1.0).abs() < 1e-9, "{judgement:?}");
        assert_eq!((judgement.line.as_deref(), defects.count()), (Some("mAP=100.000%"), 0));
    }
    records[4].1.clear();
    let (judgement, defects) = judged(detection_judge(ClassNames::Ids), &records);
    // Of the 101 recalls those up to 0.9 are reached.
    assert!((judgement.unwrap().value - 91.0 / 101.0).abs() < 1e-9);
    assert_eq!(defects, LogDefects::default());
}

#[test]
fn only_images_of_the_log_are_judged_and_the_others_are_listed() {
    let records: Vec<_> = [0, 1, 0, 12].map(|sample| (sample, floats(&record(sample)))).into();
    let (judgement, defects) = judged(detection_judge(ClassNames::Ids), &records);
    assert!((judgement.unwrap().value - 1.0).abs() < 1e-9);
    assert_eq!(defects.missing_samples, (2..10).collect::<Vec<_>>());
    assert_eq!((defects.duplicate_samples, defects.unknown_samples), (vec![0], vec![12]));
}

#[test]
fn damaged_boxes_are_listed_and_left_out() {
    let right = record(0);
    let mut records: Vec<_> = (0..4).map(|sample| (sample, floats(&record(sample)))).collect();
    let (nan, foreign) = ([right[0], f32::NAN, 0.5, 1.0, 1.0, 0.9, 3.0], [0.0, 0.5, 0.5, 1.0, 1.0, 0.9, 4.0]);
    records[0].1 = floats(&[&nan[..], &right, &nan].concat());
    records[1].1.pop();
    records[2].1 = floats(&[7.0, 0.5, 0.5, 1.0, 1.0, 0.9, 3.9]);
    records[3].1.extend(floats(&foreign.map(|number| if number == 0.0 { 3.0 } else { number })));
    let (judgement, defects) = judged(detection_judge(ClassNames::Ids), &records);
    assert_eq!(
        defects.responses,
        [
            (0, ResponseDefect::NotFinite { position: 0, count: 2 }),
            (1, ResponseDefect::Size { size_bytes: 27, unit_bytes: 28 }),
            (2, ResponseDefect::OtherSample { position: 0, count: 1 }),
            (3, ResponseDefect::Class { position: 1, count: 1, is_of_other_names: false }),
        ]
    );
    // Three of four are found: recalls up to 0.75.
    assert!((judgement.unwrap().value - 76.0 / 101.0).abs() < 1e-9);
    let none = detection_judge(ClassNames::Ids);
    assert!(judged(none, &[]).0.is_err());

    // Of the categories 3, 7 and 9 the class 2 is one by its position alone, and 7 by its id alone.
    for (class_names, class, expected) in [
        (ClassNames::Ids, 2.0, true),
        (ClassNames::Ids, -1.0, false),
        (ClassNames::Ids, 91.0, false),
        (ClassNames::Positions, 7.0, true),
        (ClassNames::Positions, -1.0, false),
        (ClassNames::Positions, 8.0, false),
    ] {
        let image = JudgedImage { id: 1, height: 1, width: 1 };
        let mut judge = DetectionJudge::new(vec![image], Vec::new(), vec![3, 7, 9], class_names);
        let mut defects = Vec::new();
        judge.take(0, &floats(&[0.0, 0.5, 0.5, 1.0, 1.0, 0.9, class]), &mut defects).unwrap();
        let expected = ResponseDefect::Class { position: 0, count: 1, is_of_other_names: expected };
        assert_eq!(defects, [expected], "{class_names:?} {class}");
    }
}

#[test]
fn clicks_are_ranked_over_all_samples() {
    let judge = || ClickJudge::new(&[2, 1], vec![1, 0, 0]).unwrap();
    let pairs = [(0, floats(&[0.9, 1.0, 0.1, 0.0])), (1, floats(&[0.2, 0.0]))];
    let alone = [(0, floats(&[0.9, 0.1])), (1, floats(&[0.2]))];
    for records in [pairs, alone] {
        let (judgement, defects) = judged(judge(), &records);
        let line = "AUC=100.000%, accuracy=100.000%, good=3, total=3, queries=2";
        assert_eq!(judgement.unwrap().line.as_deref(), Some(line));
        assert_eq!(defects.count(), 0);
    }
    // The only click has the lowest prediction.
    let lowest = [(1, floats(&[0.2])), (0, floats(&[0.1, 0.9]))];
    assert_eq!(judged(judge(), &lowest).0.unwrap().value, 0.0);
    assert!(ClickJudge::new(&[2, 1], vec![0]).is_err());

    let damaged = [(0, floats(&[f32::NAN, 1.0, 0.1, 1.0])), (1, floats(&[0.2, 0.0, 0.3, 1.0]))];
    let (judgement, defects) = judged(judge(), &damaged);
    assert!(judgement.is_err());
    assert_eq!(
        defects.responses,
        [
            (0, ResponseDefect::NotFinite { position: 0, count: 1 }),
            (0, ResponseDefect::OtherLabel { position: 1, count: 1 }),
            (1, ResponseDefect::RecordCount { given: 4, wanted: 1 }),
        ]
    );
    assert_eq!(
        judged(judge(), &[(0, vec![0; 13])]).1.responses,
        [(0, ResponseDefect::Size { size_bytes: 13, unit_bytes: 4 })]
    );
}

#[test]
fn translations_are_scored_from_a_cut_log_too() {
    let references = || vec!["das ist ein Ha@@ us".to_owned(), "das ist ein Hund".to_owned()];
    let records = [(0, b"das ist ein Haus".to_vec()), (1, b"das ist ein Hund".to_vec())];
    let (judgement, defects) = judged(TextJudge::new(references()), &records);
    assert_eq!((judgement.unwrap().line.as_deref(), defects.count()), (Some("BLEU: 100.0"), 0));

    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.json");
    let text = written(&records);
    fs::write(&log, &text[..text.len() - 12]).unwrap();
    let mut judge = TextJudge::new(references());
    let defects = read_responses(&log, &mut judge).unwrap();
    assert_eq!((defects.cut_after_record_count, defects.count()), (Some(1), 2));
    assert_eq!(Box::new(judge).judgement().unwrap().value, 100.0);
    let mut strict = TranscriptJudge::new(vec![String::new(); 2], ElementType::I64);
    let error = read_responses(&log, &mut strict).unwrap_err().to_string();
    assert!(error.contains("is not a whole accuracy log: record 2: EOF"), "{error}");

    let (_, defects) = judged(TextJudge::new(references()), &[(0, vec![b'a', 0xff])]);
    assert_eq!(defects.responses, [(0, ResponseDefect::NotText { position: 1 })]);
}

#[test]
fn transcripts_that_are_text_are_spelled_before_they_are_compared() {
    let judge = || TranscriptJudge::of_text(vec!["mister cat sat".to_owned(), "it's here".to_owned()]);
    let records = [(0, b"Mr. Cat, sat!".to_vec()), (1, b"It's  there.".to_vec())];
    let (judgement, defects) = judged(judge(), &records);
    let line = judgement.unwrap().line;
    assert_eq!((line.as_deref(), defects.count()), (Some("Word Error Rate: 20.0%, accuracy=80.0%"), 0));
    let (judgement, defects) = judged(judge(), &[(0, b"Mr. \xff".to_vec()), (1, Vec::new())]);
    assert_eq!(judgement.unwrap().value, 0.0);
    assert_eq!(defects.responses, [(0, ResponseDefect::NotText { position: 4 })]);
}

#[test]
fn transcripts_are_spelled_from_labels() {
    let judge = |element_type| {
        TranscriptJudge::new(vec!["the cat sat".to_owned(), "it's here".to_owned()], element_type)
    };
    for element_type in [
        ElementType::I8,
        ElementType::U8,
        ElementType::I16,
        ElementType::I32,
        ElementType::I64,
        ElementType::F32,
    ] {
        let bytes = |text: &str| {
            label_indices(text).iter().flat_map(|index| bytes_of(element_type, *index as i8)).collect()
        };
        let records = [(0, bytes("the cat")), (1, bytes("it's here"))];
        let (judgement, defects) = judged(judge(element_type), &records);
        assert_eq!(
            (judgement.unwrap().line.as_deref(), defects.count()),
            (Some("Word Error Rate: 20.0%, accuracy=80.0%"), 0),
            "{element_type}"
        );
    }

    let blank = [(0, 28_i64.to_le_bytes().to_vec()), (1, vec![0; 9])];
    let (judgement, defects) = judged(judge(ElementType::I64), &blank);
    assert_eq!(judgement.unwrap().value, 0.0);
    let listed: Vec<_> =
        defects.responses.iter().map(|(sample, defect)| format!("{sample}: {defect}")).collect();
    assert_eq!(
        listed,
        ["0: label 0 has class 28, but the classes are 0 to 27", "1: 9 bytes are no whole number of 8"]
    );
    assert_eq!(defects.responses[0].1.class_count(), Some(28));
    for (class, is_next) in [(28_i64, true), (-1, true), (29, false), (-2, false), (1_065_353_216, false)] {
        let (_, defects) = judged(judge(ElementType::I64), &[(0, class.to_le_bytes().to_vec())]);
        assert_eq!(defects.responses[0].1.is_next_to_classes(), is_next, "{class}");
    }
    assert!(judged(judge(ElementType::I64), &[]).0.is_err());

    // Labels in i32 are nearly 0 as f32.
    let as_real = [(0, [0_i32, 1, 2].map(i32::to_le_bytes).as_flattened().to_vec())];
    let (_, defects) = judged(judge(ElementType::F32), &as_real);
    assert_eq!(defects.responses, [(0, ResponseDefect::NotWhole { position: 1, count: 2 })]);
}

#[test]
fn volumes_are_read_when_they_are_judged() {
    let judge_of = |element_type| {
        VolumeJudge::new(
            3,
            element_type,
            Box::new(|sample| match sample {
                2 => Err(AccuracyError::Reference("no volume".to_owned())),
                _ => Ok(vec![0, 1, 2, 2]),
            }),
        )
    };
    let judge = || judge_of(ElementType::U8);
    let (judgement, defects) = judged(judge(), &[(0, vec![0, 1, 2, 2]), (1, vec![0, 1, 0, 3])]);
    // The second case has a class that there is not.
    let line = "Accuracy: mean = 0.50000, kidney = 0.5000, tumor = 0.5000";
    assert_eq!(judgement.unwrap().line.as_deref(), Some(line));
    let [(1, ResponseDefect::Refused(ScoreError::Class { class: 3, .. }))] = &defects.responses[..] else {
        panic!("{defects:?}")
    };
    let (_, defects) = judged(judge(), &[(0, vec![0; 3])]);
    assert!(matches!(defects.responses[..], [(0, ResponseDefect::Refused(ScoreError::Lengths { .. }))]));

    for element_type in [ElementType::I8, ElementType::I16, ElementType::I64, ElementType::F32] {
        let volume = |classes: [i8; 4]| classes.map(|class| bytes_of(element_type, class)).concat();
        let (judgement, defects) = judged(judge_of(element_type), &[(0, volume([0, 1, 2, 2]))]);
        let line = "Accuracy: mean = 1.00000, kidney = 1.0000, tumor = 1.0000";
        assert_eq!((judgement.unwrap().line.as_deref(), defects.count()), (Some(line), 2), "{element_type}");
        let (_, defects) = judged(judge_of(element_type), &[(0, volume([0, 1, -1, 2]))]);
        let text = defects.responses[0].1.to_string();
        assert_eq!(text, "voxel of the answer 2 has class -1, but the classes are 0 to 2");
    }

    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.json");
    fs::write(&log, written(&[(2, vec![]), (0, vec![0; 4])])).unwrap();
    assert_eq!(read_responses(&log, &mut judge()).unwrap_err().to_string(), "no volume");
}

/// Scores in f16 of two cases of 1 by 1 by 3 voxels in a volume of 1 by 1 by 4, in which class `classes[x]` wins.
fn region_scores(classes: [usize; 4]) -> Vec<u8> {
    region_scores_of(ElementType::F16, classes)
}

fn region_scores_of(element_type: ElementType, classes: [usize; 4]) -> Vec<u8> {
    let score = |class: usize, x: usize| if classes[x] == class { 1 } else { -1 };
    (0..4).flat_map(|class| (0..4).flat_map(move |x| bytes_of(element_type, score(class, x)))).collect()
}

#[test]
fn regions_are_scored_within_the_padding() {
    // Nothing goes before three of four voxels, one goes behind.
    let regions = || Ok(RightRegions { size: [1, 1, 3], classes: vec![1, 2, 3] });
    let judge_of = |element_type| RegionJudge::new([1, 1, 4], 2, element_type, Box::new(move |_| regions()));
    let judge = || judge_of(ElementType::F16);
    let right = region_scores([1, 2, 3, 3]);
    let (judgement, defects) = judged(judge(), &[(0, right.clone()), (1, region_scores([1, 2, 2, 0]))]);
    let judgement = judgement.unwrap();
    let line =
        "Accuracy: mean = 0.83333, whole tumor = 1.0000, tumor core = 1.0000, enhancing tumor = 0.5000";
    assert_eq!((judgement.line.as_deref(), defects.count()), (Some(line), 0));

    for element_type in [ElementType::I8, ElementType::I32, ElementType::F32, ElementType::F64] {
        let scores = |classes| region_scores_of(element_type, classes);
        let records = [(0, scores([1, 2, 3, 3])), (1, scores([1, 2, 2, 0]))];
        let judgement = judged(judge_of(element_type), &records).0.unwrap();
        assert_eq!(judgement.line.as_deref(), Some(line), "{element_type}");
    }

    let mut with_nan = right.clone();
    with_nan[..2].copy_from_slice(&0x7e00_u16.to_le_bytes());
    let (judgement, defects) = judged(judge(), &[(0, with_nan), (1, right[..24].to_vec())]);
    assert_eq!(judgement.unwrap().value, 0.0);
    assert_eq!(
        defects.responses,
        [
            (0, ResponseDefect::NotFinite { position: 0, count: 1 }),
            (1, ResponseDefect::RecordCount { given: 3, wanted: 4 }),
        ]
    );
    let too_long = |_| Ok(RightRegions { size: [1, 1, 5], classes: vec![0; 5] });
    let mut judge = RegionJudge::new([1, 1, 4], 1, ElementType::F16, Box::new(too_long));
    assert!(matches!(judge.take(0, &[], &mut Vec::new()), Err(AccuracyError::RightAnswer { sample: 0, .. })));
}

#[test]
fn a_fault_of_a_right_answer_is_none_of_a_response() {
    let log_of = |response: Vec<u8>| {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("log.json"), written(&[(0, response)])).unwrap();
        folder
    };
    for response in [vec![0, 1, 2, 2], vec![0; 3], vec![9; 4], Vec::new()] {
        let folder = log_of(response);
        for right in [vec![0, 1, 7, 2], Vec::new()] {
            let mut judge = VolumeJudge::new(1, ElementType::U8, Box::new(move |_| Ok(right.clone())));
            let error = read_responses(&folder.path().join("log.json"), &mut judge).unwrap_err();
            assert!(matches!(error, AccuracyError::RightAnswer { sample: 0, .. }), "{error}");
        }
    }
    for response in [region_scores([1, 2, 3, 3]), vec![0; 3], Vec::new()] {
        let folder = log_of(response);
        for classes in [vec![1, 2, 4], vec![1, 2], Vec::new()] {
            let right = move |_| Ok(RightRegions { size: [1, 1, 3], classes: classes.clone() });
            let mut judge = RegionJudge::new([1, 1, 4], 1, ElementType::F16, Box::new(right));
            let error = read_responses(&folder.path().join("log.json"), &mut judge).unwrap_err();
            assert!(matches!(error, AccuracyError::RightAnswer { sample: 0, .. }), "{error}");
        }
    }
}
