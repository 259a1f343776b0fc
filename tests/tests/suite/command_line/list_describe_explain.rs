//! The commands that print information.

use std::fs;

use proctor_tests::{Bench, plugin};

/// Runs the program and asserts that it succeeds and prints all of `texts`.
fn assert_prints(arguments: &str, texts: &[&str]) {
    let finished = Bench::new().host(arguments);
    assert_eq!(finished.code(), 0, "{finished}");
    for text in texts {
        assert!(finished.stdout.contains(text), "no \"{text}\" in {finished}");
    }
}

#[test]
fn every_command_has_help() {
    assert_prints("--help", &["Examples:", "run", "list", "describe", "explain", "PROCTOR_LOG"]);
    assert_prints(
        "run --help",
        &["--plugin", "--scenario", "--target-qps", "--set", "Exit codes:", "130  interrupted"],
    );
    assert_prints(
        "list --help",
        &["plugins", "benchmarks", "datasets", "policies", "--rules", "--suite", "Examples:"],
    );
    assert_prints("describe --help", &["Name of a plugin"]);
    assert_prints("validate --help", &["--case", "--format", "--list", "Examples:"]);
    assert_prints("doctor --help", &["--json", "Examples:", "Exit"]);
    assert_prints("explain --help", &["--user-conf", "Examples:"]);
    assert_prints("bench --help", &["--against", "--rate", "--markdown", "Examples:", "harness"]);
    assert_prints("--version", &["host 0."]);
}

#[test]
fn no_command_at_all_is_met_with_the_help() {
    let finished = Bench::new().host("");
    finished.assert_error(2, &["Usage: host", "Commands:"]);
}

#[test]
fn all_lists_together() {
    assert_prints(
        "list",
        &[
            "cpu-rnn",
            "linked in",
            "mock",
            "digits-lstm",
            "digits-cnn",
            "digits-mlp",
            "fixed",
            "size-or-timeout",
        ],
    );
}

#[test]
fn one_list() {
    let bench = Bench::new();
    let plugins = bench.host("list plugins");
    assert!(
        plugins.stdout.contains("libmock_sut.so") && !plugins.stdout.contains("digits-lstm"),
        "{plugins}"
    );
    let datasets = bench.host("list datasets");
    for (name, about) in [
        ("digits", "one of 600 images of handwritten digits, unseen in training"),
        ("generated", "the inputs of a model, from a fixed seed"),
        ("imagenet", "one of the 50,000 validation images of ImageNet"),
    ] {
        let line = datasets.stdout.lines().find(|line| line.starts_with(&format!("  {name} ")));
        assert!(line.is_some_and(|line| line.ends_with(about)), "{name}: {datasets}");
    }
    bench.host("list everything").assert_error(2, &["everything", "plugins"]);
}

#[test]
fn the_benchmarks_of_a_round_and_suite() {
    assert_prints(
        "list benchmarks --rules v5.0 --suite edge",
        &[
            "MLPerf Inference rules v5.0: edge",
            "retinanet",
            "SingleStream, MultiStream, Offline",
            "no definition yet: ",
        ],
    );
    assert_prints(
        "list benchmarks --rules v6.1 --suite edge",
        &[
            "MLPerf Inference v6.1, by its result checker: edge",
            "--benchmark resnet50",
            "no definition yet: ",
        ],
    );
    assert_prints("list benchmarks --rules v0.5", &["gnmt", "23.9", "--benchmark gnmt"]);
    let bench = Bench::new();
    bench.host("list benchmarks --rules v0.6").assert_error(2, &["unknown rules \"v0.6\"; known are v6.1"]);
    bench
        .host("list benchmarks --suite egde")
        .assert_error(2, &["v5.0 has datacenter and edge, did you mean \"edge\"?"]);
    bench.host("list benchmarks --rules v0.5 --suite edge").assert_error(2, &["v0.5 has no suites"]);
    bench.host("list plugins --rules v5.0").assert_error(2, &["choose benchmarks"]);
}

#[test]
fn a_plugin_is_described_by_name_and_by_path() {
    let path = plugin("mock");
    for name in ["mock", &path.display().to_string()] {
        assert_prints(
            &format!("describe {name}"),
            &[
                "mock ",
                "Models",
                "whole queries",
                "virtual time",
                "Options (--set mock.OPTION=VALUE)",
                "SingleStream",
            ],
        );
    }
    assert_prints("describe cpu-rnn", &["cpu-rnn ", "safetensors", "f32", "linked in"]);
    assert_prints("describe faulty", &["one of none, open-error, ", "an integer of at least 0"]);
    Bench::new().host("describe nobody").assert_error(3, &["found no plugin \"nobody\""]);
}

