//! Runs of benchmarks of the official suites: what the round asks of them, and marks where they deviate.

use std::fs;

use proctor_tests::{Bench, Run, compile, workspace};
use serde_json::Value;

/// A fixed time for each sample, one after the other.
const MOCK: &str = "--plugin mock --virtual-time --mode performance --set mock.service=fixed";

/// The digits LSTM as a benchmark of the suites.
fn linked(bench: &Bench, suite: &str, untimed_steps: &str) -> String {
    let text = fs::read_to_string(workspace().join("host/config/benchmarks/digits-lstm.toml"));
    let text = text.expect("it is in the repository");
    let own = "preprocessing = \"digits\"\n";
    let link = format!("{own}suite = \"{suite}\"\nuntimed_steps = {untimed_steps}\n");
    let path = bench.write("linked.toml", text.replacen(own, &link, 1));
    path.display().to_string()
}

fn deviations(run: &Run) -> Vec<&str> {
    let deviations = run.result()["deviations"].as_array().map(Vec::as_slice).unwrap_or_default();
    deviations.iter().map(|deviation| deviation["text"].as_str().expect("it is a text")).collect()
}

#[test]
fn a_run_that_deviates_from_its_round_is_marked() {
    let bench = Bench::new();
    let benchmark = linked(&bench, "bert", "[\"tokenize\", \"pad\"]");
    let run = |more: &str| bench.run(&format!("{MOCK} --benchmark {benchmark} {more}"));
    let older = run("--set rules=v0.7");
    let expected = [
        "tokenize is done untimed",
        "f1, by which the round judges bert, is not measured",
        "the performance set has 600 samples, and the round wants 10833",
        "the data set has 600 samples, and the round wants 10833",
        "time is virtual",
    ];
    assert_eq!(deviations(&older), expected);
    let result = older.assert_valid().result();
    let kinds: Vec<_> = result["deviations"].as_array().unwrap().iter().map(|it| &it["kind"]).collect();
    assert_eq!(kinds, ["untimed-step", "figure", "performance-set", "data-set", "virtual-time"]);
    assert_eq!(result["deviations"][0]["step"], "tokenize");
    assert_eq!(result["deviations"][2]["wanted"], 10_833);
    assert_eq!(
        (&result["benchmark"]["suite"]["id"], &result["benchmark"]["suite"]["in_round"]),
        (&"bert".into(), &true.into())
    );
    let note = format!("deviates from v0.7, for comparing runs of your own only: {}", expected.join("; "));
    assert!(older.finished.stdout.contains(&note), "{}", older.finished);
    // The list of v5.0 has text to token ids.
    assert_eq!(deviations(&run("--set rules=v5.0")), expected[1..]);
    // A bound that is looser than the round's is no longer a run by its rules.
    let loose = run("--set rules=v0.7 --scenario Server --target-qps 10 --set target_latency=131");
    assert!(
        deviations(&loose).contains(&"server_target_latency_ns is 131000000, and the round wants 130000000")
    );
    // Neither a link nor a step: there is nothing to add but that no round has it.
    for rules in ["v0.5", "v0.7", "v5.0"] {
        let run = bench.run(&format!("{MOCK} --set rules={rules}"));
        assert_eq!(
            deviations(&run),
            ["the round has no benchmark digits-lstm", "time is virtual"],
            "{rules}"
        );
    }
}

#[test]
fn a_benchmark_that_the_round_lacks_is_none_of_its_results() {
    let bench = Bench::new();
    let benchmark = linked(&bench, "mobilenet", "[]");
    let flags =
        format!("--plugin mock --mode performance --set floor=false --duration 20ms --benchmark {benchmark}");
    let run = bench.run(&format!("{flags} --rules v5.0 --suite edge"));
    let result = run.assert_valid().result();
    assert_eq!(deviations(&run), ["the round has no benchmark mobilenet"]);
    assert_eq!(result["deviations"][0]["kind"], "benchmark");
    assert_eq!(result["deviations"][0]["benchmark"], "mobilenet");
    // Nor has a suite a say in it.
    assert!(result.get("suite").is_none() && !run.finished.stdout.contains("  suite  "), "{}", run.finished);
    assert!(run.finished.stderr.contains("suite has no effect"), "{}", run.finished);
    // v0.5 has it.
    let older = bench.run(&format!("{flags} --rules v0.5"));
    assert!(
        !deviations(&older).contains(&"the round has no benchmark mobilenet"),
        "{:?}",
        deviations(&older)
    );
}

