//! `host compare`: what runs differ in, by how much, and what is said of runs that cannot be compared.

use std::fs;

use proctor_datasets::sha256_hex;
use proctor_tests::{Bench, Finished, Run};
use serde_json::Value;

const GOOD: i32 = 0;
const BAD: i32 = 1;
const USAGE: i32 = 2;
const DATA: i32 = 4;

/// Latencies that follow each other with a correlation of 0.8, in virtual time.
const CORRELATED: &str = "--plugin mock --scenario SingleStream --virtual-time --mode performance --duration 1ms \
                          --set enable_trace=false --set mock.service=log-normal --set mock.service_sigma=0.2 \
                          --set mock.service_correlation=0.8";

/// A run of some thousand queries that take `service_us` at the median.
fn correlated(bench: &Bench, seed: u64, service_us: u32) -> Run {
    bench.run(&format!(
        "{CORRELATED} --set min_query_count=2500 --set max_query_count=2500 --seed {seed} --set mock.seed={seed} \
         --set mock.service_us={service_us}"
    ))
}

fn compare(bench: &Bench, runs: &[&Run], flags: &str) -> Finished {
    let folders: Vec<_> = runs.iter().map(|run| run.folder().display().to_string()).collect();
    bench.host(&format!("compare {} {flags}", folders.join(" ")))
}

fn json(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {finished}"))
}

fn figure<'a>(answer: &'a Value, name: &str) -> &'a Value {
    let mut figures = answer["figures"].as_array().unwrap().iter();
    figures.find(|figure| figure["figure"] == name).unwrap_or_else(|| panic!("no {name} in {answer:#}"))
}

#[test]
fn runs_of_the_same_thing_do_not_differ_and_slower_ones_do() {
    let bench = Bench::new();
    let (mut same, mut found) = (0, 0);
    for pair in 0..8 {
        let [a, b] = [0, 1].map(|side| correlated(&bench, 100 + 3 * pair + side, 1000));
        let slower = correlated(&bench, 102 + 3 * pair, 1100);
        let answers = json(&compare(&bench, &[&a, &b, &slower], "--json"));
        same += usize::from(figure(&answers[0], "p50")["verdict"] == "no_difference");
        found += usize::from(figure(&answers[1], "p50")["verdict"] == "worse");
    }
    // `cargo xtask compare-campaign` has the shares of many more.
    assert!(same >= 6 && found >= 7, "{same} and {found} of 8");
}

#[test]
fn other_samples_are_a_difference() {
    let bench = Bench::new();
    let root = bench.copy_of_datasets();
    let run = |seed: u64| {
        bench.run(&format!(
            "{CORRELATED} --set min_query_count=600 --set max_query_count=600 --seed {seed} --data-root {}",
            root.display()
        ))
    };
    let [first, again] = [run(1), run(2)];
    let (split, list) = (root.join("digits/split.toml"), root.join("digits/checksums.sha256"));
    let before = fs::read_to_string(&split).unwrap();
    let (head, samples) = before.split_once("validation = [\n").unwrap();
    let [one, two, rest] = samples.splitn(3, ',').collect::<Vec<_>>()[..] else { panic!("{samples}") };
    let after = format!("{head}validation = [\n{two},{one},{rest}");
    let [old, new] = [&before, &after].map(|text| sha256_hex(text.as_bytes()));
    fs::write(&split, after).unwrap();
    fs::write(&list, fs::read_to_string(&list).unwrap().replace(&old, &new)).unwrap();
    let other = run(3);

    assert_eq!(first.result()["samples"]["count"], 600);
    assert_eq!(first.result()["samples"], again.result()["samples"]);
    let words = "samples sha256";
    assert!(!compare(&bench, &[&first, &again], "").stdout.contains(words));
    let told = compare(&bench, &[&first, &other], "");
    assert!(told.stdout.contains(words), "{told}");
}

