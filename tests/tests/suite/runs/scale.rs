//! `host scale`: the setting to use, in virtual time and with a real plugin, and what cannot be done.

use std::fs;

use proctor_tests::{Bench, Finished};
use serde_json::{Value, json};

/// A device that takes 4 ms for a batch and 0.1 ms for each of its samples, however many instances there are.
const MOCK: &str = "--plugin mock --virtual-time --set mock.service=fixed --set mock.service_us=4000 --set \
                    mock.per_sample_us=100";

fn scale(bench: &Bench, name: &str, flags: &str) -> (Finished, Value) {
    let folder = bench.file(name);
    let finished = bench.host(&format!("scale --output {} {flags}", folder.display()));
    let text = fs::read_to_string(folder.join("scale.json"));
    let text = text.unwrap_or_else(|error| panic!("{error}: {finished}"));
    (finished, serde_json::from_str(&text).unwrap())
}

/// The knobs of each decision of the first policy: batch size and instances.
fn path(result: &Value) -> Vec<(u64, u64)> {
    let decisions = result["courses"][0]["decisions"].as_array().unwrap();
    let knobs = |decision: &Value, name: &str| decision["knobs"][name].as_u64().unwrap();
    decisions.iter().map(|decision| (knobs(decision, "batch_size"), knobs(decision, "instances"))).collect()
}

#[test]
fn the_setting_to_use_is_found_and_the_same_twice() {
    let bench = Bench::new();
    let flags = format!("--slo-ms 12 {MOCK} --duration 20");
    let (finished, result) = scale(&bench, "first", &flags);
    assert_eq!(finished.code(), 0, "{finished}");
    let course = &result["courses"][0];
    assert_eq!(course["policy"], "joint");
    // 80 samples take 12 ms, and instances do not slow each other: 10 of them serve 66,667 samples in a second.
    let size = course["setting"]["batch_size"].as_u64().unwrap();
    assert!((76..=80).contains(&size) && course["setting"]["instances"] == 10, "{}", course["setting"]);
    let throughput_qps = course["throughput_qps"].as_f64().unwrap();
    assert!((0.97..=1.0).contains(&(throughput_qps / 66_667.0)), "{throughput_qps}");
    assert_eq!(course["violation_share"], 0.0);
    assert!(finished.stdout.contains("joint: use batch "), "{finished}");
    let (_, again) = scale(&bench, "second", &flags);
    assert_eq!(result, again);
    for name in ["scale.json", "scale-joint.svg"] {
        let bytes = |folder: &str| fs::read(bench.file(folder).join(name)).unwrap();
        assert!(bytes("first") == bytes("second"), "{name} differs");
    }
}

#[test]
fn a_scenario_that_scaling_does_not_have_is_a_warning() {
    let bench = Bench::new();
    let flags = format!("--slo-ms 12 {MOCK} --duration 20 --scenario MultiStream");
    let (finished, _) = scale(&bench, "warned", &flags);
    let warning = "scenario = MultiStream has no effect in host scale";
    assert!(finished.code() == 0 && finished.stderr.contains(warning), "{finished}");
    bench.host(&format!("scale {flags} --strict")).assert_error(2, &[warning]);
}

#[test]
fn what_has_no_effect_in_scaling_is_told_of_and_not_shown() {
    let bench = Bench::new();
    let flags = format!("--slo-ms 12 {MOCK} --duration 5 --target-qps 300 --policy 8x1");
    let (_, plain) = scale(&bench, "plain", &flags);
    let idle = [
        "mode=FindPeakPerformance",
        "queue_capacity=64",
        "batch_timeout_us=7",
        "performance_issue_same=true",
        "qsl_rng_seed=3",
        "use_token_latencies=true",
    ];
    let set = idle.map(|assignment| format!(" --set {assignment}")).concat();
    let (told, of_flags) = scale(&bench, "flags", &format!("{flags}{set}"));
    for assignment in idle {
        let key = assignment.split('=').next().unwrap();
        assert!(told.stderr.contains(&format!("warning: {key} has no effect in host scale")), "{told}");
    }
    assert_eq!(told.stderr.matches("warning: ").count(), idle.len(), "{told}");
    // A file may serve runs as well.
    let file =
        idle.map(|it| it.replace('=', " = ").replace("FindPeakPerformance", "\"FindPeakPerformance\""));
    bench.write("proctor.toml", file.join("\n"));
    let (quiet, of_file) = scale(&bench, "file", &flags);
    assert!(!quiet.stderr.contains("warning: "), "{quiet}");
    for (finished, result) in [(told, of_flags), (quiet, of_file)] {
        assert_eq!(result, plain, "{finished}");
    }
}

