//! `host data`: data sets in the layouts that they are published in.

use std::fs;

use proctor_tests::{Bench, Finished};

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
    for name in
        ["coco-annotated", "wmt", "librispeech", "squad", "kits19", "brats", "criteo", "criteo-multi-hot"]
    {
        let bench = Bench::new();
        let made = data(&bench, &format!("generate {name} --samples 2 --out"), "made");
        assert_says(&made, GOOD, &[": 2 samples of seed 1 in the layout of "]);
        let whole = data(&bench, &format!("verify {name} --folder"), "made");
        assert_says(&whole, GOOD, &["made: nothing is missing or damaged"]);
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
    let refused = bench.host("data verify digits-cnn");
    refused
        .assert_error(SETTINGS, &["unknown data set \"digits\"", "those that are published are imagenet, "]);
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
