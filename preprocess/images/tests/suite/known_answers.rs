//! Generated data sets through the pipelines: classes and boxes are there in the tensors.

use std::{collections::HashMap, fs, path::Path};

use proctor_datasets::Dataset;
// Linked for its pipelines, which register themselves.
use proctor_images as _;
use proctor_preprocess::{Pipeline, Preprocessing, build_pipeline};
use proctor_published::{Generate, coco, imagenet, open_images};
use proctor_vocabulary::{ElementType, SampleIndex, TensorSpec};
use serde_json::Value;

fn pipeline(name: &str, element_type: ElementType, size: usize) -> Box<dyn Pipeline> {
    let input = TensorSpec { name: "image".into(), element_type, shape: vec![3, size, size] };
    build_pipeline(name, &[input]).unwrap()
}

fn tensor(pipeline: &dyn Pipeline, data: &impl Dataset, index: u64) -> Vec<u8> {
    let mut tensor = vec![0; pipeline.outputs()[0].size_bytes()];
    pipeline.run(&data.read(SampleIndex(index)).unwrap(), &mut [&mut tensor]).unwrap();
    tensor
}

fn numbers(tensor: &[u8]) -> Vec<f32> {
    tensor.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect()
}

/// The class that the lit fields say, in a crop of 7/8 of the short side.
fn class(numbers: &[f32], size: usize) -> usize {
    let brightness = |column: f64, row: f64| -> f32 {
        // From parts of the short side, counted from the middle, to pixels of the crop.
        let place = |part: f64| ((part / 0.875 + 0.5) * size as f64) as usize;
        (0..3).map(|channel| numbers[(channel * size + place(row)) * size + place(column)]).sum()
    };
    let digit = |row: usize| {
        let at = |digit: usize| brightness((digit as f64 - 4.5) * 0.075, (row as f64 - 1.0) * 0.25);
        (0..10).max_by(|a, b| at(*a).total_cmp(&at(*b))).unwrap()
    };
    100 * digit(0) + 10 * digit(1) + digit(2)
}

#[test]
fn classes_can_be_read_off_the_tensors() {
    let folder = tempfile::tempdir().unwrap();
    imagenet::generate(folder.path(), &Generate { seed: 11, sample_count: 24 }).unwrap();
    let list = fs::read_to_string(folder.path().join("val_map.txt")).unwrap();
    let labels: HashMap<&str, usize> = list
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(name, label)| (name, label.parse().unwrap()))
        .collect();
    let images = imagenet::open(folder.path()).unwrap();
    for name in ["imagenet-vgg", "imagenet-mobilenet", "imagenet-torchvision", "imagenet-tflite"] {
        for size in [224, 96] {
            let pipeline = pipeline(name, ElementType::F32, size);
            for (index, sample) in (0..).zip(images.sample_names()) {
                let numbers = numbers(&tensor(&*pipeline, &images, index));
                assert_eq!(class(&numbers, size), labels[&**sample], "{name} {size} {sample}");
            }
        }
    }
}

/// An image of a list: columns and rows, and the boxes with their categories.
struct Annotated {
    sides: [f64; 2],
    boxes: Vec<([f64; 4], u64)>,
}

/// The images of a list by their ids.
fn annotated(list: &Path) -> HashMap<String, Annotated> {
    let list: Value = serde_json::from_slice(&fs::read(list).unwrap()).unwrap();
    let mut images: HashMap<_, _> = list["images"]
        .as_array()
        .unwrap()
        .iter()
        .map(|image| {
            let side = |key| image[key].as_f64().unwrap();
            let sides = [side("width"), side("height")];
            (image["id"].to_string(), Annotated { sides, boxes: Vec::new() })
        })
        .collect();
    for annotation in list["annotations"].as_array().unwrap() {
        let area = [0, 1, 2, 3].map(|side| annotation["bbox"][side].as_f64().unwrap());
        let category = annotation["category_id"].as_u64().unwrap();
        images.get_mut(&annotation["image_id"].to_string()).unwrap().boxes.push((area, category));
    }
    images
}

/// Checks the pixel in the middle of each box, as bytes of red, green and blue, against the colour of its category.
fn check_boxes(
    folder: &Path,
    list: &str,
    size: usize,
    colour: impl Fn(u64) -> [u64; 3],
    mut pixel: impl FnMut(u64, usize) -> f64,
    names: &[String],
) {
    let images = annotated(&folder.join(list));
    let mut count = 0;
    for (index, name) in (0..).zip(names) {
        let Annotated { sides: [width, height], boxes } = &images[name];
        for ([x, y, w, h], category) in boxes {
            let column = ((x + w / 2.0) / width * size as f64) as usize;
            let row = ((y + h / 2.0) / height * size as f64) as usize;
            for (channel, expected) in colour(*category).into_iter().enumerate() {
                let got = pixel(index, (channel * size + row) * size + column);
                assert!((got - expected as f64).abs() < 9.0, "{name}: {got} for {expected} of {category}");
            }
            count += 1;
        }
    }
    assert!(count > 20);
}