#[test]
fn a_policy_beside_others_that_are_compared_is_told_of() {
    let bench = Bench::new();
    let flags = format!("--slo-ms 12 {MOCK} --duration 5 --compare 8x1,4x1");
    let (quiet, result) = scale(&bench, "quiet", &flags);
    assert!(!quiet.stderr.contains("warning: "), "{quiet}");
    let (told, other) = scale(&bench, "told", &format!("{flags} --policy clipper"));
    let warning = "warning: policy = clipper has no effect with --compare";
    assert!(told.stderr.contains(warning), "{told}");
    assert_eq!(result, other, "{told}");
    bench.host(&format!("scale {flags} --policy clipper --strict")).assert_error(2, &[&warning[9..]]);
}

#[test]
fn the_load_goes_through_the_performance_set_that_a_run_would_have() {
    let bench = Bench::new();
    let calls = bench.file("calls");
    let flags = format!(
        "--slo-ms 50 --plugin mock --set mock.service=fixed --set mock.service_us=20000 --policy 1x1 --duration 200ms \
         --set warm_up_batches=0 --set performance_sample_count_override=13 --record {}",
        calls.display()
    );
    let (finished, _) = scale(&bench, "few", &flags);
    let calls = fs::read_to_string(calls.join("calls.jsonl")).unwrap();
    let lines = calls.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let prepared = lines.filter(|line| line["call"] == "prepare_samples");
    let counts: Vec<_> = prepared.map(|line| line["prepared"].as_array().unwrap().len()).collect();
    assert_eq!(counts, [13], "{finished}");
}

#[test]
fn the_rate_of_arrivals_is_that_of_the_flag_in_every_scenario() {
    let bench = Bench::new();
    for (number, flags) in [
        "--scenario Offline --target-qps 300",
        "--scenario SingleStream --target-qps 300",
        "--scenario MultiStream --set target_qps=300",
        "--set server_target_qps=300",
    ]
    .into_iter()
    .enumerate()
    {
        let flags = format!("--slo-ms 20 {MOCK} --duration 5 {flags}");
        let (finished, result) = scale(&bench, &format!("rate-{number}"), &flags);
        assert_eq!(result["input"], json!({ "kind": "arrivals", "rate_qps": 300.0 }), "{finished}");
        assert_eq!(result["settings"]["server_target_qps"]["value"], 300.0, "{finished}");
    }
}

#[test]
fn a_setting_in_place_of_a_policy_stays() {
    let bench = Bench::new();
    let flags = format!("--slo-ms 12 {MOCK} --duration 5 --policy 64x3");
    let (finished, result) = scale(&bench, "stays", &flags);
    assert_eq!(finished.code(), 0, "{finished}");
    assert_eq!(result["courses"][0]["setting"], json!({ "batch_size": 64, "instances": 3 }));
    let known = "known are fixed, size-or-timeout, clipper, dnnscaler, dnnscaler-algorithm, joint, oracle";
    bench.host("run --plugin mock --virtual-time --policy 64x3").assert_error(2, &[known]);
}

#[test]
fn policies_are_compared_on_one_axis_and_another_target_is_followed() {
    let bench = Bench::new();
    let flags = format!(
        "--slo-ms 8 --slo-at 30s=6ms --approach batching --instances 1 --compare clipper,dnnscaler {MOCK}"
    );
    let (finished, result) = scale(&bench, "compared", &flags);
    assert_eq!(finished.code(), 0, "{finished}");
    assert!(finished.stdout.contains("decisions to settle"), "{finished}");
    for (course, expected) in result["courses"].as_array().unwrap().iter().zip([(17, 20), (17, 20)]) {
        // 40 samples take 8 ms, and 20 take 6.
        let size = course["setting"]["batch_size"].as_u64().unwrap();
        assert!((expected.0..=expected.1).contains(&size), "{}", course["setting"]);
        let decisions = course["decisions"].as_array().unwrap();
        assert!(decisions.iter().any(|decision| decision["cause"] == "target"));
        assert!(decisions.iter().all(|decision| decision["knobs"]["instances"] == 1));
    }
}

