//! Files and flags of LoadGen that the host takes, and the lines and files that it leaves as LoadGen does.

use std::{fs, path::Path};

use proctor_tests::{Bench, workspace};

const SETTINGS: i32 = 2;
/// A short run of the simulated mock.
const RUN: &str = "--plugin mock --scenario Server --virtual-time --mode performance --duration 1s";

#[test]
fn what_a_file_says_in_vain_is_a_warning_and_with_strict_an_error() {
    let bench = Bench::new();
    let conf = bench.write("user.conf", "*.*.min_query_count=5\n*.Server.target_latency = 2.5\n");
    let flags = format!("{RUN} --user-conf {}", conf.display());
    let warnings = [
        "user.conf: line 1: *.*.min_query_count=5 is ignored: write it with spaces around the `=`",
        "user.conf: line 2: *.Server.target_latency takes a whole number: 2.5 counts as 2",
    ];
    let run = bench.run(&flags);
    for warning in warnings {
        assert!(run.finished.stderr.contains(warning), "{}", run.finished);
    }
    let kept = run.result()["setting_warnings"].as_array().unwrap();
    assert_eq!(kept.len(), 2, "{kept:?}");

    let refused = Bench::new().run(&format!("{flags} --strict"));
    refused.finished.assert_error(SETTINGS, &warnings);
    refused.finished.assert_error(SETTINGS, &["with strict = true, these warnings are errors"]);
    assert!(!refused.folder().exists());
}

#[test]
fn settings_and_audit_files_are_looked_through_too() {
    let without_effect = "server_coalesce_queries has no effect in Offline";
    let flags = "--scenario Offline --strict --set server_coalesce_queries=true";
    Bench::new().run(flags).finished.assert_error(SETTINGS, &[without_effect]);

    let bench = Bench::new();
    let audit = bench.write("audit.config", "*.*.min_query_count = 010\n");
    let flags = format!("{RUN} --strict --set audit_config={}", audit.display());
    bench.run(&flags).finished.assert_error(SETTINGS, &["audit.config: line 1", "010 counts as 8"]);
}

#[test]
fn an_audit_file_that_nobody_named_is_told() {
    let bench = Bench::new();
    bench.write("audit.config", "*.*.min_query_count = 10\n");
    let told = "audit.config of the current folder is not applied: name it with audit_config";
    let run = bench.run(RUN);
    assert!(run.finished.stderr.contains(told), "{}", run.finished);
    bench.host(&format!("run {RUN} --strict")).assert_error(SETTINGS, &[told]);
}

#[test]
fn an_audit_file_has_no_effect_on_an_accuracy_run() {
    let bench = Bench::new();
    let audit = bench.write("given.config", "*.*.accuracy_sample_count_override = 7\n");
    let flags =
        format!("--plugin mock --scenario Offline --mode accuracy --set audit_config={}", audit.display());
    let told = "audit_config has no effect in mode accuracy: it overrides the performance run";
    let run = bench.run(&flags);
    assert!(run.finished.stderr.contains(told), "{}", run.finished);
    assert!(!run.finished.stderr.contains("overrides in the performance run:"), "{}", run.finished);
    let without = Bench::new().run("--plugin mock --scenario Offline --mode accuracy");
    let records = |text: String| text.matches("seq_id").count();
    let log = "accuracy/mlperf_log_accuracy.json";
    assert_eq!(records(run.text(log)), records(without.text(log)));
    bench.host(&format!("run {flags} --strict")).assert_error(SETTINGS, &[told]);
}

#[test]
fn the_accuracy_run_beside_an_audit_has_all_samples() {
    let bench = Bench::new();
    let audit = bench.write("given.config", "*.*.accuracy_sample_count_override = 50\n");
    let deviations = |mode: &str| {
        let audit = audit.display();
        let run = bench.run(&format!("--plugin mock --scenario Offline {mode} --set audit_config={audit}"));
        run.result()["deviations"].to_string()
    };
    assert!(!deviations("").contains("accuracy-set"));
    assert!(deviations("--mode SubmissionRun").contains("the accuracy run has 50 samples"));
}

