//! Requests to a plugin before a test: the expected load, its placement, a warm-up.

use proctor_tests::{Bench, Run, compile, workspace};
use serde_json::json;

/// Runs the C plugin that does something about loading wrong; `None` without a C compiler.
fn run_wrong(bench: &Bench, case: &str, flags: &str) -> Option<Run> {
    let library = compile("loading_plugin.c", &[&format!("CASE={case}")], bench.path(), "loading")?;
    let flags = format!("{flags} --set floor=false --duration 50ms --mode performance");
    Some(bench.run(&format!("--plugin {} {flags}", library.display())))
}

/// Runs the mock plugin and returns what it and the host log.
fn log_of_mock(bench: &Bench, flags: &str) -> String {
    let mut command = bench.command(&format!(
        "run --output run --plugin mock {flags} --set floor=false --duration 50ms --mode performance"
    ));
    command.env("PROCTOR_LOG", "info");
    let finished = bench.start_command(command).finish();
    assert_eq!(finished.code(), 0, "{finished}");
    finished.stderr.clone()
}

#[test]
fn a_plugin_is_told_the_load_that_a_run_will_bring() {
    let bench = Bench::new();
    let log = log_of_mock(
        &bench,
        "--scenario Server --target-qps 500 --set server_target_latency_ns=5000000000 --set issue=true \
         --set instances=2",
    );
    for told in [
        "latency_bound_ns: Some(5000000000)",
        "target_qps: Some(500.0)",
        "samples_per_query: Some(1)",
        "Placement { instance_index: 1, instance_count: 2",
    ] {
        assert!(log.contains(told), "{told}: {log}");
    }
}

#[test]
fn a_warm_up_of_whole_queries_completes_nothing() {
    let bench = Bench::new();
    for scenario in ["SingleStream", "MultiStream"] {
        let flags = format!("--plugin mock --scenario {scenario} --set issue=true --duration 50ms");
        bench.run(&format!("{flags} --mode performance --set floor=false")).assert_valid();
    }
    let Some(run) = run_wrong(&bench, "COMPLETES_WARM_UP", "--set issue=true") else { return };
    run.assert_invalid(&[
        "plugin zeros: answered samples in warm_up, which completes none; and 2 more of this kind",
    ]);
    let Some(run) = run_wrong(&bench, "COMPLETES_WARM_UP", "--set issue=false") else { return };
    run.assert_valid();
    let Some(run) = run_wrong(&bench, "FAILS_WARM_UP", "--set issue=true") else { return };
    run.assert_invalid(&[
        "the warm-up failed: plugin zeros: warm_up failed (DEVICE_LOST): the device is cold",
    ]);
}

/// Number of bytes of the digits' samples; each is an image of 8 by 8 numbers of 4 bytes.
const DIGITS_BYTES: f64 = 600.0 * 8.0 * 8.0 * 4.0;

#[test]
fn samples_are_decoded_straight_into_memory_of_the_plugin() {
    let bench = Bench::new();
    for (kind, issue) in [("pinned", false), ("pinned", true), ("device", false)] {
        let run = bench.run(&format!(
            "--plugin mock --set mock.memory={kind} --set issue={issue} --set floor=false --duration 50ms \
             --mode performance"
        ));
        let result = run.assert_valid().result();
        assert_eq!(result["plugin"]["sample_memory"], json!([kind]), "{}", run.finished);
        let metric = |name: &str| result["plugin"]["metrics"][name]["greatest"].clone();
        assert_eq!(metric("own_sample_bytes"), DIGITS_BYTES, "{}", run.finished);
        assert_eq!(metric("copied_sample_bytes"), 0.0, "{}", run.finished);
    }
    let run = bench.run("--plugin mock --set floor=false --duration 50ms --mode performance");
    assert_eq!(run.assert_valid().result()["plugin"]["sample_memory"], json!(["host"]));
}

#[test]
fn each_input_has_its_own_kind_of_memory() {
    let bench = Bench::new();
    let benchmark = workspace().join("tests/fixtures/benchmarks/llama-tiny.toml");
    let flags = format!("--benchmark {} --data-root {}", benchmark.display(), bench.path().display());
    let Some(run) = run_wrong(&bench, "FIRST_MEMORY", &flags) else { return };
    let result = run.assert_valid().result();
    assert_eq!(result["plugin"]["sample_memory"], json!(["pinned", "host"]), "{}", run.finished);
}