#[test]
fn settings_of_ones_own_are_compared_in_rounds() {
    let bench = Bench::new();
    let flags = format!("--slo-ms 8 --compare 1x1,32x2,joint --rounds 3 --duration 10 {MOCK}");
    let (finished, result) = scale(&bench, "rounds", &flags);
    assert_eq!(finished.code(), 0, "{finished}");
    let courses = result["courses"].as_array().unwrap();
    let order: Vec<_> = courses
        .iter()
        .map(|course| format!("{} {}", course["round"], course["policy"].as_str().unwrap()))
        .collect();
    let expected = ["1 1x1", "1 32x2", "1 joint", "2 joint", "2 32x2", "2 1x1", "3 1x1", "3 32x2", "3 joint"];
    assert_eq!(order, expected);
    assert_eq!(courses[1]["setting"], json!({"batch_size": 32, "instances": 2}));
    assert_eq!(courses[1]["decisions"].as_array().unwrap().len(), 1);
    // One sample takes 4.1 ms, a batch of 32 on each of two instances 7.2 ms.
    let row = finished.stdout.lines().find(|line| line.trim_start().starts_with("32x2 ")).unwrap();
    let ratio = format!("{:.3}", 64.0 / 7.2 * 4.1);
    assert!(row.contains("batch 32 x 2 instances") && row.contains(&ratio), "{row}, not {ratio}");
    for file in ["scale-32x2-1.svg", "scale-32x2-3.svg", "scale-joint-2.svg"] {
        assert!(bench.file("rounds").join(file).exists(), "{file}");
    }
    let refused = bench.host(&format!("scale --slo-ms 8 --compare 32x11 {MOCK}"));
    assert_eq!(refused.code(), 2, "{refused}");
    let why = "32x11 is beyond the bounds, batches of 128 on 10 instances: raise --batch-size or --instances";
    assert!(refused.stderr.contains(why), "{refused}");
}

#[test]
fn dnnscaler_adds_instances_where_they_gain_more() {
    let bench = Bench::new();
    // A batch takes 10 ms for each of its samples; instances slow each other a little.
    let latencies =
        |size: u32| (1..=10).map(|count| (size * (9000 + 1000 * count)).to_string()).collect::<Vec<_>>();
    let row = |size: u32| format!("{size},{}\n", latencies(size).join(","));
    let table: String = (1..=128).map(row).collect();
    let table = bench.write("latency.csv", format!("batch,1,2,3,4,5,6,7,8,9,10\n{table}"));
    let flags = format!(
        "--slo-ms 15.5 --policy dnnscaler --plugin mock --virtual-time --set mock.service=table --set mock.table={}",
        table.display()
    );
    let (finished, result) = scale(&bench, "added", &flags);
    assert_eq!(finished.code(), 0, "{finished}");
    let path = path(&result);
    assert_eq!(path[..3], [(1, 1), (32, 1), (1, 8)], "the profile");
    // 6 instances take 15 ms, 7 take 16.
    assert_eq!(result["courses"][0]["setting"], json!({ "batch_size": 1, "instances": 6 }), "{path:?}");
}

#[test]
fn a_target_that_cannot_be_met_is_said_with_the_tail_that_comes_nearest() {
    let bench = Bench::new();
    let (finished, result) = scale(&bench, "infeasible", &format!("--slo-ms 3 {MOCK} --duration 5"));
    assert_eq!(finished.code(), 1, "{finished}");
    assert_eq!(result["courses"][0]["setting"], Value::Null);
    let expected = "not even batch 1 x 1 instance meets the target: the tail of its service time is 4.100 ms, above 3.000 ms";
    assert!(finished.stdout.contains(expected), "{finished}");
    // If the target is lowered, the tail still belongs to the smallest knobs, not to the abandoned ones.
    let flags = format!("--slo-ms 12 --slo-at 30s=3ms {MOCK} --duration 60");
    let (finished, _) = scale(&bench, "lowered", &flags);
    assert!(finished.stdout.contains(expected), "{finished}");
}

#[test]
fn what_has_settled_too_late_is_not_judged() {
    let bench = Bench::new();
    let flags = "--slo-ms 3000 --batch-size 8 --instances 4 --plugin mock --virtual-time --set mock.service=fixed \
                 --set mock.service_us=900000 --set mock.per_sample_us=300000 --duration 50500ms";
    let (finished, result) = scale(&bench, "late", flags);
    assert_eq!(finished.code(), 1, "{finished}");
    let course = &result["courses"][0];
    assert!(!course["setting"].is_null() && course["within_target"].is_null(), "{finished}");
    assert!(
        finished.stdout.contains("too late to judge it; give it more time with --duration"),
        "{finished}"
    );
}