#[test]
fn differences_come_first_and_figures_are_those_of_the_results() {
    let bench = Bench::new();
    let [a, b] = [(1, 1000), (2, 1300)].map(|(seed, service_us)| correlated(&bench, seed, service_us));
    let finished = compare(&bench, &[&a, &b], "");
    assert_eq!(finished.code(), GOOD, "{finished}");
    let text = &finished.stdout;
    let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part}: {finished}"));
    let parts = [
        "these runs differ in plugin options.seed, plugin options.service_us,",
        "figure ",
        "shift ",
        "note: one run on each side",
    ];
    assert!(parts.windows(2).all(|pair| place(pair[0]) < place(pair[1])), "{finished}");
    assert!(
        text.lines()
            .any(|line| line.starts_with("  p50") && line.contains(" B is ") && line.contains("slower (")),
        "{text}"
    );
    let answer = json(&compare(&bench, &[&a, &b], "--json"));
    for (side, run) in [("a", &a), ("b", &b)] {
        let latency = &run.result()["performance_run"]["figures"]["query_latency"];
        for name in ["p50", "p90", "p99"] {
            let [ours, theirs] = [&figure(&answer, name)[side], &latency[format!("{name}_ns")]]
                .map(|value| value.as_f64().unwrap());
            assert!((ours / theirs - 1.0).abs() < 1e-9, "{name} of {side}: {ours} and {theirs}");
        }
    }
    assert_eq!(answer["a"]["folder"], a.folder().display().to_string());
    assert_eq!(compare(&bench, &[&a, &b], "--svg shifts.svg").code(), GOOD);
    let svg = fs::read_to_string(bench.file("shifts.svg")).unwrap();
    assert_eq!(svg.matches("<circle class=\"worse\"").count(), 11, "{svg}");
    compare(&bench, &[&a, &b, &b], "--svg more.svg").assert_error(USAGE, &["--svg draws one comparison"]);
    // The same again, and the other way round.
    assert_eq!(compare(&bench, &[&a, &b], "").stdout, *text);
    let (there, back) = (figure(&answer, "p50"), json(&compare(&bench, &[&b, &a], "--json")));
    let back = figure(&back, "p50");
    let ratio = |value: &Value| 1.0 + value.as_f64().unwrap();
    assert!((ratio(&there["low"]) * ratio(&back["high"]) - 1.0).abs() < 1e-9, "{there} {back}");
    assert_eq!((&there["verdict"], &back["verdict"]), (&"worse".into(), &"better".into()));
}

#[test]
fn conditions_decide_the_exit_code() {
    let bench = Bench::new();
    let [a, b] = [(1, 1000), (2, 1300)].map(|(seed, service_us)| correlated(&bench, seed, service_us));
    for (condition, code, line) in [
        ("p50>10%", BAD, "  FAIL      p50 > 10%"),
        ("p50>50%", GOOD, "  pass      p50 > 50%"),
        ("throughput>10%", BAD, "  FAIL      throughput > 10%"),
        ("p99.9>1%", GOOD, "  no answer p99.9 > 1%: too few samples to tell"),
    ] {
        let finished = compare(&bench, &[&a, &b], &format!("--fail-if {condition}"));
        assert_eq!(finished.code(), code, "{finished}");
        assert!(finished.stdout.lines().any(|found| found == line), "{finished}");
        // An improvement is not a failure.
        assert_eq!(compare(&bench, &[&b, &a], &format!("--fail-if {condition}")).code(), GOOD);
    }
    compare(&bench, &[&a, &b], "--fail-if p50>10")
        .assert_error(USAGE, &["--fail-if \"p50>10\", at character 7: expected %"]);
    compare(&bench, &[&a, &b], "--fail-if accuracy>1%")
        .assert_error(USAGE, &["the runs have no accuracy; they have p50, "]);
    compare(&bench, &[&a, &b], "--confidence 95").assert_error(USAGE, &["give a number above 0 and below 1"]);
}