#[test]
fn a_plugin_says_how_it_will_run_a_model() {
    let bench = Bench::new();
    let plan =
        "describe mock --plan digits-lstm --batch-size 4 --set mock.service=fixed --set mock.service_us=300";
    let finished = bench.host(plan);
    assert_eq!(finished.code(), 0, "{finished}");
    assert!(finished.stdout.starts_with("mock "), "{finished}");
    assert!(
        finished.stdout.contains("digits-lstm") && finished.stdout.contains("batches of up to 4"),
        "{finished}"
    );
    assert!(finished.stdout.contains("fixed") && finished.stdout.contains("300"), "{finished}");
    bench.host("describe mock --plan nothing").assert_error(2, &["unknown benchmark \"nothing\""]);
    bench.host("describe mock --batch-size 4").assert_error(2, &["--plan"]);
}

#[test]
fn a_plan_puts_nothing_into_a_data_root() {
    let bench = Bench::new();
    let root = bench.file("data");
    fs::create_dir_all(&root).unwrap();
    let plan = format!("describe cpu-rnn --plan rnn-lstm-8-16-1-4 --data-root {}", root.display());
    let finished = bench.host(&plan);
    assert_eq!(finished.code(), 0, "{finished}");
    assert_eq!(fs::read_dir(&root).unwrap().count(), 0, "{finished}");
    // A later run finds it where it was made.
    let made = bench.file("cache/proctor/generated/rnn-lstm-8-16-1-4.safetensors");
    assert!(made.is_file(), "{finished}");
}

#[test]
fn plugins_keep_things_in_a_lasting_folder() {
    let bench = Bench::new();
    bench.host("describe mock --plan digits-lstm");
    assert!(bench.file("cache/proctor/plugins/mock").is_dir());
    bench.host("describe mock --plan digits-lstm --set cache_folder=other");
    assert!(bench.file("other/plugins/mock").is_dir());
    // A file that cannot be written is a warning, and the command does its work.
    bench.write("file", "");
    let finished = bench.host("describe mock --plan digits-lstm --set cache_folder=file");
    assert_eq!(finished.code(), 0, "{finished}");
    assert!(finished.stderr.contains("file cannot be used"), "{finished}");
}

#[test]
fn settings_are_explained_with_their_origin() {
    let bench = Bench::new();
    bench.write("proctor.toml", "batch_size = 4\n");
    bench.write("user.conf", "digits-lstm.Server.target_qps = 321\n");
    let arguments = "explain --scenario Server --user-conf user.conf --batch-size 8 --set mock.seed=3";
    let finished = bench.host(arguments);
    assert_eq!(finished.code(), 0, "{finished}");
    let line = |key: &str| {
        let found = finished.stdout.lines().find(|line| line.split_whitespace().next() == Some(key));
        found
            .unwrap_or_else(|| panic!("no {key} in {finished}"))
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    let batch_size = line("batch_size");
    assert!(batch_size.starts_with("batch_size 8 ") && batch_size.contains("--batch-size"), "{batch_size}");
    assert!(batch_size.contains("4 (") && batch_size.contains("proctor.toml"), "{batch_size}");
    let qps = line("server_target_qps");
    assert!(qps.contains(" 321 ") && qps.contains("user.conf"), "{qps}");
    assert!(line("scenario").contains("--scenario"));
    assert!(line("mock.seed").contains(" 3 "));
    assert!(line("watchdog_ms").contains("60000 ms default"));
    assert!(finished.stdout.contains("length of the run: not official"));
}

#[test]
fn with_strict_a_warning_ends_an_explanation_as_it_would_end_the_run() {
    let bench = Bench::new();
    assert_eq!(bench.host("explain --set server_run_count=3").code(), 0);
    let refused = bench.host("explain --strict --set server_run_count=3");
    let why =
        ["server_run_count has no effect in SingleStream", "with strict = true, these warnings are errors"];
    refused.assert_error(2, &why);
    assert!(refused.stdout.contains("length of the run: "), "{refused}");
    assert_prints("explain --strict", &["length of the run: "]);
}

#[test]
fn the_official_preset_is_of_official_length() {
    assert_prints("explain --preset official", &["600000", "length of the run: official"]);
}