#[test]
fn a_tail_is_not_judged_by_fewer_batches_than_it_needs() {
    let bench = Bench::new();
    // None of some 240 batches is above the target, and a hundredth may be.
    let flags = format!("--slo-ms 8 --tail 99 --compare 1x1,2x1 --duration 1 {MOCK}");
    let (finished, result) = scale(&bench, "early", &flags);
    assert_eq!(finished.code(), 1, "{finished}");
    for course in result["courses"].as_array().unwrap() {
        assert_eq!((&course["violation_share"], &course["within_target"]), (&json!(0.0), &Value::Null));
    }
    assert!(finished.stdout.contains("ended too early to tell: p99 needs 400 batches"), "{finished}");
    let (finished, _) = scale(&bench, "long", &flags.replace("--duration 1 ", "--duration 3 "));
    assert_eq!(finished.code(), 0, "{finished}");
}

#[test]
fn latency_counts_from_the_arrival_where_samples_arrive() {
    let bench = Bench::new();
    // One sample at a time is served at 244 in a second: at 500 there have to be batches, or instances.
    let (finished, result) =
        scale(&bench, "arrivals", &format!("--slo-ms 15 --target-qps 500 {MOCK} --duration 30"));
    assert_eq!(finished.code(), 0, "{finished}");
    assert_eq!(result["input"]["kind"], "arrivals");
    let served = result["courses"][0]["counts"]["completed"].as_f64().unwrap() / 30.0;
    assert!((450.0..=550.0).contains(&served), "{served}");
    assert_eq!(result["courses"][0]["counts"]["failed"], 0);
}

#[test]
fn a_real_plugin_is_scaled_with_the_instances_that_were_made_before() {
    let bench = Bench::new();
    let (finished, result) =
        scale(&bench, "real", "--slo-ms 200 --batch-size 4 --instances 2 --policy dnnscaler --duration 6");
    assert_eq!(finished.code(), 0, "{finished}");
    let course = &result["courses"][0];
    assert!(course["counts"]["completed"].as_u64().unwrap() > 100);
    assert_eq!((&course["counts"]["failed"], &course["counts"]["unknown"]), (&json!(0), &json!(0)));
}

#[test]
fn a_target_may_be_a_multiple_of_the_latency_of_one_sample() {
    let bench = Bench::new();
    let flags = format!("--slo-x 3 {MOCK} --duration 20");
    let (finished, result) = scale(&bench, "multiple", &flags);
    assert_eq!(finished.code(), 0, "{finished}");
    // One sample takes 4.1 ms, and nothing else takes virtual time.
    let line = "one sample on one instance takes 4.100 ms on average, over 100 samples; 3 times that is the target, \
                --slo-ms 12.3\n";
    assert!(finished.stdout.starts_with(line), "{finished}");
    assert!(finished.stdout.contains("p95 within 12.30 ms, "), "{finished}");
    let base = json!({ "slo_x": 3.0, "mean_ns": 4_100_000.0, "batches": 100, "slo_ms": 12.3 });
    assert_eq!((&result["base"], &result["goal"]["target_ns"]), (&base, &json!(12_300_000)));
    assert_eq!(result["settings"]["slo_x"]["value"], 3.0);
    // 82 samples take 12.2 ms.
    let size = result["courses"][0]["setting"]["batch_size"].as_u64().unwrap();
    assert!((78..=83).contains(&size), "{}", result["courses"][0]["setting"]);
    assert_eq!(result["courses"].as_array().unwrap().len(), 1, "the base is no policy's course");
    let (_, again) = scale(&bench, "again", &flags);
    assert_eq!(result, again);
    let explained = bench.host("explain --slo-x 3 --policy joint").stdout;
    for row in ["slo_x", "slo_ms"] {
        assert!(explained.lines().any(|line| line.split_whitespace().next() == Some(row)), "{explained}");
    }
}