#[test]
fn a_precision_that_is_not_on_the_list_of_the_round_is_marked() {
    let bench = Bench::new();
    let flags = "--scenario SingleStream --duration 50ms --mode performance --set floor=false";
    let on_list = ["int4", "int8", "int16", "uint8", "uint16", "fp11", "fp16", "bf16", "f32"];
    let off_list = ["f64", "f8e4m3", "fp12", "int32"];
    let all = on_list.map(|it| (it, true)).into_iter().chain(off_list.map(|it| (it, false)));
    for (precision, is_on_list) in all {
        let define = format!("PRECISION=\"{precision}\"");
        let Some(library) = compile("null_plugin.c", &[&define], bench.path(), precision) else { return };
        let run = |rules: &str| {
            let run = bench.run(&format!("--plugin {} {flags} --set rules={rules}", library.display()));
            deviations(&run).iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()
        };
        let mark = format!(
            "{precision} is not among the round's numerical formats, INT4, INT8, INT16, UINT8, UINT16, FP11 (1-5-5), \
             FP16, bfloat16, FP32"
        );
        let own = || "the round has no benchmark digits-lstm".to_owned();
        let expected = if is_on_list { vec![own()] } else { vec![mark, own()] };
        assert_eq!(run("v0.7"), expected, "{precision}");
        // v0.5 has the same list and v5.0 has none: one precision on the list and one off it show that.
        if ["int4", "f64"].contains(&precision) {
            assert_eq!(run("v0.5"), expected, "{precision}");
            assert_eq!(run("v5.0"), [own()], "{precision}");
        }
    }
}

#[test]
fn the_round_decides_what_is_valid() {
    let bench = Bench::new();
    let benchmark = linked(&bench, "bert", "[]");
    let server = format!(
        "{MOCK} --benchmark {benchmark} --scenario Server --target-qps 5 --set mock.service_us=50000"
    );
    // v0.7 gives it 130 ms in Server. v5.0 does not have it there, so that the bound is the definition's, 20 ms.
    let older = bench.run(&format!("{server} --set rules=v0.7"));
    let figures = &older.assert_valid().result()["performance_run"]["figures"];
    let setting = &older.result()["settings"]["server_target_latency_ns"];
    assert_eq!(setting["value"], 130_000_000);
    assert_eq!((&setting["origin"]["kind"], &setting["origin"]["round"]), (&"suite".into(), &"v0.7".into()));
    assert_eq!(setting["overridden"][0]["origin"]["kind"], "benchmark");
    let newer = bench.run(&server);
    newer.assert_invalid(&["over the 20 ms bound"]);
    // Rates of scheduled and of completed samples are both there, whichever of them is the metric.
    for (run, metric) in [(&older, "scheduled_samples_per_second"), (&newer, "completed_samples_per_second")]
    {
        let figures = &run.result()["performance_run"]["figures"];
        assert_eq!(run.result()["metric"]["value"], figures[metric], "{metric}");
    }
    // Where text and result checker of the round differ, both metrics are named, in the result and under the verdict.
    let by_text = &newer.result()["metric_by_text"];
    let figures_of_newer = &newer.result()["performance_run"]["figures"];
    assert_eq!(by_text["value"], figures_of_newer["scheduled_samples_per_second"]);
    assert_eq!(by_text["name"], "rate of scheduled samples");
    let both = " (rate of scheduled samples), the metric by the text of v5.0\n";
    assert!(newer.finished.stdout.contains(both), "{}", newer.finished);
    assert!(newer.finished.stdout.contains(" (throughput of completed samples)\n"), "{}", newer.finished);
    assert!(older.result().get("metric_by_text").is_none(), "in v0.7 they agree");
    assert!(!older.finished.stdout.contains("by the text of"), "{}", older.finished);
    assert!(
        figures["scheduled_samples_per_second"].is_f64() && figures["completed_samples_per_second"].is_f64()
    );
}

