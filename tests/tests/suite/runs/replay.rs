//! `host run --record` and `host replay`: a recording says what crossed the boundary, and where another build parts.

use std::{fs, path::PathBuf};

use proctor_tests::{Bench, Finished, compile, compile_with_cpp};
use serde_json::Value;

/// Flags of every recorded run.
const RUN: &str = "--mode performance --set floor=false --set min_duration_ms=0";

/// Records a run with these flags, and returns the folder.
fn record(bench: &Bench, name: &str, flags: &str) -> PathBuf {
    let folder = bench.file(name);
    let run = bench.run(&format!("{RUN} --record {} {flags}", folder.display()));
    assert!(folder.join("calls.jsonl").is_file(), "{}", run.finished);
    folder
}

fn replay(bench: &Bench, recording: &std::path::Path, flags: &str) -> Finished {
    bench.host(&format!("replay {} {flags}", recording.display()))
}

fn lines(recording: &std::path::Path) -> Vec<Value> {
    let text = fs::read_to_string(recording.join("calls.jsonl")).expect("there is a recording");
    text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

#[test]
fn a_replay_on_the_same_build_is_the_same_whichever_way_work_is_given() {
    let bench = Bench::new();
    let mock = "--plugin mock --set mock.answers=random --set mock.seed=5";
    for (number, flags) in [
        "--scenario Offline --set min_query_count=300 --set issue=true --set mock.threads=3 \
         --set mock.order=shuffled",
        "--scenario Server --target-qps 2000 --set min_query_count=100 --set issue=true",
        "--scenario SingleStream --set min_query_count=64 --set issue=false",
        "--scenario Offline --set min_query_count=300 --set issue=false --instances 2 --batch-size 4",
        "--scenario Offline --set min_query_count=300 --set issue=false --set mock.in_flight=3 --batch-size 4",
        "--scenario Server --virtual-time --set min_query_count=100 --instances 2 --set mock.service=log-normal",
        "--scenario Offline --set min_query_count=64 --set issue=false --set mock.memory=device",
    ]
    .into_iter()
    .enumerate()
    {
        let recording = record(&bench, &format!("recording-{number}"), &format!("{mock} {flags}"));
        let same = replay(&bench, &recording, "--plugin mock");
        assert_eq!(same.code(), 0, "{flags}: {same}");
        assert!(same.stdout.contains(" SAME\n"), "{same}");
        let count = lines(&recording).iter().filter(|line| line["line"] == "call").count();
        assert!(count > 10, "{flags}: {count} calls");
    }
}

#[test]
fn both_tests_of_a_run_and_a_data_set_in_parts_are_replayed() {
    let bench = Bench::new();
    let folder = bench.file("recording");
    let run = bench.run(&format!(
        "--plugin mock --scenario Offline --set min_query_count=100 --set floor=false --batch-size 16 \
         --set min_duration_ms=0 --record {}",
        folder.display()
    ));
    assert_eq!(run.result()["verdict"]["valid"], true, "{}", run.finished);
    let same = replay(&bench, &folder, "--plugin mock");
    assert_eq!(same.code(), 0, "{same}");
    // 600 samples of the accuracy run, and the performance run's.
    let answers =
        lines(&folder).iter().filter_map(|line| Some(line["answers"].as_array()?.len())).sum::<usize>();
    assert!(answers >= 700, "{answers}");
}

#[test]
fn another_seed_differs_at_a_sample_that_is_named() {
    let bench = Bench::new();
    let flags = "--plugin mock --set mock.answers=random --set mock.seed=5 --scenario Offline \
                 --set min_query_count=50";
    for (name, dispatch) in [("queries", "--set issue=true"), ("batches", "--set issue=false --batch-size 8")]
    {
        let recording = record(&bench, name, &format!("{flags} {dispatch}"));
        let output = bench.file(&format!("{name}-replayed"));
        let parted = replay(
            &bench,
            &recording,
            &format!("--plugin mock --set mock.seed=6 --output {}", output.display()),
        );
        assert_eq!(parted.code(), 1, "{parted}");
        assert!(parted.stdout.contains(" DIFFERENT\n"), "{parted}");
        assert!(parted.stdout.contains("differ; the first is that of sample "), "{parted}");
        assert!(parted.stdout.contains("the hash of its answer was "), "{parted}");
        // The calls are the same, and the replay is a recording itself.
        assert!(!parted.stdout.contains("are the same; call"), "{parted}");
        assert_eq!(replay(&bench, &output, "--plugin mock").code(), 0);
    }
}

#[test]
fn a_call_that_fails_is_part_of_the_recording() {
    let bench = Bench::new();
    let Some(wayward) =
        compile_with_cpp("wayward_plugin.c", "throw_number.cpp", &[], bench.path(), "wayward")
    else {
        return;
    };
    let Some(zeros) = compile("null_plugin.c", &[], bench.path(), "zeros") else { return };
    let (wayward, zeros) = (wayward.display(), zeros.display());
    for (call, shown) in [("execute", "execute on instance 0"), ("start", "start: it returned DEVICE_LOST")] {
        let (name, way) = (call, format!("{call} status=6"));
        let folder = bench.file(name);
        let mut command = bench.command(&format!(
            "run {RUN} --output {} --record {} --plugin {wayward} --set issue=false --scenario Offline \
             --set min_query_count=20",
            bench.file(&format!("{name}-run")).display(),
            folder.display()
        ));
        command.env("WAYWARD", &way);
        let run = bench.start_command(command).finish();
        assert!(run.code() == 1 || run.code() == 3, "{run}");
        let mut command = bench.command(&format!("replay {} --plugin {wayward}", folder.display()));
        command.env("WAYWARD", &way);
        let same = bench.start_command(command).finish();
        assert_eq!(same.code(), 0, "{same}");
        let parted = replay(&bench, &folder, &format!("--plugin {zeros}"));
        assert_eq!(parted.code(), 1, "{parted}");
        assert!(parted.stdout.contains(shown), "{parted}");
        assert!(parted.stdout.contains("and in the replay OK"), "{parted}");
    }
}

/// Flags of 20 queries, one after the other, in which sample 5 may meet a fault.
const QUERIES: &str = "--plugin faulty --scenario SingleStream --set issue=true --set min_query_count=20 \
                       --set max_query_count=20";

/// The limit of what gives up: above any pause of a busy machine.
const LIMIT: &str = "--set watchdog_ms=2000";

#[test]
fn a_replay_gives_up_a_sample_that_is_not_completed() {
    let bench = Bench::new();
    let whole = record(&bench, "whole", &format!("{QUERIES} --set faulty.fault=none"));
    let stuck = replay(&bench, &whole, &format!("--plugin faulty --set faulty.fault=never-complete {LIMIT}"));
    assert_eq!(stuck.code(), 1, "{stuck}");
    assert!(stuck.stdout.contains(" DIFFERENT\n"), "{stuck}");
    assert!(stuck.stdout.contains("no answer to sample "), "{stuck}");
    assert!(stuck.stdout.contains("within watchdog_ms = 2000"), "{stuck}");
    assert!(stuck.stdout.contains("it has no answer in the replay"), "{stuck}");

    // A run that gave it up as well is the same.
    let given_up =
        record(&bench, "given-up", &format!("{QUERIES} --set faulty.fault=never-complete {LIMIT}"));
    let same = replay(&bench, &given_up, "--plugin faulty");
    assert_eq!(same.code(), 0, "{same}");
    let more = replay(&bench, &given_up, "--plugin faulty --set faulty.fault=none");
    assert_eq!(more.code(), 1, "{more}");
    assert!(more.stdout.contains("it has 1 answer in the replay, and had none"), "{more}");
}

#[test]
fn a_batch_that_does_not_return_is_given_up() {
    let bench = Bench::new();
    let flags =
        "--plugin faulty --scenario Offline --set issue=false --set min_query_count=20 --batch-size 1";
    let recording = record(&bench, "recording", &format!("{flags} --set faulty.fault=none"));
    let stuck = replay(&bench, &recording, &format!("--plugin faulty --set faulty.fault=hang {LIMIT}"));
    assert_eq!(stuck.code(), 1, "{stuck}");
    assert!(stuck.stdout.contains("did not return within watchdog_ms = 2000"), "{stuck}");
}

#[test]
fn an_answer_more_or_less_is_a_difference_and_is_not_waited_for() {
    let bench = Bench::new();
    let whole = record(&bench, "whole", &format!("{QUERIES} --set faulty.fault=none"));
    for (fault, more, less) in [
        (
            "complete-twice",
            "it had 1 answer, and has 2 in the replay",
            "it had 2 answers, and has 1 in the replay",
        ),
        ("unknown-id", "the first is that to no sample", "the first is that to no sample"),
    ] {
        let faulty = record(&bench, fault, &format!("{QUERIES} --set faulty.fault={fault}"));
        let same = replay(&bench, &faulty, "--plugin faulty");
        assert_eq!(same.code(), 0, "{same}");
        for (recording, fault, shown) in [(&whole, fault, more), (&faulty, "none", less)] {
            let parted = replay(&bench, recording, &format!("--plugin faulty --set faulty.fault={fault}"));
            assert_eq!(parted.code(), 1, "{parted}");
            assert!(parted.stdout.contains(shown), "{parted}");
            assert!(!parted.stdout.contains("gave up"), "{parted}");
        }
    }
}

#[test]
fn a_crash_leaves_a_recording_that_says_in_which_call() {
    let bench = Bench::new();
    let folder = bench.file("recording");
    let run = bench.run(&format!(
        "{RUN} --plugin faulty --set faulty.fault=crash --set faulty.after=7 --set issue=false \
         --scenario Offline --set min_query_count=50 --record {}",
        folder.display()
    ));
    assert_eq!(run.finished.code(), 70, "{}", run.finished);
    let lines = lines(&folder);
    let last = lines.iter().rfind(|line| line["line"] == "call").expect("there are calls");
    assert_eq!(last["call"], "execute");
    assert!(!lines.iter().any(|line| line["line"] == "return" && line["number"] == last["number"]));
    // A build without the fault is the same as far as the recording goes.
    let same = replay(&bench, &folder, "--plugin faulty --set faulty.fault=none");
    assert_eq!(same.code(), 0, "{same}");
    assert!(same.stdout.contains("it was cut off, or its run ended early"), "{same}");
    assert!(same.stdout.contains("did not return in the recording, and does in the replay"), "{same}");
    let crashing = replay(&bench, &folder, "--plugin faulty");
    assert!(!crashing.stdout.contains("and does in the replay"), "{crashing}");

    // So is one that was cut off in the middle of a line.
    let path = folder.join("calls.jsonl");
    let whole = fs::read(&path).expect("there is a recording");
    fs::write(&path, &whole[..whole.len() - 20]).expect("it can be written");
    let same = replay(&bench, &folder, "--plugin faulty --set faulty.fault=none");
    assert_eq!(same.code(), 0, "{same}");
}

#[test]
fn a_recording_that_lacks_calls_or_is_of_another_time_is_refused() {
    let bench = Bench::new();
    let flags = "--plugin mock --scenario Server --virtual-time --set min_query_count=20";
    let recording = record(&bench, "recording", flags);
    let real = replay(&bench, &recording, "--plugin mock --set virtual_time=false");
    real.assert_error(2, &["virtual_time is false, and was true in the recording"]);

    let path = recording.join("calls.jsonl");
    let text = fs::read_to_string(&path).expect("there is a recording");
    let lines: Vec<_> = text.lines().collect();
    let middle = lines.len() / 2;
    fs::write(&path, [&lines[..middle - 4], &lines[middle + 4..]].concat().join("\n") + "\n")
        .expect("it can be written");
    replay(&bench, &recording, "--plugin mock").assert_error(2, &["lines are missing or in another order"]);
}

#[test]
fn other_samples_are_seen_before_the_plugin_is_given_them() {
    let bench = Bench::new();
    let recording = record(&bench, "recording", "--plugin mock --scenario Offline --set min_query_count=20");
    let path = recording.join("calls.jsonl");
    let text = fs::read_to_string(&path).expect("there is a recording");
    let (begin, end) = text.split_once("\"hash\":\"").expect("inputs have hashes");
    fs::write(&path, format!("{begin}\"hash\":\"0{}", &end[1..])).expect("it can be written");
    let refused = replay(&bench, &recording, "--plugin mock");
    if end.starts_with('0') {
        return assert_eq!(refused.code(), 0, "{refused}");
    }
    refused.assert_error(4, &["of data set digits has the hash", "in the recording", "--data-root"]);
}

#[test]
fn a_recorded_run_is_marked_and_holds_no_tensors() {
    let bench = Bench::new();
    let folder = bench.file("recording");
    let flags = format!("{RUN} --plugin mock --scenario Offline --set min_query_count=20");
    let run = bench.run(&format!("{flags} --record {}", folder.display()));
    let result = run.assert_valid().result();
    assert_eq!(result["recorded"], true);
    assert!(run.finished.stdout.contains("recorded"), "{}", run.finished);
    let plain = bench.run(&flags);
    assert!(plain.assert_valid().result().get("recorded").is_none());
    let head = &lines(&folder)[0];
    assert_eq!((&head["recording"], &head["line"]), (&Value::from(1), &Value::from("head")));
    assert!(
        !fs::read_to_string(folder.join("calls.jsonl"))
            .unwrap_or_default()
            .contains(env!("CARGO_MANIFEST_DIR"))
    );

    let again = bench.run(&format!("{flags} --record {}", folder.display()));
    again.finished.assert_error(2, &["there is a recording already; name a new folder"]);
    bench.host("replay nowhere --plugin mock").assert_error(2, &["cannot read the recording nowhere"]);
    let isolated = bench.file("isolated");
    let isolated = bench.host(&format!("run --plugin mock --isolate --record {}", isolated.display()));
    isolated.assert_error(2, &["--record and --isolate do not go together"]);
    let search = bench.host(&format!("find-max --plugin mock --record {}", bench.file("search").display()));
    search.assert_error(2, &["--record"]);
}