#[test]
fn no_condition_passes_where_samples_have_no_answer_or_a_run_is_not_valid() {
    let bench = Bench::new();
    let [a, b] = [1, 2].map(|seed| correlated(&bench, seed, 1000));
    let conditions = "--fail-if p50>100% --fail-if p99>100%";
    assert_eq!(compare(&bench, &[&a, &b], conditions).code(), GOOD);
    let fails = |runs: &[&Run], why: &str| {
        let finished = compare(&bench, runs, conditions);
        assert_eq!(finished.code(), BAD, "{finished}");
        for condition in ["p50 > 100%", "p99 > 100%"] {
            let line = format!("  FAIL      {condition}: {why}");
            assert!(finished.stdout.lines().any(|found| found.starts_with(&line)), "{line}: {finished}");
        }
    };

    // The slowest twentieth of B fails, without which the rest is faster.
    let samples = b.folder().join("samples.bin");
    let whole = fs::read(&samples).unwrap();
    let latency_ns = |record: &[u8]| u64::from_le_bytes(record[8..].try_into().unwrap());
    let mut sorted: Vec<_> = whole.chunks_exact(16).map(latency_ns).collect();
    sorted.sort_unstable();
    let slow_ns = sorted[sorted.len() - sorted.len() / 20];
    let mut failed = whole.clone();
    for record in failed.chunks_exact_mut(16).filter(|record| latency_ns(record) >= slow_ns) {
        record[15] |= 0x80;
    }
    fs::write(&samples, failed).unwrap();
    let result_path = b.folder().join("result.json");
    let result_text = fs::read_to_string(&result_path).unwrap();
    let mut counted: Value = serde_json::from_str(&result_text).unwrap();
    counted["performance_run"]["failed_sample_count"] = 125.into();
    fs::write(&result_path, counted.to_string()).unwrap();
    fails(&[&a, &b], "B has no answer to 125 of 2500 samples, and A to 0 of 2500");
    let answer = json(&compare(&bench, &[&a, &b], "--json"));
    let names: Vec<_> = answer["figures"].as_array().unwrap().iter().map(|row| &row["figure"]).collect();
    assert_eq!(names, ["p50", "p90", "throughput"], "{answer:#}");
    assert!(answer["obstacle"].as_str().unwrap().starts_with("B has no answer to 125"), "{answer:#}");
    fs::write(&samples, whole).unwrap();
    fs::write(&result_path, result_text).unwrap();

    let path = a.folder().join("result.json");
    let text = fs::read_to_string(&path).unwrap();
    let mut result: Value = serde_json::from_str(&text).unwrap();
    result["verdict"]["valid"] = false.into();
    fs::write(&path, result.to_string()).unwrap();
    fails(&[&a, &b], &format!("{} is INVALID", a.folder().display()));
    fails(&[&b, &a], &format!("{} is INVALID", a.folder().display()));
    fs::write(&path, text).unwrap();

    // A repeat that crashed does not count as a good one.
    bench.write("side/repeat-2.partial/crash.txt", "the plugin crashed in execute");
    fs::rename(b.folder(), bench.file("side/repeat-1")).unwrap();
    let finished = bench.host(&format!("compare {} side {conditions}", a.folder().display()));
    assert_eq!(finished.code(), BAD, "{finished}");
    assert!(finished.stdout.contains("side/repeat-2.partial is not whole and left out"), "{finished}");
}

#[test]
fn an_accuracy_is_exact_by_its_answers_or_by_repeats() {
    let bench = Bench::new();
    let flags =
        "--plugin mock --virtual-time --duration 1ms --set mock.service=fixed --set min_query_count=300";
    let [a, b] = [0, 1].map(|_| bench.run(flags));
    let of = |finished: &Finished| figure(&json(finished), "accuracy").clone();
    assert_eq!(of(&compare(&bench, &[&a, &b], "--json"))["verdict"], "same");
    // Other answers, of the same accuracy.
    let log = b.folder().join("accuracy/mlperf_log_accuracy.json");
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text + " ").unwrap();
    assert_eq!(of(&compare(&bench, &[&a, &b], "--json"))["verdict"], "unknown");
    // The mock answers class 0, which is not accurate enough, and then no condition passes.
    let finished = compare(&bench, &[&a, &b], "--fail-if accuracy>0%");
    assert_eq!(finished.code(), BAD, "{finished}");
    assert!(finished.stdout.contains("did not pass; host report tells why"), "{finished}");
    for run in [&a, &b] {
        let path = run.folder().join("result.json");
        let mut result: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        result["verdict"]["accuracy_passed"] = true.into();
        result["accuracy"]["passed"] = true.into();
        result["accuracy"]["target"] = 0.0.into();
        result["accuracy"]["reasons"] = Value::Array(Vec::new());
        fs::write(&path, result.to_string()).unwrap();
    }
    let finished = compare(&bench, &[&a, &b], "--fail-if accuracy>0%");
    assert_eq!(finished.code(), GOOD, "{finished}");
    assert!(finished.stdout.contains("no answer accuracy > 0%: one run each does not tell"), "{finished}");

    // Repeats say how it varies.
    for (side, values) in [("a", [0.9, 0.9, 0.9]), ("b", [0.8, 0.8, 0.8]), ("c", [0.95, 0.75, 0.8])] {
        bench.host(&format!("run {flags} --repeat 3 -o {side}"));
        for (number, value) in (1..).zip(values) {
            let path = bench.file(&format!("{side}/repeat-{number}/result.json"));
            let mut result: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            result["accuracy"]["value"] = value.into();
            fs::write(&path, result.to_string()).unwrap();
        }
    }
    let verdict = |b: &str| of(&bench.host(&format!("compare a {b} --json")))["verdict"].clone();
    assert_eq!((verdict("b"), verdict("c")), ("worse".into(), "no_difference".into()));
}

