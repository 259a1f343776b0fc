//! Generated models that answer as MLPerf's reference files do, on generated data sets, through ONNX Runtime, in every
//! scenario: classes, boxes and scores compared with its Python package on the same file, and with pycocotools.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use proctor_prepared::Reader;
use proctor_test_needs::{python_packages, skip};
use proctor_tests::{Bench, Run, SCENARIOS, workspace};
use proctor_vocabulary::SampleIndex;
use serde_json::{Value, json};

use crate::models::{
    onnx_peer::{needs, output, short},
    responses::logged,
};

/// Number of samples of a generated data set.
const SAMPLE_COUNT: u64 = 4;

/// The folder of pycocotools, as `cargo xtask setup` makes it.
const PYCOCOTOOLS: &str = "target/python-pycocotools-2.0.11";

/// Parts of a box that make it an annotation, so that thresholds of the overlap count some and others not.
const SHARES: [f64; 4] = [1.0, 0.97, 0.9, 0.75];

/// A made data set with a model, and the answers of that model by the Python package.
struct Made {
    bench: Bench,
    benchmark: &'static str,
    model: PathBuf,
    folder: PathBuf,
    answers: Vec<Value>,
}

/// Makes data set and model, and asks the Python package; `None`, with the reason printed, if something is missing.
/// `element` and `shape` describe a prepared sample.
fn made(benchmark: &'static str, model: &str, element: &str, shape: &str) -> Option<Made> {
    let bench = Bench::new();
    if let Err(missing) = needs(&bench).and_then(|()| python_packages(PYCOCOTOOLS)) {
        skip(missing);
        return None;
    }
    let (models, folder) = (bench.file("models"), bench.file("data"));
    let host = |arguments: String| {
        let finished = bench.host(&arguments);
        assert_eq!(finished.code(), 0, "{finished}");
        finished.stdout
    };
    host(format!("data make-model {model} --out {}", models.display()));
    host(format!("data generate {benchmark} --out {} --samples {SAMPLE_COUNT}", folder.display()));
    let prepared = host(format!("data prepare {benchmark} --folder {}", folder.display()));
    let prepared = prepared.lines().last().and_then(|line| line.rsplit_once(": ")).unwrap().0;
    let samples = bench.write("samples", read(Path::new(prepared)));
    let model = models.join(format!("{model}.onnx"));
    let mut python = Command::new("python3");
    python.arg("-B").arg(workspace().join("tests/tests/suite/models/published_vision_onnx.py"));
    let printed = output(python.arg(&model).arg(samples).args([element, shape]));
    let answers: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len() as u64, SAMPLE_COUNT);
    Some(Made { bench, benchmark, model, folder, answers })
}

/// The tensors of all prepared samples.
fn read(folder: &Path) -> Vec<u8> {
    let reader = Reader::open(folder).unwrap();
    let size = fs::metadata(folder.join("samples")).unwrap().len() / reader.sample_count();
    let samples = (0..reader.sample_count()).map(SampleIndex).map(|index| {
        let head = 8 * (3 + reader.shapes(index).unwrap()[0].len());
        let mut bytes = vec![0; usize::try_from(size).unwrap() - head];
        reader.read(index, &mut [&mut bytes]).unwrap();
        bytes
    });
    samples.collect::<Vec<_>>().concat()
}

impl Made {
    fn run(&self, scenario: &str) -> Run {
        self.bench.run(&format!(
            "--plugin onnx --benchmark {} --dataset-folder {} --model-file {} --scenario {scenario} --preset quick {} \
             --set onnx.threads=1",
            self.benchmark,
            self.folder.display(),
            self.model.display(),
            short(scenario),
        ))
    }
}

/// Classes match Python's, and all but every fourth match the labels.
fn classes_are_those_of_python(benchmark: &'static str, model: &str) {
    let Some(made) = made(benchmark, model, "float32", "3x224x224") else { return };
    let classes: Vec<i64> = made.answers.iter().map(|class| class.as_i64().unwrap()).collect();
    let path = made.folder.join("val_map.txt");
    let list = fs::read_to_string(&path).unwrap();
    let labelled = list.lines().zip(classes.iter().enumerate()).map(|(line, (sample, class))| {
        let name = line.split_whitespace().next().unwrap();
        format!("{name} {}\n", (class + i64::from(sample % 4 == 3)) % 1000)
    });
    fs::write(&path, labelled.collect::<String>()).unwrap();
    for scenario in SCENARIOS {
        let run = made.run(scenario);
        assert_eq!(run.result()["verdict"]["valid"], true, "{}", run.finished);
        assert_eq!(run.result()["accuracy"]["value"], 0.75, "{}", run.finished);
        let found: Vec<_> = logged(&run)
            .iter()
            .map(|bytes| i64::from_le_bytes(bytes.as_slice().try_into().unwrap()))
            .collect();
        assert_eq!(found, classes, "{scenario}");
    }
}

