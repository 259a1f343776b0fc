//! The plugin cuda over the double of NVIDIA's libraries: needs no GPU, and reveals mistakes in their use. The plugin
//! computes the same as on a GPU; its speed means nothing.

use std::{fs, os::unix::fs::symlink, path::PathBuf};

use proctor_tests::{Bench, Run, find_plugin, workspace};

use crate::engines::{
    CUDA,
    engine::{ACCURACY, Engine, PLUGIN, assert_as_the_reference, short_in_batches},
};

/// The plugin and the double.
pub const OVER_DOUBLE: Engine =
    Engine { missing: &["cuda double: cuInit"], needs_hardware: false, over_double: true, ..CUDA };

/// Puts the double before everything that is run in a folder.
pub fn lay_out(bench: &mut Bench) {
    let libraries = bench.file("libraries");
    fs::create_dir(&libraries).unwrap();
    cuda_double::lay_out(&libraries).unwrap();
    bench.set_variable("LD_LIBRARY_PATH", libraries);
    // In the one folder that the plugin may write with `--isolate`.
    let report = report_file(bench);
    fs::create_dir_all(report.parent().unwrap()).unwrap();
    bench.set_variable("CUDA_DOUBLE_REPORT", report);
}

fn report_file(bench: &Bench) -> PathBuf {
    bench.file("cache/proctor/plugins/cuda/report")
}

/// The double's report of the last run.
fn report(bench: &Bench) -> String {
    fs::read_to_string(report_file(bench)).unwrap_or_default()
}

/// Begins a new report, for the next run.
pub fn forget_report(bench: &Bench) {
    let _ = fs::remove_file(report_file(bench));
}

/// Asserts that the double has named no mistake in a run, and that one which came to its end has given everything back.
pub fn assert_no_mistakes(bench: &Bench, run: &Run) {
    let report = report(bench);
    assert!(!run.finished.stderr.contains("cuda double"), "{}", run.finished);
    assert!(report.lines().all(|line| line.starts_with("released: device ")), "{report}{}", run.finished);
    assert!(run.finished.code() != 0 || !report.is_empty(), "nothing was released: {}", run.finished);
}

/// Asserts that the contexts of these devices were released in the last run, once each and no others.
fn assert_released(bench: &Bench, devices: &[usize]) {
    let report = report(bench);
    for device in devices {
        assert_eq!(report.matches(&format!("released: device {device}, ")).count(), 1, "{report}");
    }
    assert_eq!(report.lines().count(), devices.len(), "{report}");
}

/// Returns the number of products that cuBLASLt has computed in the last run.
fn product_count(bench: &Bench) -> usize {
    count(bench, "products")
}

/// Returns the number of convolutions that cuDNN has computed in the last run.
fn convolution_count(bench: &Bench) -> usize {
    count(bench, "convolutions")
}

/// Returns the number of launches of the last run that were of this kind.
fn count(bench: &Bench, kind: &str) -> usize {
    let report = report(bench);
    let (launches, _) = report.split_once(&format!(" of them {kind}")).unwrap();
    launches.rsplit(' ').next().unwrap().parse().unwrap()
}

/// Runs the plugin on digits-cnn.
fn run(bench: &Bench, flags: &str) -> Run {
    OVER_DOUBLE.run(bench, OVER_DOUBLE.model(), flags)
}

/// Asserts that an accuracy run on digits-cnn has all digits of the reference.
fn assert_right(bench: &Bench, flags: &str) {
    assert_as_the_reference(&run(bench, &format!("{ACCURACY} {flags}")), OVER_DOUBLE.model());
    assert_released(bench, &[0]);
}

/// The plan of digits-cnn.
fn plan(bench: &Bench, flags: &str) -> String {
    let finished = bench.host(&format!("describe cuda --plan {} {flags}", OVER_DOUBLE.model()));
    assert_eq!(finished.code(), 0, "{finished}");
    finished.stdout
}

/// Asserts that models with random weights answer as their reference, each by a model, a precision, and what computes
/// products and convolutions.
fn assert_generated(rows: &[[&str; 4]]) {
    let Some(bench) = OVER_DOUBLE.bench() else { return };
    let root = bench.file("data").display().to_string();
    fs::create_dir_all(&root).unwrap();
    for [model, precision, products, convolutions] in rows {
        let benchmark = workspace().join(format!("tests/fixtures/benchmarks/{model}.toml"));
        let flags = format!("{ACCURACY} --batch-size 3 --data-root {root} --precision {precision}");
        let flags = format!("{flags} --set cuda.products={products} --set cuda.convolutions={convolutions}");
        let run = OVER_DOUBLE.run(&bench, &benchmark.display().to_string(), &flags);
        assert_eq!(run.assert_valid().result()["accuracy"]["passed"], true, "{}", run.finished);
        assert_released(&bench, &[0]);
        assert_eq!(product_count(&bench) > 0, *products != "own", "{model} {flags}");
        assert_eq!(convolution_count(&bench) > 0, *convolutions != "own", "{model} {flags}");
    }
}

