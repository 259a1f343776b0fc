//! `host data prepare`: the samples of the performance set, and those for calibration.

use std::{fs, path::Path};

use proctor_published::{PUBLISHED, Published};
use proctor_tests::{Bench, Finished};
use serde_json::Value;

const GOOD: i32 = 0;
const SETTINGS: i32 = 2;
const DATA: i32 = 4;

/// Number of bytes of a tensor of ResNet-50, and of the header of an array.
const TENSOR_BYTES: usize = 3 * 224 * 224 * 4;
const HEADER_BYTES: usize = 128;

/// A bench with a data set of this many samples in the folder `made`.
fn made(dataset: &str, count: u32) -> Bench {
    let bench = Bench::new();
    let made = bench.host(&format!("data generate {dataset} --samples {count} --seed 5 --out made"));
    assert_eq!(made.code(), GOOD, "{made}");
    bench
}

fn calibrate(bench: &Bench, flags: &str) -> Finished {
    bench.host(&format!("data prepare resnet50 --folder made {flags}"))
}

/// The tensors of an array of ResNet-50's input, and its header.
fn tensors(path: &Path) -> (String, Vec<Vec<u8>>) {
    let bytes = fs::read(path).expect("the array is written");
    let (header, tensors) = bytes.split_at(HEADER_BYTES);
    let header = String::from_utf8_lossy(header).into_owned();
    (header, tensors.chunks(TENSOR_BYTES).map(<[u8]>::to_vec).collect())
}

#[test]
fn calibration_samples_are_arrays_in_the_order_of_the_list() {
    let bench = made("imagenet", 4);
    bench.write("all.txt", "0 1 2 3\n");
    bench.write("list.txt", "ILSVRC2012_val_00000004.JPEG 0\nILSVRC2012_val_00000002.JPEG 1\n");
    let prepared = calibrate(&bench, "--calibration list.txt --out arrays");
    assert_eq!(prepared.code(), GOOD, "{prepared}");
    let told = "arrays: 2 samples for calibration; 2 of them are samples that accuracy is measured on";
    assert!(prepared.stdout.starts_with(told), "{prepared}");
    assert_eq!(calibrate(&bench, "--calibration all.txt --out all").code(), GOOD);

    let (header, two) = tensors(&bench.file("arrays/image.npy"));
    assert!(header.starts_with("\u{fffd}NUMPY"), "{header}");
    assert!(header.contains("'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 224, 224)"), "{header}");
    let (_, four) = tensors(&bench.file("all/image.npy"));
    assert_eq!((two.len(), four.len()), (2, 4));
    assert!(two[0] == four[3] && two[1] == four[1] && four[0] != four[1]);

    let text = fs::read_to_string(bench.file("arrays/calibration.json")).unwrap();
    let contents: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        contents["samples"][0],
        serde_json::json!({ "name": "ILSVRC2012_val_00000004.JPEG", "index": 3 })
    );
    assert_eq!(contents["inputs"][0], serde_json::json!({ "input": "image", "file": "image.npy" }));
    assert_eq!(
        (&contents["benchmark"], &contents["preprocessing"]),
        (&"resnet50".into(), &"imagenet-vgg".into())
    );
}

#[test]
fn samples_that_differ_in_shape_are_arrays_one_by_one() {
    let bench = made("kits19", 3);
    // A training case lies in the data set's own folder.
    fs::rename(bench.file("made/case_00005"), bench.file("made/case_00024")).unwrap();
    bench.write("list.txt", "case_00024\ncase_00000\n");
    let prepared =
        bench.host("data prepare 3d-unet-kits19 --folder made --calibration list.txt --out arrays");
    assert_eq!(prepared.code(), GOOD, "{prepared}");
    assert!(prepared.stdout.contains("2 samples for calibration; 1 of them are samples that"), "{prepared}");
    let text = fs::read_to_string(bench.file("arrays/calibration.json")).unwrap();
    let contents: Value = serde_json::from_str(&text).unwrap();
    let input = contents["inputs"][0]["input"].as_str().expect("it has a name").to_owned();
    assert_eq!(contents["inputs"], serde_json::json!([{ "input": input }]));
    let files = [0, 1].map(|place| format!("{input}-{place:05}.npy"));
    for (place, (name, index)) in [("case_00024", None), ("case_00000", Some(0))].into_iter().enumerate() {
        let expected = serde_json::json!({ "name": name, "index": index, "files": [files[place]] });
        assert_eq!(contents["samples"][place], expected);
        let bytes = fs::read(bench.file("arrays").join(&files[place])).expect("the array is written");
        let header = String::from_utf8_lossy(&bytes[..HEADER_BYTES]).into_owned();
        assert!(header.contains("'descr': '<f4', 'fortran_order': False, 'shape': (1, "), "{header}");
    }
    assert_eq!(fs::read_dir(bench.file("arrays")).unwrap().count(), 3);
}

