//! A pipe in the place of a file: opening one without a writer would block for ever.

use std::{fs, path::Path, process::Command};

use proctor_tests::Bench;

const GOOD: i32 = 0;
const BAD: i32 = 1;
const SETTINGS: i32 = 2;
const DATA: i32 = 4;

/// Words about it.
const PIPE: &str = "it is a pipe, and no regular file";

fn make_pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().expect("mkfifo starts");
    assert!(made.success(), "{}", path.display());
}

#[test]
fn a_pipe_of_a_data_set_is_a_defect() {
    for (name, file) in [
        ("imagenet", "val_map.txt"),
        ("imagenet", "ILSVRC2012_val_00000002.JPEG"),
        ("coco", "annotations/instances_val2017.json"),
        ("librispeech", "dev-clean-wav.json"),
    ] {
        let bench = Bench::new();
        let made = bench.host(&format!("data generate {name} --samples 3 --seed 5 --out made"));
        assert_eq!(made.code(), GOOD, "{made}");
        let path = bench.file("made").join(file);
        fs::remove_file(&path).unwrap();
        make_pipe(&path);
        let verified = bench.host(&format!("data verify {name} --folder made"));
        assert_eq!(verified.code(), BAD, "{verified}");
        assert!(verified.stdout.contains(&format!("{file}: {PIPE}: restore it\n")), "{verified}");
        // Without a list there is no data set; a picture is one of those that are not there.
        let told = bench.host(&format!("data info {name} --folder made"));
        let expected =
            if file.ends_with("JPEG") { "2 samples, 1 more are listed and not there" } else { PIPE };
        assert!(told.stdout.contains(expected), "{told}");
    }
}

#[test]
fn a_pipe_of_a_run_is_named_or_left_out() {
    let bench = Bench::new();
    let run = bench.run(
        "--plugin mock --set issue=false --scenario Server --target-qps 500 --batch-size 4 --virtual-time \
         --mode performance --duration 2s",
    );
    assert!(run.is_whole(), "{}", run.finished);
    let folder = run.folder().display();
    let ends = |command: &str| bench.host(&format!("{command} {folder}"));
    for file in ["samples.bin", "batches.json", "mlperf_log_detail.txt", "mlperf_log_trace.json"] {
        let (path, kept) = (run.folder().join(file), bench.file("kept"));
        fs::rename(&path, &kept).unwrap();
        make_pipe(&path);
        let listed = ends("list runs");
        assert_eq!(listed.code(), GOOD, "{listed}");
        ends("report -o page.html");
        for command in ["export -f csv", "export -f trace", &format!("compare {folder}")] {
            let ended = ends(command);
            if file == "samples.bin" {
                ended.assert_error(DATA, &[file, PIPE]);
            }
        }
        fs::remove_file(&path).unwrap();
        fs::rename(&kept, &path).unwrap();
    }
}

#[test]
fn a_pipe_beside_a_log_of_answers_is_named() {
    let bench = Bench::new();
    bench.write("answers/mlperf_log_accuracy.json", "[\n]\n");
    for file in ["result.json", "mlperf_log_summary.txt"] {
        let path = bench.file("answers").join(file);
        make_pipe(&path);
        bench.host("accuracy answers").assert_error(DATA, &[file, PIPE]);
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_recording_that_is_a_pipe_is_named() {
    let bench = Bench::new();
    fs::create_dir(bench.file("recording")).unwrap();
    make_pipe(&bench.file("recording/calls.jsonl"));
    bench
        .host("replay recording --plugin mock")
        .assert_error(SETTINGS, &["cannot read the recording recording/calls.jsonl", PIPE]);
}

#[test]
fn settings_are_read_from_a_pipe() {
    let bench = Bench::new();
    let script = "echo '*.Server.target_qps = 321' | \"$0\" \"$@\" --user-conf /dev/stdin";
    let command = bench.command_in_shell(script, "explain --scenario Server");
    let explained = bench.start_command(command).finish();
    assert_eq!(explained.code(), GOOD, "{explained}");
    assert!(explained.stdout.contains("/dev/stdin:1 (*.Server.target_qps)"), "{explained}");
}
