//! The suite as a whole, on plugins that behave.

use std::collections::BTreeMap;

use proctor_tests::{Bench, Finished, compile, compile_with_cpp, plugin};
use serde_json::Value;

/// The cases of a report by name.
fn cases_of(finished: &Finished) -> BTreeMap<String, Value> {
    let report: Value = serde_json::from_str(&finished.stdout).unwrap_or_else(|_| panic!("{finished}"));
    let cases = report["cases"].as_array().unwrap_or_else(|| panic!("{finished}"));
    cases.iter().map(|case| (name_of(case), case.clone())).collect()
}

fn name_of(case: &Value) -> String {
    case["name"].as_str().expect("a case has a name").to_owned()
}

/// Validates a plugin, asserts that nothing fails, and returns the names of the cases that were skipped.
fn assert_passes(flags: &str) -> Vec<String> {
    let finished = Bench::new().host(&format!("validate --format json {flags}"));
    let cases = cases_of(&finished);
    let bad = cases.values().filter(|case| case["outcome"] != "PASS" && case["outcome"] != "SKIP");
    let bad: Vec<_> = bad.map(|case| format!("{}: {}", case["name"], case["reason"])).collect();
    assert!(bad.is_empty(), "{flags}:\n{}", bad.join("\n"));
    assert_eq!(finished.code(), 0, "{finished}");
    let is_skipped = |case: &&Value| case["outcome"] == "SKIP";
    cases.values().filter(is_skipped).map(name_of).collect()
}

#[test]
fn the_mock_passes() {
    let skipped = assert_passes(&plugin("mock").display().to_string());
    let expected = [
        "extensions/energy",
        "extensions/memory",
        "extensions/submit",
        "extensions/tokens",
        "numerics/accuracy",
        "options/texts",
    ];
    assert_eq!(skipped, expected, "what it does not do unless an option says so");
}

#[test]
fn the_mock_passes_with_everything_that_it_can_do() {
    let options = "--set mock.in_flight=3 --set mock.memory=device --set mock.power_w=10 --set mock.devices=2 --set \
                   mock.hooks=true --set mock.stages=true --set mock.order=shuffled --set mock.answers=random --set \
                   mock.input_form=f16 --case extensions/ --case services/ --case queries/ --case resources/";
    let skipped = assert_passes(&format!("{} {options}", plugin("mock").display()));
    assert_eq!(skipped, ["extensions/tokens"]);
}

#[test]
fn a_plugin_that_is_linked_in_passes() {
    let skipped = assert_passes(
        "cpu-rnn --case load/ --case manifest/ --case lifecycle/ --case batches/ --case numerics/",
    );
    assert_eq!(skipped, ["manifest/name-fits-file"]);
}

#[test]
fn a_plugin_in_c_passes() {
    let bench = Bench::new();
    let Some(library) = compile("null_plugin.c", &[], bench.path(), "zeros") else { return };
    let skipped = assert_passes(&library.display().to_string());
    assert!(
        skipped.iter().all(|name| !name.starts_with("batches/") && !name.starts_with("queries/")),
        "{skipped:?}"
    );
}

/// It checks the calls of the suite against the header, as it does in a run.
#[test]
fn the_suite_keeps_what_the_header_promises_to_plugins() {
    let library = plugin("host-probe").display().to_string();
    let groups = [
        "manifest",
        "lifecycle",
        "batches",
        "queries",
        "scenarios",
        "extensions",
        "services",
        "cancel",
        "resources",
    ];
    let groups: Vec<_> = groups.iter().map(|group| format!("--case {group}/")).collect();
    let skipped = assert_passes(&format!("{library} {}", groups.join(" ")));
    let is_of_work = |name: &String| name.starts_with("batches/") || name.starts_with("queries/");
    assert!(!skipped.iter().any(is_of_work), "{skipped:?}");
}

#[test]
fn a_plugin_may_say_in_close_that_its_host_went_wrong() {
    let library = plugin("host-probe").display().to_string();
    let skipped = assert_passes(&format!("{library} --case order/"));
    assert!(skipped.is_empty(), "{skipped:?}");
}

#[test]
fn a_plugin_that_steps_by_sizeof_is_good_until_a_newer_host_comes() {
    let bench = Bench::new();
    let Some(library) = compile("sizeof_plugin.c", &[], bench.path(), "zeros") else { return };
    let cases = "--case batches/ --case negotiation/";
    let finished = bench.host(&format!("validate --format json {} {cases}", library.display()));
    let cases = cases_of(&finished);
    let bad = cases.values().filter(|case| case["outcome"] != "PASS");
    let bad: Vec<_> = bad.map(|case| (&case["name"], &case["outcome"])).collect();
    assert_eq!(bad.len(), 1, "{finished}");
    assert_eq!((bad[0].0.as_str(), bad[0].1.as_str()), (Some("negotiation/newer-structures"), Some("CRASH")));
}

/// Makes one case with a plugin that goes astray in this way.
fn wayward(way: &str, flags: &str) -> Option<Value> {
    let bench = Bench::new();
    let library = compile_with_cpp("wayward_plugin.c", "throw_number.cpp", &[], bench.path(), "wayward")?;
    let mut command = bench.command(&format!("validate --format json {} {flags}", library.display()));
    command.env("WAYWARD", way);
    let finished = bench.start_command(command).finish();
    cases_of(&finished).into_values().next()
}

