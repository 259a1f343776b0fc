//! A plugin in a process of its own: it works the same, and its end does not end the program. `ways` has the table of
//! how it ends.

use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    process,
};

use proctor_test_needs::skip;
use proctor_tests::{Bench, PLACES, compile, datasets, json, plugin};
use serde_json::Value;

use crate::plugins::wayward::Wayward;

/// The accuracy logs of a run in the process of the host, and of one in a process of its own.
fn both_logs(flags: &str) -> [String; 2] {
    let bench = Bench::new();
    PLACES.map(|isolate| {
        let run = bench.run(&format!("--mode accuracy {flags} {isolate}"));
        assert_eq!(run.result()["accuracy_run"]["valid"], true, "{}", run.finished);
        let part = &run.result()["plugin"]["isolation"];
        assert_eq!(part["mode"].as_str(), (!isolate.is_empty()).then_some("process"));
        run.text("accuracy/mlperf_log_accuracy.json")
    })
}

#[test]
fn the_answers_are_those_of_the_same_plugin_in_the_process_of_the_host() {
    let mock = plugin("mock");
    let mock = format!("--plugin {} --set mock.service=fixed", mock.display());
    for flags in [
        format!("{mock} --set issue=false"),
        format!("{mock} --set issue=true"),
        format!("{mock} --scenario Offline --batch-size 16 --instances 2"),
        // The default plugin, which is linked in.
        String::new(),
    ] {
        let [here, there] = both_logs(&flags);
        assert!(here.contains("qsl_idx"), "{here}");
        assert!(here == there, "{flags}: the logs differ");
    }
}

#[test]
fn every_scenario_is_valid() {
    let bench = Bench::new();
    for scenario in ["SingleStream", "MultiStream", "Server --target-qps 1000", "Offline --target-qps 400000"]
    {
        for issue in [false, true] {
            let flags = format!(
                "--isolate --plugin {} --set mock.service=fixed --set mock.service_us=10 --scenario {scenario} --set \
                 issue={issue} --mode performance --duration 100ms --set min_query_count=700 --set floor=false --set \
                 server_target_latency_ns=10000000000",
                plugin("mock").display()
            );
            bench.run(&flags).assert_valid();
        }
    }
}

#[test]
fn the_floor_is_measured_in_the_same_way() {
    let bench = Bench::new();
    let flags = format!("--plugin {} --mode performance --duration 100ms", plugin("mock").display());
    let how = |isolate: &str| {
        let run = bench.run(&format!("{flags} {isolate}"));
        run.result()["harness_floor"]["how"].as_str().map(str::to_owned).unwrap_or_default()
    };
    assert!(how("--isolate").starts_with("null plugin in a process of its own, "));
    assert!(how("").starts_with("null plugin, "));
}

#[test]
fn a_fresh_process_has_the_next_test() {
    let Some(wayward) = Wayward::new() else { return };
    for (astray, dispatch) in [("execute:10 segv", "false"), ("issue:10 segv", "true")] {
        let flags = format!("--isolate --set warm_up_batches=0 --set issue={dispatch}");
        let run = wayward.run_both(astray, &flags);
        run.assert_invalid(&["accuracy run: ", "plugin wayward crashed with SIGSEGV in "]);
        // Each process counts its own calls, so the performance run goes astray, too: it was made.
        let performance = &run.result()["performance_run"];
        assert_eq!(performance["valid"], false, "{}", run.finished);
        assert!(run.find_text("mlperf_log_detail.txt").is_some(), "{}", run.finished);
    }
}

#[test]
fn a_metric_is_kept_where_the_process_is_ended_as_samples_are_missing() {
    let Some(wayward) = Wayward::new() else { return };
    let flags = "--isolate --set issue=true --set warm_up_batches=0 --set watchdog_ms=1000";
    let run = wayward.run("issue:10 metric-and-never", flags);
    run.assert_invalid(&["1 sample was never completed: sample 9 "]);
    assert_eq!(run.result()["plugin"]["metrics"]["last_words"]["last"], 42.0, "{}", run.finished);
}

#[test]
fn a_plugin_is_the_same_in_each_of_its_processes() {
    let Some(wayward) = Wayward::new() else { return };
    wayward.run("describe version-of-process", "").assert_valid();
    let run = wayward.run("describe version-of-process", "--isolate");
    run.finished.assert_error(3, &["plugin wayward", "describes itself in another way than before"]);
}

