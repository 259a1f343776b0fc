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

/// The row of a folder in an export.
fn row(bench: &Bench, folder: &Path) -> Value {
    let mut rows: Value = serde_json::from_str(&export(bench, folder, "json")).expect("the export is JSON");
    rows[0].take()
}

#[test]
fn logs_alone_have_the_figures_of_their_result() {
    let bench = Bench::new();
    let run = |rules: &str, scenario: &str, run_count: u64| {
        bench.run(&format!(
            "--plugin mock --virtual-time --mode performance --set mock.service=log-normal --set mock.service_us=800 \
             --set min_query_count=1000 --rules {rules} --scenario {scenario} --set server_target_qps=100 \
             --set server_run_count={run_count}"
        ))
    };
    for rules in ["v0.7", "v5.0"] {
        for scenario in ["SingleStream", "MultiStream", "Server", "Offline"] {
            let run = run(rules, scenario, 1);
            let logs = bench.file(&format!("logs-{rules}-{scenario}"));
            fs::create_dir(&logs).unwrap();
            for name in ["mlperf_log_detail.txt", "mlperf_log_summary.txt"] {
                fs::copy(run.folder().join(name), logs.join(name)).unwrap();
            }
            let (of_run, of_logs) = (row(&bench, run.folder()), row(&bench, &logs));
            assert_eq!(of_logs["query_latency"], of_run["query_latency"], "{rules} {scenario}");
            let (ours, logged) = (&of_run["metric"], &of_logs["metric"]);
            let names = |metric: &Value| (metric["name"].clone(), metric["unit"].clone());
            assert_eq!(names(logged), names(ours), "{rules} {scenario}");
            // Rates have six digits in a log.
            let [value, logged] = [ours, logged].map(|metric| metric["value"].as_f64().unwrap());
            assert!((value - logged).abs() <= 1e-5 * value, "{rules} {scenario}: {value} and {logged}");
        }
    }
    // The logs of one of several runs.
    let several = run("v0.5", "Server", 2);
    let one = row(&bench, &several.folder().join("run_1"));
    assert_eq!(one["metric"]["name"], "rate of scheduled samples");
    assert_eq!(several.result()["metric"]["name"], "rate of scheduled samples, lowest of 2 runs");
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
fn samples_that_are_not_those_of_the_result_are_not_exported() {
    let bench = Bench::new();
    let run = virtual_run(&bench, "");
    let path = run.folder().join("samples.bin");
    let bytes = fs::read(&path).unwrap();
    let torn = [&bytes[..], &[0; 5]].concat();
    let mut failed = bytes.clone();
    failed[15] |= 0x80;
    for (bytes, fault) in [
        (&bytes[..16 * 100], "samples.bin has 100 samples, and the result tells of "),
        (&[], "samples.bin has 0 samples, and the result tells of "),
        (&torn, "samples.bin has a torn end: the last 5 bytes are no whole sample"),
        (&failed, "samples.bin has failed_sample_count 1, and the result has 0"),
    ] {
        fs::write(&path, bytes).unwrap();
        for form in ["csv", "trace"] {
            let exported = bench.host(&format!("export {} -f {form} -o out", run.folder().display()));
            exported.assert_error(DATA, &[fault]);
            assert!(exported.stdout.is_empty() && !bench.file("out").exists(), "{exported}");
        }
    }
}

#[test]
fn a_test_of_both_is_told_by_its_performance_phase() {
    let bench = Bench::new();
    let run = bench.run(
        "--plugin mock --virtual-time --scenario Server --target-qps 300 --duration 2s --mode SubmissionRun",
    );
    let test = &run.result()["performance_run"];
    let count = run.samples().len() as u64;
    assert_eq!((&test["issued_query_count"], &test["issued_sample_count"]), (&count.into(), &count.into()));
    assert_eq!(test["accuracy_phases"]["issued_sample_count"], 600);
    assert!(run.finished.stdout.contains(&format!("  length      {count} queries, ")), "{}", run.finished);
    let metrics = export(&bench, run.folder(), "openmetrics");
    let samples = metrics.lines().find(|line| line.starts_with("proctor_run_samples{")).unwrap();
    assert!(samples.ends_with(&format!(" {count}")), "{samples}");
    assert_eq!(export(&bench, run.folder(), "csv").lines().count() as u64, count + 1);
    // LoadGen's trace has the accuracy phases, too.
    let timeline: Value = serde_json::from_str(&export(&bench, run.folder(), "trace")).unwrap();
    let events = timeline["traceEvents"].as_array().unwrap();
    let call_count = events.iter().filter(|event| event["name"] == "issue").count() as u64;
    assert!((1..=count).contains(&call_count), "{call_count} calls of {count} queries");
}

#[test]
fn logs_that_are_not_of_one_test_are_named_by_each_command_that_reads_them() {
    let bench = Bench::new();
    let entry = |key: &str, value: &str| format!(":::MLLOG {{\"key\": \"{key}\", \"value\": {value}}}\n");
    let one = entry("loadgen_version", "\"6.0\"") + &entry("result_validity", "\"VALID\"");
    bench.write("runs/joined/mlperf_log_detail.txt", one.repeat(2));
    bench.write("runs/contradictory/mlperf_log_detail.txt", &one);
    bench.write("runs/contradictory/mlperf_log_summary.txt", "Result is : INVALID\n");
    bench.write("runs/packed/mlperf_log_detail.txt", b"\x1f\x8b\x08");
    let listed = bench.host("list runs");
    for (folder, words) in [
        ("runs/joined", "has the logs of 2 tests one after the other"),
        (
            "runs/contradictory",
            "has Result is INVALID in its summary log and result_validity VALID in its detail",
        ),
        ("runs/packed", "is no detail log of LoadGen: it is packed by gzip: unpack it"),
    ] {
        let line = listed.stdout.lines().find(|line| line.split_whitespace().next() == Some(folder));
        assert!(line.is_some_and(|line| line.contains(words)), "{listed}");
        for command in [
            format!("report {folder}"),
            format!("export {folder} -f json"),
            format!("compare {folder} {folder}"),
        ] {
            bench.host(&command).assert_error(DATA, &[words]);
        }
    }
}

/// Logs of every scenario, ours and those with tokens, agree with each other, and errors in them are a mark.
#[test]
fn logs_of_every_scenario_are_read_and_errors_in_them_are_shown() {
    let bench = Bench::new();
    let tokens = "--set use_token_latencies=true --set mock.tokens=5";
    for (number, (scenario, flags)) in ["SingleStream", "MultiStream", "Server", "Offline"]
        .into_iter()
        .flat_map(|scenario| [(scenario, ""), (scenario, tokens)])
        .enumerate()
    {
        let run = bench.run(&format!(
            "--plugin mock --virtual-time --mode performance --scenario {scenario} --duration 2s \
             --set mock.service=uniform {flags}"
        ));
        let logs = format!("runs/logs-{number}");
        for name in ["mlperf_log_detail.txt", "mlperf_log_summary.txt"] {
            bench.write(&format!("{logs}/{name}"), run.text(name));
        }
        let listed = bench.host("list runs");
        let line = listed.stdout.lines().find(|line| line.split_whitespace().next() == Some(logs.as_str()));
        let line = line.unwrap_or_else(|| panic!("no {logs}: {listed}"));
        assert!(!line.contains("unreadable") && line.contains(scenario), "{line}");
    }

    // LoadGen leaves such a run VALID, and the result checkers take none.
    let text = fs::read_to_string(bench.file("runs/logs-0/mlperf_log_detail.txt")).unwrap();
    let error =
        ":::MLLOG {\"key\": \"error_runtime\", \"value\": \"late\", \"metadata\": {\"is_error\": true}}\n";
    bench.write("runs/logs-0/mlperf_log_detail.txt", text + error);
    assert!(bench.host("list runs").stdout.contains("VALID (with 1 error)"));
    assert!(export(&bench, Path::new("runs/logs-0"), "markdown").contains("VALID (with 1 error)"));
    assert!(export(&bench, Path::new("runs/logs-0"), "json").contains("\"error_count\": 1"));
    let metrics = export(&bench, Path::new("runs/logs-0"), "openmetrics");
    let line = metrics.lines().find(|line| line.starts_with("proctor_run_errors{")).unwrap();
    assert!(line.ends_with("} 1"), "{metrics}");
    bench.host("report runs/logs-0 -o page.html");
    let page = fs::read_to_string(bench.file("page.html")).unwrap();
    assert!(page.contains("With 1 error in the detail log: the result checkers take no such run"), "{page}");

    // With such an error, no condition passes.
    let run = virtual_run(&bench, "");
    let folder = run.folder().display();
    let compared = bench.host(&format!("compare {folder} {folder} --fail-if p50>100%"));
    assert_eq!(compared.code(), GOOD, "{compared}");
    let detail = run.folder().join("mlperf_log_detail.txt");
    fs::write(&detail, fs::read_to_string(&detail).unwrap() + error).unwrap();
    let compared = bench.host(&format!("compare {folder} {folder} --fail-if p50>100%"));
    assert_eq!(compared.code(), 1, "{compared}");
    assert!(compared.stdout.contains("has 1 error: the result checkers take no such run"), "{compared}");
}

#[test]
fn samples_and_batches_of_another_run_are_named() {
    let bench = Bench::new();
    let run = virtual_run(&bench, "");
    let folder = run.folder().display();
    let samples = run.folder().join("samples.bin");
    let own = fs::read(&samples).unwrap();
    fs::write(&samples, vec![0; own.len()]).unwrap();
    for command in ["export -f csv", "export -f trace", &format!("compare {folder}")] {
        bench
            .host(&format!("{command} {folder}"))
            .assert_error(DATA, &["samples.bin has sample_latency.min_ns 0, and the result has "]);
    }
    bench.host(&format!("report {folder} -o page.html"));
    let page = fs::read_to_string(bench.file("page.html")).unwrap();
    assert!(page.contains("samples.bin has sample_latency.min_ns 0, and the result has "), "{page}");
    fs::write(&samples, &own).unwrap();

    let path = run.folder().join("batches.json");
    let text = fs::read_to_string(&path).unwrap();
    let mut batches: Value = serde_json::from_str(&text).unwrap();
    let completed_ns = batches["slowest"][0]["completed_ns"].as_u64().unwrap();
    for (value, words) in [
        (completed_ns + 1, "one of them is of another run"),
        (u64::MAX, "with the instant 18446744073709551615 ns, which no run comes to"),
    ] {
        batches["slowest"][0]["completed_ns"] = value.into();
        fs::write(&path, batches.to_string()).unwrap();
        bench.host(&format!("export -f trace {folder}")).assert_error(DATA, &["batches.json has ", words]);
    }
    fs::write(&path, text).unwrap();
    assert_eq!(bench.host(&format!("export -f trace {folder}")).code(), GOOD);
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
        ("runs/valid", "VALID (virtual time, deviates)"),
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

    // Folders that are not runs of this host stay, and so do a run in progress and a search that can be resumed.
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

    // The newest run is the one that ended last, even if others were written to since.
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
fn a_run_in_the_folder_of_another_is_not_removed_with_it() {
    let bench = Bench::new();
    fs::create_dir(bench.file("nest")).unwrap();
    fs::rename(virtual_run(&bench, "--set server_target_latency_ns=1").folder(), bench.file("nest/outer"))
        .unwrap();
    fs::rename(virtual_run(&bench, "").folder(), bench.file("nest/outer/inner")).unwrap();
    let listed = bench.host("list runs nest");
    assert!(listed.stdout.contains("nest/outer/inner"), "{listed}");
    let cleaned = bench.host("clean nest --invalid --yes");
    assert!(cleaned.stdout.contains("kept: nest/outer/inner lies in it"), "{cleaned}");
    assert!(cleaned.stdout.contains("nothing to remove"), "{cleaned}");
    assert!(bench.file("nest/outer/inner/result.json").is_file(), "{cleaned}");
    // By itself it may go, and then the other one.
    bench.host("clean nest/outer/inner --all --yes");
    bench.host("clean nest --invalid --yes");
    assert!(!bench.file("nest/outer").exists());
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