#[test]
fn a_plugin_that_is_only_slow_does_not_fail() {
    let Some(case) = wayward("execute:1+ slow", "--case batches/many --limit 1s") else { return };
    assert_eq!(case["outcome"], "SKIP", "{case}");
    assert_eq!(case["reason"], "the case took longer than 1 s; give it more with --limit");
    // Seconds of work are in its queue when no more comes.
    let options =
        "--set mock.service=fixed --set mock.service_us=150 --case queries/at-a-high-rate --limit 1s";
    assert_passes(&format!("{} {options}", plugin("mock").display()));
}

#[test]
fn scenarios_are_those_of_the_row_of_the_model() {
    for (case, outcome) in [("server-batches", "SKIP"), ("offline-batches", "PASS")] {
        let flags = format!("--case scenarios/{case}");
        let Some(case) = wayward("describe:1+ other-scenarios", &flags) else { return };
        assert_eq!(case["outcome"], outcome, "{case}");
    }
}

#[test]
fn a_plugin_may_refuse_queries_once_it_is_cancelled() {
    let Some(case) = wayward("issue:1+ end-when-cancelled", "--case cancel/in-flight") else { return };
    assert_eq!(case["outcome"], "PASS", "{case}");
}

#[test]
fn the_output_of_a_case_has_what_was_printed_before_a_crash() {
    let Some(case) = wayward("execute print-and-abort", "--case batches/one-sample") else { return };
    assert_eq!(case["outcome"], "CRASH", "{case}");
    assert!(case["output"].as_str().is_some_and(|output| output.contains("out of coal")), "{case}");
}

#[test]
fn batches_that_are_submitted_have_the_answers_of_those_that_are_executed() {
    let bench = Bench::new();
    for (wrong, outcome, reason) in [
        ("none", "PASS", ""),
        ("inside", "PASS", ""),
        ("other", "FAIL", "submitted instead of executed: sample 0: output"),
        ("never", "FAIL", "a batch that was taken was not reported as done"),
    ] {
        let define = format!("WRONG=\"{wrong}\"");
        let Some(library) = compile("submit_plugin.c", &[&define], bench.path(), wrong) else { return };
        let flags =
            format!("validate --format json --case extensions/submit --limit 4s {}", library.display());
        let finished = bench.host(&flags);
        let case = &cases_of(&finished)["extensions/submit"];
        assert_eq!(case["outcome"], outcome, "{wrong}: {finished}");
        assert!(case["reason"].as_str().unwrap_or_default().starts_with(reason), "{wrong}: {finished}");
    }
}

#[test]
fn reports_have_the_form_that_is_asked_for() {
    let bench = Bench::new();
    let mock = plugin("mock").display().to_string();
    let text = bench.host(&format!("validate {mock} --case negotiation/"));
    assert!(text.stdout.starts_with("mock 0."), "{text}");
    assert!(text.stdout.contains("\nPASS   negotiation/newer-minor\n"), "{text}");
    assert!(text.stdout.contains(" cases: "), "{text}");
    assert!(text.stderr.contains("negotiation/newer-minor\n"), "progress: {text}");
    let junit = bench.host(&format!("validate {mock} --case negotiation/ --format junit"));
    assert!(junit.stdout.starts_with("<?xml version=\"1.0\""), "{junit}");
    assert!(junit.stdout.contains("<testcase classname=\"negotiation\" name=\"newer-minor\""), "{junit}");
    let list = bench.host("validate --list");
    assert!(list.stdout.lines().count() >= 60, "{list}");
}

#[test]
fn what_makes_no_sense_is_refused_before_any_case() {
    let bench = Bench::new();
    let mock = plugin("mock").display().to_string();
    let refused = |flags: &str, code: i32, text: &str| bench.host(flags).assert_error(code, &[text]);
    refused("validate no-such-plugin", 3, "found no plugin \"no-such-plugin\"");
    refused(&format!("validate {mock} --case manifest/sonud"), 2, "no case has \"manifest/sonud\"");
    refused(&format!("validate {mock} --set mock.thread=1"), 2, "did you mean \"threads\"?");
    refused(&format!("validate {mock} --set batch_sise=1"), 2, "did you mean");
    refused(&format!("validate {mock} --benchmark no-such"), 2, "no-such");
    refused("validate", 2, "PLUGIN");
}

#[test]
fn where_a_plugin_does_not_load_one_case_says_so_and_the_rest_is_skipped() {
    let bench = Bench::new();
    let library = bench.write("libtorn_sut.so", "no library");
    let finished = bench.host(&format!("validate --format json {}", library.display()));
    assert_eq!(finished.code(), 1, "{finished}");
    let cases = cases_of(&finished);
    let failed: Vec<_> =
        cases.values().filter(|case| case["outcome"] != "SKIP").map(|case| &case["name"]).collect();
    assert_eq!(failed, ["load/library-opens"], "{finished}");
    assert_eq!(cases["manifest/is-sound"]["reason"], "load/library-opens did not pass", "{finished}");
}