#[test]
fn what_cannot_be_scaled_is_refused() {
    let bench = Bench::new();
    let too_short = format!("scale --slo-x 3 --duration 20ms {MOCK}");
    for (command, expected) in [
        (&too_short[..], "cannot be measured in 20.00 ms, in which "),
        ("scale", "a policy that scales needs a latency target: give --slo-ms"),
        ("scale --slo-ms 0", "slo_ms"),
        ("scale --slo-ms 5 --slo-x 3", "slo_ms = 5 and slo_x = 3 are two targets: leave one of them out"),
        ("scale --slo-x 1", "slo_x"),
        ("run --policy joint --slo-x 3 --scenario Offline", "give a run --slo-ms, such as the target that"),
        ("scale --slo-ms 5 --batch-size 1 --instances 1", "there is nothing to scale"),
        ("scale --slo-ms 5 --policy fixed", "policy fixed does not scale; these do: clipper, dnnscaler"),
        (
            "scale --slo-ms 5 --compare clipper,joint --approach multi-tenancy",
            "policy clipper turns the batch size alone, which --approach multi-tenancy leaves as it is: leave",
        ),
        ("scale --slo-ms 5 --duration 0", "give --duration a time above 0"),
        ("scale --slo-ms 5 --duration 20 --slo-at 20s=3ms", "--slo-at changes the target after 20.00 s"),
        ("scale --slo-ms 5 --compare joint,4x2,joint", "--compare names joint twice"),
        ("scale --slo-ms 5 --slo-at 30", "give a time and a latency, such as 30s=20ms"),
    ] {
        let finished = bench.host(command);
        assert_eq!(finished.code(), 2, "{command}: {finished}");
        assert!(finished.stderr.contains(expected), "{command}: {finished}");
    }
    // A flag takes the place of a target in the file.
    bench.write("proctor.toml", "slo_ms = 5.0\n");
    bench.host(&too_short).assert_error(2, &["cannot be measured in 20.00 ms"]);
    bench.write("proctor.toml", "slo_ms = 5.0\nslo_x = 3.0\n");
    bench.host("scale").assert_error(2, &["slo_ms = 5 and slo_x = 3 are two targets"]);
}

#[test]
fn batches_that_take_no_virtual_time_are_refused_and_do_not_go_on_for_ever() {
    let bench = Bench::new();
    for (flags, code, expected) in [
        (
            "",
            2,
            "batches of plugin mock take no virtual time, so there is nothing to scale: give it an option",
        ),
        (
            "--set mock.fail_instance=1 --instances 1",
            3,
            "batches of plugin mock fail and take no virtual time",
        ),
    ] {
        let finished = bench.host(&format!("scale --slo-ms 5 --plugin mock --virtual-time {flags}"));
        assert_eq!(finished.code(), code, "{flags}: {finished}");
        assert!(finished.stderr.contains(expected), "{flags}: {finished}");
    }
    // Arrivals bring time with them.
    let (finished, result) =
        scale(&bench, "arrivals", "--slo-ms 5 --target-qps 500 --plugin mock --virtual-time --duration 5");
    assert!(result["courses"][0]["counts"]["completed"].as_u64().unwrap() > 2000, "{finished}");
}

#[test]
fn batches_of_seconds_end_after_the_time_and_are_no_part_of_it() {
    let bench = Bench::new();
    // In real time: an instance is in mid-batch at the end, and thousands of samples wait.
    let flags = "--slo-ms 5000 --plugin mock --set mock.service=fixed --set mock.service_us=1500000 --policy clipper \
                 --duration 4";
    let (finished, result) = scale(&bench, "slow", flags);
    let course = &result["courses"][0];
    assert_eq!((&course["hung"], &course["counts"]["failed"]), (&json!(0), &json!(0)), "{finished}");
    assert_eq!(course["counts"]["unknown"], 0, "{finished}");
    // In virtual time nothing is decided after the end.
    let (_, result) = scale(&bench, "short", &format!("--slo-ms 12 {MOCK} --policy clipper --duration 1"));
    let decisions = result["courses"][0]["decisions"].as_array().unwrap();
    assert!(decisions.len() > 2);
    assert!(decisions.iter().all(|decision| decision["at_ns"].as_u64().unwrap() <= 1_000_000_000));
}

