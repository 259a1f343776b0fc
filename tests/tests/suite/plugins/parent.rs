//! The program and its parent: an end without a message is reported, the exit status is passed on, and a signal sent to
//! either of them or to both counts once.

use std::{
    fs,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use proctor_tests::{Bench, CRASHED, INTERRUPTED, PLACES, Run, Started};

use crate::plugins::wayward::Wayward;

/// A run that waits for a sample which never comes, until it is interrupted twice.
const HANGING: &str =
    "--plugin faulty --set issue=false --set faulty.fault=hang --mode performance --set floor=false";

/// A run that goes on for ten minutes unless it is interrupted.
const LONG: &str = "--plugin mock --mode performance --scenario Server --target-qps 200 --duration 10m";

/// Starts a run by a script of the shell, in a group of its own, and waits until it has some samples.
fn start(bench: &Bench, script: &str, flags: &str) -> (Started, PathBuf) {
    let output = bench.file("out");
    let mut command = bench.command_in_shell(script, &format!("run --output {} {flags}", output.display()));
    command.process_group(0);
    let mut started = bench.start_command(command);
    started.wait_for_samples(&output.with_added_extension("partial"));
    (started, output)
}

const AS_IT_IS: &str = "exec \"$0\" \"$@\"";

/// Id of the process of the program itself, which has begun.
fn program_of(started: &Started) -> u32 {
    started.program().expect("the run goes on")
}

/// State of a process, such as `S`; `None` if there is none that could still do anything.
fn state(id: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let state = text.rsplit_once(')')?.1.split_whitespace().next()?.to_owned();
    (state != "Z" && state != "X").then_some(state)
}

/// Waits for so long, in which the program does not end.
fn is_alive_for(started: &mut Started, time: Duration) {
    let start = Instant::now();
    started.wait_until("it has waited", |_| start.elapsed() > time);
}

fn is_told(started: &mut Started, words: &str) {
    started.wait_until(words, |started| started.stderr().contains(words));
}

fn assert_interrupted(started: Started, output: &Path) -> Run {
    let run = Run::new(started.finish(), output.to_owned());
    assert_eq!(run.finished.code(), INTERRUPTED, "{}", run.finished);
    assert_eq!(run.result()["verdict"]["interrupted"], true, "{}", run.finished);
    run
}

#[test]
fn what_a_plugin_ends_without_a_word_is_told_in_the_folder() {
    let Some(wayward) = Wayward::new() else { return };
    let run = wayward.run("execute:10 _exit", "--set issue=false");
    assert_eq!(run.finished.code(), CRASHED, "{}", run.finished);
    let says = "plugin wayward ended the program with exit code 0, as by _exit, in execute, instance 0, batch that starts \
                with sample ";
    assert!(run.text("error.txt").starts_with(&format!("error: {says}")), "{}", run.text("error.txt"));
    assert!(run.finished.stderr.contains(says), "{}", run.finished);
    assert!(!run.is_whole() && run.find_text("crash.txt").is_none(), "{}", run.finished);
}

#[test]
fn a_search_and_a_description_do_not_read_as_success_either() {
    let Some(wayward) = Wayward::new() else { return };
    let searched = wayward.search("issue:10 _exit");
    searched.assert_error(CRASHED, &["ended the program with exit code 0, as by _exit, in issue"]);
    let mut command = wayward.bench.command(&format!("describe {}", wayward.library().display()));
    command.env("WAYWARD", "describe _exit");
    let described = wayward.bench.start_command(command).finish();
    described.assert_error(
        CRASHED,
        &["libwayward_sut.so ended the program with exit code 0, as by _exit, in describe"],
    );
}

#[test]
fn a_crash_that_nobody_could_report_is_reported_and_keeps_its_signal() {
    let Some(wayward) = Wayward::new() else { return };
    // The shell makes an exit code of the signal. No handler has a stack on a thread of the plugin's own.
    let run = wayward.run_in_shell(
        "ulimit -c 0; \"$0\" \"$@\"; exit $?",
        "execute:10 overflow",
        "--set issue=false",
    );
    assert_eq!(run.finished.code(), 128 + 11, "{}", run.finished);
    let report = run.text("crash.txt");
    assert!(report.starts_with("plugin wayward was ended by SIGSEGV in execute, instance 0"), "{report}");
    let run = wayward.run_in_shell("\"$0\" \"$@\"; exit $?", "execute:10 kill", "--set issue=false");
    assert_eq!(run.finished.code(), 128 + 9, "{}", run.finished);
    let report = run.text("crash.txt");
    assert!(report.starts_with("the program was ended by SIGKILL, which the system sends"), "{report}");
    assert!(report.contains("\nmeanwhile plugin wayward was at work in execute, instance 0"), "{report}");
}

#[test]
fn a_key_that_is_pressed_counts_once() {
    let bench = Bench::new();
    let (mut started, output) = start(&bench, AS_IT_IS, HANGING);
    // As a terminal does: to the program and to its parent.
    started.signal_group("INT");
    is_told(&mut started, "press Ctrl-C again to give them up");
    is_alive_for(&mut started, Duration::from_millis(1500));
    started.signal_group("INT");
    assert_interrupted(started, &output);
}

#[test]
fn a_request_of_timeout_counts_once() {
    let bench = Bench::new();
    // It sends to its child, and then to their group.
    let script = "exec timeout -s INT 12 \"$0\" \"$@\"";
    let (mut started, output) = start(&bench, script, HANGING);
    is_told(&mut started, "press Ctrl-C again to give them up");
    is_alive_for(&mut started, Duration::from_millis(1500));
    started.signal_to(program_of(&started), "INT");
    let run = Run::new(started.finish(), output);
    assert_eq!(run.result()["verdict"]["interrupted"], true, "{}", run.finished);
}

#[test]
fn a_request_to_either_of_them_is_one() {
    for place in PLACES {
        let flags = format!("{LONG} {place}");
        for name in ["INT", "TERM", "HUP"] {
            let bench = Bench::new();
            let (started, output) = start(&bench, AS_IT_IS, &flags);
            started.signal(name);
            assert_interrupted(started, &output);
            let bench = Bench::new();
            let (started, output) = start(&bench, AS_IT_IS, &flags);
            started.signal_to(program_of(&started), name);
            assert_interrupted(started, &output);
        }
    }
}

#[test]
fn a_request_while_a_plugin_hangs_as_it_is_loaded_leaves_nothing() {
    let Some(wayward) = Wayward::new() else { return };
    for place in PLACES {
        for (astray, name) in [("constructor hang", "INT"), ("load_model hang", "TERM")] {
            let output = wayward.bench.file("loading");
            let partial = output.with_added_extension("partial");
            let mut command = wayward.bench.command(&format!(
                "run --plugin {} --mode performance --set isolate_env=WAYWARD --output {} {place}",
                wayward.library().display(),
                output.display()
            ));
            command.env("WAYWARD", astray);
            let mut started = wayward.bench.start_command(command);
            started.wait_until("its folder is made", |_| partial.is_dir());
            is_alive_for(&mut started, Duration::from_millis(500));
            started.signal(name);
            let finished = started.finish();
            finished.assert_error(INTERRUPTED, &["interrupted while loading"]);
            assert!(!output.exists() && !partial.exists(), "{finished}");
        }
    }
}

#[test]
fn a_signal_that_is_ignored_stays_ignored() {
    for place in PLACES {
        for (ignored, other) in [("HUP", "INT"), ("INT", "TERM")] {
            let bench = Bench::new();
            let script = format!("trap '' {ignored}; exec \"$0\" \"$@\"");
            let (mut started, output) = start(&bench, &script, &format!("{LONG} {place}"));
            started.signal(ignored);
            started.signal_group(ignored);
            started.signal_to(program_of(&started), ignored);
            is_alive_for(&mut started, Duration::from_millis(700));
            assert!(!started.stderr().contains("interrupted"), "{}", started.stderr());
            started.signal(other);
            assert_interrupted(started, &output);
        }
    }
}

#[test]
fn nothing_is_left_of_a_program_whose_parent_is_killed() {
    let bench = Bench::new();
    let (started, _) = start(&bench, AS_IT_IS, LONG);
    let program = program_of(&started);
    started.signal("KILL");
    assert!(started.finish().to_string().contains("signal: 9"));
    wait_for_end_of(program);
}

/// Waits until a process has ended or is a zombie.
fn wait_for_end_of(id: u32) {
    let start = Instant::now();
    while state(id).is_some() {
        assert!(start.elapsed() < Duration::from_secs(60), "{id} goes on");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_program_that_is_killed_keeps_its_samples_and_leaves_no_process() {
    for place in PLACES {
        let bench = Bench::new();
        let (started, output) = start(&bench, AS_IT_IS, &format!("{LONG} {place}"));
        let worker = started.worker();
        assert_eq!(worker.is_some(), !place.is_empty(), "{worker:?}");
        started.signal_to(program_of(&started), "KILL");
        let run = Run::new(started.finish(), output.clone());
        assert_eq!(run.finished.signal(), Some(9), "{}", run.finished);
        worker.into_iter().for_each(wait_for_end_of);
        assert!(!output.exists() && run.find_result().is_none(), "{}", run.finished);
        assert!(run.samples().len() > 1, "{}", run.finished);
        let report = run.text("crash.txt");
        assert!(report.starts_with("the program was ended by SIGKILL"), "{report}");
        assert!(!run.finished.stdout.contains("  verdict "), "{}", run.finished);
    }
}

#[test]
fn a_pause_of_the_program_counts() {
    for place in PLACES {
        let bench = Bench::new();
        let flags = format!(
            "--plugin mock --mode performance --scenario Server --target-qps 200 --duration 4s --set floor=false \
             --set server_target_latency_ns=100000000 {place}"
        );
        let (mut started, output) = start(&bench, AS_IT_IS, &flags);
        let program = program_of(&started);
        started.signal_group("STOP");
        started.wait_until("it is stopped", |_| state(program).as_deref() == Some("T"));
        thread::sleep(Duration::from_secs(1));
        started.signal_group("CONT");
        let run = Run::new(started.finish(), output);
        run.assert_invalid(&["over the 100 ms bound"]);
    }
}

#[test]
fn a_program_that_is_stopped_goes_on_as_its_group_does() {
    for stop in ["STOP", "TSTP"] {
        let bench = Bench::new();
        let (mut started, output) = start(&bench, AS_IT_IS, LONG);
        let program = program_of(&started);
        started.signal_group(stop);
        let is_stopped = |id| state(id).as_deref() == Some("T");
        // A group that no shell looks after is not stopped by a terminal.
        if stop == "STOP" {
            started.wait_until("it is stopped", |started| is_stopped(program) && is_stopped(started.id()));
        }
        started.signal_group("CONT");
        started.wait_until("it goes on", |started| !is_stopped(program) && !is_stopped(started.id()));
        started.signal("INT");
        assert_interrupted(started, &output);
    }
}

#[test]
fn the_end_that_a_plugin_hangs_in_is_told() {
    let Some(wayward) = Wayward::new() else { return };
    for isolate in PLACES {
        for call in ["stop", "close"] {
            let output = wayward.bench.file(&format!("{call}{isolate}"));
            let mut command = wayward.bench.command(&format!(
                "run --plugin {} --mode performance --duration 20ms --set floor=false --set issue=false --set isolate_env=WAYWARD \
                 --output {} {isolate}",
                wayward.library().display(),
                output.display()
            ));
            command.env("WAYWARD", format!("{call} hang"));
            let mut started = wayward.bench.start_command(command);
            let result = output.with_added_extension("partial").join("result.json");
            started.wait_until("the result is written", |_| result.is_file());
            // Its counter of energy is read before.
            is_alive_for(&mut started, Duration::from_secs(2));
            started.signal("INT");
            let told = format!("interrupted: waiting for plugin wayward in {call}; the results are on disk");
            is_told(&mut started, &told);
            started.signal("INT");
            if isolate.is_empty() {
                is_told(&mut started, "press Ctrl-C once more to end without it");
                started.signal("INT");
                assert_eq!(started.finish().code(), INTERRUPTED);
                assert!(result.is_file());
            } else {
                let run = Run::new(started.finish(), output);
                assert!(run.is_whole(), "{}", run.finished);
                assert!(run.reasons().contains("as the user did not wait for it"), "{}", run.reasons());
            }
        }
    }
}

#[test]
fn a_signal_from_outside_is_not_swallowed() {
    for (name, told) in [
        ("SEGV", "its process was ended by SIGSEGV"),
        ("TERM", "its process was ended by SIGTERM"),
        ("INT", "its process was ended by SIGINT"),
        ("KILL", "its process was ended by SIGKILL"),
        // The host waits for it, and then ends it.
        ("STOP", "its process was ended by SIGKILL, as it "),
    ] {
        let bench = Bench::new();
        let (started, output) = start(&bench, AS_IT_IS, &format!("--isolate --set watchdog_ms=1000 {LONG}"));
        started.signal_to(started.worker().expect("the plugin has a process of its own"), name);
        let run = Run::new(started.finish(), output);
        run.assert_invalid(&["plugin mock", told]);
        assert!(!run.samples().is_empty(), "{name}: {}", run.finished);
    }
}