#[test]
fn the_accuracy_target_is_that_of_the_round() {
    let bench = Bench::new();
    let benchmark = linked(&bench, "mobilenet", "[]");
    let target = |rules: &str| {
        let run = bench.run(&format!("--benchmark {benchmark} --mode accuracy --set rules={rules}"));
        let accuracy: &Value = &run.assert_valid().result()["accuracy"];
        assert_eq!(accuracy["passed"], true);
        accuracy["target"].as_f64().unwrap()
    };
    assert!((target("v0.5") - 0.98 * 0.71676).abs() < 1e-12);
    assert!((target("v5.0") - 0.99 * 0.975).abs() < 1e-12, "v5.0 does not have it");
    let run = bench.host(&format!("explain --benchmark {benchmark} --set rules=v0.5"));
    let line = "accuracy target: top1 of at least 0.70242, 98 % of 0.71676, suite mobilenet of v0.5 (mobilenet.toml)";
    assert!(run.stdout.contains(line), "{run}");
}

#[test]
fn the_second_target_of_a_round_is_chosen_by_a_flag() {
    let bench = Bench::new();
    let text = fs::read_to_string(linked(&bench, "bert", "[]")).expect("it was just written");
    let path = bench.write("bert.toml", text.replacen("metric = \"top1\"", "metric = \"f1\"", 1));
    let explain = |flags: &str| bench.host(&format!("explain --benchmark {} {flags}", path.display()));
    for (flags, expected) in [
        ("", "f1 of at least 89.96526, 99 % of 90.87400, suite bert of v5.0 (bert.toml)"),
        (
            "--quality-target 99.9",
            "f1 of at least 90.78313, 99.9 % of 90.87400, suite bert of v5.0 (bert.toml)",
        ),
        (
            "--quality-target 99.9 --rules v0.7",
            "f1 of at least 90.78313, 99.9 % of 90.87400, suite bert of v0.7 (bert.toml)",
        ),
    ] {
        let explained = explain(flags);
        assert!(explained.stdout.contains(&format!("accuracy target: {expected}\n")), "{explained}");
    }
    explain("--quality-target 99.5")
        .assert_error(2, &["flag --quality-target: quality_target = 99.5: bert under v5.0 has 99 and 99.9"]);
}

/// A published ImageNet with this many pictures; the first of them are classified correctly.
fn classified(bench: &Bench, right_count: usize, picture_count: usize) -> String {
    let folder = format!("imagenet-{picture_count}");
    let mut list = String::new();
    let mut log = "[\n".to_owned();
    for picture in 0..picture_count {
        bench.write(&format!("{folder}/{picture}.JPEG"), "");
        list.push_str(&format!("{picture}.JPEG 1\n"));
        let (comma, class) = (if picture == 0 { "" } else { ",\n" }, u8::from(picture < right_count));
        let record =
            format!("\"seq_id\" : {picture}, \"qsl_idx\" : {picture}, \"data\" : \"0{class}000000\"");
        log.push_str(&format!("{comma}{{ {record} }}"));
    }
    bench.write(&format!("{folder}/val_map.txt"), list);
    let log = bench.write(&format!("{folder}.json"), log + "\n]\n");
    let folder = bench.file(&folder);
    format!("{} --benchmark resnet50 --element-type i32 --dataset-folder {}", log.display(), folder.display())
}

#[test]
fn the_target_of_the_round_is_held_against_the_value_in_five_figures() {
    let bench = Bench::new();
    let passes = |log: &str, rules: &str| {
        let scored = bench.host(&format!("accuracy {log} --rules {rules} --json"));
        let result: Value = serde_json::from_str(&scored.stdout).expect("it is JSON");
        let accuracy = &result["accuracy"];
        assert_eq!(accuracy["passed"], scored.code() == 0, "{scored}");
        (scored.code() == 0, accuracy["value"].as_f64().unwrap(), accuracy["target"].as_f64().unwrap())
    };
    // 0.756944 is between the targets of v0.5, 0.75691, and of the rounds after it, 0.75695.
    let log = classified(&bench, 109, 144);
    for (rules, expected) in [("v0.5", true), ("v0.7", false), ("v5.0", false)] {
        assert_eq!(passes(&log, rules).0, expected, "{rules}");
    }
    // 0.7569528 is below 0.756954, and both are 0.75695 in five figures.
    let log = classified(&bench, 626, 827);
    let (passed, value, target) = passes(&log, "v5.0");
    assert!(passed && value < target, "{value} {target}");
    let text = bench.host(&format!("accuracy {log}"));
    let line = "PASS: top1 0.75695 (626 of 827; 95 % interval 0.72658 to 0.78495), the target is 0.75695\n";
    assert!(text.stdout.contains(line), "{text}");
}

