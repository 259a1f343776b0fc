//! Mistakes of a user, and defects of the machine: a message that says what to do, and an exit code.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use proctor_datasets::sha256_hex;
use proctor_test_needs::{bound_by_permissions, skip};
use proctor_tests::{Bench, Finished, OUTPUT, Run, workspace};

const SETTINGS: i32 = 2;
const DATA: i32 = 4;

/// A run of the mock that leaves some 100,000 samples, of 16 bytes each.
const LARGE: &str = "--plugin mock --scenario Offline --mode performance --set min_query_count=100000";

fn refused(flags: &str, code: i32, texts: &[&str]) {
    let run = Bench::new().run(flags);
    run.finished.assert_error(code, texts);
    assert!(!run.folder().exists(), "a run that could not begin left {}", run.folder().display());
}

/// Changes one bit in the middle of a file.
fn damage(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path, bytes).unwrap();
}

/// The definition of the default benchmark.
fn digits_lstm() -> String {
    fs::read_to_string(workspace().join("host/config/benchmarks/digits-lstm.toml")).unwrap()
}

/// Runs the default benchmark with a data root in which something is wrong.
fn run_with_data(spoil: impl FnOnce(&Path)) -> Run {
    let bench = Bench::new();
    let root = bench.copy_of_datasets();
    spoil(&root);
    bench.run(&format!("--data-root {}", root.display()))
}

#[test]
fn a_benchmark_that_nobody_knows() {
    refused(
        "--benchmark digits-lsmt",
        SETTINGS,
        &["unknown benchmark \"digits-lsmt\"", "did you mean \"digits-lstm\"?"],
    );
    refused("--benchmark ./none.toml", SETTINGS, &["none.toml"]);
}

#[test]
fn a_recording_in_the_folder_of_the_results() {
    let bench = Bench::new();
    for command in ["run", "scale --slo-ms 5"] {
        let finished = bench.host(&format!("{command} --plugin mock -o both --record both"));
        finished.assert_error(SETTINGS, &["--record both", "--output both"]);
        assert!(!bench.file("both.partial").exists() && !bench.file("both").exists(), "{finished}");
    }
}

#[test]
fn a_configuration_file_that_is_not_there() {
    refused("--config none.toml", SETTINGS, &["cannot read", "none.toml"]);
    refused("--user-conf user.conf", SETTINGS, &["cannot read", "user.conf"]);
    refused("--mlperf-conf mlperf.conf", SETTINGS, &["cannot read", "mlperf.conf"]);
}

#[test]
fn a_configuration_file_in_error_is_named_with_its_line() {
    let bench = Bench::new();
    bench.write("proctor.toml", "scenario = \"Server\"\nmin_duration_ms = [\n");
    bench.run("").finished.assert_error(SETTINGS, &["proctor.toml:2"]);
    bench.write("proctor.toml", "scenario = \"Server\"\nwatchdog_sm = 4\n");
    bench
        .run("")
        .finished
        .assert_error(SETTINGS, &["proctor.toml", "watchdog_sm", "did you mean \"watchdog_ms\"?"]);
}

#[test]
fn an_unknown_setting_is_met_with_the_near_one() {
    refused("--set min_duraton_ms=5", SETTINGS, &["min_duraton_ms", "did you mean \"min_duration_ms\"?"]);
    refused("--set nonsense", SETTINGS, &["\"nonsense\" is no assignment"]);
    refused("--secnario Server", SETTINGS, &["--secnario", "--scenario"]);
}

#[test]
fn an_unknown_environment_variable_is_met_with_the_near_one() {
    let bench = Bench::new();
    let mut command = bench.command("explain");
    command.env("PROCTOR_BATCH_SIZ", "4");
    let finished = bench.start_command(command).finish();
    finished.assert_error(SETTINGS, &["PROCTOR_BATCH_SIZ", "did you mean \"batch_size\"?"]);
}

#[test]
fn numbers_that_make_no_sense() {
    for (flags, texts) in [
        ("--target-qps -5 --scenario Server", ["target-qps", "-5"]),
        ("--target-qps 0 --scenario Server", ["target-qps", "0"]),
        ("--target-qps NaN --scenario Server", ["target-qps", "NaN"]),
        ("--target-qps 1e300 --scenario Server", ["target-qps", "out of range"]),
        ("--duration=-1s", ["duration", "-1s"]),
        ("--duration soon", ["duration", "soon"]),
        ("--duration 10000h", ["duration", "out of range"]),
        ("--batch-size 0", ["batch-size", "out of range"]),
        ("--instances 1000000", ["instances", "out of range"]),
        ("--instances two", ["instances", "two"]),
        ("--set watchdog_ms=0", ["watchdog_ms", "out of range"]),
        ("--set single_stream_target_latency_percentile=1.5", ["percentile", "out of range"]),
        ("--set min_query_count=99999999999999999999999", ["min_query_count", "9999"]),
        ("--scenario Sever", ["scenario", "Server"]),
        ("--mode fast", ["mode", "fast"]),
        ("--preset slow", ["preset", "quick"]),
        ("--policy best", ["policy", "fixed"]),
    ] {
        refused(flags, SETTINGS, &texts);
    }
}

