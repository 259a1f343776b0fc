//! Compares scores of random cases with pycocotools, jiwer, scikit-learn, and definitions written in Python.
//!
//! The cases of a score are written as JSON, one for each line, and `oracle.py` answers them in one process. A few of
//! each show whether something is broken; `at_full_count` compares all of them.

mod cases;
mod oracle;

use cases::Cases;
use oracle::{Answer, compare};
use proctor_scores::{
    answers::AnswerScores,
    detection::{self, Annotation, Detection, Scope},
    ranking::Ranking,
    round_to_five_figures,
    segmentation::{BratsDice, KitsDice},
    speech::{WordErrors, clean},
    translation::TokenBleu,
};
use serde_json::{Value, json};

/// Largest difference of figures that are sums of logarithms, which versions of Python add up in different ways, and
/// of areas, which scikit-learn adds up as trapezoids.
const SUMS: f64 = 1e-11;

/// For figures that agree to the last bit.
const EXACT: f64 = 0.0;

#[test]
fn scores_of_a_few_cases_are_those_of_other_implementations() {
    average_precision(30);
    bleu_of_tokens(100);
    word_errors(200);
    transcripts(250);
    exact_match_and_f1(200);
    areas(100);
    dice_of_kits(150);
    dice_of_brats(150);
    five_figures(1000);
}

mod at_full_count {
    #[test]
    fn average_precision_is_that_of_pycocotools() {
        super::average_precision(600);
    }

    #[test]
    fn bleu_of_tokens_is_that_of_its_definition() {
        super::bleu_of_tokens(2000);
    }

    #[test]
    fn word_errors_are_those_of_jiwer() {
        super::word_errors(4000);
    }

    #[test]
    fn transcripts_are_spelled_as_the_definition_says() {
        super::transcripts(5000);
    }

    #[test]
    fn exact_match_and_f1_are_those_of_their_definition() {
        super::exact_match_and_f1(4000);
    }

    #[test]
    fn areas_under_the_curve_are_those_of_scikit_learn() {
        super::areas(2000);
    }

    #[test]
    fn dice_of_kits_is_that_of_its_definition() {
        super::dice_of_kits(3000);
    }

    #[test]
    fn dice_of_brats_is_that_of_its_definition() {
        super::dice_of_brats(3000);
    }

    #[test]
    fn five_figures_are_those_of_pythons_decimals() {
        super::five_figures(20_000);
    }
}

fn average_precision(count: usize) {
    let cases: Vec<_> = Cases::new(1).take(count, Cases::detection);
    let json = cases.iter().map(|(annotations, detections, images)| {
        let bbox = |it: &detection::Bbox| json!([it.x, it.y, it.width, it.height]);
        let annotation = |it: &Annotation| {
            json!({"id": it.id, "image_id": it.image, "category_id": it.category, "bbox": bbox(&it.bbox), "area": it.area,
                   "iscrowd": u8::from(it.is_crowd)})
        };
        let detection = |it: &Detection| {
            json!({"image_id": it.image, "category_id": it.category, "bbox": bbox(&it.bbox), "score": it.score})
        };
        json!({
            "known_images": cases::IMAGES, "categories": cases::CATEGORIES, "images": images,
            "annotations": annotations.iter().map(annotation).collect::<Vec<_>>(),
            "detections": detections.iter().map(detection).collect::<Vec<_>>(),
        })
    });
    compare("detection", json, EXACT, |index| {
        let (annotations, detections, images) = &cases[index];
        let scope = Scope { images, categories: &cases::CATEGORIES };
        let figures = detection::evaluate(annotations, detections, &scope).expect("all numbers are finite");
        Answer {
            figures: figures.named().iter().map(|(_, value)| value.unwrap_or(-1.0)).collect(),
            lines: figures.page() + &figures.line(),
        }
    });
}

fn bleu_of_tokens(count: usize) {
    let cases = Cases::new(2).take(count, |cases| cases.pairs(Cases::sentence_of_tokens));
    compare("token_bleu", cases.iter().map(|pairs| json!({ "pairs": pairs })), SUMS, |index| {
        let mut bleu = TokenBleu::default();
        cases[index].iter().for_each(|(answer, right)| bleu.add(answer, right));
        let bleu = bleu.score().expect("there are sentences");
        Answer { figures: vec![bleu.score], lines: bleu.line() }
    });
}

fn word_errors(count: usize) {
    let cases = Cases::new(5).take(count, |cases| cases.pairs(Cases::words));
    compare("speech", cases.iter().map(|pairs| json!({ "pairs": pairs })), EXACT, |index| {
        let (answers, right): (Vec<_>, Vec<_>) = cases[index].iter().cloned().unzip();
        let errors = WordErrors::of(&answers, &right).expect("pairs are as many");
        Answer { figures: vec![errors.rate()], lines: errors.line() }
    });
}

fn transcripts(count: usize) {
    let cases = Cases::new(6).take(count, Cases::transcript);
    compare("transcript", texts(&cases), EXACT, |index| {
        Answer::line(clean(&cases[index]).expect("no number is too large"))
    });
}

fn exact_match_and_f1(count: usize) {
    let cases = Cases::new(7).take(count, Cases::questions);
    compare("answers", cases.iter().map(|questions| json!({ "questions": questions })), EXACT, |index| {
        let mut scores = AnswerScores::default();
        for (answer, right) in &cases[index] {
            scores.add(answer.as_deref(), right).expect("each has a right answer");
        }
        let figures = scores.figures().expect("there are questions");
        Answer { figures: vec![figures.exact_match, figures.f1], lines: figures.line() }
    });
}

fn areas(count: usize) {
    let cases = Cases::new(8).take(count, Cases::rows);
    let json =
        cases.iter().map(|(predictions, labels)| json!({ "predictions": predictions, "labels": labels }));
    compare("ranking", json, SUMS, |index| {
        let (predictions, labels) = &cases[index];
        let figures =
            Ranking::of(predictions, labels).and_then(Ranking::figures).expect("both labels are there");
        Answer { figures: vec![figures.area], lines: figures.line(7) }
    });
}

fn dice_of_kits(count: usize) {
    let cases = Cases::new(9).take(count, |cases| cases.volumes(2));
    compare("kits", cases.iter().map(|volumes| json!({ "cases": volumes })), SUMS, |index| {
        let dice =
            |(answer, right): &(Vec<u8>, Vec<u8>)| KitsDice::of(answer, right).expect("the volumes fit");
        let mean =
            KitsDice::mean(&cases[index].iter().map(dice).collect::<Vec<_>>()).expect("there are cases");
        Answer { figures: vec![mean.composite, mean.kidney, mean.tumor], lines: mean.line() }
    });
}

fn dice_of_brats(count: usize) {
    let cases = Cases::new(10).take(count, |cases| cases.volumes(3));
    compare("brats", cases.iter().map(|volumes| json!({ "cases": volumes })), EXACT, |index| {
        let dice =
            |(answer, right): &(Vec<u8>, Vec<u8>)| BratsDice::of(answer, right).expect("the volumes fit");
        let mean =
            BratsDice::mean(&cases[index].iter().map(dice).collect::<Vec<_>>()).expect("there are cases");
        Answer::line(mean.line())
    });
}

fn five_figures(count: usize) {
    let cases = Cases::new(11).take(count, Cases::number);
    compare("rounding", cases.iter().map(|value| json!({ "value": value })), EXACT, |index| Answer {
        figures: vec![round_to_five_figures(cases[index])],
        lines: String::new(),
    });
}

fn texts(cases: &[String]) -> impl Iterator<Item = Value> {
    cases.iter().map(|text| json!({ "text": text }))
}
