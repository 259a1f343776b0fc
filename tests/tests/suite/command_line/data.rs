//! `host data`: data sets in the layouts that they are published in.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use proctor_datasets::dataset_entries;
use proctor_nifti_file::{AxisOrder, Image, NewImage, encode};
use proctor_published::{PUBLISHED, Published};
use proctor_tests::{Bench, Finished, built, datasets, plugin};
use serde_json::Value;

const GOOD: i32 = 0;
const BAD: i32 = 1;
const SETTINGS: i32 = 2;
const DATA: i32 = 4;

/// Runs `host data` with a folder of the bench as the place of the data.
fn data(bench: &Bench, arguments: &str, folder: &str) -> Finished {
    bench.host(&format!("data {arguments} {}", bench.file(folder).display()))
}

/// Asserts the exit code, and that stdout has all the texts.
fn assert_says(finished: &Finished, code: i32, texts: &[&str]) {
    assert_eq!(finished.code(), code, "{}", finished.stderr);
    for text in texts {
        assert!(finished.stdout.contains(text), "{text:?} is not in {}", finished.stdout);
    }
}

#[test]
fn a_made_data_set_is_whole_until_something_happens_to_it() {
    for (name, picture) in [
        ("imagenet", "ILSVRC2012_val_00000002.JPEG"),
        ("coco", "val2017/000000000285.jpg"),
        ("open-images", "validation/data/0000000100000000.jpg"),
    ] {
        let bench = Bench::new();
        let made = data(&bench, &format!("generate {name} --samples 3 --seed 5 --out"), "made");
        assert_says(&made, GOOD, &[": 3 samples of seed 5 in the layout of "]);
        let verify = || data(&bench, &format!("verify {name} --folder"), "made");
        let info = || data(&bench, &format!("info {name} --folder"), "made");
        assert_says(&verify(), GOOD, &["made: nothing is missing or damaged"]);
        assert_says(&info(), GOOD, &["made: 3 samples, 0 more"]);

        fs::remove_file(bench.file("made").join(picture)).unwrap();
        let missing = format!("{picture}: it is missing: restore it\n");
        let further = format!("`host data info {name}` says where the files come from");
        assert_says(&verify(), BAD, &[&missing, "made: 1 defect\n", &further]);
        assert_says(&info(), GOOD, &["made: 2 samples, 1 more are listed and not there"]);
    }
}

#[test]
fn every_published_data_set_is_made_and_whole() {
    for Published { name, .. } in PUBLISHED {
        let bench = Bench::new();
        let made = data(&bench, &format!("generate {name} --samples 2 --out"), "made");
        assert_says(&made, GOOD, &[": 2 samples of seed 1 in the layout of "]);
        let whole = data(&bench, &format!("verify {name} --folder"), "made");
        let generated = "its samples are generated, so that no checksums are published for it\n";
        assert_says(&whole, GOOD, &["made: nothing is missing or damaged", generated]);
        assert_says(
            &data(&bench, &format!("info {name} --folder"), "made"),
            GOOD,
            &["made: 2 samples, 0 more"],
        );
    }
}

#[test]
fn a_benchmark_is_as_good_a_name_as_its_data_set() {
    let bench = Bench::new();
    let told = data(&bench, "info resnet50 --folder", "nowhere");
    assert_says(&told, GOOD, &["imagenet\n", "val_map.txt", "not usable: there is no folder "]);
    let refused = bench.host("data verify image-net");
    refused.assert_error(SETTINGS, &["unknown data set \"image-net\", did you mean \"imagenet\"?"]);
    let whole = bench.host(&format!("data verify digits-cnn --data-root {}", datasets().display()));
    assert_says(&whole, GOOD, &["digits: nothing is missing or damaged"]);
}

