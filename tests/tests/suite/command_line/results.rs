//! `host export`, `host list runs` and `host clean`: results for other programs, and folders that are not needed any
//! more.

use std::{
    fs::{self, File},
    os::unix::fs::symlink,
    path::Path,
};

use proctor_tests::{Bench, Run};
use serde_json::Value;

const GOOD: i32 = 0;
const SETTINGS: i32 = 2;
const DATA: i32 = 4;

/// A run in virtual time in which the host forms batches.
fn virtual_run(bench: &Bench, flags: &str) -> Run {
    let run = bench.run(&format!(
        "--plugin mock --set issue=false --scenario Server --target-qps 500 --batch-size 4 --instances 2 --virtual-time \
         --set mock.service=log-normal --mode performance --duration 2s {flags}"
    ));
    assert!(run.finished.code() < 2, "{}", run.finished);
    run
}

fn export(bench: &Bench, run: &Path, format: &str) -> String {
    let exported = bench.host(&format!("export {} --format {format}", run.display()));
    assert_eq!(exported.code(), GOOD, "{exported}");
    exported.stdout
}

#[test]
fn a_run_is_exported_with_the_figures_of_its_result() {
    let bench = Bench::new();
    let run = virtual_run(&bench, "");
    let latency = &run.result()["performance_run"]["figures"]["query_latency"];
    let count = latency["count"].as_u64().unwrap();

    let csv = export(&bench, run.folder(), "csv");
    let mut latencies: Vec<u64> =
        csv.lines().skip(1).map(|line| line.split(',').nth(2).unwrap().parse().unwrap()).collect();
    latencies.sort_unstable();
    assert_eq!(latencies.len() as u64, count);
    assert_eq!(latencies.last(), latency["max_ns"].as_u64().as_ref());

    let rows: Value = serde_json::from_str(&export(&bench, run.folder(), "json")).unwrap();
    assert_eq!((&rows[0]["query_latency"], &rows[0]["metric"]), (latency, &run.result()["metric"]));
    let markdown = export(&bench, run.folder(), "markdown");
    assert!(
        markdown.lines().nth(2).unwrap().contains(&run.result()["metric"]["value"].to_string()),
        "{markdown}"
    );
    let metrics = export(&bench, run.folder(), "openmetrics");
    let p99 = latency["p99_ns"].as_u64().unwrap() as f64 / 1e9;
    let line =
        metrics.lines().find(|line| line.starts_with("proctor_run_query_latency_p99_seconds{")).unwrap();
    assert!(line.ends_with(&format!("}} {p99}")) && metrics.ends_with("\n# EOF\n"), "{metrics}");
}

