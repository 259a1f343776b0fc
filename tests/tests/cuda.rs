//! The plugin `cuda` with the real host, over the double of NVIDIA's driver: no GPU is needed, and mistakes in the use
//! of the driver show. What the plugin computes is what it would on a GPU; how long it takes says nothing.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;

use proctor_test_needs::skip;
use proctor_tests::{Bench, Run, datasets, find_plugin, workspace};
use serde_json::Value;

/// Exit code for a plugin that cannot be loaded or used.
const PLUGIN: i32 = 3;

/// The host over the double.
struct OverDouble {
    bench: Bench,
    run_count: usize,
}

impl OverDouble {
    /// `None`, and the reason is printed, where there is no plugin or no OpenCL.
    fn new() -> Option<Self> {
        if find_plugin("cuda").is_none() {
            skip("plugin cuda is not built; `cargo xtask test` builds it");
            return None;
        }
        let bench = Bench::new();
        fs::create_dir(bench.file("libraries")).unwrap();
        cuda_double::lay_out(&bench.file("libraries")).unwrap();
        let mut over_double = Self { bench, run_count: 0 };
        let run = over_double.run("--mode accuracy", &[]);
        if let Some(reason) = run.finished.stderr.lines().find(|line| line.starts_with("cuda double: cuInit"))
        {
            skip(format!("{reason}; `cargo xtask setup` installs PoCL"));
            return None;
        }
        run.assert_valid();
        Some(over_double)
    }

    /// Runs a benchmark, digits-cnn unless the flags name another.
    fn run(&mut self, flags: &str, variables: &[(&str, &str)]) -> Run {
        self.run_count += 1;
        let output = self.bench.file(&format!("cuda-{}", self.run_count));
        let benchmark = if flags.contains("--benchmark") { "" } else { "--benchmark digits-cnn" };
        let flags = format!("--plugin cuda {benchmark} --set floor=false {flags}");
        let mut command = self.bench.command(&format!("run --output {} {flags}", output.display()));
        command.env("LD_LIBRARY_PATH", self.bench.file("libraries"));
        command.env("CUDA_DOUBLE_REPORT", self.bench.file("report")).envs(variables.iter().copied());
        // Of this run alone.
        let _ = fs::remove_file(self.bench.file("report"));
        Run::new(self.bench.start_command(command).finish(), output)
    }

    /// Runs a plan's description.
    fn plan(&self, flags: &str) -> String {
        let mut command = self.bench.command(&format!("describe cuda --plan {flags}"));
        command.env("LD_LIBRARY_PATH", self.bench.file("libraries"));
        let finished = self.bench.start_command(command).finish();
        assert_eq!(finished.code(), 0, "{finished}");
        finished.stdout
    }

    /// Products that cuBLASLt has computed in the last run.
    fn product_count(&self) -> usize {
        let report = fs::read_to_string(self.bench.file("report")).unwrap();
        let (launches, _) = report.split_once(" of them products").unwrap();
        launches.rsplit(' ').next().unwrap().parse().unwrap()
    }

    /// Asserts that the double has named no mistake in the last run, and that the contexts of these devices were
    /// released with everything given back.
    fn assert_clean(&self, run: &Run, devices: &[usize]) {
        assert!(!run.finished.stderr.contains("cuda double"), "{}", run.finished);
        let report = fs::read_to_string(self.bench.file("report")).unwrap_or_default();
        assert!(!report.contains("cuda double"), "{report}{}", run.finished);
        for device in devices {
            let released = format!("released: device {device}, ");
            assert_eq!(report.matches(&released).count(), 1, "{report}{}", run.finished);
        }
        assert_eq!(report.lines().count(), devices.len(), "{report}{}", run.finished);
    }
}

/// Asserts that a run is VALID with as many right answers as the reference.
fn assert_as_the_reference(run: &Run, model: &str) {
    let text = fs::read_to_string(datasets().join("digits/reference.json")).unwrap();
    let reference: Value = serde_json::from_str(&text).unwrap();
    let correct = &run.assert_valid().result()["accuracy"]["correct_count"];
    assert_eq!(*correct, reference["models"][model]["correct_count"], "{model}: {}", run.finished);
}

fn short(scenario: &str) -> String {
    let length = match scenario {
        "SingleStream" => "--duration 100ms",
        "MultiStream" => "--duration 100ms --batch-size 8",
        "Server" => "--duration 200ms --target-qps 200 --set server_target_latency_ns=10000000000",
        _ => "--set min_query_count=700 --batch-size 16",
    };
    format!("--scenario {scenario} {length}")
}