#[test]
fn a_rate_that_is_not_served_within_the_target_gives_no_setting_to_use() {
    let bench = Bench::new();
    // Batches of 80 are within the target of the service time, and ten instances of them serve 66,667 samples a second.
    let flags = format!("--slo-ms 24 --target-qps 80000 --policy dnnscaler --duration 20 {MOCK}");
    let (finished, result) = scale(&bench, "overload", &flags);
    assert_eq!(finished.code(), 1, "{finished}");
    let course = &result["courses"][0];
    assert_eq!(course["within_target"], false, "{finished}");
    assert!(finished.stdout.contains("rests above the target at "), "{finished}");
    // Queries still waiting at the end are above the target as well.
    assert!(course["unanswered"].as_u64().unwrap() > 100_000, "{finished}");
    assert!(finished.stdout.contains("without an answer at the end had waited"), "{finished}");
}

#[test]
fn arrivals_that_still_wait_at_the_end_are_above_the_target() {
    let bench = Bench::new();
    // The first batch is under way at the end, and all others wait.
    let flags = "--slo-ms 50 --target-qps 100 --instances 1 --plugin mock --virtual-time --set mock.service=fixed \
                 --set mock.service_us=5000000 --duration 1";
    let (finished, result) = scale(&bench, "stuck", flags);
    assert_eq!(finished.code(), 1, "{finished}");
    let course = &result["courses"][0];
    // About a hundred have arrived. Those of the last 50 ms may still be answered in time.
    let unanswered = course["unanswered"].as_u64().unwrap();
    assert!((50..150).contains(&unanswered), "{unanswered}");
    assert_eq!(course["violation_share_of_all"], 1.0, "{finished}");
    assert!(course["issue_delay_p99_ns"].is_null(), "nobody is late in virtual time");
}

#[test]
fn the_lateness_of_arrivals_in_real_time_is_told() {
    let bench = Bench::new();
    let flags = "--slo-ms 500 --target-qps 100 --plugin mock --set mock.service=fixed --set mock.service_us=1000 \
                 --duration 1";
    let (finished, result) = scale(&bench, "late", flags);
    let course = &result["courses"][0];
    assert!(course["issue_delay_p99_ns"].is_u64(), "{finished}");
    assert!(finished.stdout.contains("of 100 arrivals 99 were issued within "), "{finished}");
}

#[test]
fn an_interrupted_comparison_keeps_what_it_has_and_says_so() {
    let bench = Bench::new();
    let folder = bench.file("interrupted");
    let partial = folder.with_added_extension("partial");
    let mut started = bench.start(&format!(
        "scale --slo-ms 5 --compare 1x1,2x1,4x1 --plugin mock --set mock.service=fixed --set mock.service_us=1000 \
         --duration 3 --output {}",
        folder.display()
    ));
    // The first policy is over, and the second one at work.
    started.wait_until("the first policy has a result", |_| partial.join("scale.json").exists());
    started.signal("INT");
    let finished = started.finish();
    assert_eq!(finished.code(), 1, "{finished}");
    let result: Value = serde_json::from_slice(&fs::read(folder.join("scale.json")).unwrap()).unwrap();
    assert_eq!((&result["interrupted"], result["courses"].as_array().unwrap().len()), (&json!(true), 2));
    assert!(result["courses"][0]["throughput_qps"].as_f64().unwrap() > 100.0, "{finished}");
}

#[test]
fn instances_that_end_their_last_batch_lower_no_bound() {
    let bench = Bench::new();
    // Batches take seconds, and the target is very low for a moment: all instances but one are retired in mid-batch.
    let flags = "--plugin mock --virtual-time --set mock.service=fixed --set mock.service_us=1000 --set \
                 mock.per_sample_us=80000 --slo-ms 12000 --slo-at 301s=50ms --slo-at 301.3s=12000ms --duration 600 \
                 --policy joint";
    let (finished, result) = scale(&bench, "dip", flags);
    assert_eq!(finished.code(), 0, "{finished}");
    let course = &result["courses"][0];
    assert_eq!(course["setting"]["instances"], 10, "{finished}");
    assert_eq!(course["events"], json!([]));
}

#[test]
fn where_memory_runs_out_the_bound_is_remembered() {
    let bench = Bench::new();
    let flags = format!("--slo-ms 12 {MOCK} --duration 20 --set mock.instances_max=3");
    let (finished, result) = scale(&bench, "full", &flags);
    assert_eq!(finished.code(), 0, "{finished}");
    let course = &result["courses"][0];
    assert_eq!(course["setting"]["instances"], 3, "{}", course["decisions"]);
    assert_eq!(course["counts"]["failed"], 0);
    let events = course["events"].as_array().unwrap();
    let (event, rest) = events.split_first().unwrap();
    assert!(event["what"].as_str().unwrap().starts_with("no instance 4: "), "{event}");
    assert!(rest.is_empty(), "it is not tried again: {rest:?}");
    assert!(course["decisions"].as_array().unwrap().iter().any(|decision| decision["cause"] == "bound"));
    assert!(finished.stdout.contains("no instance 4: "), "{finished}");
}

