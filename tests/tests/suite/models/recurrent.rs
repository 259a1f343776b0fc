//! Benchmarks with generated weights: made on first use, run in every scenario that they allow, and judged against
//! another implementation.

use std::{fs, path::Path, process::Command};

use proctor_datasets::sha256_hex;
use proctor_tests::{Bench, Run, SCENARIOS, short, workspace};

/// Exit codes.
const SETTINGS: i32 = 2;
const DATA: i32 = 4;

/// The definition of a network with a tiny model.
fn tiny(network: &str) -> String {
    workspace().join(format!("tests/fixtures/benchmarks/{network}-tiny.toml")).display().to_string()
}

/// Runs a benchmark with a data root of its own, in which there is nothing yet.
fn run(bench: &Bench, benchmark: &str, more: &str) -> Run {
    let root = bench.file("data");
    fs::create_dir_all(&root).unwrap();
    bench.run(&format!("--benchmark {benchmark} --data-root {} {more}", root.display()))
}

/// Runs a benchmark in these scenarios and asserts that it is VALID and right.
fn assert_right(benchmark: &str, scenarios: &[&str]) {
    let bench = Bench::new();
    for scenario in scenarios {
        let run = run(&bench, benchmark, &short(scenario));
        let accuracy = &run.assert_valid().result()["accuracy"];
        assert_eq!(accuracy["passed"], true, "{scenario}: {accuracy}");
        assert!(accuracy["judged_count"].as_u64().unwrap() >= 1, "{accuracy}");
        assert_eq!(accuracy["correct_count"], accuracy["judged_count"], "{accuracy}");
    }
}

#[test]
fn text_similarity_in_all_scenarios() {
    assert_right(&tiny("text-similarity"), &SCENARIOS);
}

#[test]
fn attention_sum_reader_in_all_scenarios() {
    assert_right(&tiny("attention-sum-reader"), &SCENARIOS);
}

#[test]
fn bidaf_in_all_scenarios() {
    assert_right(&tiny("bidaf"), &SCENARIOS);
}

#[test]
fn gnmt_in_all_scenarios() {
    assert_right(&tiny("gnmt"), &SCENARIOS);
}

#[test]
fn rnnt_in_the_scenarios_of_its_rules() {
    assert_right(&tiny("rnnt"), &["SingleStream", "Server", "Offline"]);
    let refused = Bench::new().run(&format!("--benchmark {} --scenario MultiStream", tiny("rnnt")));
    refused.finished.assert_error(SETTINGS, &["has no scenario MultiStream, because the rules of v0.7"]);
}

#[test]
fn layers_of_every_cell_in_one_and_both_directions() {
    for layer in ["rnn-lstm-12-20-1-7", "rnn-gru-5-33-1-4-bi", "rnn-gru0-16-16-1-3", "rnn-rnn-3-1-1-2"] {
        assert_right(layer, &["SingleStream"]);
    }
}

#[test]
fn a_layer_with_a_batch() {
    let bench = Bench::new();
    for scenario in ["MultiStream", "Server", "Offline"] {
        let run = run(&bench, "rnn-lstm-24-32-5-9-bi", &short(scenario));
        let result = run.assert_valid().result();
        let sizes = result["performance_run"]["scheduler"]["batch_sizes"].as_object().unwrap();
        assert!(sizes.keys().all(|size| size.parse::<u32>().unwrap() <= 5), "{sizes:?}");
        if scenario == "MultiStream" {
            assert!(sizes.contains_key("5"), "{sizes:?}");
        }
    }
    let refused = run(&bench, "rnn-lstm-24-32-5-9-bi", "");
    refused.finished.assert_error(SETTINGS, &["no batch of 5 forms", "rnn-lstm-24-32-1-9-bi"]);
}

#[test]
fn names_that_are_none_of_the_family() {
    let refused = |name: &str, texts: &[&str]| {
        Bench::new().run(&format!("--benchmark {name}")).finished.assert_error(SETTINGS, texts);
    };
    refused("rnn-lsmt-256-256-1-100", &["did you mean \"lstm\"?"]);
    refused("rnn-lstm-256-256-100", &["rnn-<cell>-<input>-<hidden>-<batch>-<seq>[-bi]"]);
    refused("rnn-lstm-256-0-1-100", &["<hidden> is \"0\"", "from 1 to"]);
}

