//! Cases whose figures can be computed by hand.

use super::*;

fn bbox(x: f64, y: f64, width: f64, height: f64) -> Bbox {
    Bbox { x, y, width, height }
}

/// An annotation of category 1 in image 1.
fn annotation(id: u64, bbox: Bbox) -> Annotation {
    Annotation { id, image: 1, category: 1, bbox, area: bbox.area(), is_crowd: false }
}

/// A detection of category 1 in image 1.
fn detection(bbox: Bbox, score: f64) -> Detection {
    Detection { image: 1, category: 1, bbox, score }
}

fn figures(annotations: &[Annotation], detections: &[Detection]) -> DetectionFigures {
    evaluate(annotations, detections, &Scope { images: &[1, 2], categories: &[1, 2] }).unwrap()
}

const SQUARE: Bbox = Bbox { x: 10.0, y: 10.0, width: 50.0, height: 50.0 };

/// The share of `SQUARE` that it has in common with another, by width: 45 of 55 is an IoU of 0.818.
const SHIFTED: Bbox = Bbox { x: 15.0, y: 10.0, width: 50.0, height: 50.0 };

#[test]
fn a_box_in_its_place_is_right_at_every_threshold() {
    let figures = figures(&[annotation(1, SQUARE)], &[detection(SQUARE, 0.5)]);
    let whole = |value: Option<f64>| (value.unwrap() - 1.0).abs() < 1e-12;
    assert!(whole(figures.precision) && whole(figures.precision_medium) && whole(figures.recall_1));
    assert_eq!((figures.precision_small, figures.precision_large, figures.recall_large), (None, None, None));
    assert_eq!(figures.line(), "mAP=100.000%");
}

#[test]
fn a_shifted_box_is_right_up_to_its_iou() {
    let figures = figures(&[annotation(1, SQUARE)], &[detection(SHIFTED, 0.5)]);
    // 0.5, 0.55, ... 0.8 are seven of ten.
    assert!((figures.precision.unwrap() - 0.7).abs() < 1e-12);
    assert_eq!(figures.recall_100, Some(0.7));
    assert!((figures.precision_75.unwrap() - 1.0).abs() < 1e-12);
}

#[test]
fn a_wrong_box_of_a_higher_score_halves_the_precision() {
    let wrong = bbox(200.0, 200.0, 40.0, 40.0);
    let figures = figures(&[annotation(1, SQUARE)], &[detection(SQUARE, 0.5), detection(wrong, 0.9)]);
    assert!((figures.precision.unwrap() - 0.5).abs() < 1e-12);
    // The one box that counts is the wrong one.
    assert_eq!((figures.recall_1, figures.recall_10), (Some(0.0), Some(1.0)));
}

#[test]
fn of_two_boxes_for_one_annotation_the_second_is_wrong() {
    let twice = [detection(SHIFTED, 0.4), detection(SQUARE, 0.5)];
    let figures = figures(&[annotation(1, SQUARE)], &twice);
    assert!((figures.precision.unwrap() - 1.0).abs() < 1e-12);
    let found_second = [detection(SHIFTED, 0.6), detection(SQUARE, 0.5)];
    let figures = super::tests::figures(&[annotation(1, SQUARE)], &found_second);
    // Up to 0.8 the shifted box takes the annotation, beyond that it is wrong and the other one right.
    assert!((figures.precision.unwrap() - (0.7 + 0.3 * 0.5)).abs() < 1e-12);
}

#[test]
fn boxes_in_a_crowd_count_neither_way() {
    let crowd = Annotation { is_crowd: true, ..annotation(2, bbox(100.0, 100.0, 300.0, 300.0)) };
    let inside = [bbox(120.0, 120.0, 20.0, 20.0), bbox(160.0, 160.0, 30.0, 30.0)];
    let detections = [detection(inside[0], 0.9), detection(inside[1], 0.8), detection(SQUARE, 0.1)];
    let figures = figures(&[annotation(1, SQUARE), crowd], &detections);
    assert!((figures.precision.unwrap() - 1.0).abs() < 1e-12);
}

