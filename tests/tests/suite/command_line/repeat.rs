//! `host run --repeat`: several runs in one folder, and what they say together.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use proctor_tests::{Bench, INTERRUPTED, json};
use serde_json::Value;

const GOOD: i32 = 0;
const USAGE: i32 = 2;
const PLUGIN: i32 = 3;

const QUICK: &str =
    "--mode performance --duration 20ms --set floor=false --set mock.service=fixed --set mock.service_us=200";

fn kept(bench: &Bench, path: &str) -> Value {
    json(&bench.file(path))
}

#[test]
fn two_plugins_take_turns_with_the_same_settings_and_are_compared() {
    let bench = Bench::new();
    let finished =
        bench.host(&format!("run --plugin mock {QUICK} --seed 5 --repeat 2 --against null -o both"));
    assert_eq!(finished.code(), GOOD, "{finished}");
    let order: Vec<_> =
        finished.stdout.lines().filter_map(|line| line.strip_prefix("repeat ")?.split(':').next()).collect();
    assert_eq!(order, ["1 of a", "1 of b", "2 of b", "2 of a"], "{finished}");
    for (path, plugin) in
        [("a/repeat-1", "mock"), ("a/repeat-2", "mock"), ("b/repeat-1", "null"), ("b/repeat-2", "null")]
    {
        let result = kept(&bench, &format!("both/{path}/result.json"));
        assert_eq!(result["plugin"]["name"], plugin);
        assert_eq!(result["seeds"]["schedule_rng_seed"], 5);
    }
    assert!(finished.stdout.contains("these runs differ in plugin "), "{finished}");
    assert!(finished.stdout.contains("all of it   both/compare.json"), "{finished}");
    let answer = kept(&bench, "both/compare.json");
    assert_eq!((&answer["a"]["run_count"], &answer["b"]["run_count"]), (&2.into(), &2.into()));
    // By the command, the same.
    let again = bench.host("compare both/a both/b --json");
    assert_eq!(serde_json::from_str::<Value>(&again.stdout).unwrap(), answer);
    // The folder of both is no side of a comparison.
    bench.host("compare both both/a").assert_error(
        USAGE,
        &["are no repeats of one run: they differ in plugin", "name the folders of both sides"],
    );
}

#[test]
fn what_is_set_in_another_way_is_no_plugin_and_no_folder_of_a_repeat() {
    let bench = Bench::new();
    let set = "--set plugin=mock --set output_folder=elsewhere";
    let finished = bench.host(&format!("run {QUICK} {set} --repeat 1 --against null"));
    assert_eq!(finished.code(), GOOD, "{finished}");
    for (side, plugin) in [("a", "mock"), ("b", "null")] {
        let result = kept(&bench, &format!("elsewhere/{side}/repeat-1/result.json"));
        assert_eq!(result["plugin"]["name"], plugin, "{finished}");
    }
}

#[test]
fn repeats_of_one_plugin_say_how_they_vary() {
    let bench = Bench::new();
    let finished = bench.host(&format!("run --plugin mock {QUICK} --repeat 3 -o runs-of-it"));
    assert_eq!(finished.code(), GOOD, "{finished}");
    assert!(finished.stdout.contains("from run to run"), "{finished}");
    let answer = kept(&bench, "runs-of-it/compare.json");
    assert_eq!(
        (&answer["run_count"], answer["figures"][0]["values"].as_array().unwrap().len()),
        (&3.into(), 3)
    );
    let again = bench.host("compare runs-of-it --json");
    assert_eq!(serde_json::from_str::<Value>(&again.stdout).unwrap()["figures"], answer["figures"]);
}