#[test]
fn searches_and_scaling_are_marked_as_runs_are() {
    let bench = Bench::new();
    let benchmark = linked(&bench, "bert", "[\"tokenize\"]");
    let flags = format!("{MOCK} --benchmark {benchmark} --set enable_trace=false --scenario Server");
    let expected: Vec<Value> =
        bench.run(&format!("{flags} --rules v0.7 --target-qps 10")).result()["deviations"]
            .as_array()
            .expect("there are some")
            .clone();
    assert_eq!(expected.len(), 5);
    for (command, more, file) in
        [("scale", "--slo-ms 12 --duration 2", "scale.json"), ("find-max", "", "find_max.json")]
    {
        let flags = flags.replace("--mode performance", "");
        let of = |rules: &str| {
            let folder = bench.file(&format!("{command}-{rules}"));
            let output = folder.display();
            let done = bench.host(&format!("{command} --output {output} {flags} {more} --rules {rules}"));
            let text =
                fs::read_to_string(folder.join(file)).unwrap_or_else(|error| panic!("{error}: {done}"));
            (done, serde_json::from_str::<Value>(&text).expect("it is JSON"))
        };
        let (done, older) = of("v0.7");
        assert_eq!(
            (&older["deviations"], &older["rules"]),
            (&expected.clone().into(), &"v0.7".into()),
            "{done}"
        );
        let note =
            "note: deviates from v0.7, for comparing runs of your own only: tokenize is done untimed; ";
        assert!(done.stdout.contains(note), "{done}");
        // v5.0 has text to token ids on its list, and no Server for it.
        let (_, newer) = of("v5.0");
        let kinds: Vec<_> = newer["deviations"].as_array().unwrap().iter().map(|it| &it["kind"]).collect();
        assert_eq!(kinds, ["scenario", "figure", "performance-set", "data-set", "virtual-time"]);
    }
}

/// Source: the result checkers of v5.0 to v6.1, which read these keys of LoadGen's detail log.
#[test]
fn the_metric_is_the_figure_that_the_checker_reads() {
    let bench = Bench::new();
    for rules in ["v5.0", "v5.1", "v6.0", "v6.1"] {
        for (scenario, key) in [
            ("SingleStream", "early_stopping_latency_ss"),
            ("MultiStream", "early_stopping_latency_ms"),
            ("Server", "result_completed_samples_per_sec"),
            ("Offline", "result_samples_per_second"),
        ] {
            let run = bench.run(&format!(
                "{VARIED} --scenario {scenario} --set rules={rules} --set server_target_qps=100"
            ));
            let metric = &run.assert_valid().result()["metric"];
            assert_eq!(as_logged(metric), logged(&run, key), "{rules} {scenario}: {metric}");
            let by_text = &run.result()["metric_by_text"]["value"];
            assert_eq!(by_text.is_null(), scenario != "Server", "{rules} {scenario}: {by_text}");
            let exported = bench.host(&format!("export {} --format json", run.folder().display()));
            assert!(exported.stdout.contains(&metric["value"].to_string()), "{rules} {scenario}: {exported}");
        }
    }
}

/// Source: the tables of scenarios of the paper and of the rules v0.7.
#[test]
fn the_metric_of_the_first_rounds_is_a_percentile_streams_or_scheduled_samples() {
    let bench = Bench::new();
    for rules in ["v0.5", "v0.7"] {
        for (scenario, key) in [
            ("SingleStream", "result_90.00_percentile_latency_ns"),
            ("MultiStream", "effective_samples_per_query"),
            ("Server", "result_scheduled_samples_per_sec"),
            ("Offline", "result_samples_per_second"),
        ] {
            let run = bench.run(&format!(
                "{VARIED} --scenario {scenario} --set rules={rules} --set server_target_qps=100 \
                 --set server_run_count=1"
            ));
            let metric = &run.result()["metric"];
            assert_eq!(as_logged(metric), logged(&run, key), "{rules} {scenario}: {metric}");
        }
    }
}

/// The mock with latencies whose estimate differs from the percentile.
const VARIED: &str = "--plugin mock --mode performance --virtual-time --set mock.service=log-normal \
                      --set mock.service_us=1000 --set mock.service_sigma=0.5 --set min_query_count=1000";

/// The value of a metric as the detail log has it: times are whole, and rates have six digits.
fn as_logged(metric: &Value) -> Option<f64> {
    let value = metric["value"].as_f64()?;
    if metric["unit"] == "samples/s" { format!("{value:.5e}").parse().ok() } else { Some(value) }
}