fn valid_in_all_scenarios(model: &str) {
    let Some(mut over_double) = OverDouble::new() else { return };
    for scenario in ["SingleStream", "MultiStream", "Server", "Offline"] {
        let run = over_double.run(&format!("--benchmark {model} {}", short(scenario)), &[]);
        assert_as_the_reference(&run, model);
        over_double.assert_clean(&run, &[0]);
    }
}

#[test]
fn convolutions_are_valid_in_all_scenarios() {
    valid_in_all_scenarios("digits-cnn");
}

#[test]
fn a_perceptron_is_valid_in_all_scenarios() {
    valid_in_all_scenarios("digits-mlp");
}

#[test]
fn a_recurrent_layer_is_valid_in_all_scenarios() {
    valid_in_all_scenarios("digits-lstm");
}

#[test]
fn half_the_precision_is_valid_in_all_scenarios() {
    let Some(mut over_double) = OverDouble::new() else { return };
    for scenario in ["SingleStream", "MultiStream", "Server", "Offline"] {
        let run = over_double.run(&format!("--precision f16 {}", short(scenario)), &[]);
        run.assert_valid();
        over_double.assert_clean(&run, &[0]);
        assert!(over_double.product_count() > 0);
    }
}

/// Convolutions, attention, embeddings and recurrent layers as of real models, also rounded to f16 and bf16,
/// with cuBLASLt and without.
#[test]
fn generated_models_answer_as_their_reference() {
    let Some(mut over_double) = OverDouble::new() else { return };
    let root = over_double.bench.file("data").display().to_string();
    fs::create_dir_all(&root).unwrap();
    for (model, precision) in [
        ("resnet50-tiny", "f32"),
        ("resnet50-tiny", "f16"),
        ("mobilenet-v1-tiny", "bf16"),
        ("bert-tiny", "f32"),
        ("bert-tiny", "f16"),
        ("llama-tiny", "f32"),
        ("lstm-stack-tiny", "f32"),
    ] {
        let benchmark = workspace().join(format!("tests/fixtures/benchmarks/{model}.toml"));
        for products in ["auto", "own"] {
            let flags = format!("--mode accuracy --scenario Offline --batch-size 3 --data-root {root}");
            let flags = format!("{flags} --precision {precision} --set cuda.products={products}");
            let run = over_double.run(&format!("--benchmark {} {flags}", benchmark.display()), &[]);
            assert_eq!(run.assert_valid().result()["accuracy"]["passed"], true, "{}", run.finished);
            over_double.assert_clean(&run, &[0]);
            assert_eq!(over_double.product_count() > 0, products == "auto", "{model} {flags}");
        }
    }
}

#[test]
fn a_process_of_its_own_gives_everything_back() {
    let Some(mut over_double) = OverDouble::new() else { return };
    // The one folder that the process may write, for the kernels that the double compiles.
    let cache = over_double.bench.file("cache/proctor/cuda").display().to_string();
    let report = over_double.bench.file("cache/proctor/cuda/report").display().to_string();
    let variables = [("POCL_CACHE_DIR", cache.as_str()), ("CUDA_DOUBLE_REPORT", report.as_str())];
    let run = over_double.run("--isolate --mode accuracy", &variables);
    assert_as_the_reference(&run, "digits-cnn");
    assert_eq!(run.result()["plugin"]["isolation"]["mode"], "process", "{}", run.finished);
    let report = fs::read_to_string(report).unwrap();
    assert!(report.starts_with("released: device 0, ") && report.lines().count() == 1, "{report}");
}

/// The conformance suite, all of it.
#[test]
fn the_rules_of_the_boundary() {
    let Some(over_double) = OverDouble::new() else { return };
    let mut command = over_double.bench.command("validate cuda --benchmark digits-cnn --format json");
    command.env("LD_LIBRARY_PATH", over_double.bench.file("libraries"));
    let finished = over_double.bench.start_command(command).finish();
    let report: Value = serde_json::from_str(&finished.stdout).unwrap_or_else(|_| panic!("{finished}"));
    let cases = report["cases"].as_array().unwrap();
    let passed = cases.iter().filter(|case| case["outcome"] == "PASS").count();
    let bad: Vec<_> = (cases.iter())
        .filter(|case| case["outcome"] != "PASS" && case["outcome"] != "SKIP")
        .map(|case| format!("{}: {}", case["name"], case["reason"]))
        .collect();
    assert!(bad.is_empty() && finished.code() == 0, "{}", bad.join("\n"));
    assert!(passed > 80, "{passed} cases passed: {finished}");
}