#[test]
fn memory_that_cannot_be_is_named() {
    let bench = Bench::new();
    for (case, reason) in [
        ("NULL_MEMORY", "allocate returned OK and no memory of "),
        ("MISALIGNED_MEMORY", "which is not aligned to 4096"),
        ("SMALL_MEMORY", "allocate says that its memory has "),
        ("UNKNOWN_MEMORY", "allocate says that its memory is of the unknown kind 77"),
        ("NO_FREE", "the required function ProctorMemory.free is null"),
    ] {
        let Some(run) = run_wrong(&bench, case, "") else { return };
        run.finished.assert_error(3, &["library digits failed to load 600 samples: ", "zeros: ", reason]);
    }
    let Some(run) = run_wrong(&bench, "FREED_MEMORY", "") else { return };
    run.assert_invalid(&["plugin zeros: free failed (INVALID_ARGUMENT): freed already"]);
}

#[test]
fn instances_are_spread_over_the_chosen_devices() {
    let bench = Bench::new();
    let mock = "--plugin mock --set mock.devices=3 --set instances=4";
    let run =
        bench.run(&format!("{mock} --set devices=2,0 --set floor=false --duration 50ms --mode performance"));
    let result = run.assert_valid().result();
    let plugin = &result["plugin"];
    assert_eq!(plugin["instance_devices"].to_string(), "[2,0,2,0]", "{}", run.finished);
    assert_eq!(plugin["devices"][0]["name"], "Mock 2");
    assert_eq!(plugin["devices"][0]["id"], "mock-2");
    assert_eq!(plugin["devices"][1]["numa_node"], 0);
    assert_eq!(plugin["devices"].as_array().unwrap().len(), 2);
    // Those of different devices are made at the same time, on a thread for each.
    assert_eq!(plugin["metrics"]["creating_threads"]["last"], 2.0, "{}", run.finished);
    let described = bench.host("describe mock --plan digits-lstm --set mock.devices=3");
    assert!(described.stdout.contains("Mock 1") && described.stdout.contains("NUMA node"), "{described}");
    let run = bench.run(&format!("{mock} --set devices=3"));
    run.finished.assert_error(2, &["\"3\" is no device of plugin mock, which has 0 to 2"]);
    let run = bench.run("--plugin mock --set devices=0");
    run.finished.assert_error(2, &["plugin mock lists no devices to choose from"]);
}

#[test]
fn the_working_folder_is_looked_at_around_instances_that_are_created_at_the_same_time() {
    let bench = Bench::new();
    for leaves in [false, true] {
        let defined = format!("LEAVES={}", u8::from(leaves));
        let Some(library) = compile("folder_plugin.c", &[&defined], bench.path(), "zeros") else { return };
        let run = bench.run(&format!(
            "--plugin {} --set issue=false --set devices=0,1 --set instances=2 --set floor=false --duration 50ms \
             --mode performance",
            library.display()
        ));
        run.assert_valid();
        let warned = run.finished.stderr.contains("zeros changed the working folder in create_instance");
        assert_eq!(warned, leaves, "{}", run.finished);
    }
}

#[test]
fn devices_that_cannot_be_are_named() {
    let bench = Bench::new();
    for (case, reason) in [
        ("NAMELESS_DEVICE", "the name of device 1"),
        ("DEVICE_OF_NO_NODE", "the NUMA node of device 1 is -7; it is -1 if not known"),
        ("GARBLED_ID", "the id of device 1"),
        ("FAILS_TO_LIST", "list failed (DEVICE_LOST): the bus is gone"),
    ] {
        let Some(run) = run_wrong(&bench, case, "") else { return };
        run.finished.assert_error(3, &["zeros: ", reason]);
    }
}