#[test]
fn the_digits_are_described_and_whole_until_a_file_is_changed() {
    let bench = Bench::new();
    let ours = datasets();
    for (name, count) in [("digits", 600), ("digits-calibration", 100)] {
        let of_ours =
            |command: &str| bench.host(&format!("data {command} {name} --data-root {}", ours.display()));
        let (first, there) = (format!("{name}\n"), format!("digits: {count} samples\n"));
        assert_says(&of_ours("info"), GOOD, &[&first, "images.idx3-ubyte ", "CC BY 4.0", &there]);
        assert_says(&of_ours("verify"), GOOD, &["digits: nothing is missing or damaged"]);
    }

    let root = bench.copy_of_datasets();
    fs::write(root.join("digits/split.toml"), "training = []").unwrap();
    fs::remove_file(root.join("digits/images.idx3-ubyte")).unwrap();
    let verified = data(&bench, "verify digits --folder", "datasets/digits");
    let damaged = "digits/split.toml is damaged or was changed: ";
    assert_says(&verified, BAD, &["digits/images.idx3-ubyte: ", damaged, "digits: 2 defects\n"]);
    let told = data(&bench, "info digits --folder", "datasets/digits");
    assert_says(&told, GOOD, &["\nnot usable: cannot read ", "digits/images.idx3-ubyte"]);
    fs::remove_file(root.join("digits/checksums.sha256")).unwrap();
    let unlisted = data(&bench, "verify digits --folder", "datasets/digits");
    assert_says(&unlisted, BAD, &["digits/checksums.sha256: ", "digits: 1 defect\n"]);
    bench.host("data verify digits --folder nowhere").assert_error(SETTINGS, &["there is no folder nowhere"]);
}

#[test]
fn published_checksums_are_named_with_their_source_and_their_absence_is_told() {
    let bench = Bench::new();
    let of_project = "its files were held against checksums: SHA-256 of its files, in checksums.sha256\n";
    let verified = bench.host(&format!("data verify digits --data-root {}", datasets().display()));
    assert_says(&verified, GOOD, &[of_project]);
    for (name, words) in [
        ("imagenet", "no checksums are published for its files: "),
        ("librivox", "held against checksums: SHA-256 of its files, in this program\n"),
        ("wmt", "held against checksums: MD5 of the four files, as verify_dataset.sh of MLPerf Inference"),
        ("squad", "held against checksums: MD5 of both files: dev-v1.1.json as torchtext"),
    ] {
        assert_says(&data(&bench, &format!("generate {name} --samples 2 --out"), name), GOOD, &[]);
        // Without the note it counts as the published one, which has more samples.
        fs::remove_file(bench.file(name).join("generated.json")).unwrap();
        assert_says(&data(&bench, &format!("verify {name} --folder"), name), BAD, &[words]);
    }
}

#[test]
fn generated_samples_have_no_folder() {
    let bench = Bench::new();
    let told = bench.host("data info generated");
    assert_says(&told, GOOD, &["generated\n", "from a fixed seed", "qsl.total_sample_count"]);
    let none = "generated: each run makes its samples, and there is no folder to verify\n";
    for name in ["generated", "resnet50-generated"] {
        assert_says(&bench.host(&format!("data verify {name}")), GOOD, &[none]);
    }
}

#[test]
fn what_is_not_published_is_neither_generated_nor_prepared() {
    let bench = Bench::new();
    for (name, command) in [
        ("digits", "generate digits --out made"),
        ("generated", "generate generated --out made"),
        ("digits", "prepare digits-mlp"),
    ] {
        let refused = bench.host(&format!("data {command}"));
        refused.assert_error(SETTINGS, &[&format!("data set \"{name}\" is not a published one, ")]);
    }
    assert!(!bench.file("made").exists());
}