#[test]
fn without_the_library_products_are_the_plugins_own() {
    let Some(mut over_double) = OverDouble::new() else { return };
    let planned = over_double.plan("digits-cnn");
    assert_eq!(planned.matches("by the library of products").count(), 3, "{planned}");
    assert!(!planned.contains("by gemm"), "{planned}");
    let run = over_double.run("--mode accuracy", &[]);
    assert!(over_double.product_count() > 0, "{}", run.finished);
    // With an algorithm for the first product alone.
    let run = over_double.run("--mode accuracy", &[("CUDA_DOUBLE_ALGORITHMS", "1")]);
    assert_as_the_reference(&run, "digits-cnn");
    over_double.assert_clean(&run, &[0]);
    let run = over_double.run("--mode accuracy --set cuda.tf32=true", &[]);
    run.assert_valid();
    over_double.assert_clean(&run, &[0]);

    fs::remove_file(over_double.bench.file("libraries/libcublasLt.so.12")).unwrap();
    let planned = over_double.plan("digits-cnn");
    assert_eq!(planned.matches("by gemm").count(), 3, "{planned}");
    let run = over_double.run("--mode accuracy", &[]);
    assert_as_the_reference(&run, "digits-cnn");
    over_double.assert_clean(&run, &[0]);
    assert_eq!(over_double.product_count(), 0);
    for flags in ["--set cuda.products=cublaslt", "--set cuda.cublaslt=/nowhere"] {
        let run = over_double.run(flags, &[]);
        run.finished.assert_error(PLUGIN, &["there is no cuBLASLt", "nvidia-cublas-cu12"]);
        assert!(!run.finished.stderr.contains("panicked"), "{}", run.finished);
    }
}

/// Streams beside each other, in several orders.
#[test]
fn instances_with_batches_in_flight_do_not_meet() {
    let Some(mut over_double) = OverDouble::new() else { return };
    for seed in ["1", "2", "3"] {
        let flags = format!("{} --instances 2 --set cuda.in_flight=2", short("Offline"));
        let run = over_double.run(&flags, &[("CUDA_DOUBLE_SEED", seed)]);
        assert_as_the_reference(&run, "digits-cnn");
        over_double.assert_clean(&run, &[0]);
    }
}

#[test]
fn instances_are_spread_over_two_devices() {
    let Some(mut over_double) = OverDouble::new() else { return };
    let flags = format!("{} --instances 2", short("Offline"));
    let run = over_double.run(&flags, &[("CUDA_DOUBLE_DEVICES", "One;Other")]);
    assert_as_the_reference(&run, "digits-cnn");
    over_double.assert_clean(&run, &[0, 1]);
}

/// The memory may end at any allocation.
#[test]
fn a_model_that_does_not_fit_is_refused() {
    let Some(mut over_double) = OverDouble::new() else { return };
    for bytes in ["1000", "20000", "40000"] {
        let run = over_double.run("--batch-size 32 --scenario Offline", &[("CUDA_DOUBLE_MEMORY", bytes)]);
        let texts = ["OUT_OF_MEMORY", "bytes of memory of the device, of which"];
        run.finished.assert_error(PLUGIN, &texts);
        over_double.assert_clean(&run, &[0]);
    }
}

#[test]
fn a_device_that_is_lost_leaves_the_samples_before() {
    let Some(mut over_double) = OverDouble::new() else { return };
    let flags = "--mode performance --scenario SingleStream --duration 1s";
    let run = over_double.run(flags, &[("CUDA_DOUBLE_LOST_AT", "600")]);
    run.assert_invalid(&["DEVICE_LOST, code 700", "CUDA_ERROR_ILLEGAL_ADDRESS", "samples failed"]);
    // Six kernels for each sample, and some batches to warm up. Latencies of failed samples have the highest bit.
    let samples = run.samples();
    let answered = samples.iter().take_while(|(_, latency)| latency >> 63 == 0).count();
    assert!((50..=100).contains(&answered), "{answered} of {} samples: {}", samples.len(), run.finished);
    assert!(samples[answered..].iter().all(|(_, latency)| latency >> 63 == 1));
    assert!(!run.finished.stderr.contains("cuda double"), "{}", run.finished);
}

#[test]
fn a_driver_or_a_device_that_will_not_do_is_refused() {
    let Some(mut over_double) = OverDouble::new() else { return };
    let run = over_double.run("", &[("CUDA_DOUBLE_DRIVER", "11040")]);
    run.finished.assert_error(PLUGIN, &["the CUDA driver is for CUDA 11.4, which is too old"]);
    let run = over_double.run("", &[("CUDA_DOUBLE_DEVICES", "")]);
    run.finished.assert_error(PLUGIN, &["there is no CUDA device"]);
    let run = over_double.run("", &[("CUDA_DOUBLE_CAPABILITY", "3.5")]);
    run.finished.assert_error(PLUGIN, &["--gpu-architecture=sm_35", "another version of NVRTC"]);
    over_double.assert_clean(&run, &[0]);
}