/// Attention, embeddings and recurrent layers as of real models, also rounded to f16, with cuBLASLt and without.
#[test]
fn generated_models_answer_as_their_reference_with_either_products() {
    assert_generated(&[
        ["bert-tiny", "f32", "auto", "own"],
        ["bert-tiny", "f32", "own", "own"],
        ["bert-tiny", "f16", "auto", "own"],
        ["bert-tiny", "f16", "own", "own"],
        ["llama-tiny", "f32", "own", "own"],
        ["lstm-stack-tiny", "f32", "own", "own"],
    ]);
}

/// Convolutions as of real models, also rounded to f16 and bf16, with cuDNN and cuBLASLt, with one of them and without
/// both.
#[test]
fn generated_models_of_images_answer_as_their_reference_with_any_libraries() {
    assert_generated(&[
        ["resnet50-tiny", "f32", "own", "own"],
        ["resnet50-tiny", "f32", "cublaslt", "own"],
        ["resnet50-tiny", "f16", "auto", "auto"],
        ["resnet50-tiny", "f16", "own", "own"],
        ["mobilenet-v1-tiny", "f32", "own", "cudnn"],
        ["mobilenet-v1-tiny", "bf16", "auto", "auto"],
        ["mobilenet-v1-tiny", "bf16", "own", "own"],
    ]);
}

#[test]
fn without_the_library_products_are_the_plugins_own() {
    let Some(bench) = OVER_DOUBLE.bench() else { return };
    let own = "--set cuda.convolutions=own";
    let planned = plan(&bench, own);
    assert_eq!(planned.matches("by the library of products").count(), 3, "{planned}");
    assert!(!planned.contains("by gemm"), "{planned}");
    assert_right(&bench, own);
    assert!(product_count(&bench) > 0);
    run(&bench, &format!("--mode accuracy {own} --set cuda.tf32=true")).assert_valid();
    assert_released(&bench, &[0]);

    fs::remove_file(bench.file("libraries/libcublasLt.so.12")).unwrap();
    let planned = plan(&bench, own);
    assert_eq!(planned.matches("by gemm").count(), 3, "{planned}");
    assert_right(&bench, own);
    assert_eq!(product_count(&bench), 0);
    for flags in ["--set cuda.products=cublaslt", "--set cuda.cublaslt=/nowhere"] {
        let run = run(&bench, flags);
        run.finished.assert_error(PLUGIN, &["there is no cuBLASLt", "nvidia-cublas-cu12"]);
        assert!(!run.finished.stderr.contains("panicked"), "{}", run.finished);
    }
}

#[test]
fn a_product_without_an_algorithm_is_the_plugins_own() {
    let Some(mut bench) = OVER_DOUBLE.bench() else { return };
    // For the first of three alone.
    bench.set_variable("CUDA_DOUBLE_ALGORITHMS", "1");
    assert_right(&bench, "--set cuda.convolutions=own");
}

