//! A decoder of words, its logits and its texts, through the program: against another implementation, with the times of
//! tokens.

use std::fs;

use proctor_accuracy::read_log;
use proctor_test_needs::skip;
use proctor_tests::{Bench, Run, SCENARIOS, find_plugin, short, workspace};
use serde_json::Value;

/// Bounds of tokens that no machine breaks, for runs in Server.
const TOKENS: &str = "--set server_ttft_latency=20000000000 --set server_tpot_latency=20000000000";

/// A folder for runs; `None`, and the reason is printed, where the plugin is not there.
fn bench() -> Option<Bench> {
    if find_plugin("candle").is_none() {
        skip("plugin candle is not built; `cargo xtask test` builds it");
        return None;
    }
    Some(Bench::new())
}

/// Runs a benchmark of the tiny decoder; `usage` is what its name ends with.
fn run(bench: &Bench, usage: &str, flags: &str) -> Run {
    let root = bench.file("data");
    fs::create_dir_all(&root).unwrap();
    let definition = workspace().join(format!("tests/fixtures/benchmarks/llama-tiny{usage}.toml"));
    bench.run(&format!(
        "--plugin candle --benchmark {} --data-root {} {flags}",
        definition.display(),
        root.display()
    ))
}

fn assert_right(run: &Run) {
    let accuracy = &run.assert_valid().result()["accuracy"];
    assert_eq!(accuracy["passed"], true, "{accuracy}");
    assert!(accuracy["judged_count"].as_u64().unwrap() >= 16, "{accuracy}");
    assert_eq!(accuracy["correct_count"], accuracy["judged_count"], "{accuracy}");
}

/// The answers of a run in the order of the samples.
fn answers(run: &Run) -> Vec<(u64, Vec<u8>)> {
    let log = read_log(&run.folder().join("accuracy/mlperf_log_accuracy.json")).unwrap();
    let mut answers: Vec<_> = log.into_iter().map(|record| (record.qsl_idx, record.data)).collect();
    answers.sort();
    answers.dedup();
    answers
}

#[test]
fn logits_in_all_scenarios() {
    let Some(bench) = bench() else { return };
    for scenario in SCENARIOS {
        let run = run(&bench, "", &format!("{} {TOKENS}", short(scenario)));
        assert_right(&run);
        assert_eq!(run.result()["performance_run"]["figures"]["tokens"], Value::Null, "{scenario}");
    }
}

#[test]
fn texts_in_all_scenarios_with_the_times_of_their_tokens() {
    let Some(bench) = bench() else { return };
    let greedy = SCENARIOS.map(|scenario| ("-generate", scenario));
    // A beam is more work in each step; how queries come makes no difference to it.
    for (usage, scenario) in greedy.into_iter().chain([("-generate-beam4", "Server")]) {
        let run = run(&bench, usage, &format!("{} {TOKENS}", short(scenario)));
        assert_right(&run);
        let result = run.result();
        let tokens = &result["performance_run"]["figures"]["tokens"];
        let issued = result["performance_run"]["issued_sample_count"].as_u64().unwrap();
        let count = tokens["token_count"].as_u64().unwrap();
        assert!(
            (2 * issued..=12 * issued).contains(&count),
            "{usage} {scenario}: {count} tokens of {issued} samples"
        );
        for figure in ["time_to_first_token", "time_per_output_token"] {
            let least = tokens[figure]["min_ns"].as_u64();
            // In Offline all samples are there at once, so the time to the first token says nothing.
            assert_eq!(
                least.is_some_and(|ns| ns > 0),
                scenario != "Offline",
                "{usage} {scenario} {figure}: {tokens}"
            );
        }
    }
}

#[test]
fn a_text_begins_before_it_ends() {
    let Some(bench) = bench() else { return };
    let run = run(&bench, "-generate", "--mode performance --duration 100ms --set floor=false");
    let figures = &run.assert_valid().result()["performance_run"]["figures"];
    let mean = |figures: &Value| figures["mean_ns"].as_f64().unwrap();
    let first = mean(&figures["tokens"]["time_to_first_token"]);
    assert!(first > 0.0 && first < mean(&figures["query_latency"]), "{figures}");
}

#[test]
fn instances_and_batches_do_not_change_a_text() {
    let Some(bench) = bench() else { return };
    let of = |flags: &str| {
        let run = run(&bench, "-generate-beam4", &format!("--mode accuracy --scenario Offline {flags}"));
        assert_right(&run);
        answers(&run)
    };
    let alone = of("--batch-size 1");
    assert_eq!(alone.len(), 40);
    assert_eq!(of("--batch-size 7 --instances 2"), alone);
}

#[test]
fn the_option_sets_the_width_of_the_beam() {
    let Some(bench) = bench() else { return };
    let of =
        |usage: &str, flags: &str| run(&bench, usage, &format!("--mode accuracy --scenario Offline {flags}"));
    let beam = answers(of("-generate-beam4", "").assert_valid());
    let wider = of("-generate", "--set candle.beam=4");
    assert_eq!(answers(&wider), beam);
    // The texts of a beam are not those that are right of greedy decoding.
    assert_eq!(wider.result()["accuracy"]["passed"], false, "{}", wider.finished);
}

#[test]
fn less_precision_stays_within_its_tolerance() {
    let Some(bench) = bench() else { return };
    for precision in ["bf16", "f16"] {
        let run = run(&bench, "", &format!("--mode accuracy --scenario Offline --precision {precision}"));
        assert_right(&run);
        assert_eq!(run.result()["plugin"]["precision"], precision);
    }
}