/// Records match Python's, and the score matches pycocotools on Python's records.
fn boxes_are_those_of_python(
    benchmark: &'static str,
    model: &str,
    (element, shape): (&str, &str),
    list: &str,
    scenarios: &[&str],
) {
    let Some(made) = made(benchmark, model, element, shape) else { return };
    let path = made.folder.join(list);
    let mut list: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let detections = detections(&list, &made.answers);
    assert!(detections.len() > 40, "{} boxes", detections.len());
    list["annotations"] = annotations(&detections);
    fs::write(&path, list.to_string()).unwrap();
    let expected = precision(&list, &detections);
    assert!((0.4..0.99).contains(&expected), "a score of {expected} tells little");
    for scenario in scenarios {
        let run = made.run(scenario);
        run.assert_valid();
        let value = run.result()["accuracy"]["value"].as_f64().unwrap();
        assert!((value - expected).abs() < 1e-6, "{scenario}: {value} instead of {expected}");
        let responses = logged(&run);
        assert_eq!(responses.len(), made.answers.len(), "{scenario}");
        for (sample, (bytes, answer)) in responses.iter().zip(&made.answers).enumerate() {
            let numbers: Vec<f32> = bytes.as_chunks().0.iter().map(|it| f32::from_le_bytes(*it)).collect();
            let (records, rest) = numbers.as_chunks::<7>();
            let wanted = answer.as_array().unwrap();
            assert_eq!((records.len(), rest.len()), (wanted.len(), 0), "{scenario}, sample {sample}");
            for (record, wanted) in records.iter().zip(wanted) {
                assert_eq!(record[0], sample as f32);
                let wanted = wanted.as_array().unwrap().iter().map(|number| number.as_f64().unwrap());
                let is_near = |(got, wanted): (&f32, f64)| (f64::from(*got) - wanted).abs() < 1e-5;
                assert!(
                    record[1..].iter().zip(wanted).all(is_near),
                    "{scenario}, sample {sample}: {record:?}"
                );
            }
        }
    }
}

/// Boxes of Python's records, as COCO has them: in pixels of the image, with its id.
fn detections(list: &Value, answers: &[Value]) -> Vec<Value> {
    let of_image = |(image, records): (&Value, &Value)| {
        let [width, height] = ["width", "height"].map(|side| image[side].as_f64().unwrap());
        let of_record = |record: &Value| {
            let [top, left, bottom, right] = [0, 1, 2, 3].map(|edge| record[edge].as_f64().unwrap());
            let (x, y) = (left * width, top * height);
            json!({
                "image_id": image["id"], "category_id": record[5].as_f64().unwrap() as u64, "score": record[4],
                "bbox": [x, y, right * width - x, bottom * height - y],
            })
        };
        records.as_array().unwrap().iter().map(of_record).collect::<Vec<_>>()
    };
    list["images"].as_array().unwrap().iter().zip(answers).flat_map(of_image).collect()
}

/// Annotations that some of the boxes find, more or less well: every fifth is of nothing.
fn annotations(detections: &[Value]) -> Value {
    let kept = detections.iter().enumerate().filter(|(place, _)| place % 5 != 4);
    let annotations = kept.map(|(place, it)| {
        let [x, y, width, height] = [0, 1, 2, 3].map(|side| it["bbox"][side].as_f64().unwrap());
        let width = width * SHARES[place % SHARES.len()];
        json!({
            "id": place + 1, "image_id": it["image_id"], "category_id": it["category_id"], "iscrowd": 0,
            "area": width * height, "bbox": [x, y, width, height],
        })
    });
    annotations.collect()
}

/// The mean average precision by pycocotools.
fn precision(list: &Value, detections: &[Value]) -> f64 {
    let ids = |of: &str| list[of].as_array().unwrap().iter().map(|it| it["id"].clone()).collect::<Value>();
    let case = json!({
        "known_images": ids("images"), "images": ids("images"), "categories": ids("categories"),
        "annotations": list["annotations"], "detections": detections,
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("case.jsonl");
    fs::write(&path, case.to_string()).unwrap();
    let mut python = Command::new("python3");
    python
        .arg("-B")
        .arg(workspace().join("accuracy/scores/tests/suite/differential/oracle.py"))
        .arg("detection");
    python.env("PYTHONPATH", python_packages(PYCOCOTOOLS).unwrap()).stdin(fs::File::open(&path).unwrap());
    let answer: Value = serde_json::from_str(&output(&mut python)).unwrap();
    answer["figures"][0].as_f64().unwrap()
}

#[test]
fn resnet50_in_all_scenarios() {
    classes_are_those_of_python("resnet50", "resnet50-mlperf-narrow");
}

/// Of a model that gives the logits of 1001 classes alone.
#[test]
fn mobilenet_in_all_scenarios() {
    classes_are_those_of_python("mobilenet", "mobilenet-v1");
}

fn ssd_mobilenet(scenarios: &[&str]) {
    let list = "annotations/instances_val2017.json";
    let form = ("uint8", "3x300x300");
    boxes_are_those_of_python("ssd-mobilenet", "ssd-mobilenet-narrow", form, list, scenarios);
}

/// The least of these tests that decodes, resizes, selects boxes and scores them.
#[test]
fn ssd_mobilenet_in_offline() {
    ssd_mobilenet(&["Offline"]);
}

#[test]
fn ssd_mobilenet_in_all_scenarios() {
    ssd_mobilenet(&SCENARIOS);
}

#[test]
fn ssd_resnet34_in_all_scenarios() {
    let list = "annotations/instances_val2017.json";
    let form = ("float32", "3x1200x1200");
    boxes_are_those_of_python("ssd-resnet34", "ssd-resnet34-narrow", form, list, &SCENARIOS);
}

#[test]
fn retinanet_in_all_scenarios() {
    let list = "annotations/openimages-mlperf.json";
    let form = ("float32", "3x800x800");
    boxes_are_those_of_python("retinanet", "retinanet-narrow", form, list, &SCENARIOS);
}
