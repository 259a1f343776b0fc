//! Runs of all scenarios, VALID and without an error in any log.

use std::collections::BTreeMap;

use proctor_test_needs::skip;
use proctor_tests::{Bench, Run, SCENARIOS, find_plugin, short};
use serde_json::Value;

use super::{assert_no_errors, bench, entries, logged, run};

/// The detail logs of a run of accuracy and of performance.
const LOGS: [&str; 2] = ["accuracy/mlperf_log_detail.txt", "mlperf_log_detail.txt"];

/// The settings in a detail log, as asked for and as in effect.
fn settings(log: &str) -> BTreeMap<String, Value> {
    let settings = entries(log).into_iter().filter_map(|mut entry| {
        let key = entry["key"].as_str()?.to_owned();
        let is_setting = key.starts_with("requested_") || key.starts_with("effective_");
        is_setting.then(|| (key, entry["value"].take()))
    });
    settings.collect()
}

fn assert_official(run: &Run, logs: &[&str]) {
    run.assert_valid();
    for log in logs {
        assert_no_errors(run, log);
        let version = logged(&run.text(log), "loadgen_version");
        assert!(version.as_str().is_some_and(|version| version.starts_with("6.0.17 @ ")), "{version}");
    }
    assert!(run.text("mlperf_log_summary.txt").contains("Result is : VALID"), "{}", run.finished);
    let engine = &run.result()["engine"];
    assert_eq!((&engine["name"], &engine["version"]), (&"official".into(), &"6.0.17".into()), "{engine}");
    assert_eq!((&engine["known"], &engine["error_count"]), (&true.into(), &0.into()), "{engine}");
}

fn assert_all_scenarios(plugin: &str) {
    for scenario in SCENARIOS {
        let Some(bench) = bench() else { return };
        let run = run(&bench, scenario, &format!("--plugin {plugin}"));
        assert_official(&run, &LOGS);
        assert_eq!(run.result()["accuracy"]["passed"], true, "{}", run.finished);
    }
}

#[test]
fn the_mock_is_valid_in_each_scenario() {
    for scenario in SCENARIOS {
        let Some(bench) = bench() else { return };
        assert_official(&run(&bench, scenario, "--plugin mock --mode performance"), &LOGS[1..]);
    }
}

#[test]
fn cpu_rnn_is_valid_in_each_scenario() {
    assert_all_scenarios("cpu-rnn");
}

#[test]
fn onnx_is_valid_in_each_scenario() {
    if find_plugin("onnx").is_none() {
        return skip("plugin onnx is not built; `cargo xtask test` builds it");
    }
    assert_all_scenarios("onnx");
}

#[test]
fn each_way_to_the_plugin_is_valid() {
    for flags in
        ["--set issue=false", "--set issue=true", "--set issue=true --set mock.service=null", "--isolate"]
    {
        let Some(bench) = bench() else { return };
        run(&bench, "Server", &format!("--plugin mock --mode performance {flags}")).assert_valid();
    }
}

#[test]
fn settings_and_seeds_are_those_that_the_host_asks_for() {
    for scenario in SCENARIOS {
        let Some(bench) = bench() else { return };
        let flags = "--plugin mock --set rules=v6.1";
        let official = run(&bench, scenario, flags);
        let hints =
            "--set single_stream_expected_latency_ns=2000 --set multi_stream_expected_latency_ns=10000";
        let ours = Bench::new().run(&format!("{flags} {} {hints}", short(scenario)));
        for log in LOGS {
            let (theirs, ours) = (settings(&official.text(log)), settings(&ours.text(log)));
            assert!(theirs.contains_key("requested_qsl_rng_seed"), "{theirs:?}");
            assert_eq!(theirs, ours, "{scenario}, {log}");
        }
        let seed = logged(&official.text(LOGS[1]), "effective_qsl_rng_seed");
        assert_eq!(seed.as_u64(), Some(2_085_463_073_848_966_840));
    }
}

#[test]
fn both_engines_agree() {
    for scenario in ["Server", "Offline"] {
        let Some(bench) = bench() else { return };
        let output = bench.file("both");
        let finished = bench.host(&format!(
            "run --engine both --output {} --plugin mock --mode performance {}",
            output.display(),
            short(scenario)
        ));
        assert_eq!(finished.code(), 0, "{finished}");
        for file in ["engines.json", "proctor/result.json", "official/result.json"] {
            assert!(output.join(file).is_file(), "{file}: {finished}");
        }
    }
}

#[test]
fn a_user_file_reaches_loadgen_and_makes_no_error() {
    let Some(bench) = bench() else { return };
    let file = bench.write("user.conf", "*.Server.target_qps = 250\n*.Server.min_duration = 300\n");
    let flags = format!(
        "--engine official --plugin cpu-rnn --scenario Server --set floor=false --user-conf {} \
         --set server_target_latency_ns=600000000000",
        file.display()
    );
    let run = bench.run(&flags);
    run.assert_valid();
    for log in LOGS {
        assert_no_errors(&run, log);
    }
    let log = run.text(LOGS[1]);
    assert_eq!(logged(&log, "requested_server_target_qps"), 250);
    assert_eq!(logged(&log, "requested_min_duration_ms"), 300);
}

#[test]
fn both_tests_of_a_process_have_their_own_settings_and_no_error() {
    for scenario in ["Server", "SingleStream"] {
        let Some(bench) = bench() else { return };
        let general = "*.Server.min_query_count = 40\n*.*.performance_sample_count_override = 64\n";
        let general = bench.write("mlperf.conf", general);
        let user = bench.write("user.conf", "*.Server.target_qps = 250\n*.*.min_duration = 150\n");
        let flags = format!(
            "--plugin mock --scenario {scenario} --set rules=v6.1 --set floor=false --mlperf-conf {} --user-conf {} \
             --set server_target_latency_ns=600000000000 --set single_stream_expected_latency_ns=2000",
            general.display(),
            user.display()
        );
        let official = bench.run(&format!("--engine official {flags}"));
        let ours = Bench::new().run(&flags);
        for (log, mode) in LOGS.into_iter().zip(["AccuracyOnly", "PerformanceOnly"]) {
            assert_no_errors(&official, log);
            let (theirs, ours) = (settings(&official.text(log)), settings(&ours.text(log)));
            assert_eq!(theirs, ours, "{scenario}, {log}");
            assert_eq!(
                (&theirs["effective_test_mode"], &theirs["effective_min_duration_ms"]),
                (&mode.into(), &150.into())
            );
        }
    }
}

#[test]
fn first_tokens_and_token_counts_reach_loadgen() {
    for scenario in ["SingleStream", "Server", "Offline"] {
        let Some(bench) = bench() else { return };
        let flags = "--plugin mock --set mock.tokens=5 --set use_token_latencies=true --set mock.service=fixed \
                     --set mock.service_us=500 --mode performance --set server_ttft_latency=600000000000 \
                     --set server_tpot_latency=600000000000";
        let run = run(&bench, scenario, flags);
        run.assert_valid();
        assert_no_errors(&run, LOGS[1]);
        let log = run.text(LOGS[1]);
        let key = if scenario == "Offline" { "result_tokens_per_second" } else { "result_token_throughput" };
        assert!(logged(&log, key).as_f64().is_some_and(|rate| rate > 0.0), "{log}");
    }
}