#[test]
fn files_beside_the_data_set_are_compared_with_it() {
    let bench = made("imagenet", 3);
    let picture = |number: u32| bench.file("made").join(format!("ILSVRC2012_val_0000000{number}.JPEG"));
    fs::create_dir(bench.file("train")).unwrap();
    fs::copy(picture(1), bench.file("train/n0144.JPEG")).unwrap();
    bench.write("list.txt", "n0144.JPEG\n");
    let other = calibrate(&bench, "--calibration list.txt --files train --out arrays");
    assert!(other.stdout.contains("none of them is a sample that accuracy is measured on"), "{other}");
    bench.write("first.txt", "0\n");
    assert_eq!(calibrate(&bench, "--calibration first.txt --out first").code(), GOOD);
    assert!(tensors(&bench.file("arrays/image.npy")).1 == tensors(&bench.file("first/image.npy")).1);

    // A picture of the data set does not get among them unseen.
    fs::copy(picture(2), bench.file("train/ILSVRC2012_val_00000002.JPEG")).unwrap();
    bench.write("list.txt", "n0144.JPEG\nILSVRC2012_val_00000002.JPEG\n");
    let shared = calibrate(&bench, "--calibration list.txt --files train --out shared");
    assert!(shared.stdout.contains("2 samples for calibration; 1 of them are samples that"), "{shared}");
    let alone = bench.host("data prepare resnet50 --calibration list.txt --files train --out alone");
    assert!(alone.stdout.contains("the data set imagenet is not there, so that nothing is known"), "{alone}");
}

#[test]
fn an_array_that_lacks_a_sample_does_not_stay() {
    let bench = made("imagenet", 3);
    bench.write("made/ILSVRC2012_val_00000003.JPEG", "no picture");
    bench.write("list.txt", "0 1 2");
    calibrate(&bench, "--calibration list.txt --out arrays")
        .assert_error(DATA, &["ILSVRC2012_val_00000003.JPEG"]);
    assert_eq!(fs::read_dir(bench.file("arrays")).unwrap().count(), 0);
}

#[test]
fn lists_that_name_what_is_not_there_make_nothing() {
    let bench = made("imagenet", 2);
    for (list, flags, text) in [
        ("n0144.JPEG", "", "the data set has no sample \"n0144.JPEG\"; where the list is of other files"),
        ("7", "", "there is no sample 7: the data set has 2 samples, counted from 0"),
        ("", "", "it lists no sample"),
        ("ILSVRC2012_val_00000001.JPEG\nILSVRC2012_val_00000001.JPEG", "", "twice"),
        ("a.jpg", "--files made", "none of the 1 files that it lists is there"),
        ("../made/val_map.txt", "--files made", "is no path below a folder"),
        ("0 1", "--files made", "it has numbers"),
    ] {
        bench.write("list.txt", list);
        calibrate(&bench, &format!("--calibration list.txt --out arrays {flags}"))
            .assert_error(DATA, &["list.txt", text]);
        assert!(!bench.file("arrays").exists());
    }
    bench.write("list.txt", "0");
    bench.write("mine/mine.txt", "mine");
    calibrate(&bench, "--calibration list.txt --out mine").assert_error(SETTINGS, &["not an empty folder"]);
    calibrate(&bench, "--calibration list.txt").assert_error(SETTINGS, &["--out"]);
    calibrate(&bench, "--performance --samples 1").assert_error(SETTINGS, &["--samples"]);
}

#[test]
fn the_performance_set_is_prepared_alone() {
    // The list of SSD-MobileNet has 256 of the 5,000 samples.
    let bench = made("coco", 260);
    let prepared = bench.host("data prepare ssd-mobilenet --folder made --performance");
    assert_eq!(prepared.code(), GOOD, "{prepared}");
    let folder = prepared.stdout.strip_suffix(": 256 of 260 samples\n").expect("256 were prepared");
    let size = || fs::metadata(Path::new(folder).join("samples")).expect("they are there").len();
    let before = size();
    let run = |mode: &str| {
        let flags =
            format!("--benchmark ssd-mobilenet --dataset-folder made --scenario Offline --mode {mode}");
        let run =
            bench.run(&format!("{flags} --plugin mock --set mock.service=fixed --set mock.service_us=1"));
        assert!(run.finished.code() < 2, "{}", run.finished);
    };
    run("performance");
    assert_eq!(size(), before);
    run("accuracy");
    assert_eq!(size(), before / 256 * 260);
}

#[test]
fn info_names_the_lists_of_every_data_set() {
    let told = Bench::new().host("data info");
    assert_eq!(told.code(), GOOD, "{told}");
    for Published { name, calibration, .. } in PUBLISHED {
        let lists = format!("For calibration MLPerf Inference lists {}.\n", calibration.lists);
        assert!(told.stdout.contains(&lists), "{name}: {lists:?} is not in {told}");
    }
    for text in ["cal_image_list_option_1.txt", "train2017.zip", "openimages_cal_images_list.txt"] {
        assert!(told.stdout.contains(text), "{text} is not in {told}");
    }
}
