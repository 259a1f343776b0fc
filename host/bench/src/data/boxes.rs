//! Compares average precision with pycocotools: 5,000 images with 100 boxes each, 80 categories, from values
//! in memory to the twelve figures.

use std::{cell::Cell, fs, time::Instant};

use proctor_scores::detection::{Annotation, Bbox, Detection, Scope, evaluate};
use proctor_words::{HostError, output};
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    bed::{Bench, folder},
    flags::Part,
    table::{Check, Row, Side, Unit},
};
use crate::answers::distance;

/// Script that evaluates them with pycocotools. It is passed to Python after the common part.
const SCRIPT: &str = include_str!("boxes.py");

const IMAGE_COUNT: u64 = 5000;
/// Enough to see that it works.
const IMAGE_COUNT_QUICK: u64 = 50;
const CATEGORY_COUNT: u64 = 80;
const DETECTIONS_PER_IMAGE: usize = 100;
/// Number of annotations per image, as in the validation set of COCO: 36,781 in 5,000 images.
const ANNOTATIONS_PER_IMAGE: usize = 7;

/// Maximum allowed difference of a figure.
const OFF_MAX: f64 = 1e-6;
/// Required speed relative to pycocotools.
const TARGET: f64 = 5.0;

#[derive(Deserialize)]
struct Evaluated {
    seconds: f64,
    figures: Vec<f64>,
}

/// Measures the evaluation.
///
/// # Errors
/// If the boxes cannot be evaluated here, or not be written.
pub(super) fn row(bench: &Bench<'_>) -> Result<Row, HostError> {
    let folder = folder(None)?;
    let image_count = if bench.flags.quick { IMAGE_COUNT_QUICK } else { IMAGE_COUNT };
    let (annotations, detections) = boxes(image_count);
    let images: Vec<_> = (0..image_count).collect();
    let categories: Vec<_> = (1..=CATEGORY_COUNT).collect();
    let scope = Scope { images: &images, categories: &categories };
    let figures = || evaluate(&annotations, &detections, &scope).map_err(|error| error.to_string());
    // A figure of nothing is -1 there.
    let right = figures().map_err(HostError::data)?.named().map(|(_, value)| value.unwrap_or(-1.0));

    let path = folder.path().join("boxes.json");
    let json = as_json(&annotations, &detections, &scope);
    fs::write(&path, json.to_string()).map_err(|source| output(&path, source))?;
    let worker = bench.python(SCRIPT, &json!({ "boxes": path }), &bench.cpus[..1], folder.path());

    let difference = Cell::new(0.0_f64);
    let seen = &difference;
    let ours = || {
        let begin = Instant::now();
        figures()?;
        Ok(begin.elapsed().as_secs_f64())
    };
    let theirs = worker.map(|mut worker| -> Box<dyn FnMut() -> _> {
        Box::new(move || {
            let evaluated: Evaluated = worker.ask(&json!({ "do": "evaluate" }))?;
            seen.set(seen.get().max(distance(&right, &evaluated.figures)));
            Ok(evaluated.seconds)
        })
    });
    let check = Some(Check { difference: &difference, most: OFF_MAX });
    let pycocotools = Side { name: "pycocotools".to_owned(), turn: theirs, check, target: Some(TARGET) };
    let what = format!("{image_count} images with {DETECTIONS_PER_IMAGE} boxes");
    Ok(bench.row(Part::Boxes, &what, Unit::Seconds, vec![Side::ours(ours), pycocotools]))
}

fn as_json(annotations: &[Annotation], detections: &[Detection], scope: &Scope<'_>) -> Value {
    let bbox = |it: &Bbox| json!([it.x, it.y, it.width, it.height]);
    let annotation =
        |it: &Annotation| json!([it.id, it.image, it.category, bbox(&it.bbox), it.area, it.is_crowd]);
    let detection = |it: &Detection| json!([it.image, it.category, bbox(&it.bbox), it.score]);
    json!({
        "images": scope.images,
        "categories": scope.categories,
        "annotations": annotations.iter().map(annotation).collect::<Vec<_>>(),
        "detections": detections.iter().map(detection).collect::<Vec<_>>(),
    })
}

/// Returns annotations and detections, some of which lie near an annotation.
fn boxes(image_count: u64) -> (Vec<Annotation>, Vec<Detection>) {
    let mut random = StdRng::seed_from_u64(5);
    let mut between = |least: f64, most: f64| random.random_range(least..most);
    let category = |share: f64| 1 + (share * CATEGORY_COUNT as f64) as u64;
    let mut annotations = Vec::new();
    for image in 0..image_count {
        for _ in 0..ANNOTATIONS_PER_IMAGE {
            let width = between(2.0, 5.5).exp();
            let height = width * between(0.5, 2.0);
            let bbox = Bbox { x: between(0.0, 500.0), y: between(0.0, 400.0), width, height };
            annotations.push(Annotation {
                id: annotations.len() as u64 + 1,
                image,
                category: category(between(0.0, 1.0)),
                bbox,
                area: bbox.area() * between(0.5, 1.0),
                is_crowd: between(0.0, 1.0) < 0.01,
            });
        }
    }
    let mut detections = Vec::new();
    for of_image in annotations.chunks(ANNOTATIONS_PER_IMAGE) {
        for number in 0..DETECTIONS_PER_IMAGE {
            let (bbox, category) = match of_image.get(number / 2) {
                Some(Annotation { bbox, category, .. }) => {
                    (Bbox { x: bbox.x + between(0.0, 0.4) * bbox.width, ..*bbox }, *category)
                }
                None => {
                    let (x, y) = (between(0.0, 500.0), between(0.0, 400.0));
                    let bbox = Bbox { x, y, width: between(5.0, 200.0), height: between(5.0, 200.0) };
                    (bbox, category(between(0.0, 1.0)))
                }
            };
            let score = between(0.0, 1.0);
            detections.push(Detection { image: of_image[0].image, category, bbox, score });
        }
    }
    (annotations, detections)
}
