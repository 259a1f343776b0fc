//! Average precision beside pycocotools: 5,000 images with 100 boxes each, 80 categories.
//!
//! In each round both score the same boxes, one after the other, from values in memory to the twelve figures, and the
//! largest difference of a figure is printed. Needs pycocotools in `PYTHONPATH`, or where `cargo xtask setup` puts it.
//!
//! ```sh
//! cargo bench -p proctor-scores --bench average_precision
//! ```

use std::{
    env,
    error::Error,
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use proctor_scores::detection::{Annotation, Bbox, Detection, DetectionFigures, Scope, evaluate};
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde_json::json;

const IMAGE_COUNT: u64 = 5000;
const CATEGORY_COUNT: u64 = 80;
const DETECTIONS_PER_IMAGE: usize = 100;

/// As many as in the validation set of COCO, 36,781 in 5,000 images.
const ANNOTATIONS_PER_IMAGE: usize = 7;

/// Where `cargo xtask setup` puts the package for CPython 3.11, from the root of the workspace.
const PACKAGES: &str = "target/python-pycocotools-2.0.11/cpython-311";

fn main() -> Result<(), Box<dyn Error>> {
    // An argument of one's own, since cargo adds `--bench`.
    let round_count = env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(3);
    let (annotations, detections) = boxes();
    let images: Vec<_> = (0..IMAGE_COUNT).collect();
    let categories: Vec<_> = (1..=CATEGORY_COUNT).collect();
    let bbox = |it: &Bbox| json!([it.x, it.y, it.width, it.height]);
    let annotation =
        |it: &Annotation| json!([it.id, it.image, it.category, bbox(&it.bbox), it.area, it.is_crowd]);
    let detection = |it: &Detection| json!([it.image, it.category, bbox(&it.bbox), it.score]);
    let json = json!({
        "images": images,
        "categories": categories,
        "annotations": annotations.iter().map(annotation).collect::<Vec<_>>(),
        "detections": detections.iter().map(detection).collect::<Vec<_>>(),
    });
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("boxes.json");
    fs::write(&path, json.to_string())?;

    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut python = Command::new("python3");
    python.arg(here.join("benches/average_precision/peer.py")).arg(&path);
    if env::var_os("PYTHONPATH").is_none() {
        python.env("PYTHONPATH", here.join("../..").join(PACKAGES));
    }
    let mut python = python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut requests = python.stdin.take().ok_or("no way to python3")?;
    let mut answers = BufReader::new(python.stdout.take().ok_or("no way from python3")?).lines();

    let scope = Scope { images: &images, categories: &categories };
    let mut ratios = Vec::new();
    for round in 1..=round_count {
        writeln!(requests, "go")?;
        let answer = answers.next().ok_or("python3 has ended; is pycocotools there?")??;
        let (theirs, right): (f64, Vec<f64>) = serde_json::from_str(&answer)?;
        let start = Instant::now();
        let figures = evaluate(&annotations, &detections, &scope)?;
        let ours = start.elapsed().as_secs_f64();
        println!("round {round}: {ours:.3} s, pycocotools {theirs:.2} s, {:.0} times", theirs / ours);
        println!("  {}, largest difference of a figure {:e}", figures.line(), difference(&figures, &right));
        ratios.push(theirs / ours);
    }
    drop(requests);
    python.wait()?;
    ratios.sort_by(f64::total_cmp);
    println!("median of {round_count}: {:.0} times as fast", ratios[ratios.len() / 2]);
    Ok(())
}

fn difference(figures: &DetectionFigures, right: &[f64]) -> f64 {
    let ours = figures.named().map(|(_, value)| value.unwrap_or(-1.0));
    ours.iter().zip(right).map(|(ours, theirs)| (ours - theirs).abs()).fold(0.0, f64::max)
}

/// Annotations, and detections, some of which lie near one of them.
fn boxes() -> (Vec<Annotation>, Vec<Detection>) {
    let mut random = StdRng::seed_from_u64(5);
    let mut between = |least: f64, most: f64| random.random_range(least..most);
    let category = |share: f64| 1 + (share * CATEGORY_COUNT as f64) as u64;
    let mut annotations = Vec::new();
    for image in 0..IMAGE_COUNT {
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