#[test]
fn without_the_library_convolutions_are_the_plugins_own() {
    let Some(mut bench) = OVER_DOUBLE.bench() else { return };
    let (by_library, by_product) = ("by the library of convolutions", "by the library of products");
    let planned = plan(&bench, "");
    assert_eq!(
        (planned.matches(by_library).count(), planned.matches(by_product).count()),
        (2, 1),
        "{planned}"
    );
    assert!(!planned.contains("by columns") && !planned.contains("by elementwise"), "{planned}");
    assert_right(&bench, "");
    assert!(convolution_count(&bench) > 0);
    run(&bench, "--mode accuracy --set cuda.tf32=true").assert_valid();
    assert!(convolution_count(&bench) > 0);
    // Where the library refuses all convolutions, and where it is of another version.
    for (variable, value) in [("CUDA_DOUBLE_CONVOLUTIONS", "0"), ("CUDA_DOUBLE_CUDNN", "8907")] {
        bench.set_variable(variable, value);
        assert_right(&bench, "");
        assert_eq!(convolution_count(&bench), 0, "{variable}");
    }
    let old = run(&bench, "--set cuda.convolutions=cudnn");
    old.finished.assert_error(PLUGIN, &["there is no cuDNN 9", "is version 8.9.7"]);

    // A library without the functions.
    let file = bench.file("libraries/libcudnn.so.9");
    fs::remove_file(&file).unwrap();
    symlink(find_plugin("cuda").unwrap(), &file).unwrap();
    assert_right(&bench, "");
    let run_with = |flags: &str| {
        let run = run(&bench, flags);
        run.finished.assert_error(PLUGIN, &["there is no cuDNN 9", "nvidia-cudnn-cu12"]);
        assert!(!run.finished.stderr.contains("panicked"), "{}", run.finished);
    };
    run_with("--set cuda.convolutions=cudnn");
    fs::remove_file(&file).unwrap();
    let planned = plan(&bench, "");
    assert_eq!(
        (planned.matches(by_library).count(), planned.matches(by_product).count()),
        (0, 3),
        "{planned}"
    );
    assert_right(&bench, "");
    run_with("--set cuda.convolutions=cudnn");
    run_with("--set cuda.cudnn=/nowhere");
}

/// Concurrent streams, in several orders.
#[test]
fn instances_with_batches_in_flight_do_not_meet() {
    let Some(mut bench) = OVER_DOUBLE.bench() else { return };
    for seed in ["1", "2", "3"] {
        bench.set_variable("CUDA_DOUBLE_SEED", seed);
        let flags = format!("{} --instances 2 --set cuda.in_flight=2", short_in_batches("Offline"));
        assert_as_the_reference(&run(&bench, &flags), OVER_DOUBLE.model());
        assert_released(&bench, &[0]);
    }
}

#[test]
fn instances_are_spread_over_two_devices() {
    let Some(mut bench) = OVER_DOUBLE.bench() else { return };
    bench.set_variable("CUDA_DOUBLE_DEVICES", "One;Other");
    let flags = format!("{} --instances 2", short_in_batches("Offline"));
    assert_as_the_reference(&run(&bench, &flags), OVER_DOUBLE.model());
    assert_released(&bench, &[0, 1]);
}

/// The memory may end at any allocation.
#[test]
fn a_model_that_does_not_fit_is_refused() {
    let Some(mut bench) = OVER_DOUBLE.bench() else { return };
    for bytes in ["1000", "20000", "40000"] {
        bench.set_variable("CUDA_DOUBLE_MEMORY", bytes);
        let run = run(&bench, "--batch-size 32 --scenario Offline");
        run.finished.assert_error(PLUGIN, &["OUT_OF_MEMORY", "bytes of memory of the device, of which"]);
        assert_released(&bench, &[0]);
    }
}

#[test]
fn a_device_that_is_lost_leaves_the_samples_before() {
    let Some(mut bench) = OVER_DOUBLE.bench() else { return };
    bench.set_variable("CUDA_DOUBLE_LOST_AT", "320");
    let run = run(&bench, "--mode performance --scenario SingleStream --duration 1s --set floor=false");
    run.assert_invalid(&["DEVICE_LOST, code 700", "CUDA_ERROR_ILLEGAL_ADDRESS", "samples failed"]);
    // Four launches for each sample, and some batches to warm up. Latencies of failed samples have the highest bit.
    let samples = run.samples();
    let answered = samples.iter().take_while(|(_, latency)| latency >> 63 == 0).count();
    assert!((50..=100).contains(&answered), "{answered} of {} samples: {}", samples.len(), run.finished);
    assert!(samples[answered..].iter().all(|(_, latency)| latency >> 63 == 1));
}

#[test]
fn a_driver_or_a_device_that_will_not_do_is_refused() {
    let refused = |variable: &str, value: &str, texts: &[&str]| {
        let mut bench = OVER_DOUBLE.bench()?;
        bench.set_variable(variable, value);
        run(&bench, "").finished.assert_error(PLUGIN, texts);
        Some(bench)
    };
    refused("CUDA_DOUBLE_DRIVER", "11040", &["the CUDA driver is for CUDA 11.4, which is too old"]);
    refused("CUDA_DOUBLE_DEVICES", "", &["there is no CUDA device"]);
    let old = ["--gpu-architecture=sm_35", "another version of NVRTC"];
    if let Some(bench) = refused("CUDA_DOUBLE_CAPABILITY", "3.5", &old) {
        assert_released(&bench, &[0]);
    }
}
