//! Shared by the tests of published benchmarks through ONNX Runtime: its Python package, and short runs.

use std::process::{Command, Stdio};

use proctor_tests::{Bench, find_plugin};

/// Flags of a short run, whose verdict is independent of how busy the machine is: the percentile is the median, of
/// which a few queries are enough.
pub fn short(scenario: &str) -> &'static str {
    match scenario {
        "SingleStream" => {
            "--duration 1ms --set single_stream_target_latency_percentile=0.5 --set min_query_count=12"
        }
        "MultiStream" => {
            "--duration 1ms --set multi_stream_target_latency_percentile=0.5 --set min_query_count=12 \
             --set multi_stream_samples_per_query=2 --set floor=false"
        }
        "Server" => {
            "--duration 1ms --set server_target_latency_percentile=0.5 --set min_query_count=8 --target-qps 20 \
             --set server_target_latency_ns=60000000000 --set floor=false"
        }
        _ => "--set min_query_count=8 --set floor=false",
    }
}

/// Checks that the plugin and ONNX Runtime are there; the error is the reason to skip a test.
pub fn needs_runtime(bench: &Bench) -> Result<(), String> {
    if find_plugin("onnx").is_none() {
        return Err("plugin onnx is not built; `cargo xtask test` builds it".to_owned());
    }
    let plan = bench.host("describe onnx --plan digits-cnn");
    match plan.stderr.lines().find(|line| line.contains("found no ONNX Runtime")) {
        Some(line) => Err(line.to_owned()),
        None => Ok(()),
    }
}

/// Checks that the plugin, ONNX Runtime and its Python package are there; the error is the reason to skip a test.
pub fn needs(bench: &Bench) -> Result<(), String> {
    needs_runtime(bench)?;
    let package = Command::new("python3").args(["-c", "import onnxruntime"]).stderr(Stdio::null()).status();
    if package.is_ok_and(|status| status.success()) {
        Ok(())
    } else {
        Err("python3 has no module onnxruntime; `cargo xtask test` brings it".to_owned())
    }
}

/// The output of a command that succeeds.
pub fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
