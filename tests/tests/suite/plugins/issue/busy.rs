//! A plugin that refuses queries because its queue is full: they are issued again, nothing is lost, and what the user
//! waits for counts. One that breaks the rules of it is named.

use proctor_tests::{Bench, INTERRUPTED, Run};

/// Time that the mock takes for each sample.
const SERVICE_NS: u64 = 5_000_000;

/// Set in the latency of a sample that failed.
const FAILED_BIT: u64 = 1 << 63;

/// A Server run of the mock with a queue of one sample, and queries that come five times as fast as they are served.
fn crowded(flags: &str) -> Run {
    Bench::new().run(&format!(
        "--plugin mock --mode performance --scenario Server --target-qps 1000 --duration 40ms \
         --set min_query_count=40 --set mock.service=fixed --set mock.service_us=5000 --set mock.queue_capacity=1 {flags}"
    ))
}

fn assert_all_completed_in_turn(run: &Run) {
    let samples = run.samples();
    assert!(samples.len() >= 40, "{}", run.finished);
    assert!(samples.iter().all(|(_, latency_ns)| latency_ns & FAILED_BIT == 0), "{}", run.finished);
    // The service alone takes as long, however late a query was taken: its latency counts from when it was scheduled.
    let ends = samples.iter().map(|(scheduled_ns, latency_ns)| scheduled_ns + latency_ns);
    assert!(ends.max().is_some_and(|end| end >= SERVICE_NS * samples.len() as u64), "{}", run.finished);
    let busy = &run.result()["performance_run"]["busy"];
    let count = |key: &str| busy[key].as_u64().expect("it is a number");
    assert!(count("refused_query_count") >= 10, "{busy}");
    assert!(count("refusal_count") >= count("refused_query_count"), "{busy}");
    assert!(count("wait_ns") >= SERVICE_NS, "{busy}");
    assert!(!run.reasons().contains("BUSY"), "{}", run.reasons());
}

#[test]
fn queries_that_meet_a_full_queue_are_issued_again() {
    assert_all_completed_in_turn(&crowded(""));
}

#[test]
fn several_issuing_threads_wait_for_a_full_queue() {
    assert_all_completed_in_turn(&crowded("--set server_num_issue_query_threads=2"));
}

#[test]
fn who_is_never_busy_has_counts_of_zero() {
    let run = Bench::new().run("--plugin mock --mode performance --duration 30ms");
    let busy = &run.assert_valid().result()["performance_run"]["busy"];
    assert_eq!(busy["refused_query_count"], 0);
    assert_eq!(busy["wait_ns"], 0);
    let batches = Bench::new().run("--plugin mock --mode performance --duration 30ms --set issue=false");
    assert!(batches.assert_valid().result()["performance_run"]["busy"].is_null());
}

#[test]
fn who_is_busy_for_ever_is_named_and_the_run_is_recorded() {
    // A query of eight samples never fits.
    let run = Bench::new().run(
        "--plugin mock --mode performance --scenario MultiStream --duration 10m --set mock.queue_capacity=4 \
         --set watchdog_ms=400",
    );
    run.assert_invalid(&[
        "plugin mock: issue failed (BUSY): more than queue_capacity = 4 samples would wait",
        "watchdog_ms = 400, while no sample completed",
    ]);
    assert_eq!(run.result()["verdict"]["interrupted"], false);
    assert_eq!(run.samples().len(), 8);
}

#[test]
fn the_second_signal_ends_the_wait_for_a_busy_plugin() {
    let bench = Bench::new();
    let (mut started, output) = bench.start_run(
        "--plugin mock --mode performance --scenario MultiStream --duration 10m --set mock.queue_capacity=4",
    );
    let samples = output.with_added_extension("partial").join("samples.bin");
    started.wait_until("the test has begun", |_| samples.exists());
    started.signal("INT");
    started.wait_until("the first signal is heard", |it| it.stderr().contains("interrupted:"));
    started.signal("INT");
    let run = Run::new(started.finish(), output);
    assert_eq!(run.finished.code(), INTERRUPTED, "{}", run.finished);
    assert!(!run.reasons().contains("BUSY"), "{}", run.reasons());
}