#[test]
fn a_data_root_without_data() {
    let bench = Bench::new();
    let run = bench.run(&format!("--data-root {}", bench.path().display()));
    run.finished.assert_error(DATA, &["not found in", "data_root"]);
}

#[test]
fn a_model_that_is_not_there() {
    let run = run_with_data(|root| fs::remove_file(root.join("digits/digits-lstm.safetensors")).unwrap());
    run.finished.assert_error(DATA, &["digits-lstm.safetensors", "not found"]);
    assert!(!run.folder().exists());
}

#[test]
fn a_model_that_was_damaged() {
    let run = run_with_data(|root| damage(&root.join("digits/digits-lstm.safetensors")));
    run.finished.assert_error(
        DATA,
        &["digits-lstm.safetensors is damaged or was changed", "sha256", "restore the file"],
    );
    assert!(!run.folder().exists());
}

#[test]
fn images_that_were_damaged() {
    let run = run_with_data(|root| damage(&root.join("digits/images.idx3-ubyte")));
    run.finished.assert_error(DATA, &["images.idx3-ubyte is damaged or was changed", "checksums.sha256"]);
    assert!(!run.folder().exists());
}

#[test]
fn a_data_set_that_is_cut_off() {
    let run = run_with_data(|root| {
        let path = root.join("digits/images.idx3-ubyte");
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..100]).unwrap();
    });
    run.finished.assert_error(DATA, &["images.idx3-ubyte"]);
}

#[test]
fn a_list_of_checksums_that_is_not_there() {
    let run = run_with_data(|root| fs::remove_file(root.join("digits/checksums.sha256")).unwrap());
    run.finished.assert_error(DATA, &["checksums.sha256"]);
}

#[test]
fn a_model_file_that_is_no_safetensors() {
    // The checksum of the definition is right, what is in the file is not.
    let bench = Bench::new();
    let root = bench.copy_of_datasets();
    let file = root.join("digits/digits-lstm.safetensors");
    let right_sum = sha256_hex(&fs::read(&file).unwrap());
    fs::write(&file, "no weights\n").unwrap();
    let definition = digits_lstm().replace(&right_sum, &sha256_hex(b"no weights\n"));
    let path = bench.write("mine.toml", definition);
    let run = bench.run(&format!("--data-root {} --benchmark {}", root.display(), path.display()));
    run.finished.assert_error(3, &["plugin cpu-rnn: load_model failed", "digits-lstm.safetensors"]);
}

#[test]
fn a_benchmark_definition_with_a_wrong_key() {
    let bench = Bench::new();
    let text = digits_lstm().replace("[quality]", "[qualty]");
    let path = bench.write("mine.toml", text);
    let run = bench.run(&format!("--benchmark {}", path.display()));
    run.finished.assert_error(SETTINGS, &["mine.toml", "qualty", "quality"]);
}

#[test]
fn an_output_folder_below_a_file() {
    let bench = Bench::new();
    bench.write("file", "");
    let finished = bench.host("run --output file/results");
    finished.assert_error(OUTPUT, &["file"]);
    bench.host("run --output file").assert_error(OUTPUT, &["file is a file"]);
}

#[test]
fn an_output_folder_that_is_not_empty() {
    let bench = Bench::new();
    let precious = bench.write("results/precious.txt", "mine");
    bench.host("run --output results").assert_error(OUTPUT, &["results is not empty"]);
    assert_eq!(fs::read_to_string(precious).unwrap(), "mine");
}

