//! The folder of `cargo xtask gpu-check`: its script runs to its end on the double of CUDA's driver.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use proctor_test_needs::skip;
use proctor_tests::{Bench, built};
use serde_json::Value;

/// Makes the folder from what is built, which is far larger than an optimised build.
fn package(bench: &Bench, size_max_mb: &str) -> Result<PathBuf, String> {
    let folder = bench.file("gpu-check");
    let mut xtask = Command::new(built("xtask"));
    xtask.args(["gpu-check", "--size-max-mb", size_max_mb, "--built"]).arg(built("host").parent().unwrap());
    let made = xtask.arg("--output").arg(&folder).output().unwrap();
    let said = String::from_utf8_lossy(&made.stderr).into_owned();
    if made.status.success() { Ok(folder) } else { Err(said) }
}

/// A folder with the double, under the names of NVIDIA's libraries.
fn double(bench: &Bench) -> PathBuf {
    let folder = bench.file("double");
    fs::create_dir(&folder).unwrap();
    cuda_double::lay_out(&folder).unwrap();
    folder
}

/// Runs the script with these flags; `None` where there is no Python, and the test is to skip itself.
fn check(folder: &Path, double: &Path, output: &Path, flags: &[&str]) -> Option<Output> {
    let mut python = Command::new("python3");
    python.arg(folder.join("gpu_check.py")).arg("--double").arg(double).arg("--output").arg(output);
    let finished = python.args(flags).output().ok();
    if finished.is_none() {
        skip("no python3; `cargo xtask setup` installs it");
    }
    finished
}

/// The steps of a report.
fn steps_in(output: &Path) -> Vec<Value> {
    let report: Value = serde_json::from_slice(&fs::read(output.join("gpu-check.json")).unwrap()).unwrap();
    assert_eq!(report["double"], true);
    report["steps"].as_array().unwrap().clone()
}

#[test]
fn its_script_runs_to_the_end_on_the_double() {
    let bench = Bench::new();
    let folder = package(&bench, "1000").unwrap();
    let output = bench.file("results");
    let Some(finished) = check(&folder, &double(&bench), &output, &["--quick"]) else { return };
    let said =
        [finished.stdout, finished.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(finished.status.success(), "{}\n{said}", finished.status);

    let steps = steps_in(&output);
    for step in &steps {
        let status = step["status"].as_str().unwrap();
        assert!(["ok", "missing"].contains(&status), "{step:#}");
        assert!(step["device"].as_str().unwrap().starts_with("DOUBLE ("), "{step:#}");
        assert!(output.join(step["log"].as_str().unwrap()).is_file(), "{step:#}");
    }
    let rows = |section: &str| -> Vec<&Value> {
        let of_section = steps.iter().filter(|step| step["section"] == section && step["status"] == "ok");
        of_section.flat_map(|step| step["rows"].as_array().unwrap()).collect()
    };
    let machine = rows("machine");
    for (what, value) in
        [("products of the plugin", "cuBLASLt 12.9.1"), ("convolutions of the plugin", "cuDNN 9.10.2")]
    {
        assert!(machine.iter().any(|row| row["what"] == what && row["value"] == value), "{machine:#?}");
    }
    let judged = rows("correctness");
    assert!(judged.iter().any(|row| row["metric"] == "top1" && row["right"] == 595), "{judged:#?}");
    assert!(judged.iter().any(|row| row["precision"] == "bf16" && row["metric"] == "close"), "{judged:#?}");
    let swept = rows("sweeps");
    assert!(
        swept.iter().any(|row| row["batch"] == 8 && row["compute us"].as_f64() > Some(0.0)),
        "{swept:#?}"
    );
    assert!(
        swept.iter().any(|row| row["instances"] == 2 && row["samples/s"].as_f64() > Some(0.0)),
        "{swept:#?}"
    );
    let policies: Vec<_> = rows("scaling").iter().map(|row| row["policy"].as_str().unwrap()).collect();
    assert_eq!(policies, ["clipper", "dnnscaler", "joint", "all"]);

    let measured = rows("ceilings");
    assert!(
        measured.iter().any(|row| row["what"] == "product" && row["GFLOP/s"].as_f64() > Some(0.0)),
        "{measured:#?}"
    );
    assert!(
        measured
            .iter()
            .any(|row| row["kernel"] == "the library of products"
                && row["share of ceiling"].as_f64() > Some(0.0)),
        "{measured:#?}"
    );

    let page = fs::read_to_string(output.join("gpu-check.md")).unwrap();
    let lines = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| ---"));
    let others: Vec<_> =
        lines.filter(|line| !line.starts_with("| device |") && !line.starts_with("| DOUBLE (")).collect();
    assert!(others.is_empty(), "{others:?}");
}

#[test]
fn a_step_that_fails_leaves_the_others_alone() {
    let bench = Bench::new();
    let folder = package(&bench, "1000").unwrap();
    let output = bench.file("results");
    let broken = bench.write("broken/libcuda.so.1", "no library");
    let flags = ["--only", "machine", "--only", "correctness/digits-mlp-f32", "--only", "ceilings/small"];
    let Some(finished) = check(&folder, broken.parent().unwrap(), &output, &flags) else { return };
    assert_eq!(finished.status.code(), Some(1));
    let steps = steps_in(&output);
    let status = |name: &str| &steps.iter().find(|step| step["name"] == name).unwrap()["status"];
    assert_eq!(status("device"), "missing");
    assert_eq!(status("program"), "ok");
    assert_eq!(status("digits-mlp-f32"), "failed");
    assert_eq!(status("small"), "failed");
    let failed = steps.iter().find(|step| step["name"] == "digits-mlp-f32").unwrap();
    assert!(failed["reason"].as_str().unwrap().contains("libcuda.so.1"), "{failed:#}");

    // A further call adds to the report, and takes the place of the steps that it runs again.
    let again = check(&folder, broken.parent().unwrap(), &output, &["--only", "machine/program"]).unwrap();
    assert!(again.status.success());
    assert_eq!(steps_in(&output).len(), steps.len());
}

#[test]
fn a_folder_that_is_too_large_is_not_made() {
    let bench = Bench::new();
    let refusal = package(&bench, "1").unwrap_err();
    assert!(refusal.contains("more than 1 MB"), "{refusal}");
    assert!(!bench.file("gpu-check").exists());
}