#[test]
fn a_damaged_file_of_curves_is_refused() {
    let bench = Bench::new();
    let curves = bench.write("curves.csv", "network,1,2\nsmall,1.0,fast\n");
    let finished =
        bench.host(&format!("scale --slo-ms 5 --policy dnnscaler --set curves={}", curves.display()));
    assert_eq!(finished.code(), 2, "{finished}");
    assert!(finished.stderr.contains("curves.csv, line 2") && finished.stderr.contains("fast"), "{finished}");
}

/// The lines of a file of curves: name and latencies.
fn curves(path: &std::path::Path) -> Vec<(String, Vec<f64>)> {
    let text = fs::read_to_string(path).unwrap();
    let line = |line: &str| {
        let (name, cells) = line.split_once(',').unwrap();
        (name.to_owned(), cells.split(',').map(|cell| cell.parse().unwrap()).collect())
    };
    text.lines().map(line).collect()
}

#[test]
fn a_measured_curve_is_kept_in_the_place_of_an_earlier_one() {
    let bench = Bench::new();
    let path = bench.file("curves.csv");
    let keep = |name: &str, flags: &str| {
        let flags = format!("--slo-ms 12 --duration 20 --curves {} {MOCK} {flags}", path.display());
        scale(&bench, name, &flags)
    };
    let (finished, result) = keep("oracle", "--policy oracle --batch-size 2 --instances 4");
    assert_eq!(finished.code(), 0, "{finished}");
    let expected = |latency_ms| ("digits-lstm f32 by mock".to_owned(), vec![latency_ms; 4]);
    assert_eq!(curves(&path)[1..], [expected(4.1)], "{finished}");
    assert_eq!(result["kept_curve"]["measured"], json!([1, 2, 3, 4]));
    let said = "as \"digits-lstm f32 by mock\": 4 of 4 numbers of instances measured\n";
    assert!(finished.stdout.contains(said), "{finished}");

    let slower = "--policy oracle --batch-size 2 --instances 4 --set mock.service_us=5000";
    keep("slower", slower);
    assert_eq!(curves(&path)[1..], [expected(5.1)]);
    // Batches alone are no curve, and neither is what did not come to a setting.
    for (name, flags) in [
        ("batches", "--approach batching --instances 1"),
        ("infeasible", "--policy oracle --set mock.service_us=20000"),
    ] {
        let (finished, result) = keep(name, flags);
        assert_eq!(result["kept_curve"], Value::Null, "{finished}");
    }
    assert_eq!(curves(&path)[1..], [expected(5.1)]);
}

#[test]
fn numbers_of_instances_that_were_not_measured_are_estimated() {
    let bench = Bench::new();
    let latencies = (1..=10).map(|count| (9000 + 1000 * count).to_string()).collect::<Vec<_>>().join(",");
    let table = bench.write("latency.csv", format!("batch,1,2,3,4,5,6,7,8,9,10\n1,{latencies}\n"));
    let path = bench.file("curves.csv");
    let flags = format!(
        "--slo-ms 15.5 --policy dnnscaler --approach multi-tenancy --batch-size 1 --plugin mock --virtual-time --set \
         mock.service=table --set mock.table={} --curves {}",
        table.display(),
        path.display()
    );
    let (finished, result) = scale(&bench, "estimated", &flags);
    assert_eq!(finished.code(), 0, "{finished}");
    let measured: Vec<u64> = serde_json::from_value(result["kept_curve"]["measured"].clone()).unwrap();
    assert!((3..10).contains(&measured.len()), "{measured:?}: {finished}");
    let (_, kept) = &curves(&path)[1];
    for (count, latency_ms) in (1_u32..).zip(kept) {
        let expected_ms = 9.0 + f64::from(count);
        let error = (latency_ms / expected_ms - 1.0).abs();
        let bound = if measured.contains(&u64::from(count)) { 1e-6 } else { 0.25 };
        assert!(error <= bound, "{count}: {latency_ms}");
    }
    assert!(
        finished.stdout.contains("of 10 numbers of instances measured, the others estimated"),
        "{finished}"
    );
}
