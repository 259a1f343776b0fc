//! Compares pixels with those of OpenCV and Pillow in random cases.

mod packages;

use std::borrow::Cow;

use packages::Packages;
use proctor_datasets::RawSample;
use proctor_images::{Method, Resize, Side};
use proctor_jpeg_file::{Header, Orientation, Part, Picture, decode};
use proctor_preprocess::{Preprocessing, build_pipeline};
use proctor_vocabulary::{ElementType, TensorSpec};

/// Number of cases of each kind.
const ALL: u64 = 1500;
/// Number of cases that show whether something is broken.
const FEW: u64 = 100;

#[test]
fn pixels_of_a_few_cases_are_those_of_the_packages() {
    let Some(mut packages) = Packages::start() else { return };
    decoded_pixels(&mut packages, FEW);
    resized_pixels(&mut packages, FEW);
    tensors(&mut packages, FEW);
    tensors_of_steps(&mut packages, FEW);
}

mod at_full_count {
    use super::{ALL, Packages};

    #[test]
    fn decoded_pixels_are_those_of_libjpeg_turbo() {
        let Some(mut packages) = Packages::start() else { return };
        super::decoded_pixels(&mut packages, ALL);
    }

    #[test]
    fn resized_pixels_are_those_of_opencv_and_pillow() {
        let Some(mut packages) = Packages::start() else { return };
        super::resized_pixels(&mut packages, ALL);
    }

    #[test]
    fn tensors_are_those_of_the_references() {
        let Some(mut packages) = Packages::start() else { return };
        super::tensors(&mut packages, ALL);
    }

    #[test]
    fn tensors_of_steps_of_a_definition_are_those_of_the_packages() {
        let Some(mut packages) = Packages::start() else { return };
        super::tensors_of_steps(&mut packages, ALL);
    }
}

/// Pixels of three bytes.
fn three_bytes(picture: &Picture) -> Vec<u8> {
    picture.pixels.iter().flat_map(|pixel| pixel[..3].to_vec()).collect()
}

fn assert_equal(got: &[u8], expected: &[u8], width: usize, what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}");
    if let Some(place) = got.iter().zip(expected).position(|(got, expected)| got != expected) {
        let (row, column) = (place / 3 / width, place / 3 % width);
        let count = got.iter().zip(expected).filter(|(got, expected)| got != expected).count();
        panic!(
            "{what}: {count} of {} bytes differ, first in row {row}, column {column}: {:?} for {:?}",
            got.len(),
            &got[place / 3 * 3..][..3],
            &expected[place / 3 * 3..][..3]
        );
    }
}

fn decoded_pixels(packages: &mut Packages, count: u64) {
    let mut orientations = Vec::<Orientation>::new();
    for seed in 0..count {
        let case = packages.case("decode", seed);
        let [file, expected] = &case.blocks[..] else { panic!("two blocks") };
        let header = Header::read(file).unwrap();
        let what = format!("seed {seed}, {header:?}");
        let [width, height] = [header.width, header.height].map(|side| side as usize);
        let stored = decode(file, Part { left: 0, top: 0, width, height }).expect(&what);
        let part =
            Part { left: width / 3, top: height / 4, width: (width / 2).max(1), height: (height / 3).max(1) };
        assert_part(&stored, part, &decode(file, part).expect(&what), &what);
        let picture = stored.upright(header.orientation);
        assert_eq!((picture.width, picture.height), (case.number("width"), case.number("height")), "{what}");
        assert_equal(&three_bytes(&picture), expected, picture.width, &what);
        if !orientations.contains(&header.orientation) {
            orientations.push(header.orientation);
        }
    }
    assert_eq!(orientations.len(), 8, "{orientations:?}");
}

/// Asserts that a part has the same pixels as the whole picture.
fn assert_part(whole: &Picture, part: Part, got: &Picture, what: &str) {
    for row in 0..part.height {
        let expected = &whole.pixels[(part.top + row) * whole.width + part.left..][..part.width];
        assert_eq!(&got.pixels[row * part.width..][..part.width], expected, "{what}, row {row} of {part:?}");
    }
}