#[test]
fn a_search_goes_on_with_a_fresh_process() {
    let Some(wayward) = Wayward::new() else { return };
    let searched = wayward.search_with("execute:20 abort", "--isolate --set issue=false --from 500");
    let probes = json(&wayward.bench.file("search/probes.json"));
    let count = probes["curve"].as_array().map_or(0, Vec::len);
    assert!(count > 1, "{count} probes: {searched}");
    assert_eq!(searched.code(), 1, "{searched}");
}

/// A file that a restricted plugin can create, too, with [`MARKERS`]; removed at the end.
struct Marker(PathBuf);

/// Flag with which a plugin may write where markers are.
const MARKERS: &str = "--isolate --set isolate_devices=/dev/shm";

impl Marker {
    fn new(name: &str) -> Self {
        Self(format!("/dev/shm/proctor-{}-{name}", process::id()).into())
    }
}

impl Drop for Marker {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn a_test_whose_process_ends_before_it_begins_has_a_second_one() {
    let Some(wayward) = Wayward::new() else { return };
    for call in ["create_instance", "prepare_samples", "start"] {
        let marker = Marker::new(call);
        let run = wayward.spy(&format!("{call} once"), &marker.0, &format!("{MARKERS} --set issue=false"));
        run.assert_invalid(&[&format!("its process has ended by itself with exit code 7 in {call}")]);
        // The test was made all the same.
        let issued_count = run.result()["performance_run"]["issued_query_count"].as_u64();
        assert!(issued_count.is_some_and(|count| count > 0), "{}", run.finished);
    }
}

#[test]
fn the_runs_after_one_whose_process_ended_are_made() {
    let Some(wayward) = Wayward::new() else { return };
    let marker = Marker::new("execute");
    let flags = "--scenario Server --set rules=v0.5 --set server_run_count=3 --set issue=false --target-qps 500 \
                 --set min_query_count=50 --set server_target_latency_ns=10000000000";
    let run = wayward.spy("execute:20 once", &marker.0, &format!("{MARKERS} {flags}"));
    let runs = run.result()["performance_runs"].as_array().cloned().unwrap_or_default();
    let are_valid: Vec<_> = runs.iter().map(|run| run["valid"] == true).collect();
    assert_eq!(are_valid, [false, true, true], "{}", run.finished);
    run.assert_invalid(&["run 1 of 3: ", "its process has ended by itself with exit code 7 in execute"]);
}

#[test]
fn a_probe_whose_process_ended_says_nothing_of_the_load_and_is_told() {
    let Some(wayward) = Wayward::new() else { return };
    let marker = Marker::new("search");
    let flags = format!("{MARKERS} --set issue=false --from 500");
    let searched = wayward.spy_in_search("execute:20 once", &marker.0, &flags);
    assert_eq!(searched.code(), 1, "{searched}");
    let result = json(&wayward.bench.file("search/find_max.json"));
    // The rest of the search is as if nothing had been.
    assert_eq!(result["load"], 2000.0, "{searched}");
    let faults = result["faults"].as_array().map_or(&[][..], Vec::as_slice);
    assert_eq!(faults.len(), 1, "{result}");
    assert!(faults[0].as_str().is_some_and(|fault| fault.contains("exit code 7 in execute")), "{result}");
}

#[test]
fn files_that_the_shell_had_open_are_not_passed_on() {
    let Some(wayward) = Wayward::new() else { return };
    let secret = wayward.bench.write("secret.txt", "secret");
    let script = format!("exec 9<'{0}'; WAYWARD_SPY='{0}' exec \"$0\" \"$@\"", secret.display());
    wayward.run_in_shell(&script, "execute:10 spy-inherited", "--isolate --set issue=false").assert_valid();
    let run = wayward.run_in_shell(&script, "execute:10 spy-inherited", "--set issue=false");
    assert_eq!(run.finished.code(), 70, "it is found where it is open: {}", run.finished);
}

/// Whether the process of a plugin is restricted in this respect on this machine, as a result has it; else the test is
/// skipped.
fn is_restricted(result: &Value, part: &str, word: &str) -> bool {
    let found = result["plugin"]["isolation"][part].as_str() == Some(word);
    if !found {
        skip(format!("this system does not restrict the process of a plugin: {part} is not {word}"));
    }
    found
}

#[test]
fn data_and_results_are_out_of_reach() {
    let Some(wayward) = Wayward::new() else { return };
    // The files of its model are given to it, one by one.
    let is_given = |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().contains("lstm"));
    let entries = fs::read_dir(datasets().join("digits")).expect("the digits are there").flatten();
    let files = entries.map(|entry| entry.path()).filter(|path| path.is_file() && !is_given(path));
    let result = wayward.bench.write("result.json", "{}");
    let spied: Vec<_> = files.chain([datasets(), result]).collect();
    assert!(spied.len() > 3, "{spied:?}");
    for path in spied {
        for call in ["constructor", "execute:10"] {
            let run = wayward.spy(&format!("{call} spy-file"), &path, "--isolate --set issue=false");
            run.assert_valid();
            if !is_restricted(run.result(), "files", "restricted") {
                return;
            }
            assert_eq!(run.result()["plugin"]["isolation"]["data_readable"], false, "{}", run.finished);
        }
    }
    // Without a process of its own it reaches them.
    let run = wayward.spy("execute:10 spy-file", &datasets(), "--set issue=false");
    assert_eq!(run.finished.code(), 70, "{}", run.finished);
}