#[test]
fn info_without_a_name_describes_every_data_set() {
    let told = Bench::new().host("data info");
    let names: Vec<_> = dataset_entries().iter().map(|entry| format!("{}\n", entry.name)).collect();
    assert_says(&told, GOOD, &names.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn nothing_is_made_over_what_is_there() {
    let bench = Bench::new();
    bench.write("made/mine.txt", "mine");
    let refused = data(&bench, "generate coco --out", "made");
    refused.assert_error(SETTINGS, &["made is there already, and not an empty folder: give another --out"]);
    assert_eq!(fs::read_dir(bench.file("made")).unwrap().count(), 1);
}

#[test]
fn a_run_without_the_data_set_says_where_it_was_looked_for() {
    let run = Bench::new().run("--plugin mock --benchmark resnet50 --dataset-folder nowhere");
    let pointers = ["`host data info imagenet`", "`host data verify imagenet --folder "];
    run.finished.assert_error(DATA, &pointers);
    run.finished.assert_error(DATA, &["val_map.txt", "data set \"imagenet\" cannot be prepared"]);
    let run = Bench::new().run("--plugin mock --benchmark resnet50");
    run.finished.assert_error(DATA, &["\"imagenet\" not found in "]);
}

/// Opening a set means checking each of its files, and there are many.
#[test]
fn a_run_opens_a_data_set_once() {
    let bench = Bench::new();
    assert_says(&data(&bench, "generate imagenet --samples 4 --out", "made"), GOOD, &[]);
    // A copy of the program, with a host-data that notes when it is started.
    let noted = format!("#!/bin/sh\necho \"$1\" >> starts\nexec '{}' \"$@\"\n", built("host-data").display());
    let noted = bench.write("bin/host-data", noted);
    fs::set_permissions(noted, fs::Permissions::from_mode(0o755)).unwrap();
    fs::copy(built("host"), bench.file("bin/host")).unwrap();
    let mock = plugin("mock");
    let starts = |form: &str| {
        let flags = format!(
            "run --plugin {} --benchmark resnet50 --dataset-folder made --scenario Offline --mode accuracy \
             --set mock.service=fixed --set mock.service_us=1 --set mock.input_form={form}",
            mock.display()
        );
        let finished = bench.start_command(bench.command_in_shell("exec bin/host \"$@\"", &flags)).finish();
        assert!(finished.code() < 2, "{finished}");
        let starts = fs::read_to_string(bench.file("starts")).unwrap();
        fs::remove_file(bench.file("starts")).unwrap();
        starts.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    for form in ["none", "f16"] {
        assert!(starts(form).len() > 1, "the samples have to be prepared");
        assert_eq!(starts(form), ["order"], "{form}");
    }
}

/// Writes a volume again, with voxels that lie at these distances.
fn space(path: &Path, spacing_mm: [f32; 3]) {
    let image = Image::parse(&fs::read(path).expect("the set has the file")).expect("it is a volume");
    let volume = image.to_f32(AxisOrder::FirstSlowest).expect("it is whole");
    fs::write(path, encode(&NewImage { volume: &volume, spacing_mm })).expect("there is room");
}

#[test]
fn what_cannot_be_prepared_or_scored_is_a_defect() {
    let bench = Bench::new();
    let made = |name: &str| {
        assert_says(&data(&bench, &format!("generate {name} --samples 2 --out"), name), GOOD, &[]);
        bench.file(name)
    };
    let verify = |name: &str, texts: &[&str]| {
        assert_says(&data(&bench, &format!("verify {name} --folder"), name), BAD, texts);
    };
    let scan = made("kits19").join("case_00003/imaging.nii.gz");
    for spacing_mm in [[1e-30, 1.2, 1.2], [1.6, 5e4, 1.2]] {
        space(&scan, spacing_mm);
        verify("kits19", &["case_00003/imaging.nii.gz: it cannot be prepared (", ": 1 defect\n"]);
    }

    let folder = made("brats");
    let list = fs::read_to_string(folder.join("fold1_validation.txt")).unwrap();
    let (group, case) = list.lines().next().unwrap().split_once("__").unwrap();
    space(&folder.join(format!("{group}/{case}/{case}_t2.nii.gz")), [1.0, 1.2, 1.0]);
    verify("brats", &[&format!("{case}: it cannot be prepared (t2 has voxels of "), ": 1 defect\n"]);

    let picture = made("imagenet").join("ILSVRC2012_val_00000002.JPEG");
    let mut bytes = fs::read(&picture).unwrap();
    let frame = bytes.windows(2).position(|pair| matches!(pair, [0xff, 0xc0..=0xc2])).unwrap();
    bytes[frame + 5..frame + 9].fill(0xff);
    fs::write(&picture, bytes).unwrap();
    verify("imagenet", &["00000002.JPEG: it says that it has 65535 x 65535 pixels", ": 1 defect\n"]);

    let questions = made("squad").join("dev-v1.1.json");
    let mut file: Value = serde_json::from_slice(&fs::read(&questions).unwrap()).unwrap();
    file["data"][0]["paragraphs"][0]["qas"][0]["answers"][0]["answer_start"] = 1_000_000_000_000_u64.into();
    fs::write(&questions, file.to_string()).unwrap();
    verify("squad", &["an answer with answer_start 1000000000000, outside of its context", ": 1 defect\n"]);
}
