//! `cargo xtask true-shapes`: the networks of MLPerf in their true sizes, once from end to end.

use std::{fs, path::Path, process::Command, time::Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{
    command::{cargo, run as run_command, target_folder},
    onnxruntime,
};

pub(crate) const LONG_ABOUT: &str = "Run MLPerf's networks end to end in their true shapes, with random weights.

Generates a small data set in the published layout and a model for each benchmark, in target/true-shapes. Runs each with \
accuracy in SingleStream, judged by the median, and in Offline: gnmt and rnnt through cpu-rnn, all others through onnx. \
Prints a table with the time of each run. The answers are meaningless, and an INVALID run is not a failure. It takes half \
an hour and 16 GB of memory on two cores.";

pub(crate) const EXAMPLES: &str = "Examples:
  cargo xtask true-shapes                       every benchmark
  cargo xtask true-shapes 3d-unet-brats bert    two of them";

/// A benchmark, and how much of it is run.
struct Case {
    benchmark: &'static str,
    /// Recipe of its ONNX file; without one, cpu-rnn runs it on weights that it makes itself.
    recipe: Option<&'static str>,
    sample_count: u32,
    /// Minimum number of queries of SingleStream, and of samples of Offline.
    query_count: u32,
}

const fn case(
    benchmark: &'static str,
    recipe: Option<&'static str>,
    [sample_count, query_count]: [u32; 2],
) -> Case {
    Case { benchmark, recipe, sample_count, query_count }
}

const CASES: [Case; 12] = [
    case("resnet50", Some("resnet50-mlperf"), [64, 64]),
    case("mobilenet", Some("mobilenet-v1"), [64, 64]),
    case("ssd-mobilenet", Some("ssd-mobilenet"), [32, 64]),
    case("ssd-resnet34", Some("ssd-resnet34"), [8, 16]),
    case("retinanet", Some("retinanet"), [8, 16]),
    case("bert", Some("bert-large"), [16, 16]),
    case("dlrm", Some("dlrm-small-tables"), [50, 200]),
    case("dlrm-v2", Some("dlrm-v2-small-tables"), [50, 200]),
    case("3d-unet-kits19", Some("3d-unet-kits19"), [2, 12]),
    case("3d-unet-brats", Some("3d-unet-brats"), [2, 12]),
    case("gnmt", None, [64, 64]),
    case("rnnt", None, [32, 64]),
];

impl Case {
    /// Returns the scenarios to run: both, or the one that the benchmark has.
    fn scenarios(&self) -> &'static [&'static str] {
        if self.benchmark.starts_with("dlrm") { &["Offline"] } else { &["SingleStream", "Offline"] }
    }
}

/// Builds the program, and runs the benchmarks with these names, or all.
///
/// # Errors
/// If a name is not known, or a command fails.
pub(crate) fn run(names: &[String]) -> Result<()> {
    if let Some(unknown) = names.iter().find(|name| CASES.iter().all(|case| case.benchmark != name.as_str()))
    {
        let known: Vec<_> = CASES.iter().map(|case| case.benchmark).collect();
        bail!("no benchmark {unknown}; there are {}", known.join(", "));
    }
    onnxruntime::set_up();
    run_command(&mut cargo("build --release -p host -p proctor-data -p proctor-onnx"))?;
    let folder = target_folder()?.join("true-shapes");
    let mut rows = Vec::new();
    let chosen = |case: &&Case| names.is_empty() || names.iter().any(|name| name == case.benchmark);
    for case in CASES.iter().filter(chosen) {
        rows.extend(run_case(case, &folder)?);
    }
    println!(
        "\n| benchmark | scenario | samples | accuracy | metric | verdict | minutes |\n|---|---|---|---|---|---|---|"
    );
    rows.iter().for_each(|row| println!("{row}"));
    Ok(())
}

/// Runs a benchmark, and returns a row of the table for each scenario.
fn run_case(case: &Case, folder: &Path) -> Result<Vec<String>> {
    let folder = folder.join(case.benchmark);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    let (data, models) = (folder.join("data"), folder.join("models"));
    let samples = case.sample_count.to_string();
    let generate = ["data", "generate", case.benchmark, "--samples", &samples, "--out"];
    run_command(host()?.args(generate).arg(&data))?;
    if let Some(recipe) = case.recipe {
        run_command(host()?.args(["data", "make-model", recipe, "--out"]).arg(&models))?;
    }
    let rows = case.scenarios().iter().map(|scenario| {
        let mut command = host()?;
        command.args(["run", "--benchmark", case.benchmark, "--scenario", scenario, "--preset", "quick"]);
        command.args(["--duration", "1ms", "--set", &format!("min_query_count={}", case.query_count)]);
        // The median wants few queries to be sure of.
        command.args(["--set", "single_stream_target_latency_percentile=0.5"]);
        command.args(["--set", "watchdog_ms=3600000", "--set", "floor=false", "--dataset-folder"]).arg(&data);
        let cache = format!("cache_folder={}", folder.join("cache").display());
        command.args(["--set", &cache]);
        match case.recipe {
            Some(recipe) => command
                .args(["--plugin", "onnx", "--model-file"])
                .arg(models.join(recipe).with_extension("onnx")),
            None => command.args(["--plugin", "cpu-rnn"]),
        };
        let output = folder.join(scenario);
        command.arg("--output").arg(&output);
        let start = Instant::now();
        // A run without a verdict leaves no result; one that is INVALID ends with an error, too.
        let ended = run_command(&mut command);
        let minutes = start.elapsed().as_secs_f64() / 60.0;
        let path = output.join("result.json");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                return ended.and(Err(error).with_context(|| format!("cannot read {}", path.display())));
            }
        };
        let result: Value = serde_json::from_str(&text)?;
        Ok(row(case, scenario, &result, minutes))
    });
    rows.collect()
}

fn row(case: &Case, scenario: &str, result: &Value, minutes: f64) -> String {
    let number =
        |of: &Value| of["value"].as_f64().map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let verdict = if result["verdict"]["valid"] == true { "VALID" } else { "INVALID" };
    format!(
        "| `{}` | {scenario} | {} | {} {} | {} {} | {verdict} | {minutes:.1} |",
        case.benchmark,
        case.sample_count,
        text(&result["accuracy"]["metric"]),
        number(&result["accuracy"]),
        number(&result["metric"]),
        text(&result["metric"]["unit"]),
    )
}

/// Returns the program that was built.
fn host() -> Result<Command> {
    Ok(Command::new(target_folder()?.join("release/host")))
}
