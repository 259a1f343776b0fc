//! Ctrl-C: nothing more is issued, what is outstanding is waited for, what there is is written.

use std::fs;

use proctor_tests::{Bench, INTERRUPTED, Run};

/// A run that goes on for ten minutes unless it is interrupted.
const LONG: &str = "--scenario Server --target-qps 200 --duration 10m";

fn interrupted(bench: &Bench, flags: &str, signal: &str) -> Run {
    let (mut started, output) = bench.start_run(&format!("--mode performance {LONG} {flags}"));
    started.wait_for_samples(&output.with_added_extension("partial"));
    started.signal(signal);
    Run::new(started.finish(), output)
}

fn assert_interrupted(run: &Run) {
    assert_eq!(run.finished.code(), INTERRUPTED, "{}", run.finished);
    assert!(run.is_whole());
    let verdict = &run.result()["verdict"];
    assert_eq!(verdict["valid"], false);
    assert_eq!(verdict["interrupted"], true);
    assert!(run.finished.stdout.contains("INVALID (interrupted)"), "{}", run.finished);
    assert!(run.reasons().contains("interrupted"), "{}", run.reasons());
    let samples = run.samples();
    assert!(!samples.is_empty());
    assert!(
        samples.iter().all(|(_, latency_ns)| *latency_ns != u64::MAX),
        "not waited for: {}",
        run.finished
    );
    assert_eq!(run.result()["performance_run"]["issued_sample_count"], samples.len());
    assert!(run.text("mlperf_log_summary.txt").contains("INVALID"));
    assert!(!run.text("mlperf_log_detail.txt").is_empty());
}

#[test]
fn an_interrupted_run_is_invalid_and_recorded() {
    for plugin in ["cpu-rnn", "mock"] {
        assert_interrupted(&interrupted(&Bench::new(), &format!("--plugin {plugin}"), "INT"));
    }
}

#[test]
fn the_end_of_a_terminal_session_is_an_interruption_too() {
    assert_interrupted(&interrupted(&Bench::new(), "--plugin mock", "TERM"));
}

#[test]
fn what_is_outstanding_is_waited_for() {
    // Each sample takes 20 ms, and 200 of them arrive in a second: there is a queue.
    let flags = "--plugin faulty --set issue=false --set faulty.fault=slow --set faulty.after=0";
    assert_interrupted(&interrupted(&Bench::new(), flags, "INT"));
}

#[test]
fn an_interruption_of_the_accuracy_run_is_the_end_of_both() {
    let bench = Bench::new();
    let slow = "--plugin faulty --set issue=false --set faulty.fault=slow --set faulty.after=0";
    let (mut started, output) = bench.start_run(slow);
    started.wait_for_samples(&output.with_added_extension("partial").join("accuracy"));
    started.signal("INT");
    let run = Run::new(started.finish(), output);
    assert_eq!(run.finished.code(), INTERRUPTED, "{}", run.finished);
    assert_eq!(run.result()["performance_run"], serde_json::Value::Null);
    assert!(run.reasons().contains("accuracy run: "), "{}", run.reasons());
}

#[test]
fn an_interruption_in_the_accuracy_phase_of_a_test_of_both_leaves_no_performance() {
    let bench = Bench::new();
    let slow = "--plugin faulty --set issue=false --set faulty.fault=slow --set faulty.after=0";
    let (mut started, output) = bench.start_run(&format!("{slow} --set floor=false --mode SubmissionRun"));
    // Told after a second, when samples that it is about would be in the file.
    started.wait_until("the accuracy phase goes on", |started| started.stderr().contains("accuracy   "));
    let samples = fs::read(output.with_added_extension("partial").join("samples.bin"));
    assert!(samples.is_ok_and(|samples| samples.is_empty()), "{}", started.stderr());
    started.signal("INT");
    let run = Run::new(started.finish(), output);
    assert_eq!(run.finished.code(), INTERRUPTED, "{}", run.finished);
    assert!(run.reasons().contains("there was no performance phase"), "{}", run.reasons());
    assert_eq!(run.result()["performance_run"]["issued_query_count"], 0);
    assert!(run.samples().is_empty(), "{}", run.finished);
}

#[test]
fn the_second_signal_gives_up_the_wait() {
    let bench = Bench::new();
    let flags = "--plugin faulty --set issue=false --set faulty.fault=hang --mode performance";
    let (mut started, output) = bench.start_run(flags);
    started.wait_for_samples(&output.with_added_extension("partial"));
    started.signal("INT");
    started.wait_until("it waits", |started| started.stderr().contains("press Ctrl-C again to give them up"));
    started.signal("INT");
    let run = Run::new(started.finish(), output);
    assert_eq!(run.finished.code(), INTERRUPTED, "{}", run.finished);
    assert!(run.reasons().contains("1 sample was never completed: sample 5 "), "{}", run.reasons());
    assert_eq!(run.samples().len(), 6);
}

#[test]
fn a_signal_is_heard_though_nobody_reads_stderr() {
    let bench = Bench::new();
    let stuck = "mkfifo stuck && exec 3<>stuck && head -c 65536 /dev/zero >&3 && exec \"$0\" \"$@\" 2>&3";
    for (number, script) in ["exec \"$0\" \"$@\" 2>/dev/full", stuck].into_iter().enumerate() {
        let output = bench.file(&format!("out-{number}"));
        let slow = "--plugin faulty --set issue=false --set faulty.fault=slow --set faulty.after=0";
        let flags = format!("run --output {} --mode performance {LONG} {slow}", output.display());
        let mut started = bench.start_command(bench.command_in_shell(script, &flags));
        started.wait_for_samples(&output.with_added_extension("partial"));
        started.signal("INT");
        assert_interrupted(&Run::new(started.finish(), output));
    }
}

#[test]
fn the_wait_for_an_instance_that_hangs_is_told() {
    let bench = Bench::new();
    let flags =
        format!("--plugin faulty --set issue=false --set faulty.fault=hang --mode performance {LONG}");
    let (mut started, output) = bench.start_run(&flags);
    started.wait_for_samples(&output.with_added_extension("partial"));
    started.signal("INT");
    started.wait_until("it waits", |started| started.stderr().contains("press Ctrl-C again to give them up"));
    let told = started.stderr();
    let count = told.split("interrupted: waiting for ").nth(1).and_then(|rest| rest.split(' ').next());
    assert!(count.and_then(|count| count.parse::<u64>().ok()).is_some_and(|count| count > 0), "{told}");
    assert!(told.contains(" of plugin faulty; press Ctrl-C again"), "{told}");
    started.signal("INT");
    let run = Run::new(started.finish(), output);
    assert_eq!(run.finished.code(), INTERRUPTED, "{}", run.finished);
    // Samples that the host itself gave up are not late answers of the plugin.
    assert!(!run.reasons().contains("after the end of their phase"), "{}", run.reasons());
    // The last query was never completed, so that there is no time to divide by.
    assert!(!run.finished.stdout.contains("inf "), "{}", run.finished);
    for log in ["mlperf_log_summary.txt", "mlperf_log_detail.txt"] {
        let text = run.text(log);
        let infinite = text.lines().find(|line| line.ends_with(": inf") || line.contains(": inf,"));
        assert_eq!(infinite, None, "{log}");
    }
}