#[test]
fn the_network_and_other_processes_are_out_of_reach() {
    let Some(wayward) = Wayward::new() else { return };
    for (way, part, word) in [
        ("spy-network", "network", "denied"),
        ("spy-memory", "host_memory", "out of reach"),
        ("spy-process", "other_processes", "out of reach"),
        ("spy-socket", "network", "denied"),
        ("spy-limits", "host_limits", "out of reach"),
        ("spy-rights", "calls", "filtered"),
        ("spy-session", "mode", "process"),
        ("spy-environment", "mode", "process"),
    ] {
        let run = wayward.run(&format!("issue:10 {way}"), "--isolate --set issue=true");
        let is_open = run.finished.code() != 0;
        if is_open && !is_restricted(run.result(), part, word) {
            continue;
        }
        run.assert_valid();
        assert_eq!(run.result()["plugin"]["isolation"][part], word);
        let run = wayward.run(&format!("issue:10 {way}"), "--set issue=true");
        assert_eq!(
            run.finished.code(),
            70,
            "{way} finds nothing in the process of the host: {}",
            run.finished
        );
    }
}

#[test]
fn threads_of_its_own_may_be_named() {
    let Some(wayward) = Wayward::new() else { return };
    wayward.run("issue:10 name-threads", "--isolate --set issue=true").assert_valid();
}

#[test]
fn a_run_whose_plugin_could_read_the_answers_is_invalid() {
    let Some(wayward) = Wayward::new() else { return };
    let flags = format!("--isolate --set isolate_read={} --set issue=false", datasets().display());
    let run = wayward.run("none", &flags);
    run.assert_invalid(&["the plugin could read the answers: ", "its process may read "]);
    assert_eq!(run.result()["plugin"]["isolation"]["data_readable"], true, "{}", run.finished);
}

/// The reason why nothing in this result of a search or of scaling counts.
fn objection(result: &Value) -> &str {
    assert_eq!(result["plugin"]["isolation"]["data_readable"], true, "{result}");
    let objections = result["objections"].as_array().map_or(&[][..], Vec::as_slice);
    assert_eq!(objections.len(), 1, "{result}");
    let objection = objections[0].as_str().unwrap_or_default();
    assert!(objection.starts_with("the plugin could read the answers: "), "{result}");
    objection
}