/// The value of a key of the detail log.
fn logged(run: &Run, key: &str) -> Option<f64> {
    let log = run.text("mlperf_log_detail.txt");
    let entries = log.lines().filter_map(|line| line.strip_prefix(":::MLLOG "));
    let mut entries = entries.map(|entry| serde_json::from_str::<Value>(entry).expect("an entry is JSON"));
    entries.find(|entry| entry["key"] == key).and_then(|entry| entry["value"].as_f64())
}

#[test]
fn the_measured_percentile_stands_below_its_estimate() {
    let bench = Bench::new();
    let run = bench.run(VARIED);
    let result = run.assert_valid().result();
    let figures = &result["performance_run"]["figures"];
    assert_eq!(result["metric"]["value"].as_f64(), figures["early_stopping_estimate_ns"].as_f64());
    assert_eq!(
        result["metric"]["name"],
        "early-stopping estimate of the 90th percentile of the query latency"
    );
    assert_eq!(result["metric_plain"]["value"].as_f64(), figures["query_latency"]["p90_ns"].as_f64());
    assert!(result["metric"]["value"].as_f64() > result["metric_plain"]["value"].as_f64(), "{figures}");
    assert!(run.finished.stdout.contains(" (90th percentile of the query latency)\n"), "{}", run.finished);
    assert!(
        figures["early_stopping_estimate_ns_p99"].as_u64() > figures["early_stopping_estimate_ns"].as_u64()
    );
}

#[test]
fn a_figure_over_samples_that_failed_is_withheld() {
    let bench = Bench::new();
    let flags = "--plugin mock --mode performance --virtual-time --scenario Server --target-qps 200 --duration 1s \
                 --instances 2 --set mock.service=fixed --set mock.service_us=2000 --set mock.fail_instance=1 \
                 --set mock.fail_after=20";
    let run = bench.run(flags);
    run.assert_invalid(&["failed"]);
    assert!(run.result()["metric"]["value"].is_null(), "{}", run.result()["metric"]);
    assert!(run.finished.stdout.contains("withheld: not every sample was answered"), "{}", run.finished);

    // Failed samples are counted separately, and are in no figure.
    let result = run.result();
    let test = &result["performance_run"];
    let [issued, failed, missing] =
        ["issued", "failed", "missing"].map(|what| test[format!("{what}_sample_count")].as_u64().unwrap());
    assert!(failed > 0 && failed < issued && missing == 0, "{test}");
    let figures = &test["figures"];
    let latency = &figures["query_latency"];
    assert_eq!(latency["count"].as_u64(), Some(issued - failed), "{test}");
    assert!(latency["min_ns"].as_u64() >= Some(2_000_000), "each answer takes 2 ms: {latency}");
    for claim in ["latency_bound_met", "early_stopping_met"] {
        assert_eq!(figures[claim], false, "{claim}: {figures}");
    }
    let answered_per_second = (issued - failed) as f64 * 1e9 / test["duration_ns"].as_f64().unwrap();
    let shown_per_second = figures["completed_samples_per_second"].as_f64().unwrap();
    let ratio = shown_per_second / answered_per_second;
    assert!((0.8..1.1).contains(&ratio), "{answered_per_second}: {figures}");
    let batches: Value = serde_json::from_str(&run.text("batches.json")).expect("it is JSON");
    for batch in ["slowest", "even"].iter().flat_map(|list| batches[list].as_array().unwrap()) {
        let [begin_ns, end_ns] = ["scheduled_ns", "completed_ns"].map(|key| batch[key].as_u64().unwrap());
        assert!(end_ns >= begin_ns + 2_000_000, "a batch that failed: {batch}");
    }
    // LoadGen counts them, and so do its logs.
    assert!(logged(&run, "result_completed_samples_per_sec") > Some(shown_per_second), "{figures}");
}