#[test]
fn every_scenario_is_compared_also_with_itself() {
    let bench = Bench::new();
    for scenario in ["SingleStream", "MultiStream", "Server", "Offline"] {
        let run = |seed: u64| {
            bench.run(&format!(
                "--plugin mock --scenario {scenario} --virtual-time --duration 100ms --seed {seed} \
                 --set mock.service=uniform --set mock.seed={seed}"
            ))
        };
        let [a, b] = [1, 2].map(run);
        let itself = json(&compare(&bench, &[&a, &a], "--json"));
        assert_eq!(itself["differences"].as_array().unwrap().len(), 0, "{itself:#}");
        for figure in itself["figures"].as_array().unwrap() {
            assert_eq!((&figure["verdict"], &figure["change"]), (&"same".into(), &0.0.into()), "{figure}");
        }
        let other = json(&compare(&bench, &[&a, &b], "--json"));
        assert_eq!(figure(&other, "accuracy")["change"], 0.0);
        let has_latencies = !other["shifts"].as_array().unwrap().is_empty();
        assert_eq!(has_latencies, scenario != "Offline", "{other:#}");
        if scenario != "Offline" {
            let theirs = &a.result()["performance_run"]["figures"]["query_latency"]["p50_ns"];
            assert!((figure(&other, "p50")["a"].as_f64().unwrap() - theirs.as_f64().unwrap()).abs() < 1e-3);
        }
    }
}

#[test]
fn runs_that_cannot_be_compared_are_told() {
    let bench = Bench::new();
    let flags =
        "--plugin mock --virtual-time --duration 1ms --set mock.service=fixed --set min_query_count=64";
    let single = bench.run(&format!("{flags} --mode performance"));
    let server = bench.run(&format!("{flags} --mode performance --scenario Server"));
    let accuracy = bench.run(&format!("{flags} --mode accuracy"));
    let other = bench.run(&format!("{flags} --mode performance --benchmark digits-mlp"));
    let error = |runs: &[&Run], code, texts: &[&str]| compare(&bench, runs, "").assert_error(code, texts);
    error(
        &[&single, &server],
        USAGE,
        &["a run of scenario SingleStream", "one of Server: compare runs of the same scenario"],
    );
    error(&[&single, &other], USAGE, &["of benchmark digits-lstm", "compare runs of the same benchmark"]);
    error(&[&single, &accuracy], DATA, &["has no performance run"]);
    error(&[&single], USAGE, &["is one run: give a second one"]);
    let folder = single.folder().display();
    let with = |path: &str| bench.host(&format!("compare {folder} {path}"));
    with("nowhere").assert_error(DATA, &["cannot read nowhere: No such file"]);
    fs::create_dir(bench.file("empty")).unwrap();
    with("empty").assert_error(DATA, &["empty is no run folder"]);
    bench.write("broken.partial/error.txt", "error: the plugin left\n");
    with("broken.partial").assert_error(DATA, &["is not whole", "error: the plugin left"]);
    bench.write("logs/mlperf_log_detail.txt", ":::MLLOG {\"key\": \"a\", \"value\": 1}\n");
    with("logs").assert_error(DATA, &["has logs and no result.json"]);

    // Runs of fixed times, with a torn end, with one sample, and with none.
    let samples = single.folder().join("samples.bin");
    let bytes = fs::read(&samples).unwrap();
    let cut = |length: usize| {
        fs::write(&samples, &bytes[..length]).unwrap();
        compare(&bench, &[&single, &single], "")
    };
    let torn = cut(bytes.len() - 3);
    assert!(torn.stdout.contains("ends within a sample: its last 13 bytes are left out"), "{torn}");
    assert!(torn.stdout.contains("no difference: the same"), "{torn}");
    cut(16).assert_error(DATA, &["has 1 completed query, and a comparison needs at least 2"]);
    cut(0).assert_error(DATA, &["has 0 completed queries"]);
    assert_eq!(cut(bytes.len()).code(), GOOD);
}

#[test]
fn copies_of_a_run_are_no_repeats() {
    let bench = Bench::new();
    let run = bench.run("--plugin mock --mode performance --duration 50ms --set min_query_count=64");
    for name in ["one", "two"] {
        for file in ["result.json", "samples.bin"] {
            bench.write(&format!("side/{name}/{file}"), fs::read(run.folder().join(file)).unwrap());
        }
    }
    bench
        .host(&format!("compare {} side", run.folder().display()))
        .assert_error(DATA, &["side/one and side/two are copies of one run", "a copy is no repeat"]);
}