#[test]
fn a_search_whose_plugin_could_read_the_answers_finds_no_load() {
    let Some(wayward) = Wayward::new() else { return };
    let folder = wayward.bench.file("search");
    let search = |flags: &str| {
        let flags = format!("--isolate --set issue=false --from 500 {flags}");
        (wayward.search_with("none", &flags), json(&folder.join("find_max.json")))
    };
    let (searched, result) = search("");
    assert!(result["curve"].is_array() && result["objections"].is_null(), "{searched}");
    if !is_restricted(&result, "files", "restricted") {
        return;
    }
    assert_eq!(searched.code(), 0, "{searched}");
    assert_eq!(result["plugin"]["isolation"]["data_readable"], false, "{searched}");
    fs::remove_dir_all(&folder).expect("the search has left it");

    let (searched, result) = search(&format!("--set isolate_read={}", datasets().display()));
    assert_eq!(searched.code(), 1, "{searched}");
    let objection = objection(&result);
    assert!(result["load"].is_null() && result["metric"].is_null(), "{searched}");
    assert_eq!(result["summary"], format!("no load counts: {objection}"), "{searched}");
    assert!(searched.stdout.contains(objection) && !searched.stdout.contains(" VALID"), "{searched}");
    // No load helps, so there is one full run, which says the same of itself.
    let full_runs = result["full_runs"].as_array().map_or(&[][..], Vec::as_slice);
    assert_eq!(full_runs.len(), 1, "{searched}");
    let full_run = &full_runs[0];
    assert!(full_run["valid"] == false && full_run["met"] == false, "{full_run}");
    let run = json(&folder.join("full-run-1/result.json"));
    let verdict = &run["verdict"];
    assert_eq!(verdict["valid"], false, "{verdict}");
    for reasons in [&verdict["reasons"], &full_run["reasons"]] {
        let last = reasons.as_array().and_then(|reasons| reasons.last());
        assert_eq!(last.and_then(Value::as_str), Some(objection), "{reasons}");
    }
}

#[test]
fn where_the_plugin_could_read_the_answers_no_setting_is_to_be_used() {
    let bench = Bench::new();
    let scale = |name: &str, flags: &str| {
        let folder = bench.file(name);
        let finished = bench.host(&format!(
            "scale --isolate --plugin {} --set mock.service=fixed --set mock.service_us=1000 --slo-ms 10000 \
             --batch-size 4 --instances 1 --policy 2x1 --duration 500ms --output {} {flags}",
            plugin("mock").display(),
            folder.display()
        ));
        (finished, json(&folder.join("scale.json")))
    };
    let (finished, result) = scale("closed", "");
    assert!(result["courses"].is_array() && result["objections"].is_null(), "{finished}");
    if !is_restricted(&result, "files", "restricted") {
        return;
    }
    assert_eq!(result["plugin"]["isolation"]["data_readable"], false, "{finished}");

    let (finished, result) = scale("open", &format!("--set isolate_read={}", datasets().display()));
    assert_eq!(finished.code(), 1, "{finished}");
    let told = format!("no setting counts: {}\n", objection(&result));
    assert!(finished.stdout.contains(&told) && !finished.stdout.contains("2x1: use "), "{finished}");
    assert_eq!(result["faults"].as_array().map(Vec::len), Some(0), "{finished}");
    // The page of the result says so, too.
    let page = bench.file("page.html");
    bench.host(&format!("report {} --output {}", bench.file("open").display(), page.display()));
    let page = fs::read_to_string(page).unwrap_or_default();
    assert!(page.contains("No setting counts: the plugin could read the answers: "), "{page}");
}

#[test]
fn the_network_is_allowed_by_the_user_and_by_no_plugin() {
    let bench = Bench::new();
    let library = compile("loading_plugin.c", &["CASE=IS_NETWORK"], bench.path(), "loading");
    let Some(library) = library else { return };
    let flags = format!("--isolate --plugin {} --mode performance --duration 50ms", library.display());
    for (allowed, word) in [("false", "denied"), ("true", "allowed")] {
        let run = bench.run(&format!("{flags} --set floor=false --set isolate_network={allowed}"));
        let has_note = run.finished.stderr.contains("--set isolate_network=true allows it");
        assert_eq!(has_note, word == "denied", "{}", run.finished);
        let network = &run.result()["plugin"]["isolation"]["network"];
        if network == "open" {
            skip("this system does not restrict the process of a plugin: network is open");
        }
        assert_eq!(network, word, "{}", run.finished);
    }
}

#[test]
fn a_folder_beside_the_library_may_have_any_name() {
    let Some(wayward) = Wayward::new() else { return };
    let folder = wayward.bench.path().join(OsStr::from_bytes(b"n\xffn"));
    fs::create_dir(&folder).expect("it can be made");
    fs::copy(wayward.library(), folder.join("libother_sut.so")).expect("it can be copied");
    wayward.run("none", "--isolate --set issue=false").assert_valid();
}

#[test]
fn what_cannot_be_had_in_a_process_of_its_own_is_refused() {
    let bench = Bench::new();
    let run = bench.run("--isolate --virtual-time --plugin mock");
    run.finished.assert_error(2, &["in virtual time no plugin has a process of its own"]);
}
