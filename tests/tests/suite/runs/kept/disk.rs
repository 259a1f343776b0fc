//! Disks that take no more.

use std::{fs, os::unix::fs::PermissionsExt as _};

use proctor_test_needs::bound_by_permissions;
use proctor_tests::{Bench, OUTPUT, PLACES, Run, check_rows, json};

use super::{VALID_IN_SUMMARY, problem, says_valid};
use crate::command_line::bad_input::host_on_small_disk;

/// A run whose samples are more than any of the disks holds: half a million of 16 bytes.
const LARGE: &str = "--plugin mock --set mock.service=fixed --set mock.service_us=0 --scenario Offline --mode performance \
                     --set min_query_count=500000 --set floor=false --output out";

/// Sizes of disks in KiB, each with room for a result and not for all samples, and further flags.
const DISKS: [(u32, &str); 8] = [
    (1500, ""),
    (2000, ""),
    (3000, ""),
    (4096, ""),
    (5500, ""),
    (7000, ""),
    (1500, "--isolate"),
    (4096, "--isolate"),
];

#[test]
fn a_full_disk_keeps_the_result() {
    check_rows(&DISKS, 2, |(size_kib, place)| {
        let bench = Bench::new();
        let finished = host_on_small_disk(&bench, *size_kib, &format!("run {LARGE} {place}"))?;
        let wrong = problem(&bench.file("kept/out"), &finished).or_else(|| {
            let folder = bench.file("kept/out.partial");
            let has_result =
                folder.join("result.json").is_file() && folder.join("mlperf_log_summary.txt").is_file();
            (finished.code() != OUTPUT || !has_result).then(|| "the result is lost".to_owned())
        });
        wrong.map(|wrong| format!("{size_kib} KiB {place}: {wrong}: {finished}"))
    });
}

/// A run of a second and more, at a load that any machine keeps up with.
const PACED: &str = "run --plugin mock --scenario Server --target-qps 500 --duration 500ms --mode performance \
                     --set min_query_count=1000 --set floor=false --set server_target_latency_ns=10000000000";

#[test]
fn a_full_disk_keeps_the_result_of_a_full_run() {
    let bench = Bench::new();
    // Room for the search and for a result, and not for the 5 MB of samples of a full run.
    let flags = "find-max --plugin mock --virtual-time --scenario Server --set mock.service=fixed \
                 --set mock.service_us=1000 --set server_target_latency_ns=10000000 --set enable_trace=false \
                 --target-qps 400 --to 800 --confirm-runs 1 --set min_query_count=300000 --output out";
    let Some(finished) = host_on_small_disk(&bench, 4096, flags) else { return };
    finished.assert_error(OUTPUT, &["cannot write", "the disk is full"]);
    let folder = bench.file("kept/out.partial/full-run-1.partial");
    assert!(folder.join("result.json").is_file(), "the result is lost: {finished}");
    let result = json(&folder.join("result.json"));
    assert_eq!(result["performance_run"]["issued_query_count"].as_u64().map(|count| count > 0), Some(true));
    assert!(!folder.join("room.tmp").exists() && !bench.file("kept/out").exists(), "{finished}");
}

#[test]
fn a_folder_that_the_user_removes_during_a_run_is_made_again() {
    for place in PLACES {
        let bench = Bench::new();
        let output = bench.file("out");
        let partial = output.with_added_extension("partial");
        let mut started = bench.start(&format!("{PACED} --output {} {place}", output.display()));
        started.wait_for_samples(&partial);
        fs::remove_dir_all(&partial).expect("it is ours");
        let run = Run::new(started.finish(), output);
        run.assert_valid();
        assert!(run.samples().len() >= 1000, "{}", run.finished);
        assert!(run.text("mlperf_log_summary.txt").contains(VALID_IN_SUMMARY), "{}", run.finished);
    }
}

#[test]
fn a_folder_that_becomes_read_only_is_no_valid_run() {
    for place in PLACES {
        becomes_read_only(place);
    }
}

fn becomes_read_only(place: &str) {
    let bench = Bench::new();
    let Some(bound) = bound_by_permissions() else { return };
    let output = bench.file("out");
    let partial = output.with_added_extension("partial");
    let flags = format!("{PACED} --output {} {place}", output.display());
    let command = if bound.is_empty() { bench.command(&flags) } else { bench.command_by(&bound, &flags) };
    let mut started = bench.start_command(command);
    started.wait_for_samples(&partial);
    fs::set_permissions(&partial, fs::Permissions::from_mode(0o555)).expect("it is ours");
    let finished = started.finish();
    fs::set_permissions(&partial, fs::Permissions::from_mode(0o755)).expect("it is ours");
    finished.assert_error(OUTPUT, &["cannot write", "out.partial"]);
    assert!(!output.exists(), "{finished}");
    // Room that was reserved may hold a result; without one there is no verdict to be had from the screen alone.
    let has_result = partial.join("result.json").is_file();
    assert!(has_result || !says_valid(&finished), "{finished}");
    assert!(fs::metadata(partial.join("samples.bin")).is_ok_and(|file| file.len() > 16), "{finished}");
}