#[test]
fn a_model_is_made_once_and_named_in_the_result() {
    let bench = Bench::new();
    let benchmark = tiny("bidaf");
    let flags = "--mode accuracy";
    let first = run(&bench, &benchmark, flags);
    assert!(first.finished.stderr.contains("making "), "{}", first.finished);
    let path = bench.file("data/generated/bidaf-tiny.safetensors");
    let bytes = fs::read(&path).unwrap();
    let file = &first.assert_valid().result()["plugin"]["model_files"][0];
    assert_eq!(file["sha256"], sha256_hex(&bytes));
    assert_eq!(file["recipe"], "bidaf-tiny");
    assert_eq!(file["path"].as_str().map(Path::new), Some(path.as_path()));

    let made = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
    let instant = made(&path);
    let second = run(&bench, &benchmark, flags);
    assert!(!second.assert_valid().finished.stderr.contains("making "), "{}", second.finished);
    assert_eq!(made(&path), instant);
    let log = |run: &Run| run.text("accuracy/mlperf_log_accuracy.json");
    assert_eq!(log(&first), log(&second));

    // A damaged file is made again.
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    run(&bench, &benchmark, "--mode accuracy").assert_valid();
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[test]
fn tokens_vary_in_number_and_are_counted() {
    let bench = Bench::new();
    let run = run(&bench, &tiny("gnmt"), "--mode accuracy");
    run.assert_valid();
    let log = proctor_accuracy::read_log(&run.folder().join("accuracy/mlperf_log_accuracy.json")).unwrap();
    assert_eq!(log.len(), 40);
    assert!(log.iter().all(|record| record.data.len().is_multiple_of(4) && record.data.len() <= 64));
    assert!(log.iter().any(|record| record.data.len() != log[0].data.len()), "all of one length");
    let details = &run.result()["accuracy"]["details"];
    assert_eq!(details["token_error_rate"], 0.0);
    assert!(details["tokens_per_sample_mean"].as_f64().unwrap() > 0.0, "{details}");
}

/// The mock takes any input and knows no answer: wrong values are noticed.
#[test]
fn wrong_answers_do_not_pass() {
    let bench = Bench::new();
    for network in ["attention-sum-reader", "gnmt"] {
        let run = run(&bench, &tiny(network), "--plugin mock --mode accuracy");
        assert_eq!(run.finished.code(), 1, "{}", run.finished);
        let accuracy = &run.result()["accuracy"];
        assert_eq!((&accuracy["passed"], &accuracy["correct_count"]), (&false.into(), &0.into()));
        assert!(run.finished.stdout.contains("FAIL"), "{}", run.finished);
    }
}

#[test]
fn the_digits_keep_their_accuracy_in_less_precision() {
    let bench = Bench::new();
    let value = |precision: &str| {
        let run = bench.run(&format!("--mode accuracy --precision {precision}"));
        let result = run.assert_valid().result();
        assert_eq!(result["plugin"]["precision"], precision);
        result["accuracy"]["value"].as_f64().unwrap()
    };
    let f32_value = value("f32");
    for precision in ["bf16", "int8"] {
        assert!(value(precision) >= 0.99 * f32_value, "{precision}");
    }
}

#[test]
fn a_model_is_made_by_hand() {
    let bench = Bench::new();
    let made = bench.host("data make-model rnn-gru-4-8-1-2 --out models");
    assert_eq!(made.code(), 0, "{made}");
    let bytes = fs::read(bench.file("models/rnn-gru-4-8-1-2.safetensors")).unwrap();
    assert!(made.stdout.contains(&sha256_hex(&bytes)) && made.stdout.contains(" made"), "{made}");
    let again = bench.host("data make-model rnn-gru-4-8-1-2 --out models");
    assert!(again.stdout.contains("is there already"), "{again}");
    bench.host("data make-model gnmtt").assert_error(DATA, &["did you mean \"gnmt\"?"]);
    let help = bench.host("data make-model --help");
    assert!(help.stdout.contains("host data make-model gnmt"), "{help}");
    let list = bench.host("data list");
    assert!(
        list.stdout.lines().any(|line| line.contains("text-similarity ") && line.contains(" MB")),
        "{list}"
    );
}

#[test]
fn a_model_that_cannot_be_written_leaves_nothing() {
    let bench = Bench::new();
    bench.write("blocked", "a file");
    let failed = bench.host("data make-model rnn-gru-4-8-1-2 --out blocked/below");
    failed.assert_error(DATA, &["cannot make", "rnn-gru-4-8-1-2.safetensors"]);
    assert_eq!(fs::read_to_string(bench.file("blocked")).unwrap(), "a file");

    // A limit on the size of files, in blocks of 512 bytes, stands for a full disk: the model has 8 MB.
    let script = "ulimit -f 128; exec \"$0\" \"$@\"";
    let host = bench.command("data make-model rnn-lstm-512-512-1-2 --out full");
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(host.get_program()).args(host.get_args()).current_dir(bench.path());
    let failed = bench.start_command(command).finish();
    failed.assert_error(DATA, &["cannot make", "is there room"]);
    assert_eq!(fs::read_dir(bench.file("full")).unwrap().count(), 0, "{failed}");
}

/// Bounds of tokens that no machine breaks, for runs in Server.
const TOKENS: &str = "--set use_token_latencies=true --set server_ttft_latency=20000000000 \
                      --set server_tpot_latency=20000000000 --set floor=false";

#[test]
fn a_transcript_begins_before_it_ends() {
    let bench = Bench::new();
    for scenario in ["SingleStream", "Server", "Offline"] {
        let run = run(&bench, &tiny("rnnt"), &format!("{} --mode performance {TOKENS}", short(scenario)));
        let figures = &run.assert_valid().result()["performance_run"]["figures"];
        let mean = |figures: &serde_json::Value| figures["mean_ns"].as_f64();
        let first = mean(&figures["tokens"]["time_to_first_token"]);
        // In Offline all samples are there at once, so the time to the first token says nothing.
        assert_eq!(first.is_some_and(|ns| ns > 0.0), scenario != "Offline", "{scenario}: {figures}");
        if scenario == "SingleStream" {
            assert!(first < mean(&figures["query_latency"]), "{figures}");
        }
        let stages = &run.result()["plugin"]["stages"];
        for name in ["features", "encoder", "decoder"] {
            assert!(stages[name]["count"].as_u64().is_some_and(|count| count > 0), "{scenario}: {stages}");
        }
    }
}

/// Some of the tiny model's translations have no word, and some a single one. A token run says so of each, and of no
/// other.
#[test]
fn only_a_translation_without_words_has_no_first_token() {
    let bench = Bench::new();
    let run = run(&bench, &tiny("gnmt"), &format!("--mode performance --duration 100ms {TOKENS}"));
    assert_eq!(run.finished.code(), 1, "{}", run.finished);
    let performance = &run.result()["performance_run"];
    let reasons = performance["reasons"].as_array().unwrap();
    let counts: Vec<u64> = ["before their first token", "without a number of tokens", "with one token"]
        .iter()
        .map(|text| {
            let of = |reason: &&serde_json::Value| reason.as_str().unwrap().contains(text);
            let reason = reasons.iter().find(of).unwrap_or_else(|| panic!("{text}: {reasons:?}"));
            reason.as_str().unwrap().split(' ').next().unwrap().parse().unwrap()
        })
        .collect();
    assert_eq!((reasons.len(), counts[0]), (3, counts[1]), "{reasons:?}");
    let tokens = &performance["figures"]["tokens"];
    let first_count = tokens["time_to_first_token"]["count"].as_u64().unwrap();
    assert_eq!(Some(first_count + counts[0]), performance["issued_sample_count"].as_u64(), "{tokens}");
    // The others have words after the first, which is there before they are.
    let later = &tokens["time_per_output_token"];
    assert_eq!(later["count"].as_u64(), Some(first_count - counts[2]), "{tokens}");
    assert!(later["mean_ns"].as_u64().is_some_and(|mean_ns| mean_ns > 0), "{tokens}");
}