#[test]
fn an_annotation_of_id_0_is_never_found() {
    let figures = figures(&[annotation(0, SQUARE)], &[detection(SQUARE, 0.5)]);
    assert_eq!((figures.precision, figures.recall_100), (Some(0.0), Some(0.0)));
}

#[test]
fn only_images_and_categories_of_the_scope_count() {
    let elsewhere = Annotation { image: 3, ..annotation(2, SQUARE) };
    let foreign = Annotation { category: 9, ..annotation(3, SQUARE) };
    let wrong = Detection { image: 3, ..detection(SHIFTED, 0.9) };
    let unknown = Detection { category: 9, ..detection(SHIFTED, 0.9) };
    let figures =
        figures(&[annotation(1, SQUARE), elsewhere, foreign], &[wrong, unknown, detection(SQUARE, 0.5)]);
    assert!((figures.precision.unwrap() - 1.0).abs() < 1e-12);
}

#[test]
fn beyond_a_hundred_boxes_none_counts() {
    let wrong = bbox(200.0, 200.0, 40.0, 40.0);
    let mut detections = vec![detection(wrong, 0.9); 100];
    detections.push(detection(SQUARE, 0.5));
    let figures = figures(&[annotation(1, SQUARE)], &detections);
    assert_eq!((figures.precision, figures.recall_100), (Some(0.0), Some(0.0)));
}

#[test]
fn a_missing_box_lowers_the_recall_and_nothing_to_find_has_no_figure() {
    let annotations = [annotation(1, SQUARE), Annotation { image: 2, ..annotation(2, SQUARE) }];
    let figures = figures(&annotations, &[detection(SQUARE, 0.5)]);
    assert_eq!(figures.recall_100, Some(0.5));
    // Of the 101 recalls, 0 to 0.5 are reached.
    assert!((figures.precision.unwrap() - 51.0 / 101.0).abs() < 1e-12);
    for figures in [
        super::tests::figures(&[], &[detection(SQUARE, 0.5)]),
        super::tests::figures(&[], &[]),
        evaluate(&annotations, &[], &Scope { images: &[], categories: &[1] }).unwrap(),
    ] {
        assert!(figures.named().iter().all(|(_, value)| value.is_none()), "{figures:?}");
        assert_eq!(figures.line(), "mAP=-100.000%");
    }
    let unanswered = super::tests::figures(&annotations, &[]);
    assert_eq!((unanswered.precision, unanswered.recall_1), (Some(0.0), Some(0.0)));
}

#[test]
fn numbers_that_cannot_be_compared_are_refused() {
    let right = [annotation(1, SQUARE)];
    let scope = Scope { images: &[1], categories: &[1] };
    for (bad, expected) in [
        (detection(Bbox { x: f64::NAN, ..SQUARE }, 0.5), "detection 1 holds NaN"),
        (detection(Bbox { height: f64::INFINITY, ..SQUARE }, 0.5), "detection 1 holds inf"),
        (detection(SQUARE, f64::NAN), "score of detection 1 holds NaN"),
    ] {
        let error = evaluate(&right, &[detection(SQUARE, 0.5), bad], &scope).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    let error = evaluate(&[right[0], right[0]], &[], &scope).unwrap_err();
    assert_eq!(error, ScoreError::DuplicateAnnotation { id: 1 });
    assert!(evaluate(&right, &[detection(SQUARE, f64::INFINITY)], &scope).is_ok());
}

#[test]
fn the_page_has_the_lines_of_pycocotools() {
    let page = figures(&[annotation(1, SQUARE)], &[detection(SHIFTED, 0.5)]).page();
    let lines: Vec<_> = page.lines().collect();
    assert_eq!(lines.len(), 12);
    assert_eq!(lines[0], " Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.700");
    assert_eq!(lines[3], " Average Precision  (AP) @[ IoU=0.50:0.95 | area= small | maxDets=100 ] = -1.000");
    assert_eq!(lines[6], " Average Recall     (AR) @[ IoU=0.50:0.95 | area=   all | maxDets=  1 ] = 0.700");
}
