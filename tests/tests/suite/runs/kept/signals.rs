//! Signals at any instant of a run: to the program, and to the process of a plugin.

use std::{
    process::Command,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use proctor_tests::{Bench, Finished, INTERRUPTED, check_rows};

use super::problem;

/// Ctrl-C, as a terminal sends it.
const SIGINT: i32 = 2;

/// How many runs go on at the same time.
const WIDTH: usize = 4;

/// A short run of both tests.
const FLAGS: &str = "--duration 50ms --set floor=false";

/// Measures how long a run takes that is not cut off, with as many others running.
fn length(bench: &Bench, flags: &str) -> Duration {
    // The first one reads the program from the disk.
    bench.run(flags).assert_valid();
    let run = || {
        let begin = Instant::now();
        bench.run(flags).assert_valid();
        begin.elapsed()
    };
    thread::scope(|scope| {
        let runs = [(); WIDTH].map(|()| scope.spawn(run));
        runs.map(|run| run.join().expect("the run is VALID")).into_iter().min().unwrap_or_default()
    })
}

/// Sends a signal to a process, which may have ended.
fn send(signal: &str, process: u32) {
    let _ = Command::new("sh").args(["-c", &format!("kill -{signal} {process}")]).output();
}

/// Instants of a run of this length: one drawn from each of so many equal parts.
fn instants(count: u32, length: Duration) -> Vec<Duration> {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut draw = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..count).map(|part| length.mul_f64((f64::from(part) + draw()) / f64::from(count))).collect()
}

#[test]
fn ctrl_c_leaves_what_says_what_it_is_at_any_instant() {
    interrupt_at_fifty_instants(FLAGS);
}

#[test]
fn ctrl_c_leaves_what_says_what_it_is_where_the_plugin_has_a_process_of_its_own() {
    interrupt_at_fifty_instants(&format!("{FLAGS} --isolate"));
}

fn interrupt_at_fifty_instants(flags: &str) {
    let bench = Bench::new();
    let instants = instants(50, length(&bench, flags));
    let interrupted_count = AtomicU32::new(0);
    check_rows(&instants, WIDTH, |instant| {
        let (started, output) = bench.start_run(flags);
        thread::sleep(*instant);
        send("INT", started.id());
        let finished = started.finish();
        let wrong = problem(&output, &finished).or_else(|| problem_of_code(&finished));
        if is_interrupted(&finished) {
            interrupted_count.fetch_add(1, Relaxed);
        }
        wrong.map(|wrong| format!("after {instant:?}: {wrong}: {finished}"))
    });
    // Some runs are faster than the first ones.
    let count = interrupted_count.into_inner();
    assert!(count >= 10, "{count} of {} runs were interrupted", instants.len());
}

/// Whether the signal has ended it, perhaps before the program could hear it.
fn is_interrupted(finished: &Finished) -> bool {
    finished.signal() == Some(SIGINT) || finished.signal().is_none() && finished.code() == INTERRUPTED
}

/// An exit code that no run of this kind has.
fn problem_of_code(finished: &Finished) -> Option<String> {
    let is_known = is_interrupted(finished) || finished.signal().is_none() && finished.code() == 0;
    (!is_known).then(|| "it was neither interrupted nor VALID".to_owned())
}

#[test]
fn the_end_of_the_process_of_a_plugin_loses_nothing_at_any_instant() {
    let bench = Bench::new();
    let flags = format!("{FLAGS} --isolate");
    let instants = instants(12, length(&bench, &flags));
    check_rows(&instants, WIDTH, |instant| {
        let (started, output) = bench.start_run(&flags);
        let begin = Instant::now();
        while started.worker().is_none() && begin.elapsed() < Duration::from_secs(60) {
            thread::sleep(Duration::from_millis(2));
        }
        thread::sleep(instant.saturating_sub(begin.elapsed()));
        // Another one may have taken its place, or is about to.
        if let Some(worker) = started.worker() {
            send("KILL", worker);
        }
        let finished = started.finish();
        let is_named = finished.code() == 0
            || [&finished.stdout, &finished.stderr].iter().any(|said| said.contains("SIGKILL"));
        let wrong = problem(&output, &finished);
        let wrong = wrong.or_else(|| (!is_named).then(|| "the end is not named".to_owned()));
        let wrong = wrong.or_else(|| {
            (![0, 1, 3].contains(&finished.code())).then(|| "another exit code than 0, 1 and 3".to_owned())
        });
        wrong.map(|wrong| format!("after {instant:?}: {wrong}: {finished}"))
    });
}