#[test]
fn late_and_repeated_responses_are_counted_apart() {
    let bench = Bench::new();
    for (fault, flags, part, key) in [
        (
            "complete-twice",
            "--mode performance --duration 50ms",
            "performance_run",
            "repeated_response_count",
        ),
        (
            "late-complete",
            "--mode accuracy --set performance_sample_count_override=100",
            "accuracy_run",
            "late_response_count",
        ),
    ] {
        let run = bench.run(&format!("--plugin faulty --set faulty.fault={fault} --set issue=true {flags}"));
        run.assert_invalid(&[]);
        let test = &run.result()[part];
        for name in ["late_response_count", "repeated_response_count"] {
            assert_eq!(test[name], u64::from(name == key), "{fault}: {test}");
        }
        assert_eq!((&test["failed_sample_count"], &test["missing_sample_count"]), (&0.into(), &0.into()));
        if part == "performance_run" {
            assert_eq!(test["figures"]["sample_latency"]["count"], test["issued_sample_count"], "{test}");
            assert!(run.result()["metric"]["value"].is_number(), "each sample was answered");
        }
    }
}

#[test]
fn tokens_are_told_with_their_times() {
    let bench = Bench::new();
    // In real time, as in virtual time no tokens are reported as they come.
    let run = bench.run(
        "--plugin mock --mode performance --scenario Server --target-qps 200 --duration 1s --set floor=false \
         --set use_token_latencies=1 --set mock.tokens=20 --set mock.service=fixed --set mock.service_us=2000",
    );
    assert!(!run.finished.stdout.contains("not known"), "{}", run.finished);
    for (name, unit) in [("tokens", "tokens/s"), ("TTFT", "p99"), ("TPOT", "p99")] {
        let has_row = |line: &str| line.trim_start().starts_with(name) && line.contains(unit);
        assert!(run.finished.stdout.lines().any(has_row), "no row {name}: {}", run.finished);
    }
}

#[test]
fn the_limit_on_outstanding_queries_that_a_verdict_advises_makes_the_next_run_valid() {
    let bench = Bench::new();
    let flags = "--plugin mock --mode performance --virtual-time --scenario Server --target-qps 500 --duration 1s \
                 --set mock.service=fixed --set mock.service_us=1000";
    bench.run(flags).assert_valid();
    let limited = bench.run(&format!("{flags} --set server_max_async_queries=1"));
    limited.assert_invalid(&[]);
    let text = &limited.finished.stdout;
    let limit = text.split("set server_max_async_queries = ").nth(1).unwrap_or_else(|| panic!("{text}"));
    let limit: String = limit.chars().take_while(char::is_ascii_digit).collect();
    bench.run(&format!("{flags} --set server_max_async_queries={limit}")).assert_valid();
}

#[test]
fn an_audit_is_no_official_run_and_says_what_is_in_effect() {
    let bench = Bench::new();
    let audit = bench
        .write("audit.config", "*.*.min_duration = 0\n*.*.min_query_count = 500\n*.*.qsl_rng_seed = 3\n");
    let run = bench.run(&format!(
        "--plugin mock --mode performance --virtual-time --preset official --set audit_config={}",
        audit.display()
    ));
    let result = run.assert_valid().result();
    assert_eq!(result["official_length"], false);
    let kinds: Vec<_> = result["deviations"].as_array().into_iter().flatten().map(|it| &it["kind"]).collect();
    assert_eq!(kinds, ["audit", "benchmark", "virtual-time"]);
    let queries = &result["settings"]["min_query_count"];
    assert_eq!((&queries["value"], &queries["origin"]["kind"]), (&500.into(), &"audit".into()));
    assert_eq!(queries["overridden"][0], serde_json::json!({"value": 100, "origin": {"kind": "default"}}));
    assert_eq!(result["settings"]["min_duration_ms"]["value"], 0);
    // Only the built-in file may set seeds.
    assert_eq!(result["seeds"]["qsl_rng_seed"], 6_023_615_788_873_153_749_u64);
    assert!(run.finished.stdout.contains("makes an audit of the run"), "{}", run.finished);
}

