//! `host run` without a single flag, and the files that it leaves.

use std::fs;

use proctor_tests::{Bench, Run, datasets};

/// Files of every run of both parts.
const FILES: [&str; 13] = [
    "accuracy/mlperf_log_accuracy.json",
    "accuracy/mlperf_log_detail.txt",
    "accuracy/mlperf_log_summary.txt",
    "accuracy/mlperf_log_trace.json",
    "accuracy/samples.bin",
    "batches.json",
    "mlperf_log_accuracy.json",
    "mlperf_log_detail.txt",
    "mlperf_log_summary.txt",
    "mlperf_log_trace.json",
    "result.json",
    "samples.bin",
    "wrong_samples.json",
];

/// Runs the program without flags, and finds the one folder below `runs/`.
fn run(bench: &Bench) -> Run {
    let finished = bench.host("run");
    let folders: Vec<_> = fs::read_dir(bench.file("runs"))
        .unwrap_or_else(|error| panic!("runs: {error}: {finished}"))
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(folders.len(), 1, "{folders:?}");
    let name = folders[0].file_name().unwrap().to_string_lossy();
    assert!(name.ends_with("-digits-lstm-SingleStream"), "{name}");
    Run::new(finished, folders[0].clone())
}

#[test]
fn the_default_run_is_valid_accurate_and_complete() {
    let mut bench = Bench::new();
    // As a user has it, who sets nothing: the schedule is measured.
    bench.unset_variable("PROCTOR_CPU-RNN.CALIBRATION_S");
    let run = run(&bench);
    run.assert_valid();
    assert_eq!(run.files(), FILES);

    let result = run.result();
    assert_eq!(result["schema_version"], 1);
    assert_eq!(result["scenario"], "SingleStream");
    assert_eq!(result["preset"], "quick");
    assert_eq!(result["official_length"], false);
    let accuracy = &result["accuracy"];
    assert!(accuracy["value"].as_f64().unwrap() >= 0.95, "{accuracy}");
    assert_eq!(accuracy["passed"], true);
    assert_eq!(accuracy["sample_count"], 600);
    assert_eq!(result["benchmark"]["model"], "digits-lstm");
    assert_eq!(result["plugin"]["name"], "cpu-rnn");
    assert_eq!(result["plugin"]["precision"], "f32");
    assert_eq!(result["plugin"]["sha256"].as_str().map(str::len), Some(64));
    assert!(result["machine"]["cpu_count"].as_u64().unwrap() >= 1);
    assert!(result["seeds"].as_object().unwrap().len() >= 3, "{}", result["seeds"]);
    assert!(result["metric"]["value"].as_f64().unwrap() > 0.0);

    let latency = &result["performance_run"]["figures"]["query_latency"];
    let percentiles: Vec<_> = ["p50_ns", "p90_ns", "p99_ns", "p99_9_ns", "max_ns"]
        .map(|key| latency[key].as_u64().unwrap())
        .to_vec();
    assert!(percentiles[0] > 0 && percentiles.is_sorted(), "{latency}");
    let samples = run.samples();
    assert_eq!(samples.len() as u64, result["performance_run"]["issued_sample_count"].as_u64().unwrap());
    assert_eq!(samples.iter().map(|(_, latency_ns)| *latency_ns).max(), latency["max_ns"].as_u64());
    assert!(run.text("mlperf_log_summary.txt").contains("Result is : VALID"));

    // A reader of a pipe gets plain lines.
    let progress: Vec<_> = run.finished.stderr.lines().filter(|line| line.contains(" QPS ")).collect();
    assert!(!progress.is_empty() && progress.iter().all(|line| !line.contains('\r')), "{}", run.finished);

    let stdout = &run.finished.stdout;
    for text in ["digits-lstm on SingleStream", "VALID", "PASS: top1", "p99.9 ", "not of official length"] {
        assert!(stdout.contains(text), "no \"{text}\" in {}", run.finished);
    }
}

#[test]
fn every_setting_of_the_result_has_its_origin() {
    let bench = Bench::new();
    bench.write("proctor.toml", "plugin = \"mock\"\nmin_query_count = 90\n");
    let mut command = bench.command("run --mode performance --duration 20ms --seed 7 --output out");
    command.env("PROCTOR_WATCHDOG_MS", "50000");
    let finished = bench.start_command(command).finish();
    let run = Run::new(finished, bench.file("out"));
    let settings = &run.assert_valid().result()["settings"];
    for (key, value, origin) in [
        ("plugin", "\"mock\"", "proctor.toml"),
        ("min_query_count", "90", "proctor.toml"),
        ("min_duration_ms", "20", "--duration"),
        ("watchdog_ms", "50000", "PROCTOR_WATCHDOG_MS"),
        ("data_root", &format!("{:?}", datasets().display().to_string()), "PROCTOR_DATA_ROOT"),
        ("qsl_rng_seed", "7", "--seed"),
        ("scenario", "\"SingleStream\"", "default"),
        ("single_stream_expected_latency_ns", "100", "benchmark"),
    ] {
        let setting = &settings[key];
        assert_eq!(setting["value"].to_string().trim_end_matches(".0"), value, "{key}: {setting}");
        let told = setting.to_string();
        assert!(told.contains(origin), "{key}: {told}");
    }
}

/// Whether there are counters, and whether this user may read them, is up to the machine.
#[test]
fn the_energy_of_the_processor_is_counted_or_the_reason_is_told() {
    let bench = Bench::new();
    let run = bench.run("--plugin null --mode performance --duration 300ms --set min_query_count=1");
    let energy = &run.result()["performance_run"]["processor_energy"];
    let shown = run.finished.stdout.lines().find(|line| line.starts_with("  energy "));
    let shown = shown.unwrap_or_else(|| panic!("no energy in {}", run.finished));
    match energy["reason"].as_str() {
        Some(reason) => {
            assert!(reason.contains("/sys/class/powercap"), "{reason}");
            assert!(energy.get("joules").is_none() && shown.contains(reason), "{energy} {shown}");
        }
        None => {
            let joules = energy["joules"].as_f64().expect("joules are a number");
            let watts = energy["mean_watts"].as_f64().expect("watts are a number");
            assert!(joules > 0.0 && (joules / watts / 0.3 - 1.0).abs() < 0.5, "{energy}");
            let source = energy["source"].as_str().expect("there is a source");
            assert!(source.starts_with("rapl package") && shown.contains(source), "{energy} {shown}");
        }
    }
    let simulated = bench.run("--plugin mock --virtual-time --duration 300ms");
    for test in ["accuracy_run", "performance_run"] {
        assert!(simulated.result()[test].get("processor_energy").is_none(), "{test}");
    }
    assert!(!simulated.finished.stdout.contains("  energy "), "{}", simulated.finished);
}

#[test]
fn with_test05_there_is_no_accuracy_run() {
    let bench = Bench::new();
    let run = bench.run("--duration 50ms --set floor=false --set test05=true");
    let result = run.result();
    assert!(result["accuracy"].is_null() && result["accuracy_run"].is_null(), "{result}");
    assert_eq!(result["performance_run"]["mode"], "PerformanceOnly");
    let words = "  accuracy    not measured: test05 makes every run a performance run\n";
    assert!(run.finished.stdout.contains(words), "{}", run.finished);
    for mode in ["accuracy", "SubmissionRun"] {
        let refused = bench.host(&format!("run --mode {mode} --set test05=true"));
        refused.assert_error(2, &["mode = ", "test05 = true", "leave test05 out for the accuracy run"]);
    }
}