#[test]
fn energy_between_start_and_stop_is_in_the_result() {
    let bench = Bench::new();
    let flags = "--plugin mock --set mock.power_w=100 --set floor=false --duration 50ms";
    let run = bench.run(flags);
    let result = run.result();
    let (test, energy) = (&result["performance_run"], &result["performance_run"]["energy"]);
    let joules = energy["joules"].as_f64().unwrap();
    // The plugin's clock is the run's, which lies between start and stop.
    assert!(joules >= 100.0 * test["duration_ns"].as_f64().unwrap() / 1e9, "{test}");
    let samples = test["issued_sample_count"].as_f64().unwrap();
    assert_eq!(energy["joules_per_sample"].as_f64().unwrap(), joules / samples);
    assert!(result["accuracy_run"].get("energy").is_none());
    for (case, stop) in
        [("ENERGY_FALLS", "90 J at the start and 80 J at the stop"), ("ENERGY_IS_NAN", "NaN J")]
    {
        let Some(run) = run_wrong(&bench, case, "") else { return };
        run.assert_invalid(&["plugin zeros: the energy counter said ", stop]);
        assert!(run.result()["performance_run"].get("energy").is_none(), "{}", run.finished);
    }
}

#[test]
fn a_system_that_is_reached_by_a_network_says_so() {
    let bench = Bench::new();
    let Some(run) = run_wrong(&bench, "IS_NETWORK", "") else { return };
    assert_eq!(run.assert_valid().result()["plugin"]["network"], true);
    assert!(run.finished.stdout.contains("reached by a network"), "{}", run.finished);
    assert!(run.text("mlperf_log_summary.txt").contains("SUT name : zeros 1.0.0 (Network SUT)"));
}

#[test]
fn inputs_come_in_the_form_that_a_plugin_chooses() {
    let bench = Bench::new();
    for (form, benchmark, expected) in [
        ("f16", "digits-lstm", "f16 [8,8] as_given null null"),
        ("bf16", "digits-lstm", "bf16 [8,8] as_given null null"),
        ("i8", "digits-lstm", "i8 [8,8] as_given 0.007874016 0"),
        ("u8", "digits-mlp", "u8 [64] as_given 0.003921569 0"),
        ("channels-last", "digits-cnn", "f32 [8,8,1] channels_last null null"),
    ] {
        let run = bench.run(&format!(
            "--plugin mock --set mock.input_form={form} --benchmark {benchmark} --set floor=false --duration 50ms \
             --mode performance"
        ));
        let result = run.assert_valid().result();
        let inputs = result["plugin"]["inputs"].as_array().expect("the inputs have another form");
        let [input] = &inputs[..] else { panic!("{inputs:?}") };
        let found =
            ["element_type", "shape", "layout", "scale", "zero_point"].map(|key| input[key].to_string());
        assert_eq!(found.join(" ").replace('"', ""), expected, "{}", run.finished);
    }
    // No tensor of it has three dimensions.
    let run = bench.run(
        "--plugin mock --set mock.input_form=channels-last --set floor=false --duration 50ms --mode performance",
    );
    assert!(run.assert_valid().result()["plugin"].get("inputs").is_none());
}

#[test]
fn samples_are_converted_for_batches_and_for_whole_queries() {
    let bench = Bench::new();
    for issue in [false, true] {
        let Some(run) = run_wrong(&bench, "PIXELS", &format!("--set issue={issue}")) else { return };
        let input = &run.assert_valid().result()["plugin"]["inputs"][0];
        assert_eq!(
            (&input["element_type"], &input["scale"]),
            (&"u8".into(), &0.0625.into()),
            "{}",
            run.finished
        );
    }
}

#[test]
fn forms_that_cannot_be_are_named() {
    let bench = Bench::new();
    for (case, reason) in [
        ("UNKNOWN_ELEMENT", "choose wants input \"image\" in the unknown element type 77"),
        ("UNKNOWN_LAYOUT", "choose wants input \"image\" in the unknown layout 9"),
        (
            "WRONG_ELEMENT",
            "input image f32[8, 8] was asked for in u64; it can be had in f32, f16, bf16, i8, u8",
        ),
        ("NO_CHANNELS", "input image f32[8, 8] was asked for with channels last"),
        (
            "SCALE_OF_ZERO",
            "input image f32[8, 8] was asked for in u8 with the scale 0; give a finite one above 0",
        ),
        ("SCALE_IS_NAN", "with the scale NaN; give a finite one above 0"),
        ("ZERO_POINT_BEYOND", "was asked for in u8 with the zero point 256, which is none"),
        ("FAILS_TO_CHOOSE", "choose failed (UNSUPPORTED): no form will do"),
        ("NO_CHOOSE", "the required function ProctorInputForms.choose is null"),
    ] {
        let Some(run) = run_wrong(&bench, case, "") else { return };
        run.finished.assert_error(3, &["zeros: ", reason]);
    }
}