#[test]
fn answers_are_scored_where_an_audit_leaves_a_test_of_accuracy() {
    let bench = Bench::new();
    for mode in [1, 2, 3] {
        let lines = format!("*.*.mode = {mode}\n*.*.accuracy_log_probability = 1\n");
        let audit = bench.write("given.config", lines);
        let flags = "--plugin mock --scenario Server --target-qps 500 --duration 200ms --mode SubmissionRun";
        let run = bench.run(&format!("{flags} --set audit_config={}", audit.display()));
        let has_accuracy = mode == 1;
        assert_eq!(run.result()["accuracy"].is_null(), !has_accuracy, "{}", run.finished);
        let is_said = run.finished.stdout.contains("accuracy    not measured");
        assert_eq!(is_said, !has_accuracy, "{}", run.finished);
    }
}

#[test]
fn an_audit_file_without_a_line_for_the_run_makes_no_audit() {
    let bench = Bench::new();
    let lines = "resnet50.*.min_query_count = 10\n*.Offline.min_query_count = 20\n*.SingleStream.target_latency = 5\n";
    let audit = bench.write("given.config", lines);
    let flags = format!("{RUN} --set audit_config={}", audit.display());
    let told = [
        "given.config: line 1 is ignored: it is for the model resnet50, and LoadGen reads an audit file for any model: \
         begin it with `*.`",
        "this run is no audit: no line of the file is read in Server, for which lines begin with `*.Server.` or `*.*.`",
    ];
    let run = bench.run(&flags);
    for text in told {
        assert!(run.finished.stderr.contains(text), "{}", run.finished);
    }
    assert!(!run.finished.stderr.contains("overrides in the performance run"), "{}", run.finished);
    let result = run.result();
    assert!(!result["deviations"].to_string().contains("\"audit\""), "{}", result["deviations"]);
    assert!(!result["settings"].to_string().contains("\"kind\":\"audit\""), "{}", result["settings"]);
    assert!(!run.text("mlperf_log_detail.txt").contains("Found Audit Config file"));
    bench.host(&format!("run {flags} --strict")).assert_error(SETTINGS, &told);
}

#[test]
fn logs_are_copied_to_stdout_where_that_is_wanted() {
    let bench = Bench::new();
    let flags = format!("{RUN} --set copy_summary_to_stdout=true --set copy_detail_to_stdout=true");
    let run = bench.run(&flags);
    assert!(run.finished.stdout.contains(&run.text("mlperf_log_summary.txt")), "{}", run.finished);
    assert!(run.finished.stdout.contains(&run.text("mlperf_log_detail.txt")), "{}", run.finished);
    let quiet = Bench::new().run(RUN);
    assert!(!quiet.finished.stdout.contains("MLPerf Results Summary"), "{}", quiet.finished);
}

#[test]
fn print_timestamps_prints_the_lines_of_loadgen() {
    let flags = "--plugin mock --mode performance --duration 1s --set print_timestamps=true";
    let run = Bench::new().run(flags);
    let lines: Vec<_> = run.finished.stdout.lines().filter(|line| line.starts_with("Loadgen :: ")).collect();
    let starts = [
        "Loadgen :: Perf mode start. system_clock Timestamp = 1",
        "Loadgen :: Perf mode stop. systme_clock Timestamp = 1",
        "Loadgen :: PerfClock Perf duration = ",
        "Loadgen :: system_clock Perf duration = ",
        "Loadgen :: PerfClock/system_clock ratio = ",
    ];
    assert_eq!(lines.len(), starts.len(), "{}", run.finished);
    assert!(lines.iter().zip(starts).all(|(line, start)| line.starts_with(start)), "{lines:?}");
    assert!(run.text("mlperf_log_summary.txt").contains("print_timestamps : 1"));
}

/// Appends the text of all Rust files below a folder.
fn read_sources(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn the_page_of_differences_names_tests_that_exist() {
    let page = fs::read_to_string(workspace().join("docs/loadgen-compat.md")).unwrap();
    let mut sources = String::new();
    for folder in ["datasets", "host", "tests"] {
        read_sources(&workspace().join(folder), &mut sources);
    }
    // Names of tests are sentences; names of settings have at most four words, and no verb.
    let names = page.split('`').skip(1).step_by(2);
    let tests: Vec<_> =
        names.filter(|name| name.matches('_').count() >= 4 && !name.contains([' ', '.', '='])).collect();
    assert!(tests.len() > 30, "{tests:?}");
    for test in tests {
        let is_setting =
            sources.contains(&format!("pub {test}:")) || sources.contains(&format!("    {test}: "));
        assert!(is_setting || sources.contains(&format!("fn {test}(")), "{test}");
    }
}