#[test]
fn a_timeline_has_the_batches_of_each_instance_and_their_samples() {
    let bench = Bench::new();
    let run = virtual_run(&bench, "");
    let kept: Value = serde_json::from_slice(&fs::read(run.folder().join("batches.json")).unwrap()).unwrap();
    let scheduler = &run.result()["performance_run"]["scheduler"];
    assert_eq!(kept["batch_count"], scheduler["batch_count"]);
    let slowest = &kept["slowest"][0];
    let greatest = run.result()["performance_run"]["figures"]["query_latency"]["max_ns"].as_u64().unwrap();
    let at = |key: &str| slowest[key].as_u64().unwrap();
    assert_eq!(at("completed_ns") - at("scheduled_ns"), greatest);
    assert!(at("started_ns") < at("completed_ns"));
    // The record of its sample says the same.
    let samples = fs::read(run.folder().join("samples.bin")).unwrap();
    let record: &[u8] = &samples[16 * at("sequence") as usize..][..16];
    assert_eq!(u64::from_le_bytes(record[..8].try_into().unwrap()), at("scheduled_ns"));
    assert_eq!(u64::from_le_bytes(record[8..].try_into().unwrap()), greatest);

    bench.host(&format!("export {} --format trace -o trace.json", run.folder().display()));
    let trace: Value = serde_json::from_slice(&fs::read(bench.file("trace.json")).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let named = |name: &str| events.iter().filter(|event| event["name"] == name).count();
    assert!(named("batch") > 100 && named("issue") > 100 && named("outstanding samples") > 100);
    let tracks: Vec<_> = events
        .iter()
        .filter(|event| event["name"] == "thread_name")
        .map(|event| &event["args"]["name"])
        .collect();
    assert_eq!(tracks, ["issue", "instance 0", "instance 1"]);
}

#[test]
fn an_export_of_what_is_none_is_refused() {
    let bench = Bench::new();
    let run = bench.run("--mode accuracy --plugin mock --set mock.service=null");
    let folder = run.folder().display();
    bench.host(&format!("export {folder} -f csv")).assert_error(DATA, &["has no performance run"]);
    bench
        .host(&format!("export {folder} {folder} -f csv"))
        .assert_error(SETTINGS, &["csv is of one run, and 2 folders"]);
    bench.host("export nowhere -f json").assert_error(DATA, &["cannot read nowhere"]);
    let full = bench.host(&format!("export {folder} -f json -o /dev/full/x"));
    full.assert_error(5, &["cannot write /dev/full/x"]);
}

#[test]
fn runs_are_listed_with_their_verdicts_and_go_only_when_told_to() {
    let bench = Bench::new();
    bench.write("runs/crashed.partial/crash.txt", "the plugin crashed");
    bench.write(
        "runs/official/mlperf_log_detail.txt",
        ":::MLLOG {\"key\": \"result_validity\", \"value\": \"VALID\"}\n",
    );
    bench.write("runs/other/result.json", "{\"schema_version\": 9}");
    for (name, flags) in [("valid", ""), ("invalid", "--set server_target_latency_ns=1")] {
        let run = virtual_run(&bench, flags);
        fs::rename(run.folder(), bench.file("runs").join(name)).unwrap();
    }

    let listed = bench.host("list runs");
    assert_eq!(listed.code(), GOOD, "{listed}");
    for (run, verdict) in [
        ("runs/crashed.partial", "crashed"),
        ("runs/invalid", "INVALID"),
        ("runs/official", "VALID"),
        ("runs/other", "unreadable: "),
        ("runs/valid", "VALID (short)"),
    ] {
        let line = listed.stdout.lines().find(|line| line.split_whitespace().next() == Some(run));
        assert!(line.is_some_and(|line| line.contains(verdict)), "{run}: {listed}");
    }

    let there = |name: &str| bench.file("runs").join(name).exists();
    let would = bench.host("clean --invalid");
    assert!(
        would.stdout.contains("runs/crashed.partial") && would.stdout.contains("runs/invalid"),
        "{would}"
    );
    assert!(would.stdout.contains("--yes removes them") && !would.stdout.contains("runs/valid"), "{would}");
    assert!(there("crashed.partial") && there("invalid"));

    // What is no run of this host stays, and so does a run that goes on, and a search that can be resumed.
    bench.write("runs/photos.partial/holiday.jpg", "");
    bench.write("runs/official/error.txt", "of another program");
    bench.write("runs/search.partial/probes.json", "{}");
    bench.write("runs/going-on.partial/running.lock", "");
    let lock = File::open(bench.file("runs/going-on.partial/running.lock")).unwrap();
    lock.lock().unwrap();
    let old = bench.host("clean --yes");
    assert!(old.stdout.contains("removed 1 run"), "{old}");
    assert!(old.stdout.contains("going-on.partial") && old.stdout.contains("kept: it goes on"), "{old}");
    assert!(!there("crashed.partial") && there("photos.partial/holiday.jpg") && there("official"));
    assert!(there("search.partial") && there("going-on.partial") && there("invalid"));
    drop(lock);

    // A run is kept by its folder, by one above it, by a file in it, and with what is above a run.
    bench.write("runs/deep/one.partial/samples.bin", "");
    for keep in ["runs/deep", "runs/deep/one.partial", "runs/deep/one.partial/samples.bin"] {
        let kept = bench.host(&format!("clean runs/deep --keep {keep} --yes"));
        assert!(kept.stdout.contains("nothing to remove") && there("deep/one.partial/samples.bin"), "{kept}");
    }
    bench
        .host("clean runs/deep --keep runs/valid")
        .assert_error(SETTINGS, &["--keep runs/valid: there is no run there"]);

    // The newest run is the one that ended last, whatever has been written into others since.
    bench.write("runs/valid/report.html", "");
    let last = bench.host("clean --all --keep-last 1 --keep runs/deep");
    let lists = |name: &str| last.stdout.lines().any(|line| line.split_whitespace().next() == Some(name));
    assert!(!lists("runs/deep/one.partial") && lists("runs/valid") && lists("runs/search.partial"), "{last}");
    let kept = bench.host("clean --all --keep runs/invalid --newer-than 0 --yes");
    assert_eq!(kept.code(), GOOD, "{kept}");
    assert!(there("invalid") && !there("valid") && there("official") && there("other"));
    assert!(!there("going-on.partial") && !there("deep/one.partial"));
    bench.host("clean nowhere").assert_error(DATA, &["cannot read nowhere"]);
    bench.host("list runs nowhere").assert_error(DATA, &["cannot read nowhere"]);
    bench.host("list plugins runs").assert_error(SETTINGS, &["a folder is that of runs"]);
}

#[test]
fn before_the_first_run_there_are_none() {
    let bench = Bench::new();
    for (command, expected) in
        [("list runs", "runs has no run\n"), ("clean", "nothing to remove below runs\n")]
    {
        let finished = bench.host(command);
        assert_eq!((finished.code(), finished.stdout.as_str()), (GOOD, expected), "{finished}");
    }
    // The user has named a folder, or something is there.
    for command in ["list runs runs", "clean runs"] {
        bench.host(command).assert_error(DATA, &["cannot read runs"]);
    }
    symlink("nowhere", bench.file("runs")).unwrap();
    for command in ["list runs", "clean"] {
        bench.host(command).assert_error(DATA, &["cannot read runs"]);
    }
}