#[test]
fn an_output_folder_without_permission() {
    let bench = Bench::new();
    let closed = bench.file("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
    let Some(bound) = bound_by_permissions() else { return };
    let finished = by_way_of(&bench, &bound, "run --output closed/results");
    finished.assert_error(OUTPUT, &["cannot write", "closed", "you may not write there", "--output"]);
}

#[test]
fn a_disk_that_is_full_from_the_start() {
    let bench = Bench::new();
    let Some(finished) = host_on_small_disk(&bench, 64, "run") else { return };
    finished.assert_error(OUTPUT, &["cannot write", "the disk is full; make room, or choose another folder"]);
    assert_eq!(fs::read_dir(bench.file("kept/runs")).map_or(0, Iterator::count), 0);
}

#[test]
fn a_disk_that_becomes_full() {
    let bench = Bench::new();
    let Some(finished) = host_on_small_disk(&bench, 1200, &format!("run --output out {LARGE}")) else {
        return;
    };
    finished
        .assert_error(OUTPUT, &["cannot write", "the disk is full", "what was recorded is in out.partial"]);
    // Samples have taken all but the room that was kept for the result.
    let read = |file: &str| fs::read_to_string(bench.file("kept/out.partial").join(file)).unwrap();
    assert!(read("result.json").contains("\"valid\": true"), "{finished}");
    assert!(read("error.txt").contains("the disk is full"), "{finished}");
    assert!(finished.stdout.contains("\n  verdict     VALID\n"), "the verdict is shown: {finished}");
    assert!(!bench.file("kept/out").exists(), "a run that is not whole looks whole: {finished}");
}

#[test]
fn a_file_that_cannot_grow() {
    // Works where nothing can be mounted: a limit for the size of files, in blocks of 512 bytes.
    let bench = Bench::new();
    let script = "ulimit -f 2400; exec \"$0\" \"$@\"";
    let finished = by_way_of(&bench, &["sh", "-c", script], &format!("run --output out {LARGE}"));
    finished.assert_error(OUTPUT, &["cannot write", "what was recorded is in out.partial"]);
    assert!(bench.file("out.partial/error.txt").is_file(), "{finished}");
    assert!(bench.file("out.partial/result.json").is_file(), "what is small is kept: {finished}");
    assert!(bench.file("out.partial/mlperf_log_summary.txt").is_file(), "{finished}");
    assert!(finished.stdout.contains("\n  verdict     VALID\n"), "the verdict is shown: {finished}");
    assert!(!bench.file("out").exists());
}

#[test]
fn answers_that_cannot_be_written_are_no_valid_run() {
    let bench = Bench::new();
    fs::create_dir(bench.file("data")).unwrap();
    // Room for everything but the answers, which are states of 64 cells at 100 instants.
    let script = "ulimit -f 2400; exec \"$0\" \"$@\"";
    let arguments = "run --plugin mock --benchmark rnn-lstm-8-64-1-100 --data-root data --mode accuracy";
    let finished = by_way_of(&bench, &["sh", "-c", script], &format!("{arguments} --output out"));
    finished.assert_error(OUTPUT, &["cannot write", "mlperf_log_accuracy.json"]);
    for words in ["\n  verdict     INVALID\n", "- the answers were not scored: cannot write"] {
        assert!(finished.stdout.contains(words), "{finished}");
    }
    let read = |file: &str| fs::read_to_string(bench.file("out.partial").join(file)).unwrap();
    assert!(read("result.json").contains("\"valid\": false"), "{finished}");
    // Written anew once the plugin has returned, even if other files could not be written.
    let summary = read("accuracy/mlperf_log_summary.txt");
    assert!(summary.contains("No errors encountered"), "{summary}");
}

/// Runs the program in a folder with this little space, if this machine allows one to be made. The remaining files are
/// copied to `kept`.
pub(crate) fn host_on_small_disk(bench: &Bench, size_kib: u32, arguments: &str) -> Option<Finished> {
    let unshare = ["unshare", "--map-root-user", "--mount"];
    fs::create_dir(bench.file("disk")).unwrap();
    let mount = format!("mount -t tmpfs -o size={size_kib}k tmpfs disk");
    let tried = Command::new(unshare[0])
        .args(&unshare[1..])
        .args(["sh", "-c", &mount])
        .current_dir(bench.path())
        .output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        skip("this user may not mount a small disk (unshare --map-root-user --mount)");
        return None;
    }
    let script = format!("{mount} && cd disk && {{ \"$0\" \"$@\"; code=$?; cp -r . ../kept; exit $code; }}");
    Some(by_way_of(bench, &[&unshare[..], &["sh", "-c", &script]].concat(), arguments))
}

/// Runs the program by way of another command, unless that is empty.
fn by_way_of(bench: &Bench, wrapper: &[&str], arguments: &str) -> Finished {
    let command = match wrapper {
        [] => bench.command(arguments),
        wrapper => bench.command_by(wrapper, arguments),
    };
    bench.start_command(command).finish()
}

#[test]
fn an_instruction_set_that_there_is_none_of() {
    let run = |isa: &str| {
        let bench = Bench::new();
        let mut command = bench.command("run --scenario Offline --mode accuracy --output run");
        command.env("CPU_RNN_ISA", isa).output().unwrap()
    };
    let refused = run("sse9");
    assert!(!refused.status.success());
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(text.contains("CPU_RNN_ISA is `sse9`, expected portable, avx2 or avx512"), "{text}");
    assert!(run("portable").status.success(), "every processor has the portable one");
}