#[test]
fn boxes_of_coco_have_the_colours_of_their_categories() {
    let folder = tempfile::tempdir().unwrap();
    coco::generate(folder.path(), &Generate { seed: 12, sample_count: 10 }).unwrap();
    let images = coco::open(folder.path()).unwrap();
    let given_up = [12, 26, 29, 30, 45, 66, 68, 69, 71, 83];
    let colour = |id: u64| {
        let place = id - 1 - given_up.iter().filter(|gone| **gone < id).count() as u64;
        [64 + 47 * (place / 16), 64 + 63 * (place / 4 % 4), 64 + 63 * (place % 4)]
    };
    let bytes = pipeline("coco-ssd-mobilenet", ElementType::U8, 300);
    let of_bytes = |index, place: usize| f64::from(tensor(&*bytes, &images, index)[place]);
    let list = "annotations/instances_val2017.json";
    check_boxes(folder.path(), list, 300, colour, of_bytes, images.sample_names());
    let less = pipeline("coco-ssd-resnet34-tf", ElementType::F32, 120);
    let means = [123.68, 116.78, 103.94];
    let of_numbers = |index, place: usize| {
        f64::from(numbers(&tensor(&*less, &images, index))[place]) + means[place / (120 * 120)]
    };
    check_boxes(folder.path(), list, 120, colour, of_numbers, images.sample_names());
}

#[test]
fn boxes_of_open_images_have_the_colours_of_their_categories() {
    let folder = tempfile::tempdir().unwrap();
    open_images::generate(folder.path(), &Generate { seed: 13, sample_count: 10 }).unwrap();
    let images = open_images::open(folder.path()).unwrap();
    let colour = |id: u64| [64 + 27 * (id / 36), 64 + 38 * (id / 6 % 6), 64 + 38 * (id % 6)];
    let pipeline = pipeline("open-images-retinanet", ElementType::F32, 200);
    let pixel = |index, place: usize| f64::from(numbers(&tensor(&*pipeline, &images, index))[place]) * 255.0;
    let list = "annotations/openimages-mlperf.json";
    check_boxes(folder.path(), list, 200, colour, pixel, images.sample_names());
}

/// The steps by which a definition says what a named pipeline does, for a tensor of 224 x 224.
const AS_STEPS: [(&str, ElementType, &str); 9] = [
    (
        "imagenet-vgg",
        ElementType::F32,
        r#"{"resize": "opencv-area", "short_side": 256, "channels": "rgb", "scale": 1,
            "mean": [123.68, 116.78, 103.94], "deviation": [1, 1, 1]}"#,
    ),
    (
        "imagenet-mobilenet",
        ElementType::F32,
        r#"{"resize": "opencv-linear", "short_side": 256, "channels": "rgb", "scale": 255,
            "mean": [0.5, 0.5, 0.5], "deviation": [0.5, 0.5, 0.5]}"#,
    ),
    (
        "imagenet-torchvision",
        ElementType::F32,
        r#"{"resize": "pillow-bilinear", "short_side": 256, "channels": "rgb", "scale": 255,
            "mean": [0.485, 0.456, 0.406], "deviation": [0.229, 0.224, 0.225]}"#,
    ),
    (
        "imagenet-tflite",
        ElementType::F32,
        r#"{"resize": "opencv-linear", "short_side": 256, "channels": "bgr", "scale": 1,
            "mean": [103.939, 116.779, 123.68], "deviation": [1, 1, 1]}"#,
    ),
    (
        "coco-ssd-mobilenet",
        ElementType::U8,
        r#"{"resize": "opencv-linear-f32", "channels": "rgb", "scale": 1, "mean": [0, 0, 0],
            "deviation": [1, 1, 1]}"#,
    ),
    (
        "coco-ssd-mobilenet-pytorch",
        ElementType::F32,
        r#"{"resize": "opencv-linear-f32", "channels": "rgb", "scale": 1, "mean": [127.5, 127.5, 127.5],
            "deviation": [127.5, 127.5, 127.5]}"#,
    ),
    (
        "coco-ssd-resnet34",
        ElementType::F32,
        r#"{"resize": "opencv-linear-f32", "channels": "rgb", "scale": 255, "mean": [0.485, 0.456, 0.406],
            "deviation": [0.229, 0.224, 0.225]}"#,
    ),
    (
        "coco-ssd-resnet34-tf",
        ElementType::F32,
        r#"{"resize": "opencv-linear-f32", "channels": "rgb", "scale": 1, "mean": [123.68, 116.78, 103.94],
            "deviation": [1, 1, 1]}"#,
    ),
    (
        "open-images-retinanet",
        ElementType::F32,
        r#"{"resize": "opencv-linear-f32", "channels": "rgb", "scale": 255, "mean": [0, 0, 0],
            "deviation": [1, 1, 1]}"#,
    ),
];

#[test]
fn steps_with_the_numbers_of_a_named_pipeline_make_its_bytes() {
    let folder = tempfile::tempdir().unwrap();
    imagenet::generate(folder.path(), &Generate { seed: 14, sample_count: 3 }).unwrap();
    let images = imagenet::open(folder.path()).unwrap();
    for (name, element_type, table) in AS_STEPS {
        let named = pipeline(name, element_type, 224);
        let steps: Preprocessing = serde_json::from_str(table).unwrap();
        let steps = steps.build(named.outputs()).unwrap();
        for index in 0..3 {
            let expected = tensor(&*named, &images, index);
            assert!(tensor(&*steps, &images, index) == expected, "{name}, sample {index}");
        }
    }
}