fn resized_pixels(packages: &mut Packages, count: u64) {
    for seed in 0..count {
        let case = packages.case("resize", seed);
        let [width, height, to_width, to_height] =
            ["width", "height", "to_width", "to_height"].map(|key| case.number(key));
        let pixels = case.blocks[0].as_chunks::<3>().0.iter().map(|[a, b, c]| [*a, *b, *c, 0]).collect();
        let picture = Picture { width, height, pixels };
        let whole = Part { left: 0, top: 0, width, height };
        let methods = [Method::Area, Method::Linear, Method::Antialiased, Method::Cubic];
        for (method, expected) in methods.into_iter().zip(&case.blocks[1..]) {
            let resize = Resize {
                method,
                columns: Side::whole(width, to_width),
                rows: Side::whole(height, to_height),
            };
            let what = format!("seed {seed}, {method:?} from {width} x {height} to {to_width} x {to_height}");
            let all = resize.apply(&picture, whole);
            assert_equal(&three_bytes(&all), expected, to_width, &what);
            // A range of it, from the pixels that it says that it needs.
            let range = |to: usize| to / 3..to / 3 + (to / 2).max(1);
            let resize = Resize {
                columns: Side { wanted: range(to_width), ..resize.columns },
                rows: Side { wanted: range(to_height), ..resize.rows },
                ..resize
            };
            let needed = resize.needed();
            let rows = needed.top..needed.top + needed.height;
            let pixels = rows.flat_map(|row| &picture.pixels[row * width + needed.left..][..needed.width]);
            let source =
                Picture { width: needed.width, height: needed.height, pixels: pixels.copied().collect() };
            let part = Part {
                left: to_width / 3,
                top: to_height / 3,
                width: (to_width / 2).max(1),
                height: (to_height / 2).max(1),
            };
            assert_part(&all, part, &resize.apply(&source, needed), &what);
        }
    }
}

fn tensors(packages: &mut Packages, count: u64) {
    for seed in 0..count {
        let case = packages.case("pipeline", seed);
        let [file, expected] = &case.blocks[..] else { panic!("two blocks") };
        let (name, height, width) = (case.text("name"), case.number("height"), case.number("width"));
        let is_bytes = name == "coco-ssd-mobilenet";
        let element_type = if is_bytes { ElementType::U8 } else { ElementType::F32 };
        let input = TensorSpec { name: "image".into(), element_type, shape: vec![3, height, width] };
        let pipeline = build_pipeline(name, &[input]).unwrap();
        let mut tensor = vec![0xab; pipeline.outputs()[0].size_bytes()];
        let sample = RawSample {
            element_type: ElementType::U8,
            shape: Cow::Owned(vec![file.len()]),
            bytes: Cow::Borrowed(file),
        };
        pipeline.run(&sample, &mut [&mut tensor]).unwrap();
        let what = format!("seed {seed}, {name} to {height} x {width} of {:?}", Header::read(file).unwrap());
        assert_eq!(tensor.len(), expected.len(), "{what}");
        // OpenCV resizes numbers by code of its own, or by Intel's library.
        if name.starts_with("imagenet") || case.is("is_own") {
            assert!(tensor == *expected, "{what}");
        } else if is_bytes {
            let off = tensor.iter().zip(expected).filter(|(got, expected)| got.abs_diff(**expected) > 1);
            assert_eq!(off.count(), 0, "{what}");
        } else {
            let numbers = |bytes: &[u8]| -> Vec<f32> {
                bytes.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect()
            };
            // In units of the byte that a pixel was; the numbers themselves are at most 255 times smaller.
            let unit = match name {
                "coco-ssd-mobilenet-pytorch" => 127.5,
                "coco-ssd-resnet34" => 0.224 * 255.0,
                "open-images-retinanet" => 255.0,
                _ => 1.0,
            };
            for (got, expected) in numbers(&tensor).iter().zip(numbers(expected)) {
                assert!(((got - expected) * unit).abs() <= BYTES_OFF_MAX, "{what}: {got} for {expected}");
            }
        }
    }
}

/// Largest difference of a pixel resized in f32 from the result of Intel's library, in units of a byte. The library
/// rounds places differently.
const BYTES_OFF_MAX: f32 = 0.02;

/// Compares the tensors of steps of a definition's own byte by byte: OpenCV resizes numbers by code of its own here.
fn tensors_of_steps(packages: &mut Packages, count: u64) {
    for seed in 0..count {
        let case = packages.case("steps", seed);
        let [file, expected] = &case.blocks[..] else { panic!("two blocks") };
        let (height, width) = (case.number("height"), case.number("width"));
        let shape = if case.is("is_last") { vec![height, width, 3] } else { vec![3, height, width] };
        let element_type = if case.is("is_bytes") { ElementType::U8 } else { ElementType::F32 };
        let input = TensorSpec { name: "image".into(), element_type, shape };
        let steps: Preprocessing = case.of("table");
        let pipeline = steps.build(std::slice::from_ref(&input)).unwrap();
        let mut tensor = vec![0xab; input.size_bytes()];
        let sample = RawSample {
            element_type: ElementType::U8,
            shape: Cow::Owned(vec![file.len()]),
            bytes: Cow::Borrowed(file),
        };
        pipeline.run(&sample, &mut [&mut tensor]).unwrap();
        assert!(
            tensor == *expected,
            "seed {seed}, {steps:?} to {input} of {:?}",
            Header::read(file).unwrap()
        );
    }
}