#[test]
fn the_first_run_that_fails_ends_it_with_its_exit_code() {
    let bench = Bench::new();
    let with = |flags: &str| bench.host(&format!("run --plugin mock {QUICK} --repeat 2 --against {flags}"));
    // Both plugins are looked for before the first run.
    with("nowhere -o none").assert_error(PLUGIN, &["found no plugin \"nowhere\""]);
    assert!(!bench.file("none").exists());
    with("null --set null.speed=9 -o both").assert_error(
        USAGE,
        &["speed", "repeat 1 of b ended with exit code 2; the runs before it are in both"],
    );
    assert!(bench.file("both/a/repeat-1/result.json").is_file());
    bench
        .host(&format!("run --plugin mock {QUICK} --repeat 2 -o both"))
        .assert_error(5, &["both is not empty"]);
    bench.host("run --against mock").assert_error(USAGE, &["--repeat"]);
    bench.host("run --repeat 0").assert_error(USAGE, &["0 is not in 1..=1000"]);
    bench.host("run --repeat 2 --mode accuracy").assert_error(USAGE, &["--repeat needs the performance run"]);
    bench.host("run --repeat 2 --record r").assert_error(USAGE, &["a recording is of one run"]);
}

#[test]
fn what_is_whole_when_the_user_wants_no_more_is_kept_and_compared() {
    let bench = Bench::new();
    let long = QUICK.replace("20ms", "10m");
    for (against, folder) in [("", "one"), ("--against null", "both/a")] {
        let output = folder.split('/').next().unwrap();
        let mut started = bench.start(&format!("run --plugin mock {long} --repeat 3 {against} -o {output}"));
        started.wait_for_samples(&bench.file(&format!("{folder}/repeat-1.partial")));
        started.signal("INT");
        let finished = started.finish();
        assert_eq!(finished.code(), INTERRUPTED, "{finished}");
        // The run heard of it and came to its end; no other one began.
        let result = kept(&bench, &format!("{folder}/repeat-1/result.json"));
        assert_eq!(result["verdict"]["interrupted"], true);
        assert_eq!(fs::read_dir(bench.file(folder)).unwrap().count(), 1);
        assert_eq!(fs::read_dir(bench.file(output)).unwrap().count(), 1);
        assert!(finished.stderr.contains("too few runs came to their end to be compared"), "{finished}");
    }

    let mut started = bench.start(&format!("run --plugin mock {QUICK} --repeat 1000 -o many"));
    started.wait_until("four runs are whole", |_| bench.file("many/repeat-4/result.json").is_file());
    started.signal("TERM");
    let finished = started.finish();
    assert_eq!(finished.code(), INTERRUPTED, "{finished}");
    assert!(kept(&bench, "many/compare.json")["run_count"].as_u64().unwrap() >= 3);
    assert!(finished.stdout.contains("from run to run"), "{finished}");
}

#[test]
fn a_second_signal_leaves_no_run_behind() {
    let bench = Bench::new();
    // Processes whose working folder is the bench's; processes that have ended have none.
    let in_folder = || {
        let own = fs::canonicalize(bench.file("")).unwrap();
        let processes = fs::read_dir("/proc").unwrap().flatten();
        processes
            .filter(|process| fs::read_link(process.path().join("cwd")).is_ok_and(|at| at == own))
            .count()
    };
    let slow = QUICK.replace("service_us=200", "service_us=600000000");
    let mut started = bench.start(&format!("run --plugin mock {slow} --repeat 3 -o slow"));
    // The run shows its progress once it listens.
    started.wait_until("a run goes on", |started| started.stderr().contains("1 outstanding"));
    started.signal("INT");
    started.wait_until("the run waits", |started| started.stderr().contains("waiting for 1 sample"));
    // This program, and the run's two: the one that it has started, and its child.
    assert_eq!(in_folder(), 3);
    started.signal("INT");
    let finished = started.finish();
    assert_eq!(finished.code(), INTERRUPTED, "{finished}");
    // The kernel ends the run on its own time.
    let begin = Instant::now();
    while in_folder() > 0 {
        assert!(begin.elapsed() < Duration::from_secs(30), "a run was left behind");
        thread::sleep(Duration::from_millis(5));
    }
}