/// Interactive is the scenario of the run and everywhere it is shown; LoadGen runs Server, and its log says so.
#[test]
fn an_interactive_run_says_so_everywhere_but_in_loadgens_log() {
    let bench = Bench::new();
    let text = fs::read_to_string(linked(&bench, "llama2-70b", "[]")).expect("it was just written");
    let table = "\n[scenarios.Interactive]\nserver_target_qps = 100\n";
    let path = bench.write("interactive.toml", text + table).display().to_string();
    let flags = |rules: &str, scenario: &str| {
        format!(
            "{MOCK} --benchmark {path} --rules {rules} --scenario {scenario} --duration 1s --set mock.tokens=20"
        )
    };
    // In virtual time no token is reported, so that none of these is VALID.
    let run = bench.run(&flags("v5.1", "Interactive"));
    let result = run.result();
    assert_eq!(result["scenario"], "Interactive");
    for (setting, value) in [("server_ttft_latency", 450_000_000), ("server_tpot_latency", 40_000_000)] {
        let setting = &result["settings"][setting];
        assert_eq!((&setting["value"], &setting["origin"]["kind"]), (&value.into(), &"suite".into()));
    }
    assert!(!deviations(&run).iter().any(|text| text.contains("Interactive")), "{:?}", deviations(&run));
    assert!(run.finished.stdout.contains("digits-lstm on Interactive\n"), "{}", run.finished);
    let log = run.text("mlperf_log_detail.txt");
    let is_server = log.contains("\"effective_scenario\", \"value\": \"Server\"");
    assert!(is_server && !log.contains("Interactive"), "{log}");

    let folder = run.folder().display();
    let list = format!("list runs {}", bench.path().display());
    for command in [list, format!("export {folder} --format markdown")] {
        let shown = bench.host(&command);
        assert!(shown.stdout.contains("Interactive"), "{command}: {shown}");
    }
    let page = bench.file("page.html");
    let reported = bench.host(&format!("report --output {} {folder}", page.display()));
    let page = fs::read_to_string(&page).unwrap_or_else(|error| panic!("{error}: {reported}"));
    assert!(page.contains("digits-lstm on Interactive by mock"), "{page}");
    // The folder's name has it, too.
    let named = bench.host(&format!("run {}", flags("v5.1", "Interactive")));
    assert!(named.stdout.contains("-digits-lstm-Interactive\n"), "{named}");

    // A run of the one is none of the other.
    let server = bench.run(&flags("v5.1", "Server --target-qps 100"));
    let other = bench.host(&format!("compare {folder} {}", server.folder().display()));
    other.assert_error(
        2,
        &["a run of scenario Interactive", "one of Server: compare runs of the same scenario"],
    );
    let same = bench.host(&format!("compare {folder} {folder}"));
    assert!(same.stdout.contains("throughput"), "{same}");
    // In v5.0 it was no scenario yet.
    let refused = bench.host(&format!("run {}", flags("v5.0", "Interactive")));
    let texts =
        ["v5.0 does not have it; v5.1, v6.0, v6.1 have Interactive for llama2-70b", "llama2-70b-interactive"];
    refused.assert_error(2, &texts);
}

#[test]
fn the_suite_of_a_run_has_its_own_scenarios_and_stands_in_the_result() {
    let bench = Bench::new();
    let benchmark = linked(&bench, "bert", "[]");
    let run = |more: &str| bench.run(&format!("{MOCK} --benchmark {benchmark} --rules v0.7 {more}"));
    let edge = run("--suite edge --scenario Server --target-qps 10");
    let result = edge.result();
    assert_eq!((&result["suite"], &result["settings"]["suite"]["value"]), (&"edge".into(), &"edge".into()));
    assert_eq!(result["settings"]["suite"]["origin"]["flag"], "--suite");
    assert_eq!(result["deviations"][0]["kind"], "scenario");
    assert_eq!(result["deviations"][0]["suite"], "edge");
    assert_eq!(deviations(&edge)[0], "the round's suite edge has no Server for bert");
    assert!(edge.finished.stdout.contains("\n  suite       edge\n"), "{}", edge.finished);
    let page = bench.file("page.html");
    let reported = bench.host(&format!("report --output {} {}", page.display(), edge.folder().display()));
    let page = fs::read_to_string(&page).unwrap_or_else(|error| panic!("{error}: {reported}"));
    assert!(page.contains("suite</th><td>edge</td>"), "{page}");

    let datacenter = run("--set suite=datacenter --scenario Server --target-qps 10");
    assert!(
        !deviations(&datacenter).iter().any(|text| text.contains("Server")),
        "{:?}",
        deviations(&datacenter)
    );
    let none = run("--scenario Server --target-qps 10");
    assert!(none.result().get("suite").is_none() && !none.finished.stdout.contains("  suite  "));
    assert_eq!(deviations(&none), deviations(&datacenter));
    let refused = bench.host(&format!("run {MOCK} --benchmark {benchmark} --rules v0.5 --suite edge"));
    refused.assert_error(2, &["flag --suite: suite = edge: v0.5 has no suites; leave it out"]);
}
